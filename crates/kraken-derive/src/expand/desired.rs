//! The desired state, and the function that resolves and validates it.

use proc_macro2::TokenStream;
use quote::quote;
use syn::Path;

use super::Kind;
use crate::{
    field::Field,
    shape::{Content, Shape},
};

/// `Desired` and `PartialDesired`.
pub(super) fn structs(kind: &Kind) -> TokenStream {
    let names: Vec<_> = kind.desired().map(|field| &field.ident).collect();
    let types: Vec<_> = kind.desired().map(ty).collect();
    let tags = kind.count().map(|_| quote! { pub(crate) tags: Option<::kraken_aws::Tags>, });
    quote! {
        /// The desired state. Absent fields are neither sent nor compared.
        #[derive(Clone, Debug)]
        pub(crate) struct Desired {
            #(pub(crate) #names: #types,)*
        }

        /// The desired state as far as it is known; `None` is a field with a problem.
        #[derive(Debug)]
        pub(crate) struct PartialDesired {
            #(pub(crate) #names: Option<#types>,)*
            #tags
        }
    }
}

/// The type of a field in the desired state.
fn ty(field: &Field) -> TokenStream {
    if let Some(resolve) = &field.keys.resolve {
        let ty = &resolve.ty;
        return quote! { #ty };
    }
    let value = match &field.shape.content {
        Content::List(item) => quote! { ::kraken_spoke::Resolved<Vec<#item>> },
        Content::One(value) => quote! { ::kraken_spoke::Resolved<#value> },
        Content::Other => quote! { () },
    };
    if field.shape.is_optional {
        quote! { Option<#value> }
    } else {
        value
    }
}

/// `AwsSpec::desired`.
pub(super) fn function(kind: &Kind) -> TokenStream {
    let names: Vec<_> = kind.desired().map(|field| &field.ident).collect();
    let values = kind.desired().map(value);
    let rules =
        kind.args.hooks.rules.iter().map(|rules: &Path| quote! { #rules(self, &partial, &mut validator); });
    let tags = kind.count().map(|_| quote! { tags: validator.tags(&self.tags), });
    let body = quote! {
        let mut validator = ::kraken_aws::validator::SpecValidator::new(values);
        // All fields are resolved before an error is returned, so that all problems are reported.
        let partial = PartialDesired { #(#names: #values,)* #tags };
        #(#rules)*
        let desired = Desired { #(#names: partial.#names?,)* };
    };
    if kind.count().is_none() {
        return quote! {
            fn desired(&self, values: &mut ::kraken_spoke::Resolver<'_>) -> Option<Desired> {
                #body
                validator.is_valid().then_some(desired)
            }
        };
    }
    quote! {
        fn desired(&self, values: &mut ::kraken_spoke::Resolver<'_>) -> Option<Desired> {
            self.with_tags(values).map(|(desired, _)| desired)
        }

        fn with_tags(
            &self,
            values: &mut ::kraken_spoke::Resolver<'_>,
        ) -> Option<(Desired, ::kraken_aws::Tags)> {
            #body
            let tags = partial.tags?;
            validator.is_valid().then_some((desired, tags))
        }
    }
}

/// The value of a field, or `None` after recording a problem.
fn value(field: &Field) -> TokenStream {
    let Field { ident, keys, shape, .. } = field;
    let name = &keys.name;
    if let Some(resolve) = &keys.resolve {
        let function = &resolve.function;
        return quote! { #function(self, &mut validator) };
    }
    let option = if shape.is_optional {
        quote! { self.#ident.as_ref() }
    } else {
        quote! { &self.#ident }
    };
    let rule = match (&keys.check, &keys.rule) {
        (Some(check), _) => Some(quote! { #check }),
        (None, Some(rule)) => Some(quote! { ::kraken_aws::bounds::rule(&#rule) }),
        (None, None) => None,
    };
    if shape.is_list() {
        return list(field, rule.as_ref());
    }
    let Shape { is_optional, is_public, .. } = shape;
    match (rule, is_public, is_optional) {
        (None, _, false) => quote! { validator.any(#name, #option) },
        (None, _, true) => quote! { validator.any_if(#name, #option) },
        (Some(rule), false, false) => quote! { validator.one(#name, #option, #rule) },
        (Some(rule), false, true) => quote! { validator.optional(#name, #option, #rule) },
        (Some(rule), true, false) => quote! { validator.public(#name, #option, #rule) },
        (Some(rule), true, true) => quote! { validator.public_if(#name, #option, #rule) },
    }
}

/// With a `check` for the whole list, or a `rule` for each item.
fn list(field: &Field, rule: Option<&TokenStream>) -> TokenStream {
    let Field { ident, keys, shape, .. } = field;
    let name = &keys.name;
    let option = if shape.is_optional {
        quote! { self.#ident.as_ref() }
    } else {
        quote! { Some(&self.#ident) }
    };
    let value = match rule {
        Some(check) if keys.check.is_some() => quote! { validator.list(#name, #option, #check) },
        Some(rule) => quote! { validator.each(#name, #option, #rule) },
        None => quote! { validator.list(#name, #option, |_| Ok::<(), String>(())) },
    };
    if shape.is_optional {
        value
    } else {
        quote! { #value.flatten() }
    }
}
