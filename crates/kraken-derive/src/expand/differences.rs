//! The comparison of the desired state with the observed object.

use proc_macro2::TokenStream;
use quote::quote;

use super::{Kind, changes};
use crate::field::{Decision, Field, Variant};

/// `AwsSpec::differences`: fixed fields first, then changes; both in the order of the fields.
pub(super) fn function(kind: &Kind) -> TokenStream {
    let all: Vec<_> = ordered(kind).filter_map(|field| one(kind, field)).collect();
    let order = kind.args.hooks.order.iter().map(|order| quote! { #order(desired, &mut found); });
    // A kind may have no field that is compared.
    let unused = all.is_empty().then(|| quote! { let _ = (desired, observed); });
    let mutable = (!all.is_empty()).then(|| quote! { mut });
    quote! {
        fn differences(
            desired: &Desired,
            observed: &Self::Observed,
        ) -> Vec<::kraken_kind::Difference<Self::Change>> {
            #unused
            let #mutable found = Vec::new();
            #(found.extend(#all);)*
            #(#order)*
            found
        }
    }
}

/// The fields in the order of their differences.
pub(super) fn ordered(kind: &Kind) -> impl Iterator<Item = &Field> {
    let is_fixed = |field: &&Field| matches!(field.decision, Decision::Fixed);
    let (fixed, others): (Vec<_>, Vec<_>) = kind.desired().partition(is_fixed);
    fixed.into_iter().chain(others)
}

/// The differences of one field, as something that can be iterated over.
fn one(kind: &Kind, field: &Field) -> Option<TokenStream> {
    let found = compared(kind, field)?;
    Some(if field.keys.stopped.is_some() {
        quote! { (#found).into_iter().map(::kraken_aws::diff::stopped) }
    } else {
        found
    })
}

fn compared(kind: &Kind, field: &Field) -> Option<TokenStream> {
    if let Some(compare) = &field.keys.compare {
        return Some(quote! { #compare(desired, observed) });
    }
    let (name, desired) = (&field.keys.name, field.wanted());
    if let (Some(()), Decision::Change(variant)) = (field.keys.parts, &field.decision) {
        let (ident, have, change) = (&field.ident, observed(field), changes::variant(kind, variant));
        return Some(quote! {
            ::kraken_aws::group::differences(#name, &desired.#ident, #have.as_ref(), || #change)
        });
    }
    if let (Some(()), Decision::Change(variant)) = (&field.keys.group, &field.decision) {
        let change = changes::variant(kind, variant);
        return Some(quote! {
            #desired.into_iter().flat_map(|group| group.differences(#name, observed, || #change))
        });
    }
    let have = observed(field);
    Some(match &field.decision {
        Decision::Fixed if kind.count().is_some() => {
            let noun = &kind.args.noun;
            quote! { ::kraken_aws::diff::fixed_at_launch(#name, #desired, #have, #noun) }
        }
        Decision::Fixed => quote! { ::kraken_aws::diff::fixed(#name, #desired, #have) },
        Decision::Change(variant) if field.shape.is_list() => {
            let change = changes::variant(kind, variant);
            quote! { ::kraken_aws::diff::of_sets(#name, #desired, &#have, #change) }
        }
        Decision::Change(variant) => changed(kind, field, variant, &desired, &have),
        Decision::Items(add, remove) => {
            let (add, remove) = (changes::variant(kind, add), changes::variant(kind, remove));
            quote! { ::kraken_aws::diff::of_lists(#name, #desired, &#have, #add, #remove) }
        }
        Decision::Own | Decision::LaunchOnly | Decision::KrakenOnly | Decision::Count => return None,
    })
}

/// A value that is changed in place.
fn changed(
    kind: &Kind,
    field: &Field,
    variant: &Variant,
    desired: &TokenStream,
    have: &TokenStream,
) -> TokenStream {
    let (name, change) = (&field.keys.name, changes::variant(kind, variant));
    let is_known_only = field.keys.deep.or(field.keys.stopped).is_some();
    let have = if is_known_only {
        quote! { Some(have) }
    } else {
        have.clone()
    };
    let compared = if variant.payload.is_none() {
        quote! { ::kraken_aws::diff::changed(#name, #desired, #have, #change) }
    } else {
        quote! {
            #desired.and_then(|wanted| {
                let change = #change(wanted.expose().clone());
                ::kraken_aws::diff::changed(#name, Some(wanted), #have, change)
            })
        }
    };
    if !is_known_only {
        return compared;
    }
    let read = observed(field);
    quote! { #read.and_then(|have| #compared) }
}

/// The observed value: an optional reference, or a list.
pub(super) fn observed(field: &Field) -> TokenStream {
    let named = field.keys.observed.as_ref();
    let ident = named.map_or(&field.ident, |observed| &observed.ident);
    match named {
        Some(observed) if observed.is_method => quote! { observed.#ident() },
        Some(observed) if observed.is_required => quote! { Some(&observed.#ident) },
        _ if field.shape.is_list() => quote! { observed.#ident },
        _ => quote! { observed.#ident.as_ref() },
    }
}
