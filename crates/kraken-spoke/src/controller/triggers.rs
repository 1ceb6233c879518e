//! What enqueues resources: changes of what they own, of their accounts, and of the hub, and objects that are not on record. Which changes
//! of a resource do is decided by [`kraken_model::trigger`].

use std::sync::Arc;

use kraken_kind::{account::OnChange, dynamic::account_of};
use kraken_model::{ledger, status::unfollowed_condition, trigger::owner_of};
use kraken_runtime::{
    queue::{Lane, Queue},
    watch::{Change, ObjectKey},
};
use kube::{Resource, core::object::HasStatus};

use crate::{context::Context, orphans::OnOwned, shared::hub_lease::Dependents};

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
