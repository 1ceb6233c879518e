use kraken_api::DependencyRequestSpec;
use serde_json::Value;

use super::*;
use crate::store::index::Class;

fn request(spec: Value) -> DependencyRequest {
    let spec: DependencyRequestSpec = serde_json::from_value(spec).unwrap();
    let mut request = DependencyRequest::new("ec2instance.aws.web", spec);
    request.metadata.namespace = Some("ns".into());
    request
}

#[test]
fn a_request_refers_to_objects_of_its_namespace_for_every_spelling_of_a_kind() {
    let mut request = request(json!({
        "configMapDependencies": [{"name": "sizes", "key": "a"}, {"name": "sizes", "key": "b"}],
        "secretDependencies": [{"name": "db", "key": "password"}],
        "krakenResourceDependencies": [{"kind": "EC2-Instance", "name": "a", "path": "x", "type": "any"}],
    }));
    assert_eq!(edges(&request).provides, None);
    request.metadata.owner_references = Some(vec![
            serde_json::from_value(json!({"apiVersion": "aws.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "EC2Instance", "name": "web", "uid": "u", "controller": true}))
                .unwrap(),
        ]);
    let edges = edges(&request);
    let needs = [
        ObjectRef::new(Class::ConfigMap, "ns", "sizes"),
        ObjectRef::new(Class::Secret, "ns", "db"),
        ObjectRef::state("ns", "ec2instance", "a"),
    ];
    assert_eq!(edges.needs, needs.into());
    assert_eq!(edges.provides, Some(ObjectRef::new(Class::State, "ns", "ec2instance.aws.web")));
}

#[test]
fn an_answer_is_valid_for_one_generation() {
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
fn a_status_write_is_retried_after_a_conflict_without_an_event() {
    let refused = |code: u16| {
        let status = kube::core::Status { code, ..kube::core::Status::default() };
        unwritten(ApiError { verb: "write the status", source: Box::new(kube::Error::Api(Box::new(status))) })
    };
    assert_eq!(refused(409).requeue(), Requeue::Backoff);
    assert_eq!(refused(503).requeue(), Requeue::Backoff);
    assert_eq!(refused(404).requeue(), Requeue::Never);
}

#[test]
fn only_failures_are_retried_by_a_timer() {
    assert_eq!(Outcome::Written.requeue(), Requeue::Never);
    assert_eq!(Outcome::Unchanged.requeue(), Requeue::Never);
    assert_eq!(Outcome::Unreadable.requeue(), Requeue::Backoff);
}

#[test]
fn only_failures_are_counted_and_under_the_class_that_spokes_count_them() {
    assert_eq!(Outcome::Unreadable.failure_class(), Some("transient"));
    assert_eq!(Outcome::Written.failure_class(), None);
}
