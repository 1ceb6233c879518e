//! The canonical form of a group whose values AWS returns as texts: that of the spec, and that of the observed object.

use proc_macro2::TokenStream;
use quote::quote;
use syn::Path;

use super::desired_ident;
use crate::{field::Field, group::Group};

pub(super) fn expand(group: &Group, observed: &Path) -> TokenStream {
    let Group { vis, ident, fields, .. } = group;
    let desired = desired_ident(ident);
    let all = |text: fn(&Field) -> TokenStream| {
        let fields = fields.iter().map(|field| {
            let (name, text) = (&field.keys.name, text(field));
            let default =
                field.keys.default.as_ref().map_or_else(|| quote! { "" }, |default| quote! { #default });
            quote! { (#name, #text, #default) }
        });
        quote! { ::kraken_aws::group::Texts::new([#(#fields),*]) }
    };
    let (of_desired, of_observed) = (all(desired_text), all(observed_text));
    quote! {
        impl #desired {
            /// The texts of its fields, with AWS's defaults.
            #vis fn texts(&self) -> ::kraken_aws::group::Texts {
                #of_desired
            }
        }

        /// Absent fields have AWS's defaults.
        impl From<&#observed> for ::kraken_aws::group::Texts {
            fn from(observed: &#observed) -> Self {
                #of_observed
            }
        }
    }
}

fn desired_text(field: &Field) -> TokenStream {
    let ident = &field.ident;
    if field.shape.is_optional {
        quote! { self.#ident.as_ref().map(|value| value.expose().to_string()) }
    } else {
        quote! { Some(self.#ident.expose().to_string()) }
    }
}

fn observed_text(field: &Field) -> TokenStream {
    let ident = field.keys.observed.as_ref().map_or(&field.ident, |observed| &observed.ident);
    quote! { observed.#ident.clone() }
}
