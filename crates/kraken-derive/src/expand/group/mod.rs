//! The code of a group of fields.

mod choice;
mod compare;
mod texts;

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::Result;

use super::{
    desired::{Place, given_ty, resolved, ty},
    resource,
};
use crate::{
    cel,
    field::Field,
    group::{Args, Group},
};

/// The code of a group.
pub(crate) fn group(args: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let group = Group::of(syn::parse2(args)?, syn::parse2(item)?)?;
    let spec = spec(&group);
    if group.args.object.is_some() {
        let ident = &group.ident;
        return Ok(quote! { #spec ::kraken_kind::option_object!(#ident); });
    }
    let desired = if group.args.choice.is_some() { choice::expand(&group) } else { fields(&group) };
    let compared = match (&group.args.observed, group.args.texts) {
        (None, _) => quote! {},
        (Some(observed), Some(())) => texts::expand(&group, observed),
        (Some(observed), None) => compare::expand(&group, observed),
    };
    Ok(quote! { #spec #desired #compared })
}

/// The group as it is written, with the attributes of serde and schemars.
fn spec(group: &Group) -> TokenStream {
    let Group { args, attrs, vis, ident, fields } = group;
    let default = fields.iter().all(|field| field.shape.is_optional).then(|| quote! { Default, });
    let names: Vec<_> = match args {
        Args { choice: Some(()), problem: None, .. } => fields.iter().map(|field| &field.keys.name).collect(),
        Args { one_of, .. } => {
            one_of.iter().filter_map(|one| group.field(one)).map(|field| &field.keys.name).collect()
        }
    };
    let one_of = (!names.is_empty()).then(|| {
        quote! { #[schemars(transform = ::kraken_aws::group::one_of(&[#(#names),*]))] }
    });
    let fields = fields.iter().map(resource::field);
    let cel = cel::attribute(&args.cel);
    quote! {
        #[derive(Clone, Debug, #default PartialEq, ::serde::Serialize, ::serde::Deserialize, ::schemars::JsonSchema)]
        #one_of
        #cel
        #(#attrs)*
        #vis struct #ident {
            #(#fields,)*
        }
    }
}

/// The desired form of a group with fields, and how it is resolved.
fn fields(group: &Group) -> TokenStream {
    let Group { args, vis, ident, fields, .. } = group;
    let (desired, partial) = (desired_ident(ident), format_ident!("Partial{}", base(ident)));
    let names: Vec<_> = fields.iter().map(|field| &field.ident).collect();
    let types: Vec<_> = fields.iter().map(ty).collect();
    let default = fields.iter().all(|field| field.shape.is_optional).then(|| quote! { , Default });
    let values = fields.iter().map(value);
    let secrets = fields.iter().map(is_secret);
    let one_of = one_of(group);
    let rules = args.rules.iter().map(|rules| quote! { #rules(self, field, &partial, validator); });
    let of = format!("The desired form of [`{ident}`]. Absent fields are neither sent nor compared.");
    let known = format!("[`{desired}`] as far as it is known; `None` is a field with a problem.");
    quote! {
        #[doc = #of]
        #[derive(Clone, Debug #default)]
        #vis struct #desired {
            #(#vis #names: #types,)*
        }

        #[doc = #known]
        #[derive(Debug)]
        #vis struct #partial {
            #(#vis #names: Option<#types>,)*
        }

        impl ::kraken_aws::AwsGroup for #ident {
            type Desired = #desired;

            fn desired(
                &self,
                field: &str,
                validator: &mut ::kraken_aws::validator::SpecValidator<'_, '_>,
            ) -> Option<#desired> {
                let at = |name: &str| format!("{field}.{name}");
                // A `check` may use the fields before it.
                #(let #names = #values;)*
                let partial = #partial { #(#names),* };
                #one_of
                #(#rules)*
                Some(#desired { #(#names: partial.#names?),* })
            }

            fn is_secret(desired: &#desired) -> bool {
                #(#secrets)||*
            }
        }
    }
}

/// Exactly one of these fields is given, which the schema says too.
fn one_of(group: &Group) -> Option<TokenStream> {
    let fields: Vec<_> = group.args.one_of.iter().filter_map(|one| group.field(one)).collect();
    let (idents, names): (Vec<_>, Vec<_>) =
        fields.iter().map(|field| (&field.ident, &field.keys.name)).unzip();
    (!fields.is_empty()).then(|| {
        quote! {
            if [#(self.#idents.is_some()),*].into_iter().filter(|is_given| *is_given).count() != 1 {
                validator.problem(field, ::kraken_aws::group::exactly_one(&[#(#names),*]));
                return None;
            }
        }
    })
}

/// The value of a field, or `None` after recording a problem.
fn value(field: &Field) -> TokenStream {
    let ident = &field.ident;
    let option = if field.shape.is_optional {
        quote! { self.#ident.as_ref() }
    } else {
        quote! { &self.#ident }
    };
    resolved(field, field.shape.is_optional, &option, &place(field))
}

fn place(field: &Field) -> Place {
    let name = &field.keys.name;
    Place { path: quote! { &at(#name) }, validator: quote! { validator } }
}

fn is_secret(field: &Field) -> TokenStream {
    let ident = &field.ident;
    let is_secret = is_secret_value(field);
    if field.shape.is_optional {
        quote! { desired.#ident.as_ref().is_some_and(#is_secret) }
    } else {
        quote! { (#is_secret)(&desired.#ident) }
    }
}

/// A function of the value of a field that is given.
fn is_secret_value(field: &Field) -> TokenStream {
    let ty = given_ty(field);
    match (field.shape.group(), field.shape.is_groups()) {
        (None, _) => quote! { <#ty>::is_secret },
        (Some(group), false) => quote! { <#group as ::kraken_aws::AwsGroup>::is_secret },
        (Some(group), true) => {
            quote! { |all: &#ty| all.iter().any(<#group as ::kraken_aws::AwsGroup>::is_secret) }
        }
    }
}

/// `DesiredAction` of `ActionSpec`.
fn desired_ident(ident: &Ident) -> Ident {
    format_ident!("Desired{}", base(ident))
}

fn base(ident: &Ident) -> String {
    let name = ident.to_string();
    name.strip_suffix("Spec").unwrap_or(&name).to_owned()
}

#[cfg(test)]
mod tests;
