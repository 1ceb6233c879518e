//! Deletion: needs only the identity, never a value or a valid spec. The finalizer goes when the cloud says that
//! everything is gone. Client required.

use kraken_api::{Approval, Deletion, FINALIZER, HasLifecycle, PlanAction, reasons::Reason};
use kraken_runtime::{
    patch::{ApiError, json_patch},
    queue::Lane,
    watch::ObjectKey,
    work::Slot,
};
use kube::{Api, Resource, ResourceExt, core::object::HasSpec};
use serde_json::{Value, json};

use crate::{
    External, Failure, FailureClass, Identity,
    context::{Context, identity_of, place},
    intent::Intent,
    memory::Memory,
    outcome::{Outcome, listed, refused},
    plan::Proposal,
    steps::{
        observe::{Known, observe, union},
        record::record,
        references,
        unprotect::unprotect,
    },
};

/// One step towards the end of a resource that is being deleted.
pub(crate) async fn remove<E: External>(
    context: &Context<E>,
    object: &E::Kind,
    memory: &mut Memory<E::Kind>,
    slot: &mut Slot,
) -> Outcome {
    if !object.finalizers().iter().any(|finalizer| finalizer == FINALIZER) {
        return released(context, object).await;
    }
    let lifecycle = object.spec().lifecycle();
    if lifecycle.paused {
        return Outcome::Paused;
    }
    let intent = Intent::of(object);
    let deletion = lifecycle.deletion(intent.as_ref().is_some_and(|intent| intent.adopts));
    if lifecycle.protect && deletion == Deletion::Delete {
        return Outcome::Protected(
            "spec.lifecycle.protect is true: set it to false to let the deletion go on".to_owned(),
        );
    }
    if deletion == Deletion::Delete && memory.deleted.is_none() {
        let node = (context.kind_key.clone(), object.name_any());
        let namespace = object.namespace().unwrap_or_default();
        match context.references.blockers(&context.shell.client, &namespace, &node).await {
            Ok(blockers) if blockers.is_empty() => {}
            Ok(blockers) => return Outcome::Blocked(blockers),
            Err(error) => return Outcome::Kubernetes(error),
        }
    }
    let identity = identity_of(context, object);
    let observed = match slot.lend(last_look(context, &identity, object, memory, intent.as_ref())).await {
        Ok(observed) => observed,
        Err(failure) => return Outcome::Failed(failure),
    };
    let ids = E::ids(&observed);

    // An empty answer of a read that lags is no proof: a launch may not be visible yet. What the cloud agreed to delete was
    // visible; not everything is shown for a while after that.
    let seen = E::epoch(&observed).max(memory.deleted.unwrap_or_default());
    let unseen = intent.is_some_and(|intent| {
        seen < intent.epoch
            && memory.refused != Some(intent.epoch)
            && intent.may_be_invisible(memory.clock(context.visibility_window))
    });
    if deletion == Deletion::Retain {
        // What is not visible would keep its tags.
        if unseen {
            return Outcome::InProgress(
                Reason::Deleting,
                "waiting for the last launch to become visible".to_owned(),
            );
        }
        if let Err(failure) = context.external.release(&identity, &observed).await {
            return Outcome::Failed(failure);
        }
        let note = format!("kept {}, without Kraken's tags", listed(&ids));
        return finish(context, object, Reason::Released, &note).await;
    }
    if !E::is_gone(&observed) {
        if ids.is_empty() {
            return Outcome::InProgress(
                Reason::Deleting,
                "waiting for the cloud to finish the deletion".to_owned(),
            );
        }
        if lifecycle.approval == Approval::Manual {
            let (what, changes, target) = (listed(&ids), vec![], String::new());
            let proposal = Proposal { action: PlanAction::Delete, what, changes, target };
            if let Err(outcome) = proposal.approved(object) {
                return outcome;
            }
        }
        let is_first = memory.deleted.is_none();
        return match context.external.delete(&identity, &observed).await {
            Ok(()) => {
                memory.deleted = memory.deleted.max(Some(E::epoch(&observed)));
                if is_first {
                    let note = format!("asked for the deletion of {}", listed(&ids));
                    record(context, object, Reason::Deleted, &note).await;
                }
                Outcome::InProgress(Reason::Deleting, format!("deleting {}", listed(&ids)))
            }
            // Something else has to go first, which the cloud names.
            Err(failure) if failure.class == FailureClass::Protected => {
                unprotect(context, object, &identity, &observed, failure, Reason::Deleting).await
            }
            Err(failure) => refused(failure, Reason::Deleting),
        };
    }
    if unseen {
        let message = "making sure that no launch is left that the cloud does not show yet".to_owned();
        return Outcome::InProgress(Reason::Deleting, message);
    }
    finish(context, object, Reason::Deleted, "everything is gone").await
}

/// Everything that any launch of this resource made: found by tag when the deletion begins and again before it ends,
/// and by id in between.
async fn last_look<E: External>(
    context: &Context<E>,
    identity: &Identity,
    object: &E::Kind,
    memory: &mut Memory<E::Kind>,
    intent: Option<&Intent>,
) -> Result<E::Observed, Failure> {
    let mut known = Known::of(object, memory, intent);
    if let Some(found) = &memory.found {
        known.ids = union(known.ids, found);
        let observed = observe(context, Lane::Edit, identity, &known, true, false, false).await?;
        if !E::is_gone(&observed) {
            return Ok(observed);
        }
    }
    let observed = observe(context, Lane::Edit, identity, &known, true, true, false).await?;
    memory.found = Some(E::ids(&observed));
    Ok(observed)
}

async fn finish<E: External>(context: &Context<E>, object: &E::Kind, reason: Reason, note: &str) -> Outcome {
    match take_finalizer_off(context, object).await {
        Ok(()) => {
            record(context, object, reason, note).await;
            released(context, object).await
        }
        Err(error) if error.is_not_found() => released(context, object).await,
        Err(error) => Outcome::Kubernetes(error),
    }
}

/// Those that this resource referred to may go now.
async fn released<E: External>(context: &Context<E>, object: &E::Kind) -> Outcome {
    match references::release_of(context, &ObjectKey::of(object.meta())).await {
        Ok(()) => Outcome::Removed,
        Err(error) => Outcome::Kubernetes(error),
    }
}

/// Fails if the object is another one of the same name, or its finalizers changed meanwhile.
async fn take_finalizer_off<E: External>(context: &Context<E>, object: &E::Kind) -> Result<(), ApiError> {
    let before = object.finalizers();
    let after: Vec<&String> = before.iter().filter(|finalizer| *finalizer != FINALIZER).collect();
    let operations: Value = json!([
        {"op": "test", "path": "/metadata/uid", "value": object.meta().uid},
        {"op": "test", "path": "/metadata/finalizers", "value": before},
        {"op": "replace", "path": "/metadata/finalizers", "value": after},
    ]);
    let (namespace, name) = place(object);
    let api: Api<E::Kind> = Api::namespaced(context.shell.client.clone(), &namespace);
    json_patch(&api, context.shell.name, &name, operations).await.map(drop)
}
