//! The generated code.

mod changes;
mod common;
mod count;
mod desired;
mod differences;
mod edits;
mod group;
mod ignored;
mod imports;
mod lookup;
mod observed;
mod resource;
mod state;

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{Attribute, Error, Field as SynField, Fields, ItemStruct, Result, Visibility};

use crate::{
    args::Args,
    field::{Decision, Field},
};

pub(crate) use group::group;
pub(crate) use lookup::lookup;
pub(crate) use observed::observed;

/// A kind: the keys of its attribute and its fields.
pub(crate) struct Kind {
    args: Args,
    attrs: Vec<Attribute>,
    vis: Visibility,
    ident: Ident,
    fields: Vec<Field>,
    /// `tags` and `lifecycle`, which every kind has. They are generated unless a kind has them with other descriptions.
    tags: SynField,
    lifecycle: SynField,
}

impl Kind {
    /// The fields of the desired state.
    fn desired(&self) -> impl Iterator<Item = &Field> {
        self.fields.iter().filter(|field| field.is_desired())
    }

    /// The number of objects, if a resource can have several.
    fn count(&self) -> Option<&Field> {
        self.fields.iter().find(|field| matches!(field.decision, Decision::Count))
    }
}

/// The code of a kind.
pub(crate) fn kind(args: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let kind = parse(syn::parse2(args)?, syn::parse2(item)?)?;
    let parts = [resource::expand(&kind), desired::structs(&kind), changes::expand(&kind)?, spec(&kind)?];
    Ok(quote! { #(#parts)* })
}

/// `impl AwsSpec`.
fn spec(kind: &Kind) -> Result<TokenStream> {
    let (ident, observed) = (&kind.ident, &kind.args.observed);
    let change = changes::path(kind);
    let tags = if kind.args.untagged.is_some() {
        quote! {
            fn tags(&self) -> &::kraken_aws::TagOptions {
                ::kraken_aws::tags::none()
            }

            fn with_tags(
                &self,
                values: &mut ::kraken_kind::Resolver<'_>,
            ) -> Option<(Desired, ::kraken_aws::Tags)> {
                self.desired(values).map(|desired| (desired, ::kraken_aws::Tags::new()))
            }
        }
    } else {
        quote! {
            fn tags(&self) -> &::kraken_aws::TagOptions {
                &self.tags
            }
        }
    };
    let methods = [
        state::constants(kind),
        desired::function(kind),
        differences::function(kind),
        ignored::without_ignored(kind)?,
        changes::at_creation(kind),
        edits::function(kind),
        imports::function(kind),
        state::deep(kind),
        count::expand(kind),
    ];
    Ok(quote! {
        impl ::kraken_aws::AwsSpec for #ident {
            type Desired = Desired;
            type Observed = #observed;
            type Change = #change;

            #tags

            #(#methods)*
        }
    })
}

/// Parses the spec. The problems of all fields are reported at once.
fn parse(args: Args, item: ItemStruct) -> Result<Kind> {
    let ItemStruct { attrs, vis, ident, fields, .. } = item;
    let Fields::Named(fields) = fields else {
        return Err(Error::new(ident.span(), "a spec is a struct with named fields"));
    };
    let (mut own, mut tags, mut lifecycle, mut problems) = (vec![], None, None, None::<Error>);
    for field in fields.named {
        let name = field.ident.as_ref().map(ToString::to_string).unwrap_or_default();
        match name.as_str() {
            "tags" => tags = Some(field),
            "lifecycle" => lifecycle = Some(field),
            _ => match (Field::of(field), &mut problems) {
                (Ok(field), _) => own.push(field),
                (Err(problem), Some(problems)) => problems.combine(problem),
                (Err(problem), None) => problems = Some(problem),
            },
        }
    }
    if let Some(problems) = problems {
        return Err(problems);
    }
    let tags = tags.map_or_else(|| common::tags(args.tag_name.as_ref()), Ok)?;
    let lifecycle = lifecycle.map_or_else(common::lifecycle, Ok)?;
    Ok(Kind { args, attrs, vis, ident, fields: own, tags, lifecycle })
}

#[cfg(test)]
mod tests;
