//! The patch by which a document is applied: the same result as `kubectl apply` with the same file. Pure.

use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::{Map, Value, json};

/// The annotation in which `kubectl apply` without `--server-side` keeps the last document.
pub(crate) const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// The field manager of `kubectl apply --server-side`.
const KUBECTL: &str = "kubectl";

/// A patch, and how it is sent.
pub(crate) struct Apply {
    pub(crate) params: PatchParams,
    pub(crate) patch: Patch<Value>,
}

/// How `document` is applied to `live`: by a merge patch if it was applied from the client before, otherwise on the server, under the
/// name of the manager that applied it before. An existing object must still have the version that was read.
pub(crate) fn apply(document: &Value, live: Option<&DynamicObject>) -> Apply {
    let last = live.and_then(|live| live.metadata.annotations.as_ref()?.get(LAST_APPLIED));
    let last = last.and_then(|last| serde_json::from_str::<Value>(last).ok());
    let version = live.and_then(|live| live.metadata.resource_version.clone());
    if let (Some(last), Some(live)) = (&last, live) {
        let live = serde_json::to_value(live).unwrap_or_default();
        let mut patch = three_way(last, document, &live);
        merge_at(&mut patch, &["metadata", "resourceVersion"], json!(version));
        let text = recorded(document, live["metadata"]["namespace"].as_str());
        merge_at(&mut patch, &["metadata", "annotations", LAST_APPLIED], json!(text));
        return Apply { params: PatchParams::apply("kubectl-client-side-apply"), patch: Patch::Merge(patch) };
    }
    let manager = live.and_then(manager).unwrap_or_else(|| KUBECTL.to_owned());
    let mut document = without_version(document);
    if let Some(version) = version {
        merge_at(&mut document, &["metadata", "resourceVersion"], json!(version));
    }
    Apply { params: PatchParams::apply(&manager).force(), patch: Patch::Apply(document) }
}

/// The document as kubectl records it.
fn recorded(document: &Value, namespace: Option<&str>) -> String {
    let mut document = without_version(document);
    // A file that was read from the cluster contains the record of the apply before.
    if let Some(annotations) = document["metadata"]["annotations"].as_object_mut() {
        annotations.remove(LAST_APPLIED);
    }
    if document["metadata"]["annotations"].is_null() {
        merge_at(&mut document, &["metadata", "annotations"], json!({}));
    }
    if let Some(namespace) = namespace {
        merge_at(&mut document, &["metadata", "namespace"], json!(namespace));
    }
    format!("{document}\n")
}

/// The manager that applied most of the spec, or of the data of a ConfigMap, on the server.
fn manager(live: &DynamicObject) -> Option<String> {
    let entries = live.metadata.managed_fields.as_ref()?.iter();
    let applied =
        entries.filter(|entry| entry.operation.as_deref() == Some("Apply") && entry.subresource.is_none());
    let size = |fields: Option<&Value>| fields.map_or(0, |fields| fields.to_string().len());
    let with_spec = applied.filter_map(|entry| {
        let fields =
            entry.fields_v1.as_ref().and_then(|fields| fields.0.get("f:spec").or(fields.0.get("f:data")));
        fields.is_some().then(|| (size(fields), entry.manager.clone().unwrap_or_default()))
    });
    with_spec.max().map(|(_, manager)| manager)
}

fn without_version(document: &Value) -> Value {
    let mut document = document.clone();
    if let Some(metadata) = document["metadata"].as_object_mut() {
        for field in ["resourceVersion", "uid", "creationTimestamp", "generation", "managedFields"] {
            metadata.remove(field);
        }
    }
    if let Some(fields) = document.as_object_mut() {
        fields.remove("status");
    }
    document
}

/// The merge patch from `live` to `document`: what the last document had and this one does not is removed.
pub(super) fn three_way(last: &Value, document: &Value, live: &Value) -> Value {
    let nothing = Map::new();
    let fields = |value: &Value| value.as_object().cloned().unwrap_or_default();
    let (last, document, live) =
        (fields(last), fields(document), live.as_object().unwrap_or(&nothing).clone());
    let mut patch = Map::new();
    for (name, value) in &document {
        let have = live.get(name).unwrap_or(&Value::Null);
        if value.is_object() && have.is_object() {
            let below = three_way(last.get(name).unwrap_or(&Value::Null), value, have);
            if below.as_object().is_some_and(|below| !below.is_empty()) {
                patch.insert(name.clone(), below);
            }
        } else if value != have {
            patch.insert(name.clone(), value.clone());
        }
    }
    for name in last.keys().filter(|name| !document.contains_key(*name) && live.contains_key(*name)) {
        patch.insert(name.clone(), Value::Null);
    }
    Value::Object(patch)
}

pub(crate) fn merge_at(value: &mut Value, path: &[&str], leaf: Value) {
    let [first, rest @ ..] = path else {
        *value = leaf;
        return;
    };
    if !value.is_object() {
        *value = json!({});
    }
    merge_at(&mut value[*first], rest, leaf);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removed_field_is_null_and_what_others_set_stays() {
        let last = json!({"spec": {"a": {"value": 1}, "b": {"value": 2}}});
        let document = json!({"spec": {"a": {"value": 3}}});
        let live = json!({"spec": {"a": {"value": 1}, "b": {"value": 2}, "c": {"value": 9}}, "status": {}});
        assert_eq!(three_way(&last, &document, &live), json!({"spec": {"a": {"value": 3}, "b": null}}));
        assert_eq!(three_way(&document, &document, &document), json!({}));
    }

    #[test]
    fn an_object_of_another_tool_is_applied_in_its_name() {
        let document = json!({"metadata": {"name": "a"}, "spec": {}});
        let fields = |spec: Value| json!({"f:spec": spec});
        let live: DynamicObject = serde_json::from_value(json!({"metadata": {"name": "a", "resourceVersion": "5", "managedFields": [
            {"manager": "kraken-aws-vpc", "operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1": {"f:metadata": {}}},
            {"manager": "flux", "operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1": fields(json!({"f:a": {}}))},
            {"manager": "person", "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": fields(json!({"f:a": {}, "f:b": {}}))},
        ]}}))
        .unwrap();
        let apply = apply(&document, Some(&live));
        assert_eq!(apply.params.field_manager.as_deref(), Some("flux"));
        let Patch::Apply(patch) = apply.patch else { panic!("a merge patch") };
        assert_eq!(patch["metadata"]["resourceVersion"], "5");
    }
}
