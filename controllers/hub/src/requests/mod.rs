//! DependencyRequests: the references of a resource, answered with values or with causes.
//!
//! Steps: look up the dependencies (client), `answer` (pure), `status` (pure), write (client).

pub(crate) mod answer;
pub(crate) mod status;

pub use crate::store::dependents::request::KIND;

use std::{sync::Arc, time::Duration};

use kraken_api::{DependencyRequest, DependencyRequestStatus, reasons::DependencyReason as Reason};
use kraken_runtime::{
    clock::Instant,
    coverage,
    metrics::TRANSIENT,
    patch::{ApiError, apply_status},
    queue::Requeue,
    watch::ObjectKey,
    work,
};
use kube::{Api, Resource, ResourceExt};
use serde_json::json;
use tracing::{debug, warn};

use crate::{
    requests::{answer::answer, status::Next},
    resolve::find,
    store::dependents::request::edges,
    store::index::{Dependent, ObjectRef, StateName},
    watch::cluster_state::ClusterState,
};

/// The interval for checking whether an unknown kind is served: there is no event for the installation of a CRD.
const KINDS: Duration = Duration::from_mins(1);

/// The outcome of a reconcile.
#[derive(Debug)]
enum Outcome {
    /// The request was deleted.
    Gone,
    /// The status is up to date.
    Unchanged,
    /// The status was written.
    Written,
    /// A missing value may appear soon: it is not reported before this time.
    Held(Duration),
    /// The status reports an unknown kind, which may be installed later.
    UnknownKind,
    /// An object could not be read: the previous answer is kept; the first answer reports it.
    Unreadable,
    /// The status could not be written.
    Failed(ApiError),
}

/// The names of all outcomes, for the coverage table of the deterministic simulation.
pub const OUTCOMES: [&str; 7] =
    ["Gone", "Unchanged", "Written", "Held", "UnknownKind", "Unreadable", "Failed"];

impl Outcome {
    fn as_str(&self) -> &'static str {
        match self {
            Self::Gone => "Gone",
            Self::Unchanged => "Unchanged",
            Self::Written => "Written",
            Self::Held(_) => "Held",
            Self::UnknownKind => "UnknownKind",
            Self::Unreadable => "Unreadable",
            Self::Failed(_) => "Failed",
        }
    }

    /// The retry class, if it is a failure: that of the spokes for a call that may succeed when it is repeated.
    fn failure_class(&self) -> Option<&'static str> {
        matches!(self, Self::Unreadable | Self::Failed(_)).then_some(TRANSIENT)
    }

    /// Unmet dependencies wait for an event; only failures and debounced reports are requeued by a timer.
    fn requeue(&self) -> Requeue {
        match self {
            Self::Gone | Self::Unchanged | Self::Written => Requeue::Never,
            Self::Held(left) => Requeue::After(*left),
            Self::UnknownKind => Requeue::After(KINDS),
            Self::Unreadable | Self::Failed(_) => Requeue::Backoff,
        }
    }
}

/// Answers one request.
pub(crate) async fn reconcile(cluster: Arc<ClusterState>, key: ObjectKey) -> Requeue {
    let start = Instant::now();
    let outcome = run(&cluster, &key).await;
    if cluster.requests.get(&key).is_none() {
        cluster.router.ended(&Dependent::Request(key.clone()));
    }
    coverage::note(KIND, outcome.as_str());
    let metrics = &cluster.manager.metrics;
    metrics.reconciled(KIND, outcome.as_str(), start.elapsed());
    if let Some(class) = outcome.failure_class() {
        metrics.reconcile_failed(KIND, class);
    }
    match &outcome {
        Outcome::Failed(error) => {
            warn!(kind = KIND, namespace = %key.namespace, name = %key.name, %error, "failed to answer the request");
        }
        Outcome::Unreadable => {}
        outcome => debug!(kind = KIND, namespace = %key.namespace, name = %key.name, ?outcome, "answered"),
    }
    outcome.requeue()
}

async fn run(cluster: &ClusterState, key: &ObjectKey) -> Outcome {
    let Some(request) =
        cluster.requests.get(key).filter(|request| request.metadata.deletion_timestamp.is_none())
    else {
        return Outcome::Gone;
    };
    if request.spec.keep_secrets {
        return Outcome::Unchanged;
    }
    let edges = edges(&request);
    let dependent = Dependent::Request(key.clone());
    let lookups = cluster.lookups(&dependent, &edges).await;
    let failed = lookups.failure();
    if let Some(error) = failed {
        warn!(kind = KIND, namespace = %key.namespace, name = %key.name, %error, "failed to read a dependency");
    }
    let paths = request.spec.kraken_resource_dependencies.iter().map(|wanted| wanted.path.as_str());
    let answer = if find::are_costly(paths) {
        let (namespace, spec, lookups) = (key.namespace.to_string(), request.spec.clone(), lookups.clone());
        work::compute(move || answer(&namespace, &spec, &lookups)).await
    } else {
        answer(&key.namespace, &request.spec, &lookups)
    };
    let kind = edges.provides.as_ref().and_then(ObjectRef::state_name);
    let kind = kind.map(|StateName { kind, group, .. }| format!("{kind}.{group}"));
    match answer.transience {
        None => cluster.router.debounce.clear(&dependent),
        Some(transience) => {
            let left = cluster.router.debounce.remaining(
                &dependent,
                transience,
                is_answered(&request),
                kind.as_deref(),
            );
            if let Some(left) = left {
                return Outcome::Held(left);
            }
        }
    }
    let has_unknown_kind = answer.unmet.iter().any(|unmet| unmet.reason == Reason::UnknownKind.as_str());
    let written = match status::next(&request, answer, failed.is_some(), kraken_runtime::clock::now()) {
        // The stored status is correct, but the last sent status differs, and its event would not trigger a reconcile.
        Next::Nothing if cluster.router.written.is_uncertain(&dependent, request.status.as_ref()) => {
            write(cluster, &request, status::own(&request)).await
        }
        Next::Nothing | Next::Keep => Outcome::Unchanged,
        Next::Write(status) => write(cluster, &request, *status).await,
    };
    if let (Outcome::Written, Some(kind)) = (&written, kind) {
        cluster.router.debounce.answered(&kind);
    }
    match written {
        Outcome::Unchanged | Outcome::Written if failed.is_some() => Outcome::Unreadable,
        Outcome::Unchanged | Outcome::Written if has_unknown_kind => Outcome::UnknownKind,
        outcome => outcome,
    }
}

/// Whether the status answers this generation of the request.
fn is_answered(request: &DependencyRequest) -> bool {
    let answered = request.status.as_ref().and_then(|status| status.observed_generation);
    answered.is_some() && answered == request.metadata.generation
}

async fn write(
    cluster: &ClusterState,
    request: &DependencyRequest,
    status: DependencyRequestStatus,
) -> Outcome {
    let dependent = Dependent::Request(ObjectKey::of(request.meta()));
    let version = request.resource_version();
    if cluster.router.written.is_current(&dependent, &status, version.as_deref()) {
        return Outcome::Unchanged;
    }
    cluster.router.written.sending(&dependent, &status);
    let applied = match apply(cluster, request, &status).await {
        Err(error) if is_too_large(&error) => {
            let smaller = status::without_large_values(status.clone());
            cluster.router.written.sending(&dependent, &smaller);
            apply(cluster, request, &smaller).await
        }
        applied => applied,
    };
    match applied {
        Ok(object) => {
            cluster.router.written.note(dependent, &status, version, object.resource_version());
            Outcome::Written
        }
        Err(error) => unwritten(error),
    }
}

/// A conflict does not imply an event: the other write may have changed nothing that the hub watches.
fn unwritten(error: ApiError) -> Outcome {
    if error.is_not_found() { Outcome::Gone } else { Outcome::Failed(error) }
}

async fn apply(
    cluster: &ClusterState,
    request: &DependencyRequest,
    status: &DependencyRequestStatus,
) -> Result<DependencyRequest, ApiError> {
    let namespace = request.namespace().unwrap_or_default();
    let api: Api<DependencyRequest> = Api::namespaced(cluster.manager.client.clone(), &namespace);
    let name = request.name_any();
    let object = json!({
        "apiVersion": DependencyRequest::api_version(&()),
        "kind": DependencyRequest::kind(&()),
        "metadata": {"name": name, "uid": request.metadata.uid},
        "status": status,
    });
    apply_status(&api, cluster.manager.name, &name, &object).await
}

/// The object exceeds the size limit of the API server or of etcd.
fn is_too_large(error: &ApiError) -> bool {
    let says_so = match error.source.as_ref() {
        kube::Error::Api(status) => {
            ["too large", "larger than max", "exceeds"].iter().any(|words| status.message.contains(words))
        }
        _ => false,
    };
    error.is_invalid() || says_so
}

#[cfg(test)]
mod tests;
