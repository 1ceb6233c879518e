//! Deletion: needs only the identity, never a value or a valid spec. The finalizer is removed when the provider reports
//! that all remote objects are deleted. Client required.

use kraken_api::{Approval, FINALIZER, PlanAction, reasons::Reason};
use kraken_runtime::{
    clock::Instant,
    mutants::{self, Mutant},
    patch::{ApiError, json_patch},
    queue::Lane,
    watch::{ObjectKey, RawObject},
    work::Slot,
};
use kube::{Api, Resource, ResourceExt, core::object::HasStatus};
use serde_json::{Value, json};

use crate::{
    Failure, FailureClass, Identity,
    context::{Context, identity_of, place},
    dynamic::{Object, Observed},
    intent::Intent,
    memory::Memory,
    outcome::{Outcome, listed, refused},
    plan::Proposal,
    release_policy::ReleasePolicy,
    steps::{
        adopt::adopted,
        location,
        observe::{RecordedState, Shown, has_finalizer, is_outstanding, observe, union},
        record::record,
        references::{self, Expected},
        retag::retag,
        unprotect::unprotect,
    },
};

/// One step of the deletion of a resource.
pub(crate) async fn remove(
    context: &Context,
    object: &Object,
    memory: &mut Memory,
    slot: &mut Slot,
) -> Outcome {
    if !has_finalizer(object) {
        return released(context, object).await;
    }
    let lifecycle = object.lifecycle();
    if lifecycle.paused {
        return Outcome::Paused;
    }
    // In another location the objects are not visible and must not be treated as deleted.
    let intent = Intent::of(object).or_else(|| memory.intent.clone());
    if let Err(outcome) = location::here(context, object, intent.as_ref()).await {
        return outcome;
    }
    let clock = memory.clock(context.visibility_window);
    let mut known = RecordedState::of(object, memory, intent.as_ref(), clock, context.began());
    let policy = ReleasePolicy { lifecycle, adopted: adopted(object.status(), intent.as_ref()) };
    let expects_deletion = policy.deletes_any(&known.ids);
    if expects_deletion && let Err(outcome) = permitted(context, object, memory).await {
        return outcome;
    }
    let identity = identity_of(context, object);
    let observed = match slot.release_while(last_look(context, &identity, memory, &mut known)).await {
        Ok(observed) => observed,
        Err(failure) => return Outcome::Failed(failure),
    };
    let untagged: Vec<String> =
        context.kind.untagged(&observed).into_iter().filter(|id| !policy.keeps(id)).collect();
    if !untagged.is_empty() {
        // An object without owner tags is not deleted.
        return match retag(context, object, memory, &identity, &observed, &untagged, (&known, None)).await {
            Ok(note) => Outcome::InProgress(Reason::Deleting, note),
            Err(failure) => Outcome::Failed(failure),
        };
    }

    // A response that lags is no proof: a launch may not be visible yet, or only in part. Recorded objects were visible
    // before, or are known by id.
    let shown = Shown::of(&*context.kind, &observed, &known, memory, intent.as_ref(), clock);
    known.confirm(&shown, intent.as_ref());
    let is_unseen = memory.is_vanishing(&shown.vanished)
        || !shown.unseen.is_empty()
        || is_outstanding(intent.as_ref(), known.epoch, memory, clock);
    let kept: Vec<String> = context.kind.shown(&observed).into_iter().filter(|id| policy.keeps(id)).collect();
    let (kept, doomed) = context.kind.select(observed, &kept);
    let is_asked_for = memory.deleted.is_some() && mutants::active(Mutant::EarlyFinalizer);
    if !context.kind.is_gone(&doomed) && !is_asked_for {
        if !expects_deletion && let Err(outcome) = permitted(context, object, memory).await {
            return outcome;
        }
        return delete(context, object, memory, &identity, &doomed).await;
    }
    if is_unseen && !mutants::active(Mutant::EmptyAnswerBelieved) {
        // An object that is not visible would be left behind, or keep its tags.
        let message = "waiting to confirm that no object remains that is not visible yet".to_owned();
        return Outcome::InProgress(Reason::Deleting, message);
    }
    let ids = context.kind.ids(&kept);
    if ids.is_empty() {
        return finish(context, object, Reason::Deleted, "all remote objects are deleted").await;
    }
    if let Err(failure) = context.external.release(&identity, &kept).await {
        return Outcome::Failed(failure);
    }
    memory.released(&ids);
    finish(
        context,
        object,
        Reason::Released,
        &format!("released {}: it is kept without Kraken's tags", listed(&ids)),
    )
    .await
}

/// Whether objects may be deleted now: not if they are protected, and not before their dependents.
async fn permitted(context: &Context, object: &Object, memory: &Memory) -> Result<(), Outcome> {
    if object.lifecycle().protect && !mutants::active(Mutant::DeletionIgnoresProtect) {
        return Err(Outcome::Protected(
            "spec.lifecycle.protect is true: set it to false to allow the deletion".to_owned(),
        ));
    }
    let (namespace, name) = place(object);
    unblocked(context, (&namespace, &name), memory).await
}

/// Whether the resource of this namespace and name has no dependents any more. After the deletion was requested, this
/// is not checked again.
async fn unblocked(
    context: &Context,
    (namespace, name): (&str, &str),
    memory: &Memory,
) -> Result<(), Outcome> {
    if memory.deleted.is_some() || mutants::active(Mutant::DeletionIgnoresReferences) {
        return Ok(());
    }
    let (node, asked) = ((context.info().key.clone(), name.to_owned()), Instant::now());
    match context.references.blockers(&context.manager.client, namespace, &node).await {
        Ok(blockers) if blockers.is_empty() => Ok(()),
        Ok(blockers) => {
            let (queue, key) = (context.queue.clone(), ObjectKey::new(namespace, name));
            let wake = Box::new(move || queue.add(key.clone(), Lane::Edit));
            context.references.releases.wait(&context.manager, namespace, node, asked, wake);
            Err(Outcome::Blocked(blockers))
        }
        Err(error) => Err(Outcome::Kubernetes(error)),
    }
}

/// Requests the deletion of the remaining objects, or waits for it.
async fn delete(
    context: &Context,
    object: &Object,
    memory: &mut Memory,
    identity: &Identity,
    doomed: &Observed,
) -> Outcome {
    let ids = context.kind.ids(doomed);
    if ids.is_empty() {
        return Outcome::InProgress(
            Reason::Deleting,
            "waiting for the provider to finish the deletion".to_owned(),
        );
    }
    if object.lifecycle().approval == Approval::Manual {
        let (what, changes, target) = (listed(&ids), vec![], String::new());
        let proposal = Proposal { action: PlanAction::Delete, what, changes, target };
        if let Err(outcome) = proposal.approved(object) {
            return outcome;
        }
    }
    let is_first = memory.deleted.is_none();
    match context.external.delete(identity, doomed).await {
        Ok(()) => {
            memory.deleted = memory.deleted.max(Some(context.kind.epoch(doomed)));
            memory.deleting(&ids);
            if is_first {
                let note = format!("requested the deletion of {}", listed(&ids));
                record(context, object, Reason::Deleted, &note).await;
            }
            Outcome::InProgress(Reason::Deleting, format!("deleting {}", listed(&ids)))
        }
        Err(failure) if failure.class == FailureClass::Protected => {
            unprotect(context, object, identity, doomed, failure, Reason::Deleting).await
        }
        // Another object must be deleted first; the provider's message names it.
        Err(failure) => refused(failure, Reason::Deleting),
    }
}

/// Observes all objects of all launches of this resource: by tag when the deletion starts and again before it
/// completes, and by id in between.
async fn last_look(
    context: &Context,
    identity: &Identity,
    memory: &mut Memory,
    known: &mut RecordedState,
) -> Result<Observed, Failure> {
    if let Some(found) = &memory.found {
        known.ids = union(std::mem::take(&mut known.ids), found);
        let observed = observe(context, Lane::Edit, identity, known, false, false).await?;
        if !context.kind.is_gone(&observed) {
            return Ok(observed);
        }
    }
    let observed = observe(context, Lane::Edit, identity, known, true, false).await?;
    memory.found = Some(context.kind.ids(&observed));
    Ok(observed)
}

async fn finish(context: &Context, object: &Object, reason: Reason, note: &str) -> Outcome {
    let api = context.api(&place(object).0);
    match take_finalizer_off(&api, context.manager.name, object).await {
        Ok(()) => {
            record(context, object, reason, note).await;
            released(context, object).await
        }
        Err(error) if error.is_not_found() => released(context, object).await,
        Err(error) => Outcome::Kubernetes(error),
    }
}

/// Releases the dependencies of this resource for deletion.
async fn released(context: &Context, object: &Object) -> Outcome {
    match references::release_of(context, &ObjectKey::of(object.meta()), Expected::Yes).await {
        Ok(()) => Outcome::Removed,
        Err(error) => Outcome::Kubernetes(error),
    }
}

/// Removes the finalizer. Fails if the object is another one of the same name, or if its finalizers changed meanwhile.
async fn take_finalizer_off(
    api: &Api<RawObject>,
    manager: &str,
    object: &impl Resource,
) -> Result<(), ApiError> {
    let before = object.finalizers();
    let after: Vec<&String> = before.iter().filter(|finalizer| *finalizer != FINALIZER).collect();
    let operations: Value = json!([
        {"op": "test", "path": "/metadata/uid", "value": object.meta().uid},
        {"op": "test", "path": "/metadata/finalizers", "value": before},
        {"op": "replace", "path": "/metadata/finalizers", "value": after},
    ]);
    json_patch(api, manager, &object.name_any(), operations).await.map(drop)
}
