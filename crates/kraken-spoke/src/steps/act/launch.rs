//! Prepares the record of a launch, within the launch limit. Client required to record that the limit is reached.

use kube::Resource;

use crate::{
    actions::persist::write,
    context::Reconcile,
    dynamic::Kind,
    model::{intent::Intent, observation::Observation, outcome::Outcome},
    policy::launch_limit::{History, confirmed_at},
};

/// The maximum number of objects that a create call requests now.
pub(super) fn requested(kind: &dyn Kind, observation: &Observation<'_>) -> usize {
    kind.max_objects(&observation.target.desired).saturating_sub(observation.current.ids().len())
}

/// The intent of a new launch of this epoch and digest, unless the resource has reached the launch limit.
pub(super) async fn prepared(
    reconcile: &mut Reconcile<'_>,
    observation: &Observation<'_>,
    epoch: i64,
    hash: String,
) -> Result<Intent, Outcome> {
    let now = kraken_runtime::clock::now();
    let (breaker, before) = (reconcile.context.breaker, observation.target.intent.as_ref());
    let history = before.map(|intent| intent.launches.clone()).unwrap_or_default();
    let generation = reconcile.object.meta().generation;
    let confirmed = confirmed_at(&*reconcile.object, now);
    if let Err(held) = breaker.permits(&history, generation, confirmed, now) {
        if let Some(intent) = before.filter(|_| !history.is_stopped()) {
            let stopped = Intent { launches: history.stopped(), ..intent.clone() };
            write(reconcile, &stopped).await.map_err(Outcome::Kubernetes)?;
        }
        return Err(held);
    }
    let mut intent = Intent::next(before, epoch, now, hash);
    intent.requested = Some(requested(&*reconcile.context.kind, observation));
    intent.outgoing.retain(|id| observation.shown.live.contains(id));
    intent.location = observation.location.clone().or(intent.location);
    intent.secret_fields = observation.target.secret_fields.launched(generation);
    intent.launches = History::with(&history, generation, now);
    Ok(intent)
}
