//! One reconcile, from gathered values to what it came to.
//!
//! The steps are boxed: a thousand runs may wait for one batched read at once, and each would otherwise hold the room that
//! its largest step needs, which it is not at.

use kraken_api::{Approval, HasLifecycle, Replace, ResourceStatus, conditions, reasons::Reason};
use kraken_runtime::work::Slot;
use kube::{
    Resource, ResourceExt,
    core::object::{HasSpec, HasStatus},
};

use crate::{
    External, Ignored,
    context::{Context, Sight, identity_of},
    decide::{Decision, decide, heed},
    in_place,
    intent::{Intent, parameters_hash},
    memory::Memory,
    outcome::{Outcome, listed},
    plan::Proposal,
    secrecy::{Secrecy, scrubbed},
    status::Learned,
    steps::{
        act, adopt, declare,
        gather::{Gathered, failed, gather},
        observe::{Known, observe},
        remove,
        replace::{self, Parts},
        resolve,
    },
    summary::summary,
};

/// One reconcile: the steps of this folder in their order.
pub(crate) async fn reconcile<E: External>(
    context: &Context<E>,
    object: &E::Kind,
    memory: &mut Memory<E::Kind>,
    slot: &mut Slot,
) -> (Outcome, Learned) {
    let mut learned = Learned::default();
    let outcome = match steps(context, object, memory, slot, &mut learned).await {
        Ok(outcome) | Err(outcome) => outcome,
    };
    (scrubbed(outcome, &memory.secrets), learned)
}

async fn steps<E: External>(
    context: &Context<E>,
    object: &E::Kind,
    memory: &mut Memory<E::Kind>,
    slot: &mut Slot,
    learned: &mut Learned,
) -> Result<Outcome, Outcome> {
    if object.meta().deletion_timestamp.is_some() {
        return Ok(Box::pin(remove::remove(context, object, memory, slot)).await);
    }
    let lifecycle = object.spec().lifecycle();
    if lifecycle.paused {
        return Ok(Outcome::Paused);
    }
    let dependencies = resolve::dependencies::<E>(object.spec());
    let Gathered { values } = match Box::pin(gather(context, object, &dependencies)).await {
        // What is wrong whatever the hub answers need not wait for it.
        Err(Outcome::Asked) => {
            return Err(resolve::certain::<E>(object.spec(), &context.fields).unwrap_or(Outcome::Asked));
        }
        gathered => gathered?,
    };
    let (desired, resolution) = resolve::desired::<E>(object.spec(), &values, &context.fields)?;
    memory.learn_secrets(resolution.secrets);
    let secrecy = Secrecy::of::<E>(&resolution.secret_fields, memory.secrets.clone());

    let identity = identity_of(context, object);
    let intent = Intent::of(object);
    let known = Known::of(object, memory, intent.as_ref());
    let has_finalizer = object.finalizers().iter().any(|finalizer| finalizer == kraken_api::FINALIZER);
    let uid = identity.uid.clone();
    let before = object.status().and_then(|status| status.in_place.as_ref());
    let inputs = in_place::inputs_digest(&uid, &values);
    let current_spec = in_place::current(&uid, object, object.meta().generation, inputs, before);
    let edited = memory.edit_under_way || in_place::is_edited(before, &current_spec);
    learned.in_place = Some(current_spec);
    learned.edit_under_way = memory.edit_under_way;
    // After an edit, where something differed in what is read so, and now and then to find drift in it.
    let deep = E::needs_deep_look(&desired)
        && (edited
            || memory.changed.is_some()
            || has_open_differences(object.status())
            || memory.is_deep_due(context.deep_interval, &uid));
    let lane = slot.lane();
    let observed = slot
        .lend(observe(context, lane, &identity, &known, has_finalizer, false, deep))
        .await
        .map_err(Outcome::Failed)?;
    if deep {
        memory.looked_deep(context.deep_interval);
    }
    learned.ids = Some(E::ids(&observed));
    learned.replicas = E::replicas(&observed);
    let epoch = E::epoch(&observed).max(known.epoch);
    learned.epoch = (epoch > 0).then_some(epoch);

    let Parts { outgoing, current } = replace::parts::<E>(object, observed);
    let fixed = E::at_creation(&desired);
    learned.at_creation = in_place::at_creation(&uid, &fixed);
    if let Some(at_creation) = &memory.at_creation {
        learned.at_creation.clone_from(at_creation);
    }
    let ignored = Ignored::new(&lifecycle.ignore_changes);
    let kept = if ignored.is_empty() { None } else { E::without_ignored(&desired, &current, &ignored) };
    let effective = kept.as_ref().unwrap_or(&desired);
    let ids = E::ids(&current);
    let mut comparison = E::compare(effective, &current);
    comparison.differences.extend(in_place::edits_at_creation(&uid, fixed, object.status(), &ids));
    let missing_path = (!ids.is_empty()).then_some(E::MISSING_PATH);
    let decision = decide(heed(secrecy.mask(comparison), &ignored, missing_path), lifecycle, edited);
    let sight = Sight {
        identity,
        known,
        desired: &desired,
        effective,
        observed: current,
        replacing: outgoing.is_some(),
    };
    if let Some(wanted) = &lifecycle.adopt
        && adopt::is_due(intent.as_ref(), &sight)
    {
        let wanted = (lifecycle, wanted, &secrecy);
        return Ok(Box::pin(adopt::adopt(context, object, memory, &sight, wanted)).await);
    }
    let is_to_declare = match &decision {
        Decision::Settle(_) | Decision::Create(_) => false,
        // Who refers to this gets to know of it when it can be used: a gateway that is not attached yet is of no use to a
        // route. A state that is there already is kept up to date.
        Decision::Change(..) | Decision::Resume(..) => declare::is_declared(context, object),
        _ => true,
    };
    // What cannot be published is told, and keeps nobody from acting: it may be too large, and to scale down is the way out.
    let mut unpublished = None;
    if is_to_declare {
        let state = secrecy.published(E::state(&desired, &sight.observed));
        learned.summary = Some(summary::<E>(&state));
        let declared = Box::pin(declare::declare(context, object, &sight, state, &secrecy)).await;
        unpublished = declared.err();
        if let Some(error) = unpublished.take_if(|error| error.is_namespace_terminating()) {
            return Err(failed(error));
        }
    }
    if lifecycle.approval == Approval::Manual
        && let Some(proposal) = Proposal::of(&decision, &parameters_hash(&desired, ""))
    {
        proposal.approved(object)?;
    }
    if let Some(outgoing) = &outgoing {
        let is_up = matches!(decision, Decision::InPlace);
        if lifecycle.protect && (is_up || lifecycle.replace == Replace::DeleteFirst) {
            let ids = listed(&E::ids(outgoing));
            return Ok(Outcome::Protected(format!(
                "{ids} is replaced and stays while spec.lifecycle.protect is true: set it to false to let it go"
            )));
        }
        let retired = replace::retire(context, object, &sight.identity, outgoing, is_up);
        if let Some(outcome) = Box::pin(retired).await {
            return Ok(outcome);
        }
    }
    if !matches!(decision, Decision::Change(..) | Decision::Resume(..)) {
        memory.changed = None;
    }
    if edited && matches!(decision, Decision::Create(_) | Decision::Change(..) | Decision::Replace(_)) {
        // From here on what was in place before is no more, even if the edit is taken back half way.
        memory.edit_under_way = true;
    }
    if matches!(decision, Decision::Create(_)) && ids.is_empty() {
        memory.at_creation = Some(in_place::at_creation(&uid, &E::at_creation(&desired)));
    }
    learned.edit_under_way = memory.edit_under_way;
    let acted = Box::pin(act::act(context, object, memory, &sight, decision, !edited)).await;
    match (acted, unpublished) {
        (Outcome::InPlace, Some(error)) => Ok(Outcome::Kubernetes(error)),
        (acted, _) => Ok(acted),
    }
}

/// Whether the status speaks of a difference that is left alone: it must not vanish from it because it was not read.
fn has_open_differences(status: Option<&ResourceStatus>) -> bool {
    status.is_some_and(|status| {
        let ready = conditions::get(&status.conditions, conditions::READY);
        !status.drift.is_empty() || ready.is_some_and(|ready| ready.reason == Reason::ImmutableField.as_str())
    })
}
