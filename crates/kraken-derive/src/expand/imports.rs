//! The fields of a spec from an observed object: the inverse of the comparison.

use proc_macro2::TokenStream;
use quote::quote;

use super::{Kind, differences::observed};
use crate::field::{Decision, Field};

/// `AwsSpec::imported`.
pub(super) fn function(kind: &Kind) -> TokenStream {
    let fields = all(&kind.fields);
    quote! {
        fn imported(observed: &Self::Observed) -> ::kraken_aws::import::Fields {
            let _ = observed;
            #[allow(unused_mut)] // a kind may have no such field
            let mut fields = ::kraken_aws::import::Fields::default();
            #(#fields)*
            fields
        }
    }
}

/// The statements that add each field to `fields`.
pub(super) fn all(fields: &[Field]) -> Vec<TokenStream> {
    fields.iter().filter_map(one).collect()
}

fn one(field: &Field) -> Option<TokenStream> {
    let (name, keys) = (&field.keys.name, &field.keys);
    if let Some(own) = &keys.import {
        return (!own.is_ident("none")).then(|| quote! { fields.own(#name, #own(observed)); });
    }
    let is_observed =
        !matches!(field.decision, Decision::LaunchOnly | Decision::KrakenOnly | Decision::Count);
    let is_generated = keys.compare.is_none() && keys.resolve.is_none() && keys.group.is_none();
    if !is_observed || !is_generated {
        return None;
    }
    let have = observed(field);
    Some(match &keys.unless {
        _ if field.shape.is_list() => quote! { fields.list(#name, &#have); },
        Some(default) => quote! { fields.one_unless(#name, #have, &#default); },
        None => quote! { fields.one(#name, #have); },
    })
}

#[cfg(test)]
mod tests {
    use syn::parse_quote;

    use super::*;

    fn code(field: syn::Field) -> Option<String> {
        one(&Field::of(field).unwrap()).map(|code| code.to_string())
    }

    fn is(found: Option<String>, wanted: &TokenStream) {
        assert_eq!(found, Some(wanted.to_string()));
    }

    #[test]
    fn a_field_is_imported_from_its_observed_value() {
        is(
            code(parse_quote! { #[field("vpcID", rule = VPC, fixed)] vpc_id: Opt<String> }),
            &quote! { fields.one("vpcID", observed.vpc_id.as_ref()); },
        );
        is(
            code(parse_quote! {
                #[field("keyName", rule = K, fixed, observed = &key_name)] key_name: Option<Public<Opt<String>>>
            }),
            &quote! { fields.one("keyName", Some(&observed.key_name)); },
        );
        is(
            code(parse_quote! {
                #[field("subnetIDs", rule = S, add = A, remove = B, observed = subnets(), published())]
                subnet_ids: Option<ListOpt<String>>
            }),
            &quote! { fields.list("subnetIDs", &observed.subnets()); },
        );
    }

    #[test]
    fn what_aws_chooses_by_itself_is_left_out() {
        is(
            code(parse_quote! {
                #[field("tenancy", rule = T, fixed, unless = "default")] tenancy: Option<Opt<String>>
            }),
            &quote! { fields.one_unless("tenancy", observed.tenancy.as_ref(), &"default"); },
        );
    }

    #[test]
    fn a_field_with_a_comparison_of_its_own_needs_an_inverse_of_its_own() {
        let compared: syn::Field = parse_quote! {
            #[field("size", rule = S, change = C, compare = Self::f, published())] size: Option<Opt<i32>>
        };
        assert_eq!(code(compared), None);
        is(
            code(parse_quote! {
                #[field("size", rule = S, change = C, compare = Self::f, import = Self::g, published())]
                size: Option<Opt<i32>>
            }),
            &quote! { fields.own("size", Self::g(observed)); },
        );
    }

    #[test]
    fn what_is_not_observed_or_not_to_be_imported_is_left_out() {
        let fields: [syn::Field; 3] = [
            parse_quote! { #[field("a", launch_only)] a: Option<Opt<bool>> },
            parse_quote! { #[field("b", kraken_only)] b: Option<Generate> },
            parse_quote! { #[field("c", rule = C, fixed, import = none)] c: Option<Opt<String>> },
        ];
        for field in fields {
            assert_eq!(code(field), None);
        }
    }
}
