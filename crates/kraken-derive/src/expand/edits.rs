//! What an edit of a field does, as its keys say.

use proc_macro2::TokenStream;
use quote::quote;

use super::Kind;
use crate::field::{Decision, Field};

/// `AwsSpec::edit_of`. Most fields are changed in place, which needs no code.
pub(super) fn function(kind: &Kind) -> TokenStream {
    let arms: Vec<_> = kind.fields.iter().filter_map(|field| arm(kind, field)).collect();
    if arms.is_empty() {
        return quote! {};
    }
    quote! {
        fn edit_of(_: &Self, after: &Self, field: &str) -> ::kraken_kind::Edit {
            let _ = after;
            match field {
                #(#arms)*
                _ => ::kraken_kind::Edit::InPlace,
            }
        }
    }
}

fn arm(kind: &Kind, field: &Field) -> Option<TokenStream> {
    let name = &field.keys.name;
    // Kraken does not manage what a spec does not have, unless the field has a default.
    let keeps = (field.shape.is_optional && field.keys.default.is_none()).then(|| {
        let ident = &field.ident;
        quote! { #name if after.#ident.is_none() => ::kraken_kind::Edit::Keeps, }
    });
    let edit = match &field.decision {
        Decision::Fixed => quote! { Replaces },
        // With its own list, the kind says which of them count.
        Decision::LaunchOnly if kind.args.hooks.at_creation.is_none() => quote! { Replaces },
        Decision::LaunchOnly | Decision::KrakenOnly => quote! { Nothing },
        Decision::Count => quote! { Scales },
        Decision::Change(_) if field.keys.stopped.is_some() => quote! { Stops },
        Decision::Change(_) | Decision::Items(..) | Decision::Own => return keeps,
    };
    Some(quote! {
        #keeps
        #name => ::kraken_kind::Edit::#edit,
    })
}
