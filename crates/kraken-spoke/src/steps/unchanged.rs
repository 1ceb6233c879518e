//! A resync of a resource that refers to Secrets: no Secret is read if the desired and the observed state are the same
//! as when everything was last in place. Client required.
//!
//! The result of a reconcile depends on the desired state (the generation, the values of references, the versions of
//! Secrets) and on the observed state. If both equal those of an earlier reconcile that found everything in place, the
//! result is the same, and the values of Secrets, which are needed to compare and to repair, are not needed.

use std::{collections::BTreeMap, fmt::Debug, sync::Arc};

use kraken_api::DependencyRequest;
use kraken_options::{Dependencies, SecretData, Values};
use kraken_runtime::{queue::Lane, watch::ObjectKey, work::Slot};
use kube::{Resource, core::object::HasStatus};
use sha2::{Digest, Sha256};

use crate::{
    context::{Context, identity_of},
    dynamic::{Object, Observed},
    intent::Intent,
    memory::Memory,
    outcome::Outcome,
    secrets,
    status::ReconcileFacts,
    steps::{
        gather, location,
        observe::{RecordedState, observe},
    },
};

/// A reconcile that found everything in place.
#[derive(Debug)]
pub(crate) struct Unchanged {
    generation: Option<i64>,
    /// As returned by [`crate::in_place::inputs_digest`].
    inputs: String,
    /// A digest of the observed state. Keyed with a random number of this process, because the provider may return a
    /// value of a Secret.
    observed: [u8; 32],
    /// Whether attributes exist that need one call per object, and were not read.
    is_shallow: bool,
    facts: ReconcileFacts,
}

/// A digest of the observed state that does not allow another process to guess a value.
fn digest(key: u64, observed: &impl Debug) -> [u8; 32] {
    // Attributes that `Debug` does not show, such as user data, are read only by deep observations, of which no digest
    // is made.
    Sha256::new().chain_update(key.to_le_bytes()).chain_update(format!("{observed:?}")).finalize().into()
}

/// Records a reconcile that found everything in place without a deep observation.
pub(crate) fn remember(
    context: &Context,
    object: &Object,
    inputs: String,
    observed: &Observed,
    is_shallow: bool,
    facts: &ReconcileFacts,
) -> Arc<Unchanged> {
    Arc::new(Unchanged {
        generation: object.meta().generation,
        inputs,
        observed: digest(context.digest_key, observed),
        is_shallow,
        facts: facts.clone(),
    })
}

/// The outcome, if it is known without reading a Secret of the resource.
pub(crate) async fn look(
    context: &Context,
    object: &Object,
    memory: &mut Memory,
    slot: &mut Slot,
    dependencies: &Dependencies,
    facts: &mut ReconcileFacts,
) -> Option<Outcome> {
    let before = memory.unchanged.clone()?;
    let status = object.status()?;
    let identity = identity_of(context, object);
    // An edit, a deletion and a requested reconcile use the edit lane, and everything is reconciled in full.
    let is_resync = slot.lane() == Lane::Resync && !memory.is_busy();
    let is_deep = !before.is_shallow && memory.is_deep_due(context.deep_interval, &identity.uid);
    let is_as_reported = object.meta().generation == before.generation
        && status.in_place.as_ref().is_some_and(|in_place| in_place.inputs == before.inputs);
    if !is_resync || is_deep || !is_as_reported {
        return None;
    }
    let values = versions(gather::answer(context, object, dependencies)?, dependencies)?;
    if context.inputs(&identity.uid, &values) != before.inputs {
        return None;
    }
    let intent = Intent::of(object);
    location::here(context, object, intent.as_ref()).await.ok()?;
    let clock = memory.clock(context.visibility_window);
    let known = RecordedState::of(object, memory, intent.as_ref(), clock, context.began());
    if known.needs_search() {
        return None;
    }
    // A failure is reported by the full reconcile.
    let look = observe(context, Lane::Resync, &identity, &known, false, false);
    let observed = slot.release_while(look).await.ok()?;
    if digest(context.digest_key, &observed) != before.observed {
        return None;
    }
    context.vanished.present(&ObjectKey::of(object.meta()));
    *facts = ReconcileFacts { followed: facts.followed.clone(), ..before.facts.clone() };
    Some(Outcome::InPlace)
}

/// The values of the hub's response, with the versions of Secrets instead of their data; `None` if the hub does not
/// know one.
fn versions(answer: Arc<DependencyRequest>, dependencies: &Dependencies) -> Option<Values> {
    let status = answer.status.as_ref().filter(|status| status.unmet.is_empty())?;
    let mut values = gather::values_of(&status.dependent_values);
    for key in &dependencies.secrets {
        let keys = status.dependent_values.from_secrets.get(&key.name)?;
        let version = secrets::version(keys)?;
        values.secrets.insert(key.name.clone(), SecretData { version, keys: BTreeMap::new() });
    }
    Some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_depends_on_the_whole_observed_state_and_on_the_process() {
        assert_eq!(digest(1, &["a", "b"]), digest(1, &["a", "b"]));
        assert_ne!(digest(1, &["a", "b"]), digest(1, &["a", "c"]));
        assert_ne!(digest(1, &["a", "b"]), digest(2, &["a", "b"]));
    }
}
