//! DependencyRequests: what a resource asks for, answered with values or with the cause why there is none.
//!
//! Gather what is known (client), [`answer`] (pure), [`status`] (pure), write (client).

pub mod answer;
pub mod status;

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use kraken_api::{DependencyRequest, DependencyRequestStatus, reasons::DependencyReason as Reason};
use kraken_runtime::{
    clock::Instant,
    coverage,
    patch::{ApiError, apply_status},
    queue::Requeue,
    watch::ObjectKey,
    work,
};
use kube::{Api, Resource, ResourceExt};
use serde_json::json;
use tracing::{debug, warn};

use crate::{
    find,
    index::{Asker, Asks, Class, Named, StateName},
    requests::{answer::answer, status::Next},
    world::World,
};

/// The kind, for logs and metrics.
pub const KIND: &str = "DependencyRequest";

/// How often it is looked whether a kind is served by now: nothing tells that a CRD was installed.
const KINDS: Duration = Duration::from_mins(1);

/// What a request names, and what comes of it: the state of its owner.
pub fn asks(request: &DependencyRequest) -> Asks {
    let namespace = request.namespace().unwrap_or_default();
    let spec = &request.spec;
    let maps =
        spec.config_map_dependencies.iter().map(|key| Named::new(Class::ConfigMap, &namespace, &key.name));
    let secrets = spec.secret_dependencies.iter().map(|key| Named::new(Class::Secret, &namespace, &key.name));
    let states = spec.kraken_resource_dependencies.iter();
    let states = states.map(|wanted| Named::state(&namespace, &wanted.kind, &wanted.name));
    let owner = request.owner_references().iter().find(|owner| owner.controller == Some(true));
    Asks {
        needs: maps.chain(secrets).chain(states).collect::<BTreeSet<_>>(),
        provides: owner.map(|owner| Named::state_of(&namespace, owner)),
    }
}

/// How a reconcile ended.
#[derive(Debug)]
enum Outcome {
    /// There is nothing to answer any more.
    Gone,
    /// The status says what is known already.
    Unchanged,
    /// The status was written.
    Written,
    /// What is missing may be there in a moment: nothing is said of it before so long.
    Held(Duration),
    /// The status says that no controller serves a kind, which one may by and by.
    UnknownKind,
    /// Something could not be read for now: the previous answer stands, or says so if it is the first.
    Unreadable,
    /// The status could not be written.
    Failed(ApiError),
}

/// The names of all outcomes, for the deterministic simulation's table of what was reached.
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

    /// What is unmet waits for an event; only what failed, and what is not said yet, is looked at again by time.
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
pub async fn reconcile(world: Arc<World>, key: ObjectKey) -> Requeue {
    let start = Instant::now();
    let outcome = run(&world, &key).await;
    coverage::note(KIND, outcome.as_str());
    let metrics = &world.shell.metrics;
    metrics.reconciled(KIND, outcome.as_str(), start.elapsed());
    match &outcome {
        Outcome::Failed(error) => {
            metrics.reconcile_failed(KIND, "Transient");
            warn!(kind = KIND, namespace = %key.namespace, name = %key.name, %error, "the request could not be answered");
        }
        Outcome::Unreadable => metrics.reconcile_failed(KIND, "Transient"),
        outcome => debug!(kind = KIND, namespace = %key.namespace, name = %key.name, ?outcome, "answered"),
    }
    outcome.requeue()
}

async fn run(world: &World, key: &ObjectKey) -> Outcome {
    let Some(request) =
        world.requests.get(key).filter(|request| request.metadata.deletion_timestamp.is_none())
    else {
        return Outcome::Gone;
    };
    let asks = asks(&request);
    let asker = Asker::Request(key.clone());
    let known = world.known(&asker, &asks).await;
    let failed = known.failure();
    if let Some(error) = failed {
        warn!(kind = KIND, namespace = %key.namespace, name = %key.name, %error, "a dependency could not be read");
    }
    let paths = request.spec.kraken_resource_dependencies.iter().map(|wanted| wanted.path.as_str());
    let answer = if find::are_costly(paths) {
        let (namespace, spec, known) = (key.namespace.to_string(), request.spec.clone(), known.clone());
        work::compute(move || answer(&namespace, &spec, &known)).await
    } else {
        answer(&key.namespace, &request.spec, &known)
    };
    let kind = asks.provides.as_ref().and_then(Named::state_name);
    let kind = kind.map(|StateName { kind, group, .. }| format!("{kind}.{group}"));
    match answer.gap {
        None => world.wake.holds.clear(&asker),
        Some(gap) => {
            let left = world.wake.holds.left(&asker, gap, is_answered(&request), kind.as_deref());
            if let Some(left) = left {
                return Outcome::Held(left);
            }
        }
    }
    let has_unknown_kind = answer.unmet.iter().any(|unmet| unmet.reason == Reason::UnknownKind.as_str());
    let written = match status::next(&request, answer, failed.is_some(), kraken_runtime::clock::now()) {
        // What the store shows is right, and what was sent last is something else: its event would wake nobody.
        Next::Nothing if world.wake.written.is_uncertain(&asker, request.status.as_ref()) => {
            write(world, &request, status::own(&request)).await
        }
        Next::Nothing | Next::Keep => Outcome::Unchanged,
        Next::Write(status) => write(world, &request, *status).await,
    };
    if let (Outcome::Written, Some(kind)) = (&written, kind) {
        world.wake.holds.answered(&kind);
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

async fn write(world: &World, request: &DependencyRequest, status: DependencyRequestStatus) -> Outcome {
    let asker = Asker::Request(ObjectKey::of(request.meta()));
    let version = request.resource_version();
    if world.wake.written.is_current(&asker, &status, version.as_deref()) {
        return Outcome::Unchanged;
    }
    world.wake.written.sending(&asker, &status);
    let applied = match apply(world, request, &status).await {
        Err(error) if is_too_large(&error) => {
            let smaller = status::smaller(status.clone());
            world.wake.written.sending(&asker, &smaller);
            apply(world, request, &smaller).await
        }
        applied => applied,
    };
    match applied {
        Ok(object) => {
            world.wake.written.note(asker, &status, version, object.resource_version());
            Outcome::Written
        }
        Err(error) => unwritten(error),
    }
}

/// A conflict promises no event: whoever had it with this write may have changed nothing that the hub sees.
fn unwritten(error: ApiError) -> Outcome {
    if error.is_not_found() { Outcome::Gone } else { Outcome::Failed(error) }
}

async fn apply(
    world: &World,
    request: &DependencyRequest,
    status: &DependencyRequestStatus,
) -> Result<DependencyRequest, ApiError> {
    let namespace = request.namespace().unwrap_or_default();
    let api: Api<DependencyRequest> = Api::namespaced(world.shell.client.clone(), &namespace);
    let name = request.name_any();
    let object = json!({
        "apiVersion": DependencyRequest::api_version(&()),
        "kind": DependencyRequest::kind(&()),
        "metadata": {"name": name, "uid": request.metadata.uid},
        "status": status,
    });
    apply_status(&api, world.shell.name, &name, &object).await
}

/// The API server takes no object of this size, or its store does not.
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
mod tests {
    use kraken_api::DependencyRequestSpec;
    use serde_json::Value;

    use super::*;

    fn request(spec: Value) -> DependencyRequest {
        let spec: DependencyRequestSpec = serde_json::from_value(spec).unwrap();
        let mut request = DependencyRequest::new("ec2instance.aws.web", spec);
        request.metadata.namespace = Some("ns".into());
        request
    }

    #[test]
    fn a_request_names_objects_of_its_namespace_whatever_the_spelling_of_a_kind() {
        let mut request = request(json!({
            "configMapDependencies": [{"name": "sizes", "key": "a"}, {"name": "sizes", "key": "b"}],
            "secretDependencies": [{"name": "db", "key": "password"}],
            "krakenResourceDependencies": [{"kind": "EC2-Instance", "name": "a", "path": "x", "type": "any"}],
        }));
        assert_eq!(asks(&request).provides, None);
        request.metadata.owner_references = Some(vec![
            serde_json::from_value(json!({"apiVersion": "aws.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "EC2Instance", "name": "web", "uid": "u", "controller": true}))
                .unwrap(),
        ]);
        let asks = asks(&request);
        let needs = [
            Named::new(Class::ConfigMap, "ns", "sizes"),
            Named::new(Class::Secret, "ns", "db"),
            Named::state("ns", "ec2instance", "a"),
        ];
        assert_eq!(asks.needs, needs.into());
        assert_eq!(asks.provides, Some(Named::new(Class::State, "ns", "ec2instance.aws.web")));
    }

    #[test]
    fn an_answer_is_for_one_generation() {
        let mut request = request(json!({}));
        assert!(!is_answered(&request));
        request.metadata.generation = Some(2);
        let answered = |generation| DependencyRequestStatus {
            observed_generation: generation,
            ..DependencyRequestStatus::default()
        };
        for (generation, is) in [(None, false), (Some(1), false), (Some(2), true)] {
            request.status = Some(answered(generation));
            assert_eq!(is_answered(&request), is, "{generation:?}");
        }
    }

    #[test]
    fn a_status_that_met_a_conflict_is_written_again_without_an_event() {
        let refused = |code: u16| {
            let status = kube::core::Status { code, ..kube::core::Status::default() };
            unwritten(ApiError {
                verb: "write the status",
                source: Box::new(kube::Error::Api(Box::new(status))),
            })
        };
        assert_eq!(refused(409).requeue(), Requeue::Backoff);
        assert_eq!(refused(503).requeue(), Requeue::Backoff);
        assert_eq!(refused(404).requeue(), Requeue::Never);
    }

    #[test]
    fn only_failures_are_tried_again_by_time() {
        assert_eq!(Outcome::Written.requeue(), Requeue::Never);
        assert_eq!(Outcome::Unchanged.requeue(), Requeue::Never);
        assert_eq!(Outcome::Unreadable.requeue(), Requeue::Backoff);
    }
}
