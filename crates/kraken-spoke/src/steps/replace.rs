//! Replacement of remote objects because of a field that cannot be changed in place, if `lifecycle.replace` allows it.
//! Client required.
//!
//! The replacement is persisted as an intent with the epoch from which objects are new. Each further step is decided
//! from the observed objects, so after a crash at any point the replacement continues.

use kraken_api::{Replace, reasons::Reason};

use crate::{
    FailureClass, Identity,
    context::{Context, Observation},
    dynamic::{DynKind, Object, Observed},
    intent::Intent,
    memory::Memory,
    outcome::{Outcome, listed, refused},
    steps::{record::record, unprotect::unprotect},
};

/// The objects on both sides of a replacement.
pub(crate) struct Parts {
    /// The objects to delete, while a replacement is in progress.
    pub outgoing: Option<Observed>,
    /// The objects that count as the resource's current ones.
    pub current: Observed,
}

/// Splits replaced objects from their replacements by the epoch of their launch: the boundary is the launch that
/// started the replacement, regardless of how many followed. No client required.
pub(crate) fn parts(kind: &dyn DynKind, intent: Option<&Intent>, observed: Observed) -> Parts {
    let Some(boundary) = intent.and_then(|intent| intent.replaced_before) else {
        return Parts { outgoing: None, current: observed };
    };
    let (before, since) = kind.split(observed, boundary);
    let outgoing = (!kind.is_gone(&before)).then_some(before);
    Parts { outgoing, current: since }
}

/// Deletes the outgoing objects when they are due; `None` means that their replacement must be created first.
pub(crate) async fn retire(
    context: &Context,
    object: &Object,
    memory: &mut Memory,
    sight: &Observation<'_>,
    outgoing: &Observed,
    is_replacement_up: bool,
) -> Option<Outcome> {
    // `Never`, set while a replacement is in progress, must not leave the resource without objects.
    if sight.policy.lifecycle.replace != Replace::DeleteFirst && !is_replacement_up {
        return None;
    }
    Some(let_go(context, object, memory, sight, outgoing).await)
}

/// Requests the deletion of the replaced objects, and releases those that are to be kept.
pub(crate) async fn let_go(
    context: &Context,
    object: &Object,
    memory: &mut Memory,
    sight: &Observation<'_>,
    replaced: &Observed,
) -> Outcome {
    let kept: Vec<String> =
        context.kind.ids(replaced).into_iter().filter(|id| sight.policy.keeps(id)).collect();
    let (to_keep, to_delete) = context.kind.select(replaced.clone(), &kept);
    let ids = context.kind.ids(&to_delete);
    if !ids.is_empty() {
        return delete(context, object, memory, &sight.identity, &to_delete).await;
    }
    if kept.is_empty() {
        let message = "waiting for the provider to finish the deletion of the replaced objects".to_owned();
        return Outcome::InProgress(Reason::Replacing, message);
    }
    if let Err(failure) = context.external.release(&sight.identity, &to_keep).await {
        return refused(failure, Reason::Replacing);
    }
    memory.released(&kept);
    let note = format!("released {}, which is replaced: it is kept without Kraken's tags", listed(&kept));
    record(context, object, Reason::Released, &note).await;
    Outcome::InProgress(Reason::Replacing, note)
}

async fn delete(
    context: &Context,
    object: &Object,
    memory: &mut Memory,
    identity: &Identity,
    replaced: &Observed,
) -> Outcome {
    let ids = context.kind.ids(replaced);
    match context.external.delete(identity, replaced).await {
        Ok(()) => {
            let is_first = ids.iter().any(|id| !memory.deleted_ids.contains(id));
            memory.deleting(&ids);
            if is_first {
                let note = format!("requested the deletion of {}, which is replaced", listed(&ids));
                record(context, object, Reason::Replaced, &note).await;
            }
            Outcome::InProgress(Reason::Replacing, format!("deleting {}, which is replaced", listed(&ids)))
        }
        Err(failure) if failure.class == FailureClass::Protected => {
            unprotect(context, object, identity, replaced, failure, Reason::Replacing).await
        }
        // Another object must be deleted first; the provider's message names it.
        Err(failure) => refused(failure, Reason::Replacing),
    }
}
