//! A field of a spec, with the keys of its `#[field(...)]`.

mod attribute;

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::{Attribute, Error, Field as SynField, Result, Type, Visibility};

use crate::shape::Shape;

use attribute::Keys;
pub(crate) use attribute::Variant;

/// A field with a `#[field(...)]`.
pub(crate) struct Field {
    pub(crate) ident: Ident,
    pub(crate) vis: Visibility,
    pub(crate) ty: Type,
    /// Its other attributes: documentation, and bounds of other kinds.
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) shape: Shape,
    pub(crate) decision: Decision,
    pub(crate) keys: Keys,
}

/// What an edit of a field does.
#[allow(clippy::large_enum_variant)] // a few of them, at compile time
pub(crate) enum Decision {
    Fixed,
    Change(Variant),
    /// Items of a list are added and removed.
    Items(Variant, Variant),
    /// Only the kind's own comparison, or that of the field with the group.
    Own,
    LaunchOnly,
    KrakenOnly,
    /// The number of objects.
    Count,
}

impl Field {
    /// Parses the attribute of a field of a kind, and checks that its keys fit its type and each other.
    pub(crate) fn of(field: SynField) -> Result<Self> {
        Self::parsed(field, decision)?.checked()
    }

    /// The same for a field of a group, whose edits are decided by the field with the group.
    pub(crate) fn of_group(field: SynField) -> Result<Self> {
        Self::parsed(field, no_decision)?.checked()
    }

    /// The same for a field of an object that is the value of one option, and contains none.
    pub(crate) fn of_object(field: SynField) -> Result<Self> {
        Self::parsed(field, no_decision)
    }

    fn parsed(field: SynField, decision: fn(&Ident, &mut Keys) -> Result<Decision>) -> Result<Self> {
        let ident = field.ident.ok_or_else(|| Error::new(Span::call_site(), "a spec has named fields"))?;
        let (own, attrs): (Vec<_>, Vec<_>) =
            field.attrs.into_iter().partition(|attribute| attribute.path().is_ident("field"));
        let [own] = own.as_slice() else {
            let why = format!("`{ident}` needs one attribute: #[field(\"nameInTheSpec\", ...)]");
            return Err(Error::new(ident.span(), why));
        };
        let mut keys: Keys = own.parse_args()?;
        let decision = decision(&ident, &mut keys)?;
        Ok(Self { shape: Shape::of(&field.ty), ident, vis: field.vis, ty: field.ty, attrs, decision, keys })
    }

    /// Whether it is part of the desired state.
    pub(crate) fn is_desired(&self) -> bool {
        !matches!(self.decision, Decision::KrakenOnly)
    }

    /// The change in place of which it is a part.
    pub(crate) fn change(&self) -> Option<&Variant> {
        match &self.decision {
            Decision::Change(variant) => Some(variant),
            _ => None,
        }
    }

    /// Its desired value, as an optional reference.
    pub(crate) fn wanted(&self) -> TokenStream {
        let ident = &self.ident;
        if self.shape.is_optional {
            quote! { desired.#ident.as_ref() }
        } else {
            quote! { Some(&desired.#ident) }
        }
    }

    fn checked(self) -> Result<Self> {
        let keys = &self.keys;
        let is_other = self.shape.group().is_some();
        let is_method = keys.observed.as_ref().is_some_and(|observed| observed.is_method);
        // A group knows the paths of its values.
        let has_value_elsewhere = is_method || keys.compare.is_some() && keys.group.is_none();
        let is_one_group = keys.group.is_some() && !self.shape.is_optional && !self.shape.is_groups();
        let problems = [
            (
                is_other && self.is_desired() && keys.resolve.is_none() && keys.group.is_none(),
                "is no Opt<T> or ListOpt<T>: say `group`, or how it is resolved with `resolve = Self::f => Type`",
            ),
            (
                keys.parts.is_some() && !(is_one_group && is_method && self.change().is_some()),
                "has parts, and is a required group with `change = Variant` and `observed = method()`",
            ),
            (keys.group.is_some() && !is_other, "is no group of fields"),
            (
                self.shape.is_public && keys.resolve.is_none() && keys.rule.is_none() && keys.check.is_none(),
                "is public, and needs a `rule` or a `check`",
            ),
            (
                has_value_elsewhere && !self.shape.is_public && keys.published.is_none(),
                "needs `published(...)`: the paths of the state that contain its value; without any, `published()`",
            ),
            (
                keys.items.as_ref().is_some_and(|items| items.len() != 2)
                    || keys.items.is_some() && keys.rule.is_none(),
                "needs a `rule` and two numbers in `items(min, max)`",
            ),
            (
                keys.deep.is_some() && !self.shape.is_optional,
                "is required, and cannot be `deep`: each observation would be deep",
            ),
            (
                keys.follows.is_some()
                    && (!self.shape.is_optional || keys.fixed.is_some() || keys.launch_only.is_some()),
                "is required or set at creation, and cannot be one that `follows`",
            ),
            (
                keys.none_if_unset.is_some() && !self.shape.is_optional,
                "is required, and cannot be `none_if_unset`",
            ),
            (
                keys.stopped.is_some() && self.change().is_none(),
                "is not changed in place, and cannot be `stopped`",
            ),
            (
                matches!(self.decision, Decision::Items(..)) && !self.shape.is_list(),
                "is no list, and cannot have `add` and `remove`",
            ),
        ];
        match problems.into_iter().find(|(is_wrong, _)| *is_wrong) {
            Some((_, why)) => Err(Error::new(self.ident.span(), format!("`{}` {why}", self.ident))),
            None => Ok(self),
        }
    }
}

/// Fields of groups have none of the keys about edits.
fn no_decision(ident: &Ident, keys: &mut Keys) -> Result<Decision> {
    let is_decided =
        keys.change.is_some() || keys.add.is_some() || keys.remove.is_some() || keys.compare.is_some();
    let flags = [keys.fixed, keys.launch_only, keys.kraken_only, keys.deep, keys.always_sent];
    if is_decided || flags.iter().any(Option::is_some) {
        let why = format!("`{ident}` is in a group: what an edit does is said at the field with the group");
        return Err(Error::new(ident.span(), why));
    }
    Ok(Decision::Own)
}

/// The only decision of a field.
fn decision(ident: &Ident, keys: &mut Keys) -> Result<Decision> {
    let items = match (keys.add.take(), keys.remove.take()) {
        (Some(add), Some(remove)) => Some(Decision::Items(add, remove)),
        (None, None) => None,
        _ => return Err(Error::new(ident.span(), format!("`{ident}` needs both `add` and `remove`"))),
    };
    let all = [
        keys.fixed.map(|()| Decision::Fixed),
        keys.change.take().map(Decision::Change),
        items,
        keys.launch_only.map(|()| Decision::LaunchOnly),
        keys.kraken_only.map(|()| Decision::KrakenOnly),
        keys.count.map(|()| Decision::Count),
    ];
    let mut made = all.into_iter().flatten();
    match (made.next(), made.next()) {
        (Some(one), None) => Ok(one),
        (None, None) if keys.compare.is_some() => Ok(Decision::Own),
        (None, _) => Err(Error::new(
            ident.span(),
            format!(
                "say what an edit of `{ident}` does: `fixed`, `change = Variant`, `add = Variant, remove = Variant`, \
                 `compare = Self::f`, `launch_only`, `kraken_only` or `count`"
            ),
        )),
        (Some(_), Some(_)) => Err(Error::new(
            ident.span(),
            format!(
                "`{ident}` has several of `fixed`, `change`, `add`, `launch_only`, `kraken_only` and `count`"
            ),
        )),
    }
}
