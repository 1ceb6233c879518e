//! One reconcile, from gathered values to what it came to.
//!
//! The steps are boxed: a thousand runs may wait for one batched read at once, and each would otherwise hold the room that
//! its largest step needs, which it is not at.

use kraken_api::{Approval, HasLifecycle};
use kraken_runtime::work::Slot;
use kube::{
    Resource, ResourceExt,
    core::object::{HasSpec, HasStatus},
};

use crate::{
    External,
    context::{Context, Sight, identity_of},
    decide::{Decision, decide},
    intent::{Intent, parameters_hash},
    memory::Memory,
    outcome::Outcome,
    plan::Proposal,
    secrecy::{Secrecy, scrubbed},
    status::{Learned, was_in_place},
    steps::{
        act, adopt, declare,
        gather::{Gathered, gather},
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
    let Gathered { values, version } = Box::pin(gather(context, object, &dependencies)).await?;
    learned.inputs = version;
    let (desired, resolution) = resolve::desired::<E>(object.spec(), &values, &context.fields)?;
    memory.learn_secrets(resolution.secrets);
    let secrecy = Secrecy::of::<E>(&resolution.secret_fields, memory.secrets.clone());

    let identity = identity_of(context, object);
    let intent = Intent::of(object);
    let known = Known::of(object, memory, intent.as_ref());
    let has_finalizer = object.finalizers().iter().any(|finalizer| finalizer == kraken_api::FINALIZER);
    let drifted = was_in_place(object.status(), object.meta().generation, learned.inputs.as_deref());
    let deep = !drifted && E::needs_deep_look(&desired);
    let lane = slot.lane();
    let observed = slot
        .lend(observe(context, lane, &identity, &known, has_finalizer, false, deep))
        .await
        .map_err(Outcome::Failed)?;
    learned.ids = Some(E::ids(&observed));
    let epoch = E::epoch(&observed).max(known.epoch);
    learned.epoch = (epoch > 0).then_some(epoch);

    let Parts { outgoing, current } = replace::parts::<E>(object, observed);
    let decision = decide(secrecy.mask(E::compare(&desired, &current)), lifecycle, !drifted);
    let sight =
        Sight { identity, known, desired: &desired, observed: current, replacing: outgoing.is_some() };
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
        Decision::Change(..) => declare::is_declared(context, object),
        _ => true,
    };
    if is_to_declare {
        let state = secrecy.published(E::state(&desired, &sight.observed));
        learned.summary = Some(summary::<E>(&state));
        let declared = declare::declare(context, object, &sight, state, &secrecy);
        Box::pin(declared).await.map_err(Outcome::Kubernetes)?;
    }
    if lifecycle.approval == Approval::Manual
        && let Some(proposal) = Proposal::of(&decision, &parameters_hash(&desired, ""))
    {
        proposal.approved(object)?;
    }
    if let Some(outgoing) = &outgoing {
        let is_up = matches!(decision, Decision::InPlace);
        if let Some(outcome) =
            Box::pin(replace::retire(context, &sight.identity, lifecycle.replace, outgoing, is_up)).await
        {
            return Ok(outcome);
        }
    }
    if !matches!(decision, Decision::Change(..)) {
        memory.changed = None;
    }
    Ok(Box::pin(act::act(context, object, memory, &sight, decision, drifted)).await)
}
