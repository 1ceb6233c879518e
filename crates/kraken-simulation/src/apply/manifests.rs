//! Backups in Velero's form: the manifests of objects, without what the API server knows of them.

use std::time::Duration;

use kraken_api::DOMAIN;
use serde_json::{Value, json};

use super::Memory;
use super::kube::{Kube, Result};
use crate::apiserver::ApiServer;
use crate::schedule::{ObjectName, Propagation};

/// What Velero removes from the metadata. Finalizers are removed when the object is restored, by older versions of it.
const REMOVED: [&str; 6] =
    ["uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "ownerReferences"];
/// The time between the creations of two objects of a namespace.
const PAUSE: Duration = Duration::from_millis(20);

/// Saves the manifests of an object, or of all that is in a namespace. What is being deleted is not saved.
pub(super) fn save(api: &ApiServer, memory: &mut Memory, name: &ObjectName) -> Result {
    let is_there = |object: &Value| object["metadata"]["deletionTimestamp"].is_null();
    let manifests: Vec<Value> =
        found(api, name).into_iter().filter(is_there).map(|object| manifest(&object)).collect();
    if manifests.is_empty() {
        return Err(format!("there is no {name}"));
    }
    memory.manifests.insert(name.clone(), manifests);
    Ok(())
}

/// Removes an object, or a namespace with all that is in it, with all finalizers.
pub(super) fn vanish(api: &ApiServer, name: &ObjectName) -> Result {
    let kube = Kube::new(api);
    let objects = found(api, name);
    let names = objects.iter().map(ObjectName::of);
    let all: Vec<ObjectName> = names.chain(is_namespace(name).then(|| name.clone())).collect();
    if objects.is_empty() && kube.get(name).is_none() {
        return Err(format!("there is no {name}"));
    }
    for name in all {
        // What is being deleted goes with its last finalizer; the others go now.
        let _ = kube.merge(&name, "", &json!({"metadata": {"finalizers": null}}));
        let _ = kube.delete(&name, Propagation::Background);
    }
    Ok(())
}

/// Creates those of the saved manifests that do not exist: Secrets and ConfigMaps first, as Velero does. Each status is written a moment
/// after its object, unless somebody wrote meanwhile.
pub(super) fn restore(
    api: &ApiServer,
    memory: &Memory,
    name: &ObjectName,
    finalizers: bool,
    status: bool,
) -> Result {
    let saved = memory.manifests.get(name).ok_or_else(|| "nothing was saved".to_owned())?;
    let mut manifests = saved.clone();
    manifests.sort_by_key(|object| (!is_builtin(object), ObjectName::of(object)));
    for object in &mut manifests {
        if let Some(metadata) = object["metadata"].as_object_mut().filter(|_| !finalizers) {
            metadata.remove("finalizers");
        }
    }
    if let ([object], false) = (manifests.as_slice(), status) {
        return Kube::new(api).create(object);
    }
    let api = api.clone();
    tokio::spawn(async move {
        for object in manifests {
            let (kube, name) = (Kube::new(&api), ObjectName::of(&object));
            let is_created = kube.create(&object).is_ok(); // what exists is left as it is
            let created = kube.get(&name).filter(|_| is_created && status && has_status(&object));
            tokio::time::sleep(PAUSE).await;
            if let Some(created) = created {
                let version = &created["metadata"]["resourceVersion"];
                let patch = json!({"metadata": {"resourceVersion": version}, "status": object["status"]});
                let _ = kube.merge(&name, "/status", &patch);
            }
        }
    });
    Ok(())
}

/// Whether it has a status that is restored with others. The hub writes that of a request again.
fn has_status(object: &Value) -> bool {
    object["status"].is_object() && object["kind"] != "DependencyRequest"
}

fn is_namespace(name: &ObjectName) -> bool {
    name.kind == "Namespace"
}

fn is_builtin(object: &Value) -> bool {
    object["kind"] == "Secret" || object["kind"] == "ConfigMap"
}

/// The object, or what is in the namespace: users' and Kraken's objects, and no leases and events.
fn found(api: &ApiServer, name: &ObjectName) -> Vec<Value> {
    if !is_namespace(name) {
        return Kube::new(api).get(name).into_iter().collect();
    }
    let is_ours = |object: &Value| {
        object["apiVersion"].as_str().is_some_and(|version| version.contains(DOMAIN)) || is_builtin(object)
    };
    let is_meant = |object: &Value| object["metadata"]["namespace"] == *name.name && is_ours(object);
    let all = api.all_objects();
    all.iter().filter(|object| is_meant(object)).map(|object| Value::clone(object)).collect()
}

/// An object as it is created again.
fn manifest(object: &Value) -> Value {
    let mut manifest = object.clone();
    if let Some(metadata) = manifest["metadata"].as_object_mut() {
        metadata.retain(|field, _| !REMOVED.contains(&field.as_str()));
    }
    manifest
}
