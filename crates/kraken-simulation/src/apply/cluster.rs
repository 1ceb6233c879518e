//! Operations on the cluster.

use kraken_api::{APPROVED_PLAN_ANNOTATION, DOMAIN};
use kraken_runtime::clock;
use serde_json::{Value, json};

use super::Memory;
use super::kube::{Kube, Result};
use super::remote::Found;
use super::set::{difference, set};
use crate::schedule::{Lost, ObjectName, Propagation};

/// The name of a tag that users search by.
const NAME_TAG: &str = "Name";

/// Like `kubectl edit`: a patch of the difference to the current object.
pub(super) fn edit(kube: &Kube<'_>, name: &ObjectName, path: &str, value: Option<Value>) -> Result {
    let live = existing(kube, name)?;
    let mut edited = live.clone();
    set(&mut edited, path, value);
    let Some(patch) = difference(&live, &edited) else { return Err("it is so already".to_owned()) };
    kube.merge(name, "", &patch)
}

pub(super) fn set_data(kube: &Kube<'_>, name: &ObjectName, key: &str, value: Option<&str>) -> Result {
    let is_secret = name.kind == "Secret";
    // A Secret takes text as `stringData`; what is removed is removed from `data`.
    let field = if is_secret && value.is_some() { "stringData" } else { "data" };
    if kube.get(name).is_some() {
        return kube.merge(name, "", &json!({field: {key: value}}));
    }
    let Some(value) = value else { return Err(missing(name)) };
    kube.create(&json!({
        "apiVersion": "v1", "kind": name.kind,
        "metadata": {"name": name.name, "namespace": name.namespace},
        field: {key: value},
    }))
}

pub(super) fn scale(kube: &Kube<'_>, name: &ObjectName, replicas: i64) -> Result {
    existing(kube, name)?;
    kube.merge(name, "/scale", &json!({"spec": {"replicas": replicas}}))
}

pub(super) fn delete_namespace(kube: &Kube<'_>, name: &str) -> Result {
    kube.delete(&ObjectName::new("", "Namespace", name), Propagation::Background)
}

pub(super) fn create_namespace(kube: &Kube<'_>, name: &str) -> Result {
    if kube.get(&ObjectName::new("", "Namespace", name)).is_some() {
        return Err("it exists already".to_owned());
    }
    kube.create(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}))
}

pub(super) fn adopt(kube: &Kube<'_>, name: &ObjectName, found: &Found, by_id: bool) -> Result {
    let adopt = if by_id {
        json!({"id": found.id})
    } else {
        let tag = found.tags.get(NAME_TAG).ok_or_else(|| format!("{} has no tag {NAME_TAG}", found.id))?;
        json!({"tags": {NAME_TAG: tag}})
    };
    edit(kube, name, "/spec/lifecycle/adopt", Some(adopt))
}

pub(super) fn approve(kube: &Kube<'_>, memory: &mut Memory, name: &ObjectName, stale: bool) -> Result {
    let object = existing(kube, name)?;
    let shown = object.pointer("/status/plan/hash").and_then(Value::as_str).map(ToOwned::to_owned);
    let remembered = memory.plans.get(name).cloned();
    if let Some(hash) = &shown {
        memory.plans.insert(name.clone(), hash.clone());
    }
    let hash = if stale {
        remembered.unwrap_or_else(|| "0000000000000000".to_owned())
    } else {
        shown.ok_or_else(|| "there is no plan".to_owned())?
    };
    kube.merge(name, "", &json!({"metadata": {"annotations": {APPROVED_PLAN_ANNOTATION: hash}}}))
}

pub(super) fn annotate(kube: &Kube<'_>, name: &ObjectName, annotation: &str) -> Result {
    existing(kube, name)?;
    let key = format!("{DOMAIN}/{annotation}");
    let now = clock::now().to_string();
    kube.merge(name, "", &json!({"metadata": {"annotations": {key: now}}}))
}

pub(super) fn strip(kube: &Kube<'_>, name: &ObjectName, lost: Lost) -> Result {
    let object = existing(kube, name)?;
    let patch = match lost {
        Lost::Finalizers => json!({"metadata": {"finalizers": null}}),
        Lost::OwnerReferences => json!({"metadata": {"ownerReferences": null}}),
        Lost::Ledger => return forge(kube, name, &json!({ "ledger": null })),
        Lost::Annotations => json!({"metadata": {"annotations": null}}),
        Lost::Labels => json!({"metadata": {"labels": null}}),
        Lost::Status => return kube.merge(name, "/status", &json!({"status": null})),
        Lost::FirstId => {
            let ids = object.pointer("/status/externalIds").and_then(Value::as_array);
            let (_, others) =
                ids.and_then(|ids| ids.split_first()).ok_or_else(|| "it has no ids".to_owned())?;
            return forge(kube, name, &json!({ "externalIds": others }));
        }
    };
    kube.merge(name, "", &patch)
}

pub(super) fn forge(kube: &Kube<'_>, name: &ObjectName, status: &Value) -> Result {
    existing(kube, name)?;
    kube.merge(name, "/status", &json!({ "status": status }))
}

pub(super) fn forge_plan(kube: &Kube<'_>, name: &ObjectName) -> Result {
    let object = existing(kube, name)?;
    let approved = object["metadata"]["annotations"][APPROVED_PLAN_ANNOTATION].as_str();
    let (true, Some(approved)) = (object["status"]["plan"].is_object(), approved) else {
        return Err("there is no plan, or none was approved".to_owned());
    };
    kube.merge(name, "/status", &json!({"status": {"plan": {"hash": approved}}}))
}

pub(super) fn own(kube: &Kube<'_>, name: &ObjectName, owner: &ObjectName) -> Result {
    existing(kube, name)?;
    let owner = existing(kube, owner)?;
    let reference = json!({
        "apiVersion": owner["apiVersion"], "kind": owner["kind"],
        "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
        "controller": true,
    });
    kube.merge(name, "", &json!({"metadata": {"ownerReferences": [reference]}}))
}

fn existing(kube: &Kube<'_>, name: &ObjectName) -> std::result::Result<Value, String> {
    kube.get(name).ok_or_else(|| missing(name))
}

fn missing(name: &ObjectName) -> String {
    format!("there is no {name}")
}
