//! An object as a person would write it: without what the API server and controllers add. Pure.

use kraken_api::DOMAIN;
use kube::api::DynamicObject;
use serde_json::{Map, Value, json};

/// The fields of the metadata that a person writes.
const METADATA: [&str; 4] = ["name", "namespace", "labels", "annotations"];
/// `kubectl apply` keeps the last manifest in it.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The manifest in YAML.
pub(super) fn manifest(object: &DynamicObject) -> String {
    let written = serde_json::to_value(&object.metadata).unwrap_or_default();
    let mut metadata = Map::new();
    for field in METADATA {
        let mut value = written[field].clone();
        if field == "annotations"
            && let Some(annotations) = value.as_object_mut()
        {
            // Those in Kraken's domain are records of controllers and requests of commands.
            annotations.retain(|name, _| name != LAST_APPLIED && !name.contains(DOMAIN));
        }
        let is_empty = value.is_null() || value.as_object().is_some_and(Map::is_empty);
        if !is_empty {
            metadata.insert(field.to_owned(), value);
        }
    }
    let types = object.types.clone().unwrap_or_default();
    yaml(&json!({
        "apiVersion": types.api_version, "kind": types.kind, "metadata": metadata, "spec": object.data["spec"],
    }))
}

/// The status in YAML, without the conditions, which are shown on their own.
pub(super) fn status(object: &DynamicObject) -> String {
    let mut status = object.data["status"].clone();
    if let Some(fields) = status.as_object_mut() {
        fields.remove("conditions");
    }
    if status.is_null() { String::new() } else { yaml(&status) }
}

fn yaml(value: &Value) -> String {
    serde_saphyr::to_string(value).unwrap_or_else(|error| format!("# cannot be written as YAML: {error}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::fixtures::{object, ready};

    #[test]
    fn a_manifest_has_only_what_a_person_writes() {
        let mut vpc = object("VPC", "main", json!({"cidrBlock": {"value": "10.0.0.0/16"}}), ready());
        vpc.metadata.uid = Some("u".to_owned());
        vpc.metadata.resource_version = Some("7".to_owned());
        vpc.metadata.finalizers = Some(vec!["f".to_owned()]);
        let annotation = |name: &str| (name.to_owned(), "x".to_owned());
        let names = [LAST_APPLIED, "kraken-iac.eoinfennessy.com/intent", "team"];
        vpc.metadata.annotations = Some(names.into_iter().map(annotation).collect());
        let expected = "\
apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1
kind: VPC
metadata:
  annotations:
    team: x
  name: main
  namespace: shop
spec:
  cidrBlock:
    value: 10.0.0.0/16
";
        assert_eq!(manifest(&vpc), expected);
        assert!(!status(&vpc).contains("Available"));
    }
}
