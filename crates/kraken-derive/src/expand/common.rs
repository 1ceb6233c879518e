//! The fields that every kind has, with the same description in all of them.

use quote::quote;
use syn::{Field, LitStr, Result, parse::Parser};

/// `tags`, with an example that has this tag `Name`.
pub(super) fn tags(name: Option<&LitStr>) -> Result<Field> {
    // The description is in the CRDs with its line breaks.
    let (of_reference, name) = match name {
        Some(name) => ("a literal or a reference,\n but not", format!("Name: {}, ", name.value())),
        None => ("a literal or a\n reference, but not", String::new()),
    };
    let doc = format!(
        " Tags, at most 45, with keys of up to 128 and values of up to 256 characters. Each value is {of_reference} to a Secret. \
         Tags that are set outside Kraken are not changed. Default: none. Example:\n \
         `{{{name}Team: shop, Env: {{valueFrom: {{configMap: {{name: env, key: name}}}}}}}}`"
    );
    let lines = doc.lines();
    Field::parse_named.parse2(quote! { #(#[doc = #lines])* pub(crate) tags: ::kraken_aws::TagOptions })
}

/// `lifecycle`.
pub(super) fn lifecycle() -> Result<Field> {
    Field::parse_named.parse2(quote! {
        /// How this resource is created, reconciled and deleted.
        pub(crate) lifecycle: ::kraken_kind::Lifecycle
    })
}
