//! The resource that takes over a remote object. Pure.

use anyhow::{Result, anyhow, bail};
use kraken_api::DOMAIN;
use kube::api::DynamicObject;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::commands::plan::LAST_APPLIED;

/// The annotation of a successor until it is complete.
pub(super) const TRANSFER: &str = "kubectl.kraken-iac.eoinfennessy.com/transfer";

/// What a transfer must know after an interruption.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    /// The name of the former resource.
    pub(super) from: String,
    pub(super) uid: String,
    /// The id of the remote object.
    pub(super) id: String,
    /// `spec.lifecycle` of the former resource before it was changed; null if it had none.
    pub(super) lifecycle: Value,
}

impl Record {
    /// Of a resource with exactly one remote object: `lifecycle.adopt` takes one.
    pub(super) fn of(former: &DynamicObject) -> Result<Self> {
        let name = former.metadata.name.clone().unwrap_or_default();
        let ids = former.data["status"]["externalIds"].as_array().map(Vec::as_slice).unwrap_or_default();
        let id = match ids {
            [id] => id.as_str().unwrap_or_default().to_owned(),
            [] => bail!("it has no remote object that could be kept: apply its file"),
            several => bail!(
                "it has {} remote objects, and a resource can take over only one: see docs/howto/import.md for separate resources",
                several.len()
            ),
        };
        let uid = former.metadata.uid.clone().ok_or_else(|| anyhow!("it has no UID"))?;
        Ok(Self { from: name, uid, id, lifecycle: former.data["spec"]["lifecycle"].clone() })
    }

    /// The record of a successor; `None` if it is none, or complete.
    pub(super) fn read(object: &DynamicObject) -> Option<Self> {
        let text = object.metadata.annotations.as_ref()?.get(TRANSFER)?;
        serde_json::from_str(text).ok()
    }
}

/// The former resource under a name, with the adoption of its object.
pub(super) fn successor(former: &DynamicObject, name: &str, record: &Record) -> Result<Value> {
    let types = former.types.as_ref().ok_or_else(|| anyhow!("an object without a kind"))?;
    let own = |key: &str| key.split('/').next().is_some_and(|domain| domain.ends_with(DOMAIN));
    let mut annotations = serde_json::Map::new();
    for (key, value) in former.metadata.annotations.iter().flatten() {
        if key == LAST_APPLIED {
            annotations.extend(renamed(value, name).map(|value| (key.clone(), value.into())));
        } else if !own(key) {
            annotations.insert(key.clone(), value.as_str().into());
        }
    }
    annotations.insert(TRANSFER.to_owned(), serde_json::to_string(record)?.into());
    let mut spec = former.data["spec"].clone();
    let mut lifecycle = record.lifecycle.clone();
    if !lifecycle.is_object() {
        lifecycle = json!({});
    }
    lifecycle["adopt"] = json!({"id": record.id});
    // A paused resource adopts nothing. It is paused again in the end.
    lifecycle["paused"] = false.into();
    spec["lifecycle"] = lifecycle;
    Ok(json!({
        "apiVersion": types.api_version, "kind": types.kind,
        "metadata": {
            "name": name, "namespace": former.metadata.namespace,
            "labels": former.metadata.labels.clone().unwrap_or_default(),
            "annotations": annotations,
            "ownerReferences": former.metadata.owner_references.clone().unwrap_or_default(),
        },
        "spec": spec,
    }))
}

/// The record of `kubectl apply` under the new name, so that the next apply compares with it.
fn renamed(last: &str, name: &str) -> Option<String> {
    let mut document: Value = serde_json::from_str(last).ok()?;
    *document.pointer_mut("/metadata/name")? = name.into();
    Some(format!("{document}\n"))
}

/// The patch that completes a successor: the lifecycle as it was, and no record.
pub(super) fn completed(live: &DynamicObject, record: &Record) -> Value {
    let key = TRANSFER.replace('~', "~0").replace('/', "~1");
    let mut patch = vec![
        json!({"op": "test", "path": "/metadata/uid", "value": live.metadata.uid}),
        json!({"op": "test", "path": "/spec/lifecycle/adopt/id", "value": record.id}),
        json!({"op": "remove", "path": format!("/metadata/annotations/{key}")}),
    ];
    patch.push(if record.lifecycle.is_null() {
        json!({"op": "remove", "path": "/spec/lifecycle"})
    } else {
        json!({"op": "replace", "path": "/spec/lifecycle", "value": record.lifecycle})
    });
    patch.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn former(ids: Value) -> DynamicObject {
        serde_json::from_value(json!({
            "apiVersion": "aws.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "VPC",
            "metadata": {"name": "main", "namespace": "shop", "uid": "u-1", "resourceVersion": "7", "finalizers": ["x"],
                "labels": {"app": "shop"},
                "annotations": {"team": "net", "kraken-iac.eoinfennessy.com/intent": "{}",
                    LAST_APPLIED: "{\"metadata\":{\"name\":\"main\"}}\n"}},
            "spec": {"cidrBlock": {"value": "10.0.0.0/16"}, "lifecycle": {"protect": true, "paused": true}},
            "status": {"externalIds": ids},
        }))
        .unwrap()
    }

    #[test]
    fn a_successor_has_the_spec_and_what_people_wrote() {
        let former = former(json!(["vpc-1"]));
        let record = Record::of(&former).unwrap();
        let successor = successor(&former, "net", &record).unwrap();
        assert_eq!(successor["spec"]["cidrBlock"], json!({"value": "10.0.0.0/16"}));
        let lifecycle = json!({"protect": true, "paused": false, "adopt": {"id": "vpc-1"}});
        assert_eq!(successor["spec"]["lifecycle"], lifecycle);
        let annotations = &successor["metadata"]["annotations"];
        assert_eq!(annotations["team"], "net");
        assert_eq!(annotations[LAST_APPLIED], "{\"metadata\":{\"name\":\"net\"}}\n");
        assert!(annotations.get("kraken-iac.eoinfennessy.com/intent").is_none());
        assert!(successor.get("status").is_none() && successor["metadata"].get("finalizers").is_none());
        let object: DynamicObject = serde_json::from_value(successor).unwrap();
        assert_eq!(Record::read(&object), Some(record.clone()));
        let patch = completed(&object, &record);
        assert_eq!(
            patch[3],
            json!({"op": "replace", "path": "/spec/lifecycle", "value": {"protect": true, "paused": true}})
        );
    }

    #[test]
    fn only_one_object_can_be_taken_over() {
        let error = |ids: Value| Record::of(&former(ids)).unwrap_err().to_string();
        assert!(error(json!([])).contains("no remote object"));
        assert!(error(json!(["i-1", "i-2"])).contains("2 remote objects"));
    }
}
