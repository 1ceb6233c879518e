//! Prepares the record of a launch, within the launch limit. Client required to record that the limit is reached.

use kraken_kind::dynamic::Kind;
use kraken_model::{
    ledger::Ledger, observation::Observation, outcome::Outcome, policy::launch_limit::confirmed_at,
};
use kube::Resource;

use crate::{actions::persist::write, context::Reconcile};

/// The maximum number of objects that a create call requests now.
pub(super) fn requested(kind: &dyn Kind, observation: &Observation<'_>) -> usize {
    kind.max_objects(&observation.target.desired).saturating_sub(observation.current.ids().len())
}

/// The ledger of a new launch of this epoch and digest, unless the resource has reached the launch limit.
pub(super) async fn prepared(
    reconcile: &mut Reconcile<'_>,
    observation: &Observation<'_>,
    epoch: i64,
    hash: String,
) -> Result<Ledger, Outcome> {
    let now = kraken_runtime::clock::now();
    let (breaker, before) = (reconcile.context.breaker, observation.target.ledger.as_ref());
    let history = before.map(|ledger| ledger.launches.clone()).unwrap_or_default();
    let generation = reconcile.object.meta().generation;
    let confirmed = confirmed_at(&*reconcile.object, now);
    if let Err(held) = breaker.permits(&history, generation, confirmed, now) {
        if let Some(ledger) = before.filter(|_| !history.stopped) {
            let stopped = Ledger { launches: history.stopped(), ..ledger.clone() };
            write(reconcile, &stopped).await.map_err(Outcome::Kubernetes)?;
        }
        return Err(held);
    }
    let mut ledger = Ledger::next(before, epoch, now, hash);
    ledger.requested = Some(requested(&*reconcile.context.kind, observation));
    ledger.outgoing.retain(|id| observation.shown.live.contains(id));
    ledger.location = observation.location.clone().or(ledger.location);
    ledger.secret_fields = observation.target.secret_fields.launched(generation);
    ledger.launches = history.with(generation, now);
    Ok(ledger)
}
