//! Which changes of a resource, and of the objects that it owns, trigger a reconcile. Pure.

use kraken_api::{LEDGER_ANNOTATION, conditions};
use kraken_kind::dynamic::Object;
use kraken_runtime::watch::{Change, ObjectKey, Store, version};
use kube::{Resource, api::ObjectMeta, core::object::HasStatus};

use crate::{graph, ledger, policy::undecoded, recorded::has_finalizer};

/// The resource that owns a DependencyRequest or a StateDeclaration; the watch returns only those of this kind.
pub fn owner_of(meta: &ObjectMeta) -> Option<ObjectKey> {
    let (_, name) = graph::owner_of(meta)?;
    Some(ObjectKey::new(meta.namespace.as_deref().unwrap_or_default(), &name))
}

/// Whether a change of an owned object reveals nothing: a new list has it in the known version, and its owner exists.
/// Without the owner, a restored backup of the API server may have brought it back after this process deleted it, and before
/// the watch returned its deletion: nothing else would lead to it.
pub fn is_known<K: Resource>(change: &Change<K>, owners: &Store<Object>) -> bool {
    let Change::Listed(listed) = change else { return false };
    owner_of(listed.meta()).is_none_or(|owner| owners.contains(&owner))
}

/// Whether a change triggers a reconcile. The controller's own writes of status, finalizer and ledger do not; every
/// other change does. This controller never removes finalizer or ledger before its work is complete, never puts back a former
/// ledger, and removes no condition.
pub fn is_trigger(change: &Change<Object>) -> bool {
    let (now, before) = match change {
        Change::Applied(now, Some(before)) => (now, before),
        // In a list with the known version, only a restored backup is news.
        Change::Listed(_) => return false,
        Change::Applied(..) | Change::Deleted(_) | Change::Invalid(..) => return true,
    };
    if (has_finalizer(&**before) && !has_finalizer(&**now)) || has_lost_ledger(now, before) {
        return true;
    }
    if (is_unreported(now) && !is_unreported(before)) || is_rolled_back(now, before) {
        return true;
    }
    // Also if only its status changed: one that does not decode counts as a spec that does not.
    if undecoded::of(now).is_some() != undecoded::of(before).is_some() {
        return true;
    }
    let (now, before) = (now.meta(), before.meta());
    let annotations = |meta: &ObjectMeta| {
        let mut annotations = meta.annotations.clone().unwrap_or_default();
        annotations.remove(LEDGER_ANNOTATION);
        annotations
    };
    now.uid != before.uid
        || now.generation != before.generation
        || now.deletion_timestamp != before.deletion_timestamp
        || annotations(now) != annotations(before)
}

/// Whether the ledger was removed, or a former one put back.
fn has_lost_ledger(now: &Object, before: &Object) -> bool {
    let epoch = |object: &Object| ledger::of(object).map(|ledger| ledger.epoch);
    epoch(now) < epoch(before)
}

/// Whether an object is older than the one before it, or its status is about an older generation. Without a resync,
/// nothing else would lead to a status of the current generation.
fn is_rolled_back(now: &Object, before: &Object) -> bool {
    let reported = |object: &Object| object.status().and_then(|status| status.observed_generation);
    is_older(now, before) || reported(now) < reported(before)
}

/// Whether an object is older than the one before it, as after a restored backup of the API server.
fn is_older(now: &Object, before: &Object) -> bool {
    version(now.meta()) < version(before.meta())
}

/// Whether a backup of the API server was restored, and with it an older version of the object.
pub fn is_restored(change: &Change<Object>) -> bool {
    matches!(change, Change::Applied(now, Some(before)) if is_older(now, before))
}

/// Whether a status was not written by this controller: it has no Ready condition, or is about a generation that has
/// not existed.
fn is_unreported(object: &Object) -> bool {
    let Some(status) = object.status() else { return true };
    conditions::get(&status.conditions, conditions::READY).is_none()
        || status.observed_generation.is_none()
        || status.observed_generation > object.meta().generation
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
    use kraken_api::names;

    use super::*;

    #[test]
    fn owner_is_identified_by_the_name_unless_it_is_truncated() {
        let owned_by = |name: &str, owner: &str| {
            let owner = OwnerReference {
                controller: Some(true),
                name: owner.to_owned(),
                ..OwnerReference::default()
            };
            owner_of(&ObjectMeta {
                name: Some(name.to_owned()),
                namespace: Some("ns".to_owned()),
                owner_references: Some(vec![owner]),
                ..ObjectMeta::default()
            })
        };
        let edited = owned_by("vpc.aws.main", "edited");
        assert_eq!(edited, Some(ObjectKey::new("ns", "main")));
        let long = "a".repeat(253);
        let truncated = owned_by(&names::owned_name("vpc.aws", &long), &long);
        assert_eq!(truncated, Some(ObjectKey::new("ns", &long)));
    }
}
