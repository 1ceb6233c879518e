//! Step 3: the deletion of a resource. It needs only the identity, never a value or a valid spec. The finalizer is removed
//! when the provider reports that all remote objects are deleted. Client required.

use kraken_api::{FINALIZER, reasons::Reason};
use kraken_kind::{Failure, dynamic::Observed};
use kraken_model::{
    ids::{listed, union, without},
    ledger::{Clock, Ledger},
    outcome::Outcome,
    policy::{
        approval,
        launch_limit::confirmed_at,
        paused, protection,
        retention::{ReleasePolicy, adopted},
        unknown_creation,
    },
    recorded::{RecordedState, Shown, has_finalizer, is_outstanding},
};
use kraken_runtime::{
    clock::{Instant, now},
    queue::Lane,
    watch::ObjectKey,
};
use kube::{Resource, core::object::HasStatus};
use serde_json::json;

use crate::{
    actions::{
        event::publish_event,
        location, operate, release, remove_finalizer,
        retag::{Untagged, awaiting_tags, retag},
        states,
    },
    context::{Reconcile, place},
    guarantees,
    steps::{connect, gather::own_secret, restore},
};

/// What a deletion knows of the remote objects.
struct DeletionState<'a> {
    ledger: Option<&'a Ledger>,
    policy: ReleasePolicy<'a>,
    recorded: RecordedState,
    clock: Clock,
}

/// One step of the deletion of a resource.
pub(crate) async fn remove(reconcile: &mut Reconcile<'_>) -> Result<Outcome, Outcome> {
    let object = reconcile.object.clone();
    if !has_finalizer(&*object) {
        return release_dependencies(reconcile).await.map(|()| Outcome::Removed);
    }
    let lifecycle = object.lifecycle();
    paused::permits(lifecycle)?;
    let clock = reconcile.clock();
    if reconcile.memory.launch.ledger.is_none() {
        // It came from a backup with its finalizer, or nothing was launched after the finalizer was written.
        connect::before_launch(reconcile).await?;
    }
    // One that is lost is not restored any more: this process does not know when the last launch was.
    let is_lost = object.status().is_some_and(|status| !status.external_ids.is_empty());
    let rebuilt = || is_lost.then(|| restore::rebuilt(object.status(), 0, clock.last_create));
    let ledger = reconcile.memory.launch.ledger.clone().or_else(rebuilt);
    reconcile.memory.launch.ledger.clone_from(&ledger);
    // In another location the objects are not visible and must not be treated as deleted.
    location::here(reconcile, ledger.as_ref()).await?;
    let recorded = reconcile.recorded(ledger.as_ref(), clock);
    let adopted = adopted(object.status(), ledger.as_ref());
    let policy = ReleasePolicy::of(lifecycle, &adopted, ledger.as_ref());
    // The finalizer was not removed, and the spec may have been edited since.
    reconcile.memory.deletion.releasing_ids.retain(|id| policy.keeps(id));
    let expects_deletion = policy.deletes_any(&recorded.ids);
    if expects_deletion {
        permitted(reconcile).await?;
    }
    let mut state = DeletionState { ledger: ledger.as_ref(), policy, recorded, clock };
    let observed = observe(reconcile, &mut state.recorded, policy).await.map_err(Outcome::Failed)?;
    restore_tags(reconcile, &state, &observed).await?;
    let fate = observed.fate.clone();
    let is_unseen = is_unseen(reconcile, &mut state, &observed);
    let (kept, doomed) = split_retained(&observed, policy);
    if !doomed.is_gone() {
        if !expects_deletion {
            permitted(reconcile).await?;
        }
        guarantees::deletes(reconcile, policy, &doomed.ids());
        return delete(reconcile, &doomed).await;
    }
    let confirmed = confirmed_at(&*object, now());
    let launched_at = reconcile.launched_at(ledger.as_ref());
    unknown_creation::permits(&fate, launched_at, confirmed, Reason::Deleting)?;
    if is_unseen {
        // An object that is not visible would be left behind, or keep its tags.
        let message =
            "waiting to confirm that no remote object remains; the provider may not return a new one yet"
                .to_owned();
        return Ok(Outcome::InProgress(Reason::Deleting, message));
    }
    release(reconcile, &kept, policy.adopted, state.clock).await
}

/// Restores owner tags that were removed from objects to delete: an object without owner tags is not deleted.
async fn restore_tags(
    reconcile: &mut Reconcile<'_>,
    state: &DeletionState<'_>,
    observed: &Observed,
) -> Result<(), Outcome> {
    let untagged = observed.untagged();
    let ids: Vec<String> = untagged.into_iter().filter(|id| !state.policy.keeps(id)).collect();
    if ids.is_empty() {
        return Ok(());
    }
    let untagged = Untagged { observed, ids: &ids, epoch: state.recorded.epoch, desired: None };
    let note = retag(reconcile, untagged).await.map_err(Outcome::Failed)?;
    Err(Outcome::InProgress(Reason::Deleting, note))
}

/// Whether an object may exist that was not observed. A response that lags is no proof: a launch may not be visible yet,
/// or only in part. Recorded objects were visible before, or are known by id.
fn is_unseen(reconcile: &mut Reconcile<'_>, state: &mut DeletionState<'_>, observed: &Observed) -> bool {
    let unknown = reconcile.unknown_launch(state.ledger, &state.recorded, state.clock);
    // A backup may be older than the first launch; a journal knows.
    let is_predecessor_hidden = state.ledger.is_none()
        && !reconcile.context.info().journaled
        && reconcile.left_of_predecessor(state.clock).is_some();
    let DeletionState { ledger, recorded, clock, .. } = state;
    let Reconcile { context, memory, .. } = reconcile;
    let shown = Shown::of(&*context.kind, observed, recorded, memory, *ledger, *clock);
    let is_launch_hidden = memory.is_launch_hidden(unknown, shown.is_complete, *clock);
    let is_claim_hidden = memory.is_claim_hidden(&*context.kind, &observed.shown(), *clock);
    recorded.confirm(&shown, *ledger);
    memory.is_vanishing(&shown.vanished, *clock)
        || is_launch_hidden
        || is_claim_hidden
        || !shown.unseen.is_empty()
        || is_outstanding(*ledger, recorded.epoch, memory, *clock)
        || is_predecessor_hidden
}

/// Whether objects may be deleted now: not if they are protected, and not before their dependents.
async fn permitted(reconcile: &Reconcile<'_>) -> Result<(), Outcome> {
    protection::permits_deletion(reconcile.lifecycle())?;
    unblocked(reconcile).await
}

/// Whether the resource has no dependents any more. After the deletion was requested, this is not checked again.
async fn unblocked(reconcile: &Reconcile<'_>) -> Result<(), Outcome> {
    let Reconcile { context, object, memory, .. } = reconcile;
    if memory.deletion.deleted.is_some() {
        return Ok(());
    }
    let (namespace, name) = place(&**object);
    let (node, listed_at) = ((context.info().key.clone(), name.clone()), Instant::now());
    let blockers = context.references.blockers(&context.manager, &namespace, &node).await;
    let blockers = blockers.map_err(Outcome::Kubernetes)?;
    if blockers.is_empty() {
        return Ok(());
    }
    let (queue, key) = (context.queue.clone(), ObjectKey::new(&namespace, &name));
    let enqueue = Box::new(move || queue.add(key.clone(), Lane::Edit));
    context.references.releases.wait(&context.manager, &namespace, node, listed_at, enqueue);
    Err(Outcome::Blocked(blockers))
}

/// Requests the deletion of the remaining objects, or waits for it.
async fn delete(reconcile: &mut Reconcile<'_>, doomed: &Observed) -> Result<Outcome, Outcome> {
    let ids = doomed.ids();
    if ids.is_empty() {
        let message = "waiting for the provider to finish the deletion".to_owned();
        return Ok(Outcome::InProgress(Reason::Deleting, message));
    }
    approval::permits_deletion(&reconcile.object, &ids)?;
    let is_first = reconcile.memory.deletion.deleted.is_none();
    let what = format!("deleting {}", listed(&ids));
    let requested = operate::delete(reconcile, Reason::Deleting, &what, doomed).await?;
    if !requested.is_empty() {
        let memory = &mut *reconcile.memory;
        memory.deletion.deleted = memory.deletion.deleted.max(Some(doomed.epoch()));
        memory.deleting(&requested);
        if is_first {
            let note = format!("requested the deletion of {}", listed(&requested));
            publish_event(reconcile, Reason::Deleted, &note).await;
        }
    }
    Ok(Outcome::InProgress(Reason::Deleting, what))
}

/// Observes all objects of all launches of this resource: by tag when the deletion starts and again before it
/// completes, and by id in between. A kept object remains, so only the objects to delete decide when it completes. An object
/// that only a search found is the resource's as long as it has its owner tags; without them, it counts as missing.
async fn observe(
    reconcile: &mut Reconcile<'_>,
    recorded: &mut RecordedState,
    policy: ReleasePolicy<'_>,
) -> Result<Observed, Failure> {
    let Reconcile { context, identity, memory, slot, .. } = reconcile;
    let on_record = union(recorded.proven(), policy.adopted);
    let observed = async {
        if let Some(found) = &memory.deletion.found {
            recorded.ids = union(std::mem::take(&mut recorded.ids), found);
            let observed = context.observe(Lane::Edit, recorded.request(identity, false, false)).await?;
            memory.note_shown(&*context.kind, &observed);
            let observed = owned(observed, policy, &on_record, &memory.absent.deleted_ids);
            let (_, doomed) = split_retained(&observed, policy);
            if !doomed.is_gone() {
                return Ok(observed);
            }
        }
        let observed = context.observe(Lane::Edit, recorded.request(identity, true, false)).await?;
        memory.note_shown(&*context.kind, &observed);
        // Also what earlier searches found: an id that is not on record, and that this search does not show, must be missing
        // for some time, as a recorded one. An object that is being deleted still exists.
        let deleted = observed.deleted();
        let found = without(&observed.shown(), &deleted);
        memory.deletion.found = Some(union(memory.deletion.found.take().unwrap_or_default(), &found));
        Ok(owned(observed, policy, &on_record, &memory.absent.deleted_ids))
    };
    slot.release_while(observed).await
}

/// The observed objects without those that lost their owner tags and are not on record: nothing else proves which resource
/// they belong to. While the requested deletion of one is in progress, it remains. So does a kept one: it is neither tagged nor
/// deleted, and an attempt that failed afterwards may have removed its tags.
fn owned(
    observed: Observed,
    policy: ReleasePolicy<'_>,
    on_record: &[String],
    deleted: &[String],
) -> Observed {
    let mut others = observed.untagged();
    others.retain(|id| !on_record.contains(id) && !deleted.contains(id) && !policy.keeps(id));
    if others.is_empty() { observed } else { observed.select(&others).1 }
}

/// The objects that are kept, and those to delete.
fn split_retained(observed: &Observed, policy: ReleasePolicy<'_>) -> (Observed, Observed) {
    let kept: Vec<String> = observed.shown().into_iter().filter(|id| policy.keeps(id)).collect();
    observed.select(&kept)
}

/// Releases the objects that are kept, and removes the finalizer.
async fn release(
    reconcile: &mut Reconcile<'_>,
    kept: &Observed,
    adopted: &[String],
    clock: Clock,
) -> Result<Outcome, Outcome> {
    let awaited = awaiting_tags(reconcile, kept, clock);
    if !awaited.is_empty() {
        let message =
            format!("waiting for the owner tags of {} to become visible, to remove them", listed(&awaited));
        return Ok(Outcome::InProgress(Reason::Deleting, message));
    }
    let Reconcile { context, memory, identity, .. } = reconcile;
    let ids = kept.ids();
    if ids.is_empty() {
        let mut note = "all remote objects are deleted".to_owned();
        if let Some(left) = own_secret::left_behind(reconcile).await {
            note.extend(["; ", &left]);
        }
        return finish(reconcile, Reason::Deleted, &note).await;
    }
    context.link.external.release(identity, kept).await.map_err(Outcome::Failed)?;
    // Not the adopted ones: a resource that adopts them again must not delete them.
    let (_, created) = kept.select(adopted);
    if !created.ids().is_empty() {
        context.link.external.mark_created(identity, &created).await.map_err(Outcome::Failed)?;
    }
    memory.deletion.releasing_ids = union(std::mem::take(&mut memory.deletion.releasing_ids), &ids);
    let note = format!("released {}: it is kept without Kraken's tags", listed(&ids));
    finish(reconcile, Reason::Released, &note).await
}

async fn finish(reconcile: &Reconcile<'_>, reason: Reason, note: &str) -> Result<Outcome, Outcome> {
    let Reconcile { context, object, identity, .. } = reconcile;
    states::drop_orphaned(reconcile).await.map_err(Outcome::Kubernetes)?;
    context.link.external.forget(identity).await.map_err(Outcome::Failed)?;
    let api = context.api(&place(&**object).0);
    // What was released or deleted was decided by this generation of the spec.
    let fields = [("/metadata/generation", json!(object.meta().generation))];
    let is_removed = match remove_finalizer(&api, context.manager.name, &**object, FINALIZER, &fields).await {
        Ok(()) => true,
        Err(error) if error.is_not_found() => false,
        Err(error) => return Err(Outcome::Kubernetes(error)),
    };
    context.former.set_ended(&identity.uid, context.visibility_window);
    // Only now: while the finalizer remains, so may remote objects, because an edit can decide that what was kept is deleted.
    // After a crash or a failure, the reconcile of the missing resource releases the request.
    let released = release_dependencies(reconcile).await;
    if is_removed {
        publish_event(reconcile, reason, note).await;
    }
    released.map(|()| Outcome::Removed)
}

/// Releases the dependencies of this resource for deletion.
async fn release_dependencies(reconcile: &Reconcile<'_>) -> Result<(), Outcome> {
    let released = release::release_of(&reconcile.context, &reconcile.key()).await;
    released.map_err(Outcome::Kubernetes)
}
