//! The keys of `#[aws_group(...)]`, and a group.

use proc_macro2::Ident;
use syn::{
    Attribute, Error, Fields, ItemStruct, LitStr, Path, Result, Visibility,
    parse::{Parse, ParseStream},
};

use crate::{
    cel::CelRule,
    field::Field,
    keys::{self, set, value, values},
};

const KNOWN: &str = "cel, rules, one_of, choice, problem, observed, state, published, texts, object";

/// A group: the keys of its attribute and its fields.
pub(crate) struct Group {
    pub(crate) args: Args,
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) ident: Ident,
    pub(crate) fields: Vec<Field>,
}

/// The keys of a group, as described at [`crate::aws_group`].
pub(crate) struct Args {
    pub(crate) cel: Vec<CelRule>,
    pub(crate) rules: Option<Path>,
    pub(crate) one_of: Vec<Ident>,
    pub(crate) choice: Option<()>,
    pub(crate) problem: Option<Path>,
    pub(crate) observed: Option<Path>,
    pub(crate) state: Option<LitStr>,
    pub(crate) published: Vec<LitStr>,
    pub(crate) texts: Option<()>,
    pub(crate) object: Option<()>,
}

impl Parse for Args {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let (mut rules, mut one_of, mut choice, mut problem, mut object) = (None, None, None, None, None);
        let (mut observed, mut state, mut published, mut texts, mut cel) = (None, None, None, None, None);
        keys::each(input, |key, input| match key.to_string().as_str() {
            "cel" => set(&mut cel, key, values(input)?),
            "rules" => set(&mut rules, key, value(input)?),
            "one_of" => set(&mut one_of, key, values(input)?),
            "choice" => set(&mut choice, key, ()),
            "problem" => set(&mut problem, key, value(input)?),
            "observed" => set(&mut observed, key, value(input)?),
            "state" => set(&mut state, key, value(input)?),
            "published" => set(&mut published, key, values(input)?),
            "texts" => set(&mut texts, key, ()),
            "object" => set(&mut object, key, ()),
            _ => Err(keys::unknown(key, KNOWN)),
        })?;
        Ok(Self {
            cel: cel.unwrap_or_default(),
            rules,
            one_of: one_of.unwrap_or_default(),
            choice,
            problem,
            observed,
            state,
            published: published.unwrap_or_default(),
            texts,
            object,
        })
    }
}

impl Group {
    /// Parses the group. The problems of all fields are reported at once.
    pub(crate) fn of(args: Args, item: ItemStruct) -> Result<Self> {
        let ItemStruct { attrs, vis, ident, fields, .. } = item;
        let Fields::Named(fields) = fields else {
            return Err(Error::new(ident.span(), "a group is a struct with named fields"));
        };
        let parse = if args.object.is_some() { Field::of_object } else { Field::of_group };
        let (mut own, mut problems) = (vec![], None::<Error>);
        for field in fields.named {
            match (parse(field), &mut problems) {
                (Ok(field), _) => own.push(field),
                (Err(problem), Some(problems)) => problems.combine(problem),
                (Err(problem), None) => problems = Some(problem),
            }
        }
        match problems {
            Some(problems) => Err(problems),
            None => Self { args, attrs, vis, ident, fields: own }.checked(),
        }
    }

    fn checked(self) -> Result<Self> {
        let Args { one_of, choice, problem, observed, state, texts, object, .. } = &self.args;
        if let Some(unknown) = one_of.iter().find(|one| self.field(one).is_none()) {
            return Err(Error::new(unknown.span(), format!("`{unknown}` is no optional field of the group")));
        }
        let is_optional = self.fields.iter().all(|field| field.shape.is_optional);
        let has_groups = self.fields.iter().any(|field| field.shape.group().is_some());
        let problems = [
            (
                choice.is_some() && !is_optional,
                "is a choice: each of its fields is an Option, and exactly one of them is given",
            ),
            (
                choice.or(*object).is_some()
                    && (self.args.rules.is_some() || observed.is_some() || !one_of.is_empty()),
                "is a choice or an object, and has neither `rules`, `one_of` nor `observed`",
            ),
            (problem.is_some() && choice.is_none(), "has a `problem`, and is no `choice`"),
            (
                texts.is_some() && observed.is_none(),
                "has texts: say of which observed type with `observed = Type`",
            ),
            (
                observed.is_some() && texts.is_none() && state.is_none(),
                "is compared: say with `state = \"key\"` below which key of the state its values are",
            ),
            (observed.is_some() && has_groups, "contains groups, and cannot be compared field by field"),
            (
                observed.is_some() && texts.is_none() && !is_optional,
                "is compared: each of its fields is an Option, so that it can be ignored",
            ),
        ];
        match problems.into_iter().find(|(is_wrong, _)| *is_wrong) {
            Some((_, why)) => Err(Error::new(self.ident.span(), format!("`{}` {why}", self.ident))),
            None => Ok(self),
        }
    }

    /// An optional field.
    pub(crate) fn field(&self, ident: &Ident) -> Option<&Field> {
        self.fields.iter().find(|field| field.ident == *ident && field.shape.is_optional)
    }
}
