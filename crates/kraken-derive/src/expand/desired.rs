//! The desired state, and the function that resolves and validates it.

use proc_macro2::TokenStream;
use quote::quote;
use syn::Path;

use super::Kind;
use crate::{field::Field, shape::Content};

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
pub(super) fn ty(field: &Field) -> TokenStream {
    if let Some(resolve) = &field.keys.resolve {
        let ty = &resolve.ty;
        return quote! { #ty };
    }
    let value = given_ty(field);
    if field.shape.is_optional {
        quote! { Option<#value> }
    } else {
        value
    }
}

/// The same if the field is given.
pub(super) fn given_ty(field: &Field) -> TokenStream {
    match &field.shape.content {
        Content::List(item) => quote! { ::kraken_kind::Resolved<Vec<#item>> },
        Content::One(value) => quote! { ::kraken_kind::Resolved<#value> },
        Content::Groups(group) => quote! { Vec<<#group as ::kraken_aws::AwsGroup>::Desired> },
        Content::Other(group) if field.keys.parts.is_some() => {
            quote! { ::kraken_aws::resolved::Joined<<#group as ::kraken_aws::group::Canonical>::Form> }
        }
        Content::Other(group) => quote! { <#group as ::kraken_aws::AwsGroup>::Desired },
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
            fn desired(&self, values: &mut ::kraken_kind::Resolver<'_>) -> Option<Desired> {
                #body
                validator.is_valid().then_some(desired)
            }
        };
    }
    quote! {
        fn desired(&self, values: &mut ::kraken_kind::Resolver<'_>) -> Option<Desired> {
            self.with_tags(values).map(|(desired, _)| desired)
        }

        fn with_tags(
            &self,
            values: &mut ::kraken_kind::Resolver<'_>,
        ) -> Option<(Desired, ::kraken_aws::Tags)> {
            #body
            let tags = partial.tags?;
            validator.is_valid().then_some((desired, tags))
        }
    }
}

/// The value of a field of a kind, or `None` after recording a problem.
fn value(field: &Field) -> TokenStream {
    let value = own_value(field);
    if field.keys.follows.is_none() {
        return value;
    }
    quote! {{
        let following = validator.follow();
        let value = #value;
        validator.followed(following, value)
    }}
}

fn own_value(field: &Field) -> TokenStream {
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
    let place = Place { path: quote! { #name }, validator: quote! { &mut validator } };
    resolved(field, shape.is_optional, &option, &place)
}

/// Where a field is resolved: its path in the spec, and the validator as an argument.
pub(super) struct Place {
    pub(super) path: TokenStream,
    pub(super) validator: TokenStream,
}

/// The value of an option, or `None` after recording a problem.
pub(super) fn resolved(field: &Field, is_optional: bool, option: &TokenStream, place: &Place) -> TokenStream {
    let value = given(field, is_optional, option, place);
    if field.keys.none_if_unset.is_none() {
        return value;
    }
    quote! { if #option.is_none() { Some(None) } else { #value } }
}

fn given(field: &Field, is_optional: bool, option: &TokenStream, place: &Place) -> TokenStream {
    let Field { keys, shape, .. } = field;
    let Place { path, validator } = place;
    let rule = match (&keys.check, &keys.rule) {
        (Some(check), _) => Some(quote! { #check }),
        (None, Some(rule)) => Some(quote! { ::kraken_aws::bounds::rule(&#rule) }),
        (None, None) => None,
    };
    let resolve = match &shape.content {
        Content::List(_) => return list(field, is_optional, option, path, rule.as_ref()),
        Content::One(_) => {
            return match (rule, shape.is_public, is_optional) {
                (None, _, false) => quote! { validator.any(#path, #option) },
                (None, _, true) => quote! { validator.any_if(#path, #option) },
                (Some(rule), false, false) => quote! { validator.one(#path, #option, #rule) },
                (Some(rule), false, true) => quote! { validator.optional(#path, #option, #rule) },
                (Some(rule), true, false) => quote! { validator.public(#path, #option, #rule) },
                (Some(rule), true, true) => quote! { validator.public_if(#path, #option, #rule) },
            };
        }
        Content::Groups(_) => quote! { ::kraken_aws::group::each },
        Content::Other(_) if keys.parts.is_some() => quote! { ::kraken_aws::group::canonical },
        Content::Other(_) => quote! { ::kraken_aws::group::one },
    };
    if is_optional {
        quote! { #option.map_or(Some(None), |given| #resolve(#path, given, #validator).map(Some)) }
    } else {
        quote! { #resolve(#path, #option, #validator) }
    }
}

/// With a `check` for the whole list, or a `rule` for each item.
fn list(
    field: &Field,
    is_optional: bool,
    option: &TokenStream,
    path: &TokenStream,
    rule: Option<&TokenStream>,
) -> TokenStream {
    let option = if is_optional {
        option.clone()
    } else {
        quote! { Some(#option) }
    };
    let value = match rule {
        Some(check) if field.keys.check.is_some() => {
            quote! { validator.list(#path, #option, #check) }
        }
        Some(rule) => quote! { validator.each(#path, #option, #rule) },
        None => quote! { validator.list(#path, #option, |_| Ok::<(), String>(())) },
    };
    if is_optional {
        value
    } else {
        quote! { #value.flatten() }
    }
}
