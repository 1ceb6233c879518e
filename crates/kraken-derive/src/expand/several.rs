//! A kind with several objects: it implements `External` itself, with the generated desired state, validation and constants.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, Result};

use super::{Kind, changes, desired, state};
use crate::field::{Decision, Field};

/// The methods of the spec.
pub(super) fn expand(kind: &Kind) -> Result<TokenStream> {
    let (ident, observed) = (&kind.ident, &kind.args.observed);
    let Some(change) = &kind.args.hooks.change else {
        return Err(Error::new(
            ident.span(),
            "a kind with several objects has its own type of changes: `change = Change`",
        ));
    };
    let (secrets, summary) = (state::secret_field_paths(kind), state::summary(kind));
    let desired = desired::function(kind);
    let is_fixed = |field: &&Field| matches!(field.decision, Decision::Fixed);
    let fixed = kind.desired().filter(is_fixed).map(|field| {
        let (ident, name) = (&field.ident, &field.keys.name);
        let wanted = if field.shape.is_optional {
            quote! { desired.#ident.as_ref() }
        } else {
            quote! { Some(&desired.#ident) }
        };
        let have = field.keys.observed.as_ref().map_or(ident, |observed| &observed.ident);
        quote! { compare(#name, #wanted, |observed| observed.#have.as_ref()) }
    });
    let changes = kind.desired().filter_map(Field::change).map(|variant| changes::variant(kind, variant));
    Ok(quote! {
        impl #ident {
            pub(crate) const SECRET_FIELD_PATHS: &[(&str, &[&str])] = #secrets;
            pub(crate) const SUMMARY: &[(&str, &str)] = #summary;

            pub(crate) #desired

            /// Calls the function with each field that AWS cannot change.
            pub(crate) fn fixed(
                desired: &Desired,
                mut compare: impl FnMut(
                    &'static str,
                    Option<&::kraken_spoke::Resolved<String>>,
                    fn(&#observed) -> Option<&String>,
                ),
            ) {
                #(#fixed;)*
            }
        }

        /// The changes of the fields exist, and contain the ids of the objects.
        const _: &[fn(Vec<String>) -> #change] = &[#(#changes),*];
    })
}
