//! A group of which exactly one field is given: its desired form is an enum.

use std::collections::BTreeSet;

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::{desired_ident, is_secret_value, place};
use crate::{
    expand::{
        desired::{given_ty, resolved},
        state::pascal_case,
    },
    field::Field,
    group::Group,
};

pub(super) fn expand(group: &Group) -> TokenStream {
    let Group { args, vis, ident, fields, .. } = group;
    let desired = desired_ident(ident);
    let variants: Vec<_> =
        fields.iter().map(|field| format_ident!("{}", pascal_case(&field.ident.to_string()))).collect();
    let types: Vec<_> = fields.iter().map(given_ty).collect();
    let names: Vec<_> = fields.iter().map(|field| &field.keys.name).collect();
    let idents = fields.iter().map(|field| &field.ident);
    let values = fields.iter().map(value);
    let secrets = fields.iter().map(is_secret_value);
    let problem = if let Some(own) = &args.problem {
        quote! { #own(&given, &[#(#names),*]) }
    } else {
        quote! { ::kraken_aws::group::exactly_one(&[#(#names),*]) }
    };
    let given = args.problem.iter().map(|_| {
        quote! { let given: Vec<&str> = given.into_iter().map(|(name, _)| name).collect(); }
    });
    let doc = format!("The desired form of [`{ident}`]: the field that is given.");
    let value_of = value_of(&types, &variants);
    quote! {
        #[doc = #doc]
        #[derive(Clone, Debug)]
        #vis enum #desired {
            #(#variants(#types),)*
        }

        impl #desired {
            #value_of
        }

        impl ::kraken_aws::AwsGroup for #ident {
            type Desired = #desired;

            fn desired(
                &self,
                field: &str,
                validator: &mut ::kraken_aws::validator::SpecValidator<'_, '_>,
            ) -> Option<#desired> {
                let at = |name: &str| format!("{field}.{name}");
                let mut given: Vec<(&str, Option<#desired>)> = vec![];
                #(if let Some(option) = &self.#idents {
                    given.push((#names, #values.map(#desired::#variants)));
                })*
                if given.len() == 1 {
                    return given.pop()?.1;
                }
                #(#given)*
                validator.problem(field, #problem);
                None
            }

            fn is_secret(desired: &#desired) -> bool {
                match desired {
                    #(#desired::#variants(value) => (#secrets)(value),)*
                }
            }
        }
    }
}

/// The value of a field that is given.
fn value(field: &Field) -> TokenStream {
    resolved(field, false, &quote! { option }, &place(field))
}

/// The value, if all fields have the same type.
fn value_of(types: &[TokenStream], variants: &[proc_macro2::Ident]) -> Option<TokenStream> {
    let distinct: BTreeSet<String> = types.iter().map(ToString::to_string).collect();
    let ty = types.first().filter(|_| distinct.len() == 1)?;
    Some(quote! {
        /// The value of the field.
        pub(crate) fn value(&self) -> &#ty {
            match self {
                #(Self::#variants(value))|* => value,
            }
        }
    })
}
