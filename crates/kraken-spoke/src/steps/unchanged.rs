//! A resync of a resource that refers to Secrets: nothing of them is read if what is desired and what the cloud shows are what they
//! were when everything was in place. Client required.
//!
//! What a run finds is decided by what is desired (the generation, the values of references, the versions of Secrets) and by what
//! the cloud shows. Where both are as in an earlier run that found everything in place, so is the answer, and the values of
//! Secrets, which are needed to compare and to repair, are not.

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
    status::Learned,
    steps::{
        gather, location,
        observe::{Known, observe},
    },
};

/// A run that found everything in place.
#[derive(Debug)]
pub(crate) struct Unchanged {
    generation: Option<i64>,
    /// As [`in_place::inputs_digest`] has it.
    inputs: String,
    /// Of all that was observed. Keyed with a random number of this process, because the cloud may show a value of a Secret.
    observed: [u8; 32],
    /// Whether something costs a call of its own to read, and was not read.
    is_shallow: bool,
    learned: Learned,
}

/// A digest of what was observed by which nobody outside of this process can look for a value.
fn digest(key: u64, observed: &impl Debug) -> [u8; 32] {
    // What a type does not show, such as user data, is read by deep looks only, of which no digest is made.
    Sha256::new().chain_update(key.to_le_bytes()).chain_update(format!("{observed:?}")).finalize().into()
}

/// Remembers a run that found everything in place without a deep look.
pub(crate) fn remember(
    context: &Context,
    object: &Object,
    inputs: String,
    observed: &Observed,
    is_shallow: bool,
    learned: &Learned,
) -> Arc<Unchanged> {
    Arc::new(Unchanged {
        generation: object.meta().generation,
        inputs,
        observed: digest(context.digest_key, observed),
        is_shallow,
        learned: learned.clone(),
    })
}

/// The outcome, if nothing of the resource's Secrets needs to be read to know it.
pub(crate) async fn look(
    context: &Context,
    object: &Object,
    memory: &mut Memory,
    slot: &mut Slot,
    dependencies: &Dependencies,
    learned: &mut Learned,
) -> Option<Outcome> {
    let before = memory.unchanged.clone()?;
    let status = object.status()?;
    let identity = identity_of(context, object);
    // Whoever edits or deletes something, or asks for a run, wakes it as an edit, and everything is done anew.
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
    let known = Known::of(object, memory, intent.as_ref(), clock, context.began());
    if known.needs_search() {
        return None;
    }
    // What fails is told by the whole run.
    let look = observe(context, Lane::Resync, &identity, &known, false, false);
    let observed = slot.lend(look).await.ok()?;
    if digest(context.digest_key, &observed) != before.observed {
        return None;
    }
    context.vanished.present(&ObjectKey::of(object.meta()));
    *learned = Learned { followed: learned.followed.clone(), ..before.learned.clone() };
    Some(Outcome::InPlace)
}

/// The values of the hub's answer, with the versions of Secrets in place of what is in them; none if the hub does not know one.
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
    fn a_digest_is_of_all_that_was_observed_and_of_this_process() {
        assert_eq!(digest(1, &["a", "b"]), digest(1, &["a", "b"]));
        assert_ne!(digest(1, &["a", "b"]), digest(1, &["a", "c"]));
        assert_ne!(digest(1, &["a", "b"]), digest(2, &["a", "b"]));
    }
}
