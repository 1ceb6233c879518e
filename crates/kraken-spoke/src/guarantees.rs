//! What holds at each call that changes remote objects, whichever step led to it. If it does not, Kraken has a defect: the reconcile
//! panics before the call, which ends only this reconcile and is reported as `InternalError`.

use std::sync::Arc;

use kraken_api::Drift;
use kraken_kind::{
    Launch,
    dynamic::{Change, Object},
};
use kraken_model::{
    ids::listed,
    ledger::{self, Ledger},
    observation::Observation,
    policy::retention::ReleasePolicy,
    recorded::has_finalizer,
};
use kube::Resource;

use crate::context::Reconcile;

/// The last version of the resource that this process read or wrote.
fn latest(reconcile: &Reconcile<'_>) -> Arc<Object> {
    reconcile.memory.copies.newest(reconcile.object.clone())
}

/// The last launch or adoption that is persisted.
fn persisted(reconcile: &Reconcile<'_>) -> Option<Ledger> {
    ledger::of(&latest(reconcile)).or_else(|| reconcile.memory.launch.ledger.clone())
}

/// Nothing is created or changed for a resource that is paused or being deleted, nor without the connection of its account.
fn is_wanted(reconcile: &Reconcile<'_>) {
    assert!(reconcile.is_connected, "a change without the connection of the account");
    let object = latest(reconcile);
    assert!(object.meta().deletion_timestamp.is_none(), "a change for a resource that is being deleted");
    assert!(!object.lifecycle().paused, "a change for a resource that is paused");
}

/// A create call: the finalizer and the launch are persisted, in the place where the call is made, and the limits of the launch were
/// checked.
pub(crate) fn creates(reconcile: &Reconcile<'_>, observation: &Observation<'_>, launch: &Launch) {
    is_wanted(reconcile);
    let is_held = has_finalizer(&*latest(reconcile));
    assert!(is_held, "a launch without a finalizer: its objects would be left behind");
    let ledger = persisted(reconcile);
    let epoch = ledger.as_ref().map(|ledger| ledger.epoch);
    assert_eq!(epoch, Some(launch.epoch), "a launch that is not persisted");
    assert_eq!(
        launch.token,
        reconcile.identity.token(launch.epoch),
        "a launch with the token of another one"
    );
    let recorded = ledger.and_then(|ledger| ledger.location);
    if let (Some(recorded), Some(here)) = (&recorded, &observation.location) {
        assert_eq!(recorded, here, "a launch in another place than the persisted one");
    }
}

/// A change in place: there is an object to change, only surplus objects are deleted, and drift that is only reported is not reverted.
pub(crate) fn changes(
    reconcile: &Reconcile<'_>,
    observation: &Observation<'_>,
    change: &Change,
    is_drift: bool,
) {
    is_wanted(reconcile);
    let kind = &reconcile.context.kind;
    let (ids, deleted) = (observation.current.ids(), kind.deletes(change));
    let is_surplus = ids.len() >= deleted.len() + kind.max_objects(observation.effective());
    assert!(deleted.is_empty() || is_surplus, "{} of {} is not surplus", listed(&deleted), listed(&ids));
    assert!(!ids.is_empty(), "a change without a remote object");
    let is_reported = is_drift && reconcile.lifecycle().drift == Drift::Report;
    assert!(!is_reported, "drift of {} is reverted although it is only reported", listed(&ids));
}

/// A claim: the adoption of this object is persisted, so that its deletion keeps it.
pub(crate) fn claims(reconcile: &Reconcile<'_>, id: &String) {
    is_wanted(reconcile);
    let is_recorded = persisted(reconcile).is_some_and(|ledger| {
        ledger.adopts && (ledger.adopted.contains(id) || ledger.taken_back.contains(id))
    });
    assert!(is_recorded, "an adoption of {id} that is not persisted");
}

/// A take-over of what a former resource left: it is persisted, so that a crash does not lose the rest of it.
pub(crate) fn takes_over(reconcile: &Reconcile<'_>) {
    assert!(reconcile.is_connected, "a take-over without the connection of the account");
    assert!(!reconcile.lifecycle().paused, "a take-over for a resource that is paused");
    let is_recorded = persisted(reconcile).is_some_and(|ledger| ledger.former.is_some());
    assert!(is_recorded, "a take-over that is not persisted");
}

/// A deletion: the lifecycle allows it, for each of the objects.
pub(crate) fn deletes(reconcile: &Reconcile<'_>, policy: ReleasePolicy<'_>, ids: &[String]) {
    let lifecycle = reconcile.lifecycle();
    assert!(!lifecycle.paused, "{} of a paused resource is deleted", listed(ids));
    assert!(!lifecycle.protect, "{} is deleted although it is protected", listed(ids));
    let kept: Vec<String> = ids.iter().filter(|id| policy.keeps(id)).cloned().collect();
    assert!(kept.is_empty(), "{} is deleted although it is to be kept", listed(&kept));
}

/// A release: each of the objects is to be kept.
pub(crate) fn releases(policy: ReleasePolicy<'_>, ids: &[String]) {
    let doomed: Vec<String> = ids.iter().filter(|id| !policy.keeps(id)).cloned().collect();
    assert!(doomed.is_empty(), "{} loses its owner tags although it is to be deleted", listed(&doomed));
}
