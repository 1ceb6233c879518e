//! The parts of `AwsSpec` of a kind whose resources can have several objects.

use proc_macro2::TokenStream;
use quote::quote;

use super::{Kind, differences};

pub(super) fn expand(kind: &Kind) -> TokenStream {
    let Some(count) = kind.count() else { return quote! {} };
    let (path, wanted) = (&count.keys.name, count.wanted());
    let order = differences::ordered(kind).map(|field| &field.keys.name);
    let values = kind.desired().filter(|field| field.keys.unpublished.is_none()).map(|field| {
        let (name, wanted) = (&field.keys.name, field.wanted());
        quote! { (#name, ::kraken_aws::fields::public(#wanted)) }
    });
    quote! {
        const COUNT_PATH: &'static str = #path;
        const FIELD_ORDER: &[&str] = &[#(#order),*];

        fn count(desired: &Desired) -> Option<&::kraken_kind::Resolved<i32>> {
            #wanted
        }

        fn public_values(desired: &Desired) -> Vec<(&'static str, ::serde_json::Value)> {
            let values = [#(#values),*];
            values.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
        }
    }
}
