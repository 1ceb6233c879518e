//! The fields that a call must not send.

use std::collections::BTreeMap;

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, Result};

use super::{Kind, differences};
use crate::field::Field;

/// `AwsSpec::without_ignored`: a call that sends several fields does not send ignored ones.
pub(super) fn without_ignored(kind: &Kind) -> Result<TokenStream> {
    let body = if let Some(own) = &kind.args.hooks.without_ignored {
        quote! { #own(desired, observed, ignored) }
    } else {
        let fields = sent_together(kind)?;
        let parts: Vec<_> = kind.desired().filter(|field| field.keys.parts.is_some()).collect();
        if fields.is_empty() && parts.is_empty() {
            return Ok(quote! {});
        }
        let names: Vec<_> = fields.iter().map(|field| &field.keys.name).collect();
        let idents = fields.iter().map(|field| &field.ident);
        let of_groups = fields.iter().filter(|field| field.keys.group.is_some()).map(|field| {
            let (ident, name) = (&field.ident, &field.keys.name);
            quote! { kept.#ident.as_mut().is_some_and(|group| group.leave_ignored(#name, ignored)) }
        });
        let of_parts = parts.into_iter().map(|field| {
            let (ident, name, have) = (&field.ident, &field.keys.name, differences::observed(field));
            quote! { ::kraken_aws::group::leave_ignored(#name, &mut kept.#ident, #have.as_ref(), ignored) }
        });
        quote! {
            let _ = observed;
            let mut kept = desired.clone();
            let mut is_any = false;
            #(is_any |= ignored.covers(#names);)*
            #(is_any |= #of_groups;)*
            #(is_any |= #of_parts;)*
            #(kept.#idents.take_if(|_| ignored.covers(#names));)*
            is_any.then_some(kept)
        }
    };
    Ok(quote! {
        fn without_ignored(
            desired: &Desired,
            observed: &Self::Observed,
            ignored: &::kraken_kind::Ignored,
        ) -> Option<Desired> {
            #body
        }
    })
}

/// The fields whose change sets other fields too.
fn sent_together(kind: &Kind) -> Result<Vec<&Field>> {
    let mut uses = BTreeMap::<String, usize>::new();
    for variant in kind.desired().filter_map(Field::change) {
        *uses.entry(variant.ident.to_string()).or_default() += 1;
    }
    // A call sends all fields of a group.
    let is_shared = |field: &&Field| {
        field.keys.parts.is_none()
            && field.change().is_some_and(|variant| {
                field.keys.group.is_some()
                    || uses.get(&variant.ident.to_string()).is_some_and(|uses| *uses > 1)
            })
    };
    let shared: Vec<_> =
        kind.desired().filter(is_shared).filter(|field| field.keys.always_sent.is_none()).collect();
    match shared.iter().find(|field| !field.shape.is_optional) {
        None => Ok(shared),
        Some(field) => Err(Error::new(
            field.ident.span(),
            format!(
                "`{}` is required and sent together with other fields: add `always_sent`, or a change of its own",
                field.ident
            ),
        )),
    }
}
