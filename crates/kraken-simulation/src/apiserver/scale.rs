//! The scale subresource.

use serde_json::{Value, json};

use super::{fault::Fault, kinds::Kind};

/// The scale of an object.
pub(super) fn of(kind: &Kind, object: &Value) -> Value {
    let at = |path: &[String]| path.iter().fold(object, |value, name| &value[name.as_str()]);
    let (spec, status) = kind.scale.as_ref().map_or((&[][..], &[][..]), |(spec, status)| (spec, status));
    let metadata = &object["metadata"];
    let mut spec_value = json!({});
    if let Some(replicas) = at(spec).as_i64().filter(|replicas| *replicas != 0) {
        spec_value["replicas"] = replicas.into();
    }
    json!({
        "apiVersion": "autoscaling/v1", "kind": "Scale",
        "metadata": {
            "name": metadata["name"], "namespace": metadata["namespace"], "uid": metadata["uid"],
            "resourceVersion": metadata["resourceVersion"], "creationTimestamp": metadata["creationTimestamp"],
        },
        "spec": spec_value,
        "status": {"replicas": at(status).as_i64().unwrap_or_default()},
    })
}

/// The object with the number of a scale.
pub(super) fn with(kind: &Kind, object: &Value, scale: &Value) -> Result<Value, Fault> {
    let mut changed = object.clone();
    let replicas = scale["spec"]["replicas"].as_i64().unwrap_or_default();
    let path = kind.scale.as_ref().map(|(spec, _)| spec.as_slice()).unwrap_or_default();
    let mut value = &mut changed;
    for name in path {
        if value.is_null() {
            *value = json!({});
        }
        if !value.is_object() {
            return Err(Fault::internal(format!("{name} is not in an object")));
        }
        value = &mut value[name.as_str()];
    }
    *value = replicas.into();
    if let Some(version) = scale["metadata"]["resourceVersion"].as_str() {
        super::meta::set(&mut changed, "resourceVersion", version.into());
    }
    Ok(changed)
}
