//! The changes that trigger a reconcile.

use std::sync::Arc;

use kraken_api::{LEDGER_ANNOTATION, conditions};
use kraken_runtime::{
    queue::{Lane, Queue},
    watch::{Change, ObjectKey, Store, version},
};
use kube::{Resource, api::ObjectMeta, core::object::HasStatus};

use crate::{
    account::OnChange,
    context::Context,
    dynamic::{Object, account_of},
    model::{graph, ledger, recorded::has_finalizer, status::unfollowed_condition},
    orphans::OnOwned,
    shared::hub_lease::Dependents,
};

/// Enqueues the resources that use an account when the account changes.
pub(super) fn enqueue_users(context: &Arc<Context>) -> OnChange {
    // Weak, as in `dependents`: the provider keeps this until the process ends.
    let context = Arc::downgrade(context);
    Arc::new(move |account: &ObjectKey| {
        let Some(context) = context.upgrade() else { return };
        if let Some(uses) = &context.uses {
            uses.wake();
        }
        let Some(kind) = context.info().accounts else { return };
        // At the start, every Account is reported as a change: only the text of the resources of its namespace is read.
        context.objects.visit_raw(|object| {
            let is_in_namespace = object.metadata.namespace.as_deref() == Some(&*account.namespace);
            let used = || account_of(object.spec.as_deref(), &kind).ok().flatten();
            if is_in_namespace && used().as_deref().unwrap_or(kind.default_name) == &*account.name {
                context.queue.add(ObjectKey::of(&object.metadata), Lane::Edit);
            }
        });
    })
}

/// The resources of this kind that have references: each has a DependencyRequest.
pub(super) fn dependents(context: &Arc<Context>) -> Dependents {
    // Weak references: the context owns the lease, and a reference cycle would never be freed, which matters if
    // controllers start and stop in one process.
    let (any, all) = (Arc::downgrade(context), Arc::downgrade(context));
    let enqueue = move |is_silent: bool| {
        let Some(all) = all.upgrade() else { return };
        for request in all.requests.all() {
            let Some(owner) = owner_of(request.meta()) else { continue };
            let is_reported = all.objects.get(&owner).is_some_and(|object| {
                object.status().is_some_and(|status| unfollowed_condition(&status.conditions).is_some())
            });
            if is_reported != is_silent {
                all.queue.add(owner, Lane::Resync);
            }
        }
    };
    let exist = move || any.upgrade().is_some_and(|context| !context.requests.is_empty());
    Dependents { exist: Box::new(exist), enqueue: Box::new(enqueue) }
}

/// Enqueues a resource, for a search by tag, if an object of a later launch than any on its record exists: a restored backup is older
/// than that launch. A deletion searches by tag in any case.
pub(crate) fn search_unrecorded(context: &Arc<Context>) -> OnOwned {
    let context = context.clone();
    Box::new(move |key, uid, epoch| {
        let Some(object) = context.objects.get(key) else { return };
        let meta = object.meta();
        if meta.uid.as_deref() != Some(uid) || meta.deletion_timestamp.is_some() {
            return;
        }
        if ledger::of(&object).is_none_or(|ledger| ledger.epoch < epoch) {
            context.memories.search(key.clone());
            context.queue.add(key.clone(), Lane::Edit);
        }
    })
}

/// The resource that owns a DependencyRequest or a StateDeclaration; the watch returns only those of this kind.
fn owner_of(meta: &ObjectMeta) -> Option<ObjectKey> {
    let (_, name) = graph::owner_of(meta)?;
    Some(ObjectKey::new(meta.namespace.as_deref().unwrap_or_default(), &name))
}

/// Enqueues the resource that owns the changed object.
pub(super) fn enqueue_owner<K: Resource>(
    queue: Queue<ObjectKey>,
) -> impl Fn(Change<K>) + Send + Sync + Clone + 'static {
    move |change| {
        // If a client removed the owner reference, the previous owner is enqueued.
        let before = match &change {
            Change::Applied(_, Some(before)) => Some(before.meta()),
            _ => None,
        };
        if let Some(owner) = owner_of(change.meta()).or_else(|| before.and_then(owner_of)) {
            queue.add(owner, Lane::Edit);
        }
    }
}

/// Whether a change of an owned object reveals nothing: a new list has it in the known version, and its owner exists.
/// Without the owner, a restored backup of the API server may have brought it back after this process deleted it, and before
/// the watch returned its deletion: nothing else would lead to it.
pub(crate) fn is_known<K: Resource>(change: &Change<K>, owners: &Store<Object>) -> bool {
    let Change::Listed(listed) = change else { return false };
    owner_of(listed.meta()).is_none_or(|owner| owners.contains(&owner))
}

/// Whether a change triggers a reconcile. The controller's own writes of status, finalizer and ledger do not; every
/// other change does. This controller never removes finalizer or ledger before its work is complete, never puts back a former
/// ledger, and removes no condition.
pub(crate) fn is_trigger(change: &Change<Object>) -> bool {
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
    if now.undecoded().is_some() != before.undecoded().is_some() {
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
pub(crate) fn is_restored(change: &Change<Object>) -> bool {
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
