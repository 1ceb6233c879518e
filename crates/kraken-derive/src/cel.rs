//! Rules of the schema between fields: `cel("rule" else "message" at "field", ...)`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{
    Ident, LitStr, Result, Token,
    parse::{Parse, ParseStream},
};

/// A rule in the Common Expression Language, and the message for objects that violate it.
pub(crate) struct CelRule {
    rule: LitStr,
    message: LitStr,
    /// The field that the message is about, unless it is about the object.
    field: Option<LitStr>,
}

impl Parse for CelRule {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let rule = input.parse()?;
        input.parse::<Token![else]>()?;
        let message = input.parse()?;
        let field = match input.parse::<Option<Ident>>()? {
            Some(at) if at == "at" => Some(input.parse()?),
            Some(other) => return Err(syn::Error::new(other.span(), "expected `at \"field\"`")),
            None => None,
        };
        Ok(Self { rule, message, field })
    }
}

/// The attribute of schemars for the rules of a struct.
pub(crate) fn attribute(rules: &[CelRule]) -> Option<TokenStream> {
    let rules = rules.iter().map(|CelRule { rule, message, field }| {
        let path = field.iter().map(|field| {
            let path = LitStr::new(&format!(".{}", field.value()), field.span());
            quote! { , "fieldPath": #path }
        });
        quote! { { "rule": #rule, "message": #message #(#path)* } }
    });
    let rules: Vec<_> = rules.collect();
    (!rules.is_empty()).then(|| {
        quote! { #[schemars(extend("x-kubernetes-validations" = [#(#rules),*]))] }
    })
}
