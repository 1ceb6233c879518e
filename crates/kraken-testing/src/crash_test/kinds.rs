//! The kinds of the scenarios, with their names in Kubernetes and in the cloud.

use kraken_simulator::Kind;
use kube::api::ApiResource;
use kube::core::GroupVersionKind;
use serde_json::Value;

/// The group of a short name: `aws` of `aws.kraken-iac.eoinfennessy.com`.
const DOMAIN: &str = "kraken-iac.eoinfennessy.com";

/// The group and the version of a kind, as in `apiVersion`.
pub(super) fn api_version(kind: &str) -> String {
    match kind {
        "ConfigMap" | "Secret" => "v1".to_owned(),
        "Event" => "events.k8s.io/v1".to_owned(),
        "ConfigExport" => format!("configexport.{DOMAIN}/v1alpha1"),
        "DependencyRequest" | "StateDeclaration" => format!("core.{DOMAIN}/v1alpha1"),
        _ => format!("aws.{DOMAIN}/v1alpha1"),
    }
}

pub(super) fn resource(kind: &str) -> ApiResource {
    let version = api_version(kind);
    let (group, version) = version.split_once('/').unwrap_or(("", &version));
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
}

/// The remote kind of a kind, if it has one.
pub(super) fn in_cloud(kind: &str) -> Option<Kind> {
    match kind {
        "EC2Instance" => Some(Kind::Instance),
        "VPC" => Some(Kind::Vpc),
        "LoadBalancer" => Some(Kind::LoadBalancer),
        "TargetGroup" => Some(Kind::TargetGroup),
        "Listener" => Some(Kind::Listener),
        "ListenerRule" => Some(Kind::ListenerRule),
        _ => None,
    }
}

/// The key of an object of a scenario: `VPC/a`.
pub(super) fn key(object: &Value) -> String {
    format!("{}/{}", text(&object["kind"]), text(&object["metadata"]["name"]))
}

pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_served_under_their_plurals() {
        let plurals =
            ["VPC", "ListenerRule", "DependencyRequest", "ConfigMap"].map(|kind| resource(kind).plural);
        assert_eq!(plurals, ["vpcs", "listenerrules", "dependencyrequests", "configmaps"]);
        assert_eq!(resource("Secret").api_version, "v1");
        assert_eq!(resource("VPC").api_version, "aws.kraken-iac.eoinfennessy.com/v1alpha1");
    }
}
