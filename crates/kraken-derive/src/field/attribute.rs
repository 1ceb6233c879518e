//! The keys of the attribute `#[field(...)]`, and their parser.

use proc_macro2::Ident;
use syn::{
    Expr, LitStr, Path, Result, Token, Type, parenthesized,
    parse::{Parse, ParseStream},
};

use crate::keys::{self, set, value, values};

const KNOWN: &str = "rule, check, items, resolve, group, parts, default, observed, published, fixed, change, add, remove, compare, \
                     import, unless, launch_only, kraken_only, count, deep, stopped, unpublished, always_sent, none_if_unset, follows";

/// A variant of the changes of a kind.
pub(crate) struct Variant {
    pub(crate) ident: Ident,
    /// The type of the desired value in it.
    pub(crate) payload: Option<Type>,
}

/// The field or the method of the observed object with the value: `field`, `&field` or `method()`.
pub(crate) struct Observed {
    pub(crate) ident: Ident,
    pub(crate) is_method: bool,
    /// Whether the field has always a value.
    pub(crate) is_required: bool,
}

/// The keys of a field, as described at [`crate::aws_kind`].
pub(crate) struct Keys {
    pub(crate) name: LitStr,
    pub(crate) rule: Option<Expr>,
    pub(crate) check: Option<Expr>,
    pub(crate) items: Option<Vec<Expr>>,
    pub(crate) resolve: Option<Resolve>,
    pub(crate) group: Option<()>,
    pub(crate) parts: Option<()>,
    pub(crate) default: Option<Expr>,
    pub(crate) observed: Option<Observed>,
    pub(crate) published: Option<Vec<LitStr>>,
    pub(crate) compare: Option<Path>,
    pub(crate) deep: Option<()>,
    pub(crate) stopped: Option<()>,
    pub(crate) unpublished: Option<()>,
    pub(crate) always_sent: Option<()>,
    pub(crate) none_if_unset: Option<()>,
    pub(crate) follows: Option<()>,
    pub(crate) import: Option<Path>,
    pub(crate) unless: Option<Expr>,
    pub(super) fixed: Option<()>,
    pub(super) change: Option<Variant>,
    pub(super) add: Option<Variant>,
    pub(super) remove: Option<Variant>,
    pub(super) launch_only: Option<()>,
    pub(super) kraken_only: Option<()>,
    pub(super) count: Option<()>,
}

/// `function => Type`.
pub(crate) struct Resolve {
    pub(crate) function: Path,
    pub(crate) ty: Type,
}

impl Parse for Resolve {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let function = input.parse()?;
        input.parse::<Token![=>]>()?;
        Ok(Self { function, ty: input.parse()? })
    }
}

impl Parse for Variant {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let ident = input.parse()?;
        if !input.peek(syn::token::Paren) {
            return Ok(Self { ident, payload: None });
        }
        let inner;
        parenthesized!(inner in input);
        Ok(Self { ident, payload: Some(inner.parse()?) })
    }
}

impl Parse for Observed {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let is_required = input.parse::<Option<Token![&]>>()?.is_some();
        let ident = input.parse()?;
        let is_method = input.peek(syn::token::Paren);
        if is_method {
            let _arguments;
            parenthesized!(_arguments in input);
        }
        Ok(Self { ident, is_method, is_required })
    }
}

impl Parse for Keys {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut keys = Self {
            name: input.parse()?,
            rule: None,
            check: None,
            items: None,
            resolve: None,
            group: None,
            parts: None,
            default: None,
            observed: None,
            published: None,
            compare: None,
            deep: None,
            stopped: None,
            unpublished: None,
            always_sent: None,
            none_if_unset: None,
            follows: None,
            import: None,
            unless: None,
            fixed: None,
            change: None,
            add: None,
            remove: None,
            launch_only: None,
            kraken_only: None,
            count: None,
        };
        if !input.is_empty() {
            input.parse::<Token![,]>()?;
        }
        keys::each(input, |key, input| match key.to_string().as_str() {
            "rule" => set(&mut keys.rule, key, value(input)?),
            "check" => set(&mut keys.check, key, value(input)?),
            "items" => set(&mut keys.items, key, values(input)?),
            "resolve" => set(&mut keys.resolve, key, value(input)?),
            "group" => set(&mut keys.group, key, ()),
            "parts" => set(&mut keys.parts, key, ()),
            "default" => set(&mut keys.default, key, value(input)?),
            "observed" => set(&mut keys.observed, key, value(input)?),
            "published" => set(&mut keys.published, key, values(input)?),
            "compare" => set(&mut keys.compare, key, value(input)?),
            "deep" => set(&mut keys.deep, key, ()),
            "stopped" => set(&mut keys.stopped, key, ()),
            "unpublished" => set(&mut keys.unpublished, key, ()),
            "always_sent" => set(&mut keys.always_sent, key, ()),
            "none_if_unset" => set(&mut keys.none_if_unset, key, ()),
            "import" => set(&mut keys.import, key, value(input)?),
            "unless" => set(&mut keys.unless, key, value(input)?),
            "follows" => set(&mut keys.follows, key, ()),
            "fixed" => set(&mut keys.fixed, key, ()),
            "change" => set(&mut keys.change, key, value(input)?),
            "add" => set(&mut keys.add, key, value(input)?),
            "remove" => set(&mut keys.remove, key, value(input)?),
            "launch_only" => set(&mut keys.launch_only, key, ()),
            "kraken_only" => set(&mut keys.kraken_only, key, ()),
            "count" => set(&mut keys.count, key, ()),
            _ => Err(keys::unknown(key, KNOWN)),
        })?;
        Ok(keys)
    }
}
