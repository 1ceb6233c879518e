//! The changes in place, and the fields that no call can change.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::{Error, Path, Result};

use super::Kind;
use crate::field::{Decision, Field, Variant};

/// The generated enum `Change`, unless the kind has its own.
pub(super) fn expand(kind: &Kind) -> Result<TokenStream> {
    if kind.args.hooks.change.is_some() {
        return Ok(quote! {});
    }
    let mut variants: Vec<Generated<'_>> = vec![];
    for field in kind.desired() {
        let of_field = match &field.decision {
            Decision::Change(variant) => vec![(variant, "Sets")],
            Decision::Items(add, remove) => vec![(add, "Adds an item of"), (remove, "Removes an item of")],
            _ => vec![],
        };
        for (variant, verb) in of_field {
            let payload = payload(field, variant);
            match variants.iter_mut().find(|other| other.ident == &variant.ident) {
                None => {
                    variants.push(Generated { ident: &variant.ident, payload, verb, fields: vec![field] });
                }
                Some(other) if payload.is_none() && other.payload.is_none() => other.fields.push(field),
                Some(_) => {
                    let why = "a change of several fields contains no value: the call takes them from the desired state";
                    return Err(Error::new(variant.ident.span(), why));
                }
            }
        }
    }
    if variants.is_empty() {
        return Ok(quote! {
            /// Only tags can be changed in place.
            #[derive(Debug)]
            pub(crate) enum Change {}
        });
    }
    let variants = variants.iter().map(Generated::expand);
    Ok(quote! {
        /// A change in place.
        #[derive(Clone, Debug, PartialEq)]
        pub(crate) enum Change {
            #(#variants,)*
        }
    })
}

struct Generated<'a> {
    ident: &'a Ident,
    payload: Option<TokenStream>,
    verb: &'static str,
    fields: Vec<&'a Field>,
}

impl Generated<'_> {
    fn expand(&self) -> TokenStream {
        let Self { ident, payload, verb, fields } = self;
        let names: Vec<_> = fields.iter().map(|field| format!("`{}`", field.keys.name.value())).collect();
        let doc = format!("{verb} {}.", names.join(", "));
        let payload = payload.iter();
        quote! { #[doc = #doc] #ident #((#payload))* }
    }
}

/// The value in a change: the item of a list, or what the attribute says.
fn payload(field: &Field, variant: &Variant) -> Option<TokenStream> {
    match (&field.decision, &variant.payload) {
        (Decision::Items(..), _) => Some(quote! { String }),
        (_, Some(ty)) => Some(quote! { #ty }),
        (_, None) => None,
    }
}

/// The type of the changes.
pub(super) fn path(kind: &Kind) -> Path {
    kind.args.hooks.change.clone().unwrap_or_else(|| format_ident!("Change").into())
}

/// The path of a variant.
pub(super) fn variant(kind: &Kind, variant: &Variant) -> TokenStream {
    let (path, ident) = (path(kind), &variant.ident);
    quote! { #path::#ident }
}

/// `AwsSpec::at_creation`: the fields that are applied at creation only.
pub(super) fn at_creation(kind: &Kind) -> TokenStream {
    let body = if let Some(own) = &kind.args.hooks.at_creation {
        quote! { #own(desired) }
    } else {
        let is_launch_only = |field: &&Field| matches!(field.decision, Decision::LaunchOnly);
        let fields: Vec<_> = kind.desired().filter(is_launch_only).collect();
        if fields.is_empty() {
            return quote! {};
        }
        let values = fields.iter().map(|field| {
            let (ident, name) = (&field.ident, &field.keys.name);
            let value = if field.shape.is_optional {
                quote! { desired.#ident.as_ref().map(::kraken_aws::fields::shown).unwrap_or_default() }
            } else {
                quote! { ::kraken_aws::fields::shown(&desired.#ident) }
            };
            quote! { (#name, #value) }
        });
        quote! { vec![#(#values),*] }
    };
    quote! {
        fn at_creation(desired: &Desired) -> Vec<(&'static str, String)> {
            #body
        }
    }
}
