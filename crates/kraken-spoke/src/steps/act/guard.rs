//! The limits of every create call, regardless of the decision that led to it: the number of objects that the spec and
//! a replacement account for, and the launch limit. Pure, except for the write that stops a resource.

use kraken_api::CREATION_CONFIRMED_ANNOTATION;
use kraken_runtime::mutants::{self, Mutant};
use kube::Resource;

use crate::{
    actions::persist::write,
    context::Reconcile,
    dynamic::DynKind,
    model::{
        breaker::{History, confirmed_at},
        ids::{listed, union},
        intent::Intent,
        observation::Observation,
        outcome::Outcome,
    },
};

/// Why nothing may be created, if with up to `new` new ones more objects would exist than are accounted for: by the spec,
/// and by a replacement in progress for the objects that existed when it started.
pub(crate) fn excess(
    live: &[String],
    unseen: &[String],
    outgoing: &[String],
    new: usize,
    max: usize,
) -> Option<String> {
    let all = union(live.to_vec(), unseen);
    let unexplained: Vec<String> = all.into_iter().filter(|id| !outgoing.contains(id)).collect();
    (unexplained.len().saturating_add(new) > max).then(|| {
        format!(
            "{} remote objects of this resource exist, the next call would create {new}, and its spec accounts for {max}: {}. \
             No object is created until the surplus objects are deleted; please report this",
            unexplained.len(),
            listed(&unexplained)
        )
    })
}

/// Applies [`excess`] to the observed objects.
pub(crate) fn check(kind: &dyn DynKind, observation: &Observation<'_>) -> Result<(), Outcome> {
    let Observation { target, shown, .. } = observation;
    let outgoing = target.intent.as_ref().map(|intent| intent.outgoing.as_slice()).unwrap_or_default();
    let max = kind.max_objects(&target.desired);
    // A call creates what the current objects lack. Others of the resource, which no replacement names, remain.
    let new = max.saturating_sub(kind.ids(&observation.current).len()).max(1);
    match excess(&shown.live, &shown.unseen, outgoing, new, max) {
        Some(why) if !mutants::active(Mutant::BoundaryMoves) => Err(Outcome::LaunchRefused(why)),
        _ => Ok(()),
    }
}

/// The maximum number of objects that a create call requests now.
pub(super) fn requested(kind: &dyn DynKind, observation: &Observation<'_>) -> usize {
    kind.max_objects(&observation.target.desired).saturating_sub(kind.ids(&observation.current).len())
}

/// The intent of a new launch of this epoch and digest, unless the resource has reached the launch limit.
pub(crate) async fn new_launch(
    reconcile: &mut Reconcile<'_>,
    observation: &Observation<'_>,
    epoch: i64,
    hash: String,
) -> Result<Intent, Outcome> {
    let now = kraken_runtime::clock::now();
    let (breaker, before) = (reconcile.context.breaker, observation.target.intent.as_ref());
    let history = before.map(|intent| intent.launches.clone()).unwrap_or_default();
    let generation = reconcile.object.meta().generation;
    if breaker.is_open(&history, generation, confirmed_at(&*reconcile.object, now), now) {
        if let Some(intent) = before.filter(|_| !history.is_stopped()) {
            let stopped = Intent { launches: history.stopped(), ..intent.clone() };
            write(reconcile, &stopped).await.map_err(Outcome::Kubernetes)?;
        }
        return Err(Outcome::LaunchLimit(format!(
            "launched {} times within {:?} for the same spec: no further launch is made. Find out why the launched objects \
             do not persist; then edit the spec, or annotate the resource with {CREATION_CONFIRMED_ANNOTATION}=<the current time, \
             such as 2026-01-31T12:00:00Z>",
            breaker.limit, breaker.window
        )));
    }
    let mut intent = Intent::next(before, epoch, now, hash);
    intent.requested = Some(requested(&*reconcile.context.kind, observation));
    intent.outgoing.retain(|id| observation.shown.live.contains(id));
    intent.location = observation.location.clone().or(intent.location);
    intent.secret_fields = observation.target.secret_fields.launched(generation);
    intent.launches = History::with(&history, generation, now);
    Ok(intent)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(list: &[&str]) -> Vec<String> {
        list.iter().map(|id| (*id).to_owned()).collect()
    }

    #[test]
    fn launch_never_exceeds_what_spec_and_replacement_account_for() {
        let (old, new) = (ids(&["i-1", "i-2"]), ids(&["i-3"]));
        let all = ids(&["i-1", "i-2", "i-3"]);
        assert_eq!(excess(&all, &[], &old, 1, 2), None);
        assert!(excess(&all, &ids(&["i-4"]), &old, 1, 2).is_some(), "objects that are not visible yet count");
        assert!(excess(&all, &[], &[], 1, 3).is_some());
        assert!(excess(&all, &[], &old, 2, 2).is_some(), "a launch that creates two objects counts twice");
        assert_eq!(excess(&new, &[], &[], 1, 2), None);
        assert_eq!(excess(&[], &[], &[], 1, 1), None);
        assert!(excess(&[], &[], &[], 1, 0).is_some());
    }
}
