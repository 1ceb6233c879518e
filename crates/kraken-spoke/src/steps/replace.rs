//! Replacement: what a field that cannot be changed leads to, where `lifecycle.replace` allows it. Client required.
//!
//! It is persisted as an intent that says that earlier launches are replaced; what each part then needs is decided from
//! what is there, so a crash at any point goes on where it was.

use kraken_api::{HasLifecycle, Replace, reasons::Reason};
use kube::{Resource, core::object::HasSpec};

use crate::{
    External, FailureClass, Identity,
    context::Context,
    intent::Intent,
    outcome::{Outcome, listed, refused},
    steps::unprotect::unprotect,
};

/// What a replacement tells apart.
pub(crate) struct Parts<O> {
    /// What is to go, while a replacement is under way.
    pub outgoing: Option<O>,
    /// What counts as this resource's.
    pub current: O,
}

/// Tells apart what is replaced and what replaces it, by the epoch that each was launched under. No client required.
pub(crate) fn parts<E: External>(object: &impl Resource, observed: E::Observed) -> Parts<E::Observed> {
    let Some(intent) = Intent::of(object).filter(|intent| intent.replaces) else {
        return Parts { outgoing: None, current: observed };
    };
    let (before, since) = E::split(observed, intent.epoch);
    let outgoing = (!E::is_gone(&before)).then_some(before);
    Parts { outgoing, current: since }
}

/// Deletes what is to go when its time has come; `None` means that what replaces it comes first.
pub(crate) async fn retire<E: External>(
    context: &Context<E>,
    object: &E::Kind,
    identity: &Identity,
    outgoing: &E::Observed,
    is_replacement_up: bool,
) -> Option<Outcome> {
    let order = object.spec().lifecycle().replace;
    // `Never`, set while a replacement was under way, must not leave a gap.
    if order != Replace::DeleteFirst && !is_replacement_up {
        return None;
    }
    let ids = E::ids(outgoing);
    if ids.is_empty() {
        let message = "waiting for the cloud to finish the deletion of what is replaced".to_owned();
        return Some(Outcome::InProgress(Reason::Replacing, message));
    }
    Some(match context.external.delete(identity, outgoing).await {
        Ok(()) => {
            Outcome::InProgress(Reason::Replacing, format!("deleting {}, which is replaced", listed(&ids)))
        }
        // Something else has to go first, which the cloud names.
        Err(failure) if failure.class == FailureClass::Protected => {
            unprotect(context, object, identity, outgoing, failure, Reason::Replacing).await
        }
        Err(failure) => refused(failure, Reason::Replacing),
    })
}
