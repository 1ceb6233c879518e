//! Publishes the state, if its content changed or another client edited it. Client required.
//!
//! Only the metadata of StateDeclarations is watched. The digest of the content and the generation that this controller
//! wrote are annotations, and are also kept in memory: any other generation is an edit by another client, and is
//! reverted by a forced apply.

use kraken_api::{StateDeclaration, StateDeclarationSpec};
use kraken_kind::{
    dynamic::{Change, Observed},
    state::{document, expected_generation, is_of},
};
use kraken_model::{
    decide::Decision,
    hand_over::Published,
    observation::{Observation, Target},
    outcome::{Outcome, in_namespace},
    share::shared,
    summary::summary,
};
use kraken_runtime::{
    patch::{ApiError, apply, within},
    watch::version,
};
use kube::Api;
use serde_json::{Value, json};

use crate::{
    context::{Reconcile, owner_reference, place},
    shared::published::{Written, is_current},
};

/// The store of Kubernetes accepts objects of up to 1.5 MiB, including their metadata.
const TOO_LARGE: usize = 1_400_000;

/// Publishes the state, if dependents can use it. Why it cannot be published is returned, and does not prevent actions: it may be too
/// large, and scaling down is the solution.
pub(crate) async fn declare(
    reconcile: &mut Reconcile<'_>,
    observation: &Observation<'_>,
    decision: &Decision<Change>,
) -> Result<Option<ApiError>, Outcome> {
    let is_due = match decision {
        Decision::Settle(_) => return declare_pending(reconcile, observation).await,
        Decision::Create(_) => false,
        // Until the objects of a replacement are in place, dependents use what is published.
        Decision::Change(..) | Decision::Resume(..) | Decision::Replace(_)
            if observation.outgoing.is_some() =>
        {
            false
        }
        // The state is published when dependents can use it: a gateway that is not attached yet cannot be used by a
        // route. A state that exists already is kept up to date.
        Decision::Change(..) | Decision::Resume(..) => is_declared(reconcile),
        _ => true,
    };
    if !is_due {
        return Ok(None);
    }
    let context = &reconcile.context;
    let state = state(reconcile, observation, &observation.current);
    reconcile.facts.summary = Some(summary(context.info().summary, &state));
    published_or(reconcile, publish(reconcile, observation.target, &observation.current, state).await)
}

fn published_or(
    reconcile: &Reconcile<'_>,
    published: Result<(), ApiError>,
) -> Result<Option<ApiError>, Outcome> {
    match published {
        Err(error) if error.is_namespace_terminating() => Err(in_namespace(error, reconcile.lifecycle())),
        published => Ok(published.err()),
    }
}

/// Publishes what dependents can use before the objects are in place, if the kind has such a state. While a usable object is replaced,
/// the rest of the state, and the main id, are those of that object.
async fn declare_pending(
    reconcile: &Reconcile<'_>,
    observation: &Observation<'_>,
) -> Result<Option<ApiError>, Outcome> {
    let (kind, target) = (&reconcile.context.kind, observation.target);
    let Some(pending) = kind.pending_state(&target.desired, &observation.current) else { return Ok(None) };
    let pending = target.secrecy.published(pending);
    let is_usable = |of: &&Observed| kind.compare(&target.desired, of).settling.is_none();
    let published = match observation.outgoing.as_ref().filter(is_usable) {
        Some(replaced) => {
            let mut state = state(reconcile, observation, replaced);
            json_patch::merge(&mut state, &pending);
            publish(reconcile, target, replaced, state).await
        }
        None => publish(reconcile, target, &Observed::default(), pending).await,
    };
    published_or(reconcile, published)
}

/// Whether a state of this resource exists.
pub(crate) fn is_declared(reconcile: &Reconcile<'_>) -> bool {
    let Reconcile { context, identity, .. } = reconcile;
    let key = context.owned_key(&reconcile.key());
    context.states.get(&key).is_some_and(|state| is_of(&state.metadata, &identity.uid))
        || context.published.get(&key, &identity.uid).is_some()
}

/// What is published, according to the API server.
pub(crate) async fn stored(reconcile: &Reconcile<'_>) -> Result<Option<StateDeclarationSpec>, ApiError> {
    let key = reconcile.context.owned_key(&reconcile.key());
    let client = reconcile.context.manager.client.clone();
    let api: Api<StateDeclaration> = Api::namespaced(client, &key.namespace);
    let state = within("read the state", api.get_opt(&key.name)).await?;
    Ok(state.filter(|state| is_of(&state.metadata, &reconcile.identity.uid)).map(|state| state.spec))
}

/// What is published of the objects on both sides of a replacement.
pub(crate) fn published(
    reconcile: &Reconcile<'_>,
    observation: &Observation<'_>,
    outgoing: &Observed,
) -> Published {
    let content =
        |of: &Observed| content(reconcile, observation.target, of, state(reconcile, observation, of));
    let one = |id: &String| content(&outgoing.select(std::slice::from_ref(id)).0);
    let (namespace, _) = place(&*reconcile.object);
    let before = outgoing.ids().iter().map(one).collect();
    Published { namespace, before, now: content(&observation.current) }
}

/// The state of these objects, without secrets.
fn state(reconcile: &Reconcile<'_>, observation: &Observation<'_>, of: &Observed) -> Value {
    let target = observation.target;
    target.secrecy.published(reconcile.context.kind.state(&target.desired, of))
}

/// The content of the StateDeclaration: a state that contains no secret.
fn content(reconcile: &Reconcile<'_>, target: &Target, of: &Observed, state: Value) -> StateDeclarationSpec {
    let Reconcile { context, object, .. } = reconcile;
    let secrecy = &target.secrecy;
    let data = shared(state, object.lifecycle().share.as_ref());
    let main = context.kind.main_id(of);
    let has_main = main.is_some();
    let id = secrecy.published_id(main);
    let withheld = secrecy.withheld(has_main && id.is_none());
    StateDeclarationSpec { data, id, withheld }
}

/// Applies the StateDeclaration with this state of these objects, which contains no secret. Its annotations show, without its body, whether a write is due.
pub(crate) async fn publish(
    reconcile: &Reconcile<'_>,
    target: &Target,
    of: &Observed,
    state: Value,
) -> Result<(), ApiError> {
    let Reconcile { context, object, identity, .. } = reconcile;
    let spec = content(reconcile, target, of, state);
    let hash = spec.content_hash();
    let key = context.owned_key(&reconcile.key());
    let owner = &identity.uid;
    let (shown, written) = (context.states.get(&key), context.published.get(&key, owner));
    let shown = shown.as_ref().map(|state| &state.metadata);
    if is_current(shown, written.as_ref(), &hash, owner) {
        return Ok(());
    }
    let size = json!(spec).to_string().len();
    let last = written.as_ref().and_then(|written| written.generation);
    let mut generation = expected_generation(shown, last, &hash);
    let api: Api<StateDeclaration> = Api::namespaced(context.manager.client.clone(), &key.namespace);
    // Twice if the stored object differs from the one in the watch: then the generation is another one.
    for _ in 0..2 {
        let owner_reference = owner_reference(context, object);
        let state = document(&key.name, &context.info().key, &owner_reference, (&spec, &hash), generation);
        let applied = apply(&api, context.manager.name, &key.name, &state).await;
        let meta = applied.map_err(|error| explained(error, size))?.metadata;
        let is_expected = meta.generation == Some(generation);
        generation = meta.generation.unwrap_or(generation);
        let written = Written {
            owner: owner.clone(),
            version: version(&meta),
            generation: meta.generation,
            uid: meta.uid,
            hash: hash.clone(),
        };
        context.published.note(key.clone(), written);
        if is_expected {
            break;
        }
    }
    Ok(())
}

/// The API server's own message for a state that is too large names neither the state nor a solution.
fn explained(error: ApiError, size: usize) -> ApiError {
    if size < TOO_LARGE || error.is_conflict() || error.is_namespace_terminating() {
        return error;
    }
    let verb = "publish the state, which exceeds the object size limit (publish fewer fields: spec.lifecycle.share.include)";
    ApiError { verb, ..error }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_of_a_too_large_state_states_how_to_reduce_it() {
        let refused = || {
            let status = kube::core::Status::failure("etcdserver: request is too large", "").with_code(500);
            ApiError { verb: "apply", source: Box::new(kube::Error::Api(Box::new(status))) }
        };
        assert!(explained(refused(), 1_500_000).to_string().contains("spec.lifecycle.share.include"));
        assert!(!explained(refused(), 1000).to_string().contains("share"));
    }
}
