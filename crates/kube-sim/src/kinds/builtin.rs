//! The kinds of Kubernetes itself, in the fields that controllers and their users use.

use serde_json::{Value, json};

use super::{Kind, Nature};
use crate::schema::{Schema, SchemaError};

/// All of them.
pub(super) fn kinds() -> Result<Vec<Kind>, SchemaError> {
    let data = texts();
    let core = |kind, plural, nature, schema| built("", "v1", kind, plural, nature, schema);
    let rbac = |kind, plural| {
        let of_any = json!({"type": "array", "items": any()});
        let schema = json!({"rules": of_any, "subjects": of_any, "roleRef": any(), "aggregationRule": any()});
        built("rbac.authorization.k8s.io", "v1", kind, plural, Nature::Plain, schema)
    };
    let cluster = |kind: Result<Kind, SchemaError>| kind.map(|kind| Kind { namespaced: false, ..kind });
    let versioned = |kind: Result<Kind, SchemaError>| kind.map(|kind| Kind { unconditional: false, ..kind });
    let upserts = |kind: Result<Kind, SchemaError>| kind.map(|kind| Kind { upserts: true, ..kind });
    let namespace = json!({
        "spec": {"type": "object", "properties": {"finalizers": {"type": "array", "items": text()}}},
        "status": {"type": "object", "properties": {
            "phase": text(),
            "conditions": {"type": "array", "items": any(), "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["type"]},
        }},
    });
    let config_map = json!({"data": data, "binaryData": data, "immutable": {"type": "boolean"}});
    let secret = json!({"data": data, "stringData": data, "type": text(), "immutable": {"type": "boolean"}});
    let account = json!({
        "secrets": {"type": "array", "items": any(), "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"]},
        "imagePullSecrets": {"type": "array", "items": any()},
        "automountServiceAccountToken": {"type": "boolean"},
    });
    let lease = json!({"spec": {"type": "object", "properties": {
        "holderIdentity": text(), "leaseDurationSeconds": {"type": "integer"}, "acquireTime": time(),
        "renewTime": time(), "leaseTransitions": {"type": "integer"}, "strategy": text(),
        "preferredHolder": text(),
    }}});
    let definition = json!({"spec": any(), "status": any()});
    let namespaces = cluster(core("Namespace", "namespaces", Nature::Namespace, namespace))?;
    let definitions = cluster(built(
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
        "customresourcedefinitions",
        Nature::Plain,
        definition,
    ))?;
    Ok(vec![
        Kind { status: true, short_names: vec!["ns".to_owned()], ..namespaces },
        core("ConfigMap", "configmaps", Nature::ConfigMap, config_map)?,
        core("Secret", "secrets", Nature::Secret, secret)?,
        versioned(core("ServiceAccount", "serviceaccounts", Nature::Plain, account))?,
        upserts(built("events.k8s.io", "v1", "Event", "events", Nature::Plain, event()))?,
        versioned(upserts(built("coordination.k8s.io", "v1", "Lease", "leases", Nature::Plain, lease)))?,
        Kind { unconditional: false, ..definitions },
        cluster(rbac("ClusterRole", "clusterroles"))?,
        cluster(rbac("ClusterRoleBinding", "clusterrolebindings"))?,
        rbac("Role", "roles")?,
        rbac("RoleBinding", "rolebindings")?,
    ])
}

/// The schema of `metadata`.
pub(super) fn object_meta() -> Value {
    let number = json!({"type": "integer"});
    let owner = json!({"type": "object", "x-kubernetes-map-type": "atomic", "properties": {
        "apiVersion": text(), "kind": text(), "name": text(), "uid": {"type": "string", "default": ""},
        "controller": {"type": "boolean"}, "blockOwnerDeletion": {"type": "boolean"},
    }});
    json!({"type": "object", "properties": {
        "name": text(), "generateName": text(), "namespace": text(), "selfLink": text(), "uid": text(),
        "resourceVersion": text(), "generation": number, "creationTimestamp": text(),
        "deletionTimestamp": text(), "deletionGracePeriodSeconds": number, "labels": texts(),
        "annotations": texts(), "managedFields": {"type": "array", "items": any()},
        "finalizers": {"type": "array", "items": text(), "x-kubernetes-list-type": "set"},
        "ownerReferences": {"type": "array", "items": owner, "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["uid"]},
    }})
}

fn event() -> Value {
    let reference = json!({"type": "object", "x-kubernetes-map-type": "atomic", "properties": {
        "apiVersion": text(), "kind": text(), "name": text(), "namespace": text(), "uid": text(),
        "resourceVersion": text(), "fieldPath": text(),
    }});
    let source = json!({"type": "object", "properties": {"component": text(), "host": text()}});
    json!({
        "eventTime": time(), "action": text(), "reason": text(), "note": text(), "type": text(),
        "reportingController": text(), "reportingInstance": text(), "regarding": reference,
        "related": reference, "deprecatedCount": {"type": "integer"}, "deprecatedFirstTimestamp": time(),
        "deprecatedLastTimestamp": time(), "deprecatedSource": source,
        "series": {"type": "object", "properties": {
            "count": {"type": "integer"}, "lastObservedTime": time(),
        }},
    })
}

fn time() -> Value {
    json!({"type": "string", "format": "date-time"})
}

fn text() -> Value {
    json!({"type": "string"})
}

fn texts() -> Value {
    json!({"type": "object", "additionalProperties": {"type": "string"}})
}

fn any() -> Value {
    json!({"x-kubernetes-preserve-unknown-fields": true})
}

fn built(
    group: &str,
    version: &str,
    kind: &str,
    plural: &str,
    nature: Nature,
    properties: Value,
) -> Result<Kind, SchemaError> {
    // A null is as good as nothing in the kinds of Kubernetes.
    let schema = nullable(json!({"type": "object", "properties": properties}));
    Ok(Kind {
        index: 0,
        group: group.to_owned(),
        version: version.to_owned(),
        kind: kind.to_owned(),
        plural: plural.to_owned(),
        singular: kind.to_lowercase(),
        short_names: Vec::new(),
        categories: Vec::new(),
        namespaced: true,
        nature,
        status: false,
        scale: None,
        selectable: selectable(plural).iter().map(|field| (*field).to_owned()).collect(),
        unconditional: true,
        upserts: false,
        schema: schema_of(&schema)?,
    })
}

fn selectable(plural: &str) -> &'static [&'static str] {
    match plural {
        "secrets" => &["type"],
        "namespaces" => &["status.phase"],
        "events" => &["reason", "type", "reportingController", "regarding.uid", "regarding.name"],
        _ => &[],
    }
}

fn schema_of(schema: &Value) -> Result<super::Shared, SchemaError> {
    Schema::compile(schema).map(std::sync::Arc::new)
}

fn nullable(mut schema: Value) -> Value {
    if let Value::Object(map) = &mut schema {
        for key in ["properties"] {
            if let Some(Value::Object(below)) = map.get_mut(key) {
                for value in below.values_mut() {
                    *value = nullable(value.take());
                }
            }
        }
        map.insert("nullable".to_owned(), true.into());
    }
    schema
}
