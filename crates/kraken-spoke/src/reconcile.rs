//! One reconcile, from gathered values to what it came to.

use kraken_api::HasLifecycle;
use kraken_runtime::work::Slot;
use kube::{
    Resource, ResourceExt,
    core::object::{HasSpec, HasStatus},
};

use crate::{
    External,
    context::{Context, Sight, identity_of},
    decide::{Decision, decide},
    intent::Intent,
    memory::Memory,
    outcome::{Learned, Outcome, was_in_place},
    steps::{
        act, declare,
        gather::{Gathered, gather},
        observe::{Known, observe},
        remove,
        replace::{self, Parts},
        resolve,
    },
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
    (outcome, learned)
}

async fn steps<E: External>(
    context: &Context<E>,
    object: &E::Kind,
    memory: &mut Memory<E::Kind>,
    slot: &mut Slot,
    learned: &mut Learned,
) -> Result<Outcome, Outcome> {
    if object.meta().deletion_timestamp.is_some() {
        return Ok(remove::remove(context, object, memory, slot).await);
    }
    let lifecycle = object.spec().lifecycle();
    if lifecycle.paused {
        return Ok(Outcome::Paused);
    }
    let dependencies = resolve::dependencies::<E>(object.spec());
    let Gathered { values, version } = gather(context, object, &dependencies).await?;
    learned.inputs = version;
    let (desired, scrubber) = resolve::desired::<E>(object.spec(), &values)?;

    let identity = identity_of(context, object);
    let known = Known::of(object, memory, Intent::of(object).as_ref());
    let has_finalizer = object.finalizers().iter().any(|finalizer| finalizer == kraken_api::FINALIZER);
    let drifted = was_in_place(object.status(), object.meta().generation, learned.inputs.as_deref());
    let deep = !drifted && E::needs_deep_look(&desired);
    let lane = slot.lane();
    let observed = slot
        .lend(observe(context, lane, &identity, &known, has_finalizer, false, deep))
        .await
        .map_err(|failure| Outcome::Failed(scrubbed(failure, &scrubber)))?;
    learned.ids = Some(E::ids(&observed));
    let epoch = E::epoch(&observed).max(known.epoch);
    learned.epoch = (epoch > 0).then_some(epoch);

    let Parts { outgoing, current } = replace::parts::<E>(object, observed);
    let decision = decide(E::compare(&desired, &current), lifecycle, !drifted);
    let sight =
        Sight { identity, known, desired: &desired, observed: current, replacing: outgoing.is_some() };
    if !matches!(decision, Decision::Settle(_) | Decision::Create(_)) {
        declare::declare(context, object, &sight, &scrubber).await.map_err(Outcome::Kubernetes)?;
    }
    if let Some(outgoing) = &outgoing {
        let is_up = matches!(decision, Decision::InPlace);
        if let Some(outcome) =
            replace::retire(context, &sight.identity, lifecycle.replace, outgoing, is_up).await
        {
            return Ok(outcome);
        }
    }
    if !matches!(decision, Decision::Change(..)) {
        memory.changed = None;
    }
    Ok(match act::act(context, object, memory, &sight, decision, drifted).await {
        Outcome::Failed(failure) => Outcome::Failed(scrubbed(failure, &scrubber)),
        outcome => outcome,
    })
}

/// A cloud may quote what it was sent.
fn scrubbed(failure: crate::Failure, scrubber: &kraken_options::Scrubber) -> crate::Failure {
    crate::Failure { message: scrubber.scrub(&failure.message), ..failure }
}
