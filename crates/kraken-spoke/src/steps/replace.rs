//! Replacement: what a field that cannot be changed leads to, where `lifecycle.replace` allows it. Client required.
//!
//! It is persisted as an intent that says that earlier launches are replaced; what each part then needs is decided from
//! what is there, so a crash at any point goes on where it was.

use kraken_api::{Replace, reasons::Reason};

use crate::{
    FailureClass, Identity,
    context::{Context, Sight},
    dynamic::{DynKind, Object, Observed},
    intent::Intent,
    memory::Memory,
    outcome::{Outcome, listed, refused},
    steps::{record::record, unprotect::unprotect},
};

/// What a replacement tells apart.
pub(crate) struct Parts {
    /// What is to go, while a replacement is under way.
    pub outgoing: Option<Observed>,
    /// What counts as this resource's.
    pub current: Observed,
}

/// Tells apart what is replaced and what replaces it, by the epoch that each was launched under: the boundary is that of the
/// launch by which the replacement began, however many followed. No client required.
pub(crate) fn parts(kind: &dyn DynKind, intent: Option<&Intent>, observed: Observed) -> Parts {
    let Some(boundary) = intent.and_then(|intent| intent.replaced_before) else {
        return Parts { outgoing: None, current: observed };
    };
    let (before, since) = kind.split(observed, boundary);
    let outgoing = (!kind.is_gone(&before)).then_some(before);
    Parts { outgoing, current: since }
}

/// Deletes what is to go when its time has come; `None` means that what replaces it comes first.
pub(crate) async fn retire(
    context: &Context,
    object: &Object,
    memory: &mut Memory,
    sight: &Sight<'_>,
    outgoing: &Observed,
    is_replacement_up: bool,
) -> Option<Outcome> {
    // `Never`, set while a replacement was under way, must not leave a gap.
    if sight.fates.lifecycle.replace != Replace::DeleteFirst && !is_replacement_up {
        return None;
    }
    Some(let_go(context, object, memory, sight, outgoing).await)
}

/// Asks for the deletion of what is replaced, and leaves behind what is to be kept.
pub(crate) async fn let_go(
    context: &Context,
    object: &Object,
    memory: &mut Memory,
    sight: &Sight<'_>,
    replaced: &Observed,
) -> Outcome {
    let kept: Vec<String> =
        context.kind.ids(replaced).into_iter().filter(|id| sight.fates.keeps(id)).collect();
    let (to_keep, to_delete) = context.kind.select(replaced.clone(), &kept);
    let ids = context.kind.ids(&to_delete);
    if !ids.is_empty() {
        return delete(context, object, memory, &sight.identity, &to_delete).await;
    }
    if kept.is_empty() {
        let message = "waiting for the cloud to finish the deletion of what is replaced".to_owned();
        return Outcome::InProgress(Reason::Replacing, message);
    }
    if let Err(failure) = context.external.release(&sight.identity, &to_keep).await {
        return refused(failure, Reason::Replacing);
    }
    memory.released(&kept);
    let note = format!("kept {}, which is replaced, without Kraken's tags", listed(&kept));
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
                let note = format!("asked for the deletion of {}, which is replaced", listed(&ids));
                record(context, object, Reason::Replaced, &note).await;
            }
            Outcome::InProgress(Reason::Replacing, format!("deleting {}, which is replaced", listed(&ids)))
        }
        Err(failure) if failure.class == FailureClass::Protected => {
            unprotect(context, object, identity, replaced, failure, Reason::Replacing).await
        }
        // Something else has to go first, which the cloud names.
        Err(failure) => refused(failure, Reason::Replacing),
    }
}
