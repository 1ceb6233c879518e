//! The comparison of a group whose values are fields of the observed object: each field differs, and is ignored, by itself.

use proc_macro2::TokenStream;
use quote::quote;
use syn::Path;

use super::desired_ident;
use crate::{
    expand::{
        differences::observed as observed_value,
        imports,
        state::{below, published},
    },
    group::Group,
};

pub(super) fn expand(group: &Group, observed: &Path) -> TokenStream {
    let Group { args, vis, ident, fields, .. } = group;
    let desired = desired_ident(ident);
    let idents: Vec<_> = fields.iter().map(|field| &field.ident).collect();
    let names: Vec<_> = fields.iter().map(|field| &field.keys.name).collect();
    let have = fields.iter().map(observed_value);
    let of_fields = fields.iter().filter(|field| !field.shape.is_public).flat_map(published);
    let imports = imports::all(fields);
    let paths = args.published.iter().map(syn::LitStr::value).chain(of_fields);
    let paths = args.state.iter().flat_map(|state| paths.clone().map(|path| below(state, &path)));
    quote! {
        impl #ident {
            /// The paths of the state that contain its values.
            #vis const PUBLISHED: &[&str] = &[#(#paths),*];

            /// The group in an imported spec; none without fields.
            #vis fn imported(observed: &#observed) -> Option<::serde_json::Value> {
                let mut fields = ::kraken_aws::import::Fields::default();
                #(#imports)*
                fields.group()
            }
        }

        impl #desired {
            /// The differences of its fields; `field` is its path in the spec.
            #vis fn differences<C>(
                &self,
                field: &str,
                observed: &#observed,
                change: impl Fn() -> C,
            ) -> Vec<::kraken_kind::Difference<C>> {
                let at = |name: &str| format!("{field}.{name}");
                let all = [
                    #(::kraken_aws::diff::changed(&at(#names), self.#idents.as_ref(), #have, change()),)*
                ];
                all.into_iter().flatten().collect()
            }

            /// Removes ignored fields, because a call sends all fields that are given. Whether there were any.
            #vis fn leave_ignored(&mut self, field: &str, ignored: &::kraken_kind::Ignored) -> bool {
                let covers = |name: &str| ignored.covers(&format!("{field}.{name}"));
                [#(self.#idents.take_if(|_| covers(#names)).is_some()),*].contains(&true)
            }
        }
    }
}
