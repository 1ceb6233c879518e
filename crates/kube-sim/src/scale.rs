//! The scale subresource.

use serde_json::{Value, json};

use super::{fault::Fault, kinds::Kind};

/// The scale of an object that has one.
pub(super) fn read(kind: &Kind, object: &Value) -> Result<Value, Fault> {
    let path = path(kind);
    if at(object, path).is_null() {
        let path = path.join(".");
        return Err(Fault::internal(format!("the spec replicas field \".{path}\" does not exist")));
    }
    Ok(of(kind, object))
}

/// The number of replicas, 0 if there is none.
pub(super) fn replicas(kind: &Kind, object: &Value) -> i64 {
    at(object, path(kind)).as_i64().unwrap_or_default()
}

/// The path of the number in an object.
pub(super) fn path(kind: &Kind) -> &[String] {
    kind.scale.as_ref().map(|(spec, _)| spec.as_slice()).unwrap_or_default()
}

fn at<'a>(object: &'a Value, path: &[String]) -> &'a Value {
    path.iter().fold(object, |value, name| &value[name.as_str()])
}

/// The scale of an object; without a number if it has none.
pub(super) fn of(kind: &Kind, object: &Value) -> Value {
    let status = kind.scale.as_ref().map(|(_, status)| status.as_slice()).unwrap_or_default();
    let metadata = &object["metadata"];
    let mut spec_value = json!({});
    let replicas = replicas(kind, object);
    if replicas != 0 {
        spec_value["replicas"] = replicas.into();
    }
    json!({
        "apiVersion": "autoscaling/v1", "kind": "Scale",
        "metadata": {
            "name": metadata["name"], "namespace": metadata["namespace"], "uid": metadata["uid"],
            "resourceVersion": metadata["resourceVersion"], "creationTimestamp": metadata["creationTimestamp"],
        },
        "spec": spec_value,
        "status": {"replicas": at(object, status).as_i64().unwrap_or_default()},
    })
}

/// The object with the number of a scale.
pub(super) fn with(kind: &Kind, object: &Value, scale: &Value) -> Result<Value, Fault> {
    let mut changed = object.clone();
    let replicas = &scale["spec"]["replicas"];
    if !replicas.is_null() && !replicas.is_i64() {
        return Err(Fault::bad_request("spec.replicas is not a number"));
    }
    let replicas = replicas.as_i64().unwrap_or_default();
    let mut value = &mut changed;
    for name in path(kind) {
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
