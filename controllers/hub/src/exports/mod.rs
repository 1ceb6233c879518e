//! ConfigExports: values written to one ConfigMap or Secret.
//!
//! Steps: gather the values (client), `resolve` and `decide` (pure), `write` (client), `report` (pure), and one
//! write of the status at the end of every path.

pub mod decide;
mod digest;
mod finish;
pub(crate) mod gather;
mod labels;
pub mod report;
pub(crate) mod resolve;
pub(crate) mod restart;
mod rotate;
mod status;
mod target;
pub(crate) mod write;

pub use crate::store::dependents::export::KIND;

use std::sync::Arc;

use kraken_api::{ConfigExport, WhileWaiting, config_export};
use kraken_options::Values;
use kraken_runtime::{clock, clock::Instant, coverage, metrics::TRANSIENT, queue::Requeue, watch::ObjectKey};
use kube::{Resource, ResourceExt};
use tracing::{debug, warn};

use crate::{
    exports::{
        finish::{Finished, record_restarts},
        gather::Gathered,
        labels::Since,
        report::{Outcome, TargetState},
        resolve::{ContentState, resolve_content},
        rotate::Targets,
        write::{Done, Writer},
    },
    resolve::debounce,
    resolve::find::Transience,
    store::dependents::export::reported,
    store::index::{Dependent, ObjectRef},
    store::settled::Inputs,
    store::version::Version,
    watch::cluster_state::ClusterState,
    watch::undecodable::Broken,
};

/// Reconciles one export.
pub(crate) async fn reconcile(cluster: Arc<ClusterState>, key: ObjectKey) -> Requeue {
    let start = Instant::now();
    if let Some(broken) = cluster.router.undecodable.get(&key) {
        return report_undecodable(&cluster, &key, &broken).await;
    }
    let Some(export) =
        cluster.exports.get(&key).filter(|export| export.metadata.deletion_timestamp.is_none())
    else {
        // Kubernetes garbage-collects its target.
        return Requeue::Never;
    };
    let requeue = reconcile_existing(&cluster, &key, &export, start).await;
    let uid = export.uid().unwrap_or_default();
    if cluster.exports.get(&key).is_none_or(|now| now.uid().unwrap_or_default() != uid) {
        cluster.router.ended_export(&key, &uid);
    }
    requeue
}

async fn reconcile_existing(
    cluster: &ClusterState,
    key: &ObjectKey,
    export: &ConfigExport,
    start: Instant,
) -> Requeue {
    let metrics = &cluster.manager.metrics;
    let Finished { outcome, remaining, again } = run(cluster, export).await;
    let progress = cluster.router.settled.last(&export.uid().unwrap_or_default());
    coverage::note(KIND, outcome.name());
    if let Some(left) = remaining {
        return Requeue::After(left);
    }
    metrics.reconciled(KIND, outcome.reason().as_str(), start.elapsed());
    debug!(kind = KIND, namespace = %key.namespace, name = %key.name, reason = outcome.reason().as_str(), "reconciled");
    if outcome.requeue() == Requeue::Backoff {
        metrics.reconcile_failed(KIND, TRANSIENT);
        warn!(kind = KIND, namespace = %key.namespace, name = %key.name, ?outcome, "failed to reconcile the export; retrying with backoff");
    }
    match status::write(cluster, export, &outcome, progress).await {
        Ok(()) => again.map_or_else(|| outcome.requeue(), Requeue::After),
        Err(error) => {
            metrics.reconcile_failed(KIND, TRANSIENT);
            warn!(kind = KIND, namespace = %key.namespace, name = %key.name, %error, "failed to write the status");
            Requeue::Backoff
        }
    }
}

async fn report_undecodable(cluster: &ClusterState, key: &ObjectKey, broken: &Broken) -> Requeue {
    let manager = &cluster.manager;
    match cluster.router.undecodable.report(manager.client.clone(), manager.name, key, broken).await {
        Ok(()) => Requeue::Never,
        Err(error) => {
            warn!(kind = KIND, namespace = %key.namespace, name = %key.name, %error, "failed to write the status");
            Requeue::Backoff
        }
    }
}

async fn run(cluster: &ClusterState, export: &ConfigExport) -> Finished {
    let namespace = export.namespace().unwrap_or_default();
    let uid = export.uid().unwrap_or_default();
    let dependent = Dependent::Export(ObjectKey::of(export.meta()));
    let parsed = cluster.router.parsed(export);
    let edges = &parsed.edges;
    let targets = Targets::of(cluster, export);
    let inputs = Inputs { spec: parsed.spec, versions: cluster.versions(&namespace, edges) };
    let settled = cluster.router.settled.target(&uid, &inputs, |target| cluster.version(target));
    if let Some(target) = settled.filter(|target| {
        cluster.cycles(&dependent, edges).0.is_empty() && targets.surplus(Some(target), None).is_empty()
    }) {
        cluster.router.debounce.clear(&dependent);
        return in_place(cluster, export, &target).await;
    }
    let resolved =
        |values: &Values| resolve_content(&namespace, &export.spec, &parsed.secret_entries, values);
    let (gathered, transience, is_withheld, sources) =
        match gather::gather(cluster, &namespace, &dependent, &parsed).await {
            Ok(Gathered { values, transience, is_withheld }) => {
                let sources = config_export::sources(&uid, &values.resources);
                (resolved(&values), transience, is_withheld, sources)
            }
            Err(error) => match resolved(&Values::default()).state {
                // The spec is invalid with any values.
                ContentState::Invalid(why) => return Outcome::Invalid(why).into(),
                _ => return Outcome::Unreadable(error.to_string()).into(),
            },
        };
    let last = targets.last();
    let manager = &cluster.manager;
    let writer = |since| Writer { client: manager.client.clone(), manager: manager.name, export, since };
    let (finished, current) = match gathered.state {
        ContentState::Invalid(why) => return Outcome::Invalid(why).into(),
        ContentState::Waiting(why) => {
            let waiting =
                Waiting { why, transience: transience.unwrap_or(Transience::Permanent), is_withheld };
            (wait(cluster, &writer(None), &dependent, last.as_ref(), waiting).await, last)
        }
        ContentState::Ready(content) => {
            cluster.router.debounce.clear(&dependent);
            let digest = match digest::of(cluster, export, &content).await {
                Ok(digest) => digest,
                Err(why) => return Outcome::Failed(why).into(),
            };
            let target = targets.of_content(digest.as_deref());
            let is_new = last.as_ref() != Some(&target);
            let since = export.spec.rotate.then(|| Since { now: targets.after_all(clock::now()), is_new });
            let finished = match writer(since).reconcile_target(&target, Some(&content)).await {
                Ok(Done::InPlace(version)) => {
                    cluster.router.settled.note(&uid, |progress| {
                        progress.target = Some(reported(&target));
                        progress.sources = Some(sources);
                    });
                    settle(cluster, export, inputs, digest, (&target, version)).await
                }
                Ok(Done::Foreign(owner)) => Finished {
                    outcome: Outcome::NotOwned(target.to_string(), owner),
                    remaining: None,
                    // Events of a rotated target trigger only its owner.
                    again: export.spec.rotate.then_some(rotate::TAKEN),
                },
                // Content is desired, so a missing target means that the old one is being deleted.
                Ok(Done::Terminating | Done::Absent) => Outcome::Terminating(target.to_string()).into(),
                Err(error) => Outcome::Failed(gathered.scrubber.scrub(&error.to_string())).into(),
            };
            (finished, Some(target))
        }
    };
    if finished.outcome.keeps_former() {
        return finished;
    }
    for former in targets.surplus(current.as_ref(), Some(&finished.outcome)) {
        if let Err(error) = writer(None).reconcile_target(&former, None).await {
            return Outcome::Failed(error.to_string()).into();
        }
    }
    finished
}

/// Values are missing, with the causes.
struct Waiting {
    why: String,
    transience: Transience,
    is_withheld: bool,
}

/// The target is kept for some time, or for as long as values are missing: a source that is recreated is missing only for a
/// moment. A grant that is withdrawn tears nothing down: the pods of this namespace keep what they have.
async fn wait(
    cluster: &ClusterState,
    writer: &Writer<'_>,
    dependent: &Dependent,
    target: Option<&ObjectRef>,
    Waiting { why, transience, is_withheld }: Waiting,
) -> Finished {
    let status = writer.export.status.as_ref();
    let is_answered = status.is_some_and(|status| {
        status.observed_generation.is_some()
            && status.observed_generation == writer.export.metadata.generation
    });
    let remaining = cluster.router.debounce.remaining(dependent, transience, is_answered, None);
    let left = debounce::TARGET_GRACE.saturating_sub(cluster.router.debounce.missing_for(dependent));
    let target_state = match writer.export.spec.while_waiting {
        WhileWaiting::Keep => TargetState::Kept,
        WhileWaiting::Delete if is_withheld => TargetState::Withheld,
        WhileWaiting::Delete if !left.is_zero() => TargetState::Expiring,
        WhileWaiting::Delete => {
            if let Some(target) = target
                && let Err(error) = writer.reconcile_target(target, None).await
            {
                return Outcome::Failed(error.to_string()).into();
            }
            cluster
                .router
                .settled
                .note(&writer.export.uid().unwrap_or_default(), |progress| progress.target = None);
            TargetState::Absent
        }
    };
    let again = (target_state == TargetState::Expiring).then_some(left);
    Finished { outcome: Outcome::Waiting(why, target_state), remaining, again }
}

/// The target has its content: restarts the workloads if it changed, and only then records it as settled. `digest`: of the content, if
/// workloads depend on it.
async fn settle(
    cluster: &ClusterState,
    export: &ConfigExport,
    inputs: Inputs,
    digest: Option<String>,
    (target, version): (&ObjectRef, Version),
) -> Finished {
    let uid = export.uid().unwrap_or_default();
    let settled = &cluster.router.settled;
    if let Some(digest) = digest.filter(|_| !export.spec.rotate) {
        if restart::is_due(settled.progress(export).digest.as_deref(), &digest) {
            match restart::restart(&cluster.manager.client, export, &digest).await {
                Ok(restarted) => {
                    record_restarts(cluster, export, &restarted, &format!("the content of {target} changed"))
                        .await;
                }
                Err(error) => return Outcome::NotRestarted(error.to_string()).into(),
            }
        }
        settled.note(&uid, |progress| progress.digest = Some(digest));
    }
    let finished = in_place(cluster, export, target).await;
    if matches!(finished.outcome, Outcome::Exported(_)) {
        settled.set(uid, inputs, target.clone(), version);
    }
    finished
}

/// The target is in place; with `rotate`, the workloads are compared with it.
async fn in_place(cluster: &ClusterState, export: &ConfigExport, target: &ObjectRef) -> Finished {
    if export.spec.rotate {
        return rotate::follow(cluster, export, target).await;
    }
    Outcome::Exported(export.spec.entries.len()).into()
}

#[cfg(test)]
mod tests;
