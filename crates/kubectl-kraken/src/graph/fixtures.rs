//! Objects for tests, as the API server returns them.

use kube::api::DynamicObject;
use serde_json::{Value, json};

use super::{Graph, Node};
use crate::discovery::tests::kinds;

fn group(kind: &str) -> &'static str {
    match kind {
        "ConfigExport" => "configexport.kraken-iac.eoinfennessy.com",
        "DependencyRequest" => "core.kraken-iac.eoinfennessy.com",
        _ => "aws.kraken-iac.eoinfennessy.com",
    }
}

pub(crate) fn object(kind: &str, name: &str, spec: Value, status: Value) -> DynamicObject {
    serde_json::from_value(json!({
        "apiVersion": format!("{}/v1alpha1", group(kind)), "kind": kind,
        "metadata": {"name": name, "namespace": "shop", "generation": 2},
        "spec": spec, "status": status,
    }))
    .unwrap()
}

pub(crate) fn request(name: &str, spec: Value) -> DynamicObject {
    object("DependencyRequest", name, spec, json!({}))
}

pub(crate) fn condition(status: &str, reason: &str, message: &str) -> Value {
    json!({"conditions": [{"type": "Ready", "status": status, "reason": reason, "message": message,
        "observedGeneration": 2, "lastTransitionTime": "2026-01-01T00:00:00Z"}]})
}

pub(crate) fn ready() -> Value {
    condition("True", "Available", "in place")
}

pub(crate) fn not_ready(reason: &str, message: &str) -> Value {
    condition("False", reason, message)
}

/// A resource whose fields refer to others: `[("vpcID", "VPC/main")]`.
pub(crate) fn using(kind: &str, name: &str, fields: &[(&str, &str)], status: Value) -> DynamicObject {
    let field = |(field, target): &(&str, &str)| {
        let source = match target
            .strip_prefix("ConfigMap/")
            .map(|key| ("configMap", key))
            .or_else(|| target.strip_prefix("Secret/").map(|key| ("secret", key)))
        {
            Some((kind, key)) => {
                let (name, key) = key.split_once('/').unwrap();
                json!({kind: {"name": name, "key": key}})
            }
            None => json!({"ref": target}),
        };
        ((*field).to_owned(), json!({"valueFrom": source}))
    };
    object(kind, name, Value::Object(fields.iter().map(field).collect()), status)
}

pub(crate) fn graph(objects: impl IntoIterator<Item = DynamicObject>) -> Graph {
    Graph::of(&kinds(), objects)
}

pub(crate) fn node(kind: &str, name: &str) -> Node {
    Node::new("shop", if kind == "ConfigMap" || kind == "Secret" { "" } else { group(kind) }, kind, name)
}

/// Four hops: ListenerRule -> Listener -> TargetGroup -> two instances -> a Secret; the listener needs a key of a ConfigMap too.
pub(crate) fn stack() -> Vec<DynamicObject> {
    let unpublished = |kind: &str, name: &str| {
        format!("{kind} {name} exists and has not published a state yet: its Ready condition says why")
    };
    let waiting = |message: String| not_ready("DependenciesNotReady", &message);
    let secret = "spec.userData: Secret db does not exist";
    vec![
        object("VPC", "shop", json!({}), ready()),
        using("Subnet", "a", &[("vpcID", "VPC/shop")], ready()),
        using(
            "EC2Instance",
            "web-a",
            &[("subnetID", "Subnet/a"), ("userData", "Secret/db/password")],
            waiting(secret.into()),
        ),
        using(
            "EC2Instance",
            "web-b",
            &[("subnetID", "Subnet/a"), ("userData", "Secret/db/password")],
            waiting(secret.into()),
        ),
        object(
            "TargetGroup",
            "web",
            json!({
                "vpcID": {"valueFrom": {"ref": "VPC/shop"}},
                "targets": {"value": [{"valueFrom": {"ref": "EC2Instance/web-a"}}, {"valueFrom": {"ref": "EC2Instance/web-b"}}]},
            }),
            waiting(format!(
                "spec.targets.value[0]: {}; spec.targets.value[1]: {}",
                unpublished("ec2instance", "web-a"),
                unpublished("ec2instance", "web-b")
            )),
        ),
        using(
            "Listener",
            "https",
            &[("certificateARN", "ConfigMap/shop/certificate"), ("targetGroupARN", "TargetGroup/web")],
            waiting(format!(
                "spec.certificateARN: ConfigMap shop has no key \"certificate\" (it has: env); spec.targetGroupARN: {}",
                unpublished("targetgroup", "web")
            )),
        ),
        using(
            "ListenerRule",
            "static",
            &[("listenerARN", "Listener/https")],
            waiting(format!("spec.listenerARN: {}", unpublished("listener", "https"))),
        ),
    ]
}
