//! Which remote object an operation is about.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use kraken_simulator::{Kind, ObjectRecord, Simulator};
use serde_json::Value;

use super::kube::Kube;
use super::{Installation, cloud_of};
use crate::check::{UID, remote_kind};
use crate::schedule::{ObjectName, Remote};

/// The tag with the kind, namespace and name of the resource that owns a remote object.
const OWNER: &str = "kraken-iac.eoinfennessy.com/owner";

/// A remote object that lives.
#[derive(Clone)]
pub(super) struct Found {
    pub(super) cloud: Arc<Simulator>,
    pub(super) kind: Kind,
    pub(super) id: String,
    pub(super) tags: BTreeMap<String, String>,
}

impl fmt::Debug for Found {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.id)
    }
}

/// The remote object that is meant, if it lives.
pub(crate) fn find(engine: &dyn Installation, remote: &Remote) -> Result<Found, String> {
    let found = match remote {
        Remote::Of(object, number) => of(engine, object, *number),
        Remote::Named(name) => named(engine, name),
    };
    found.ok_or_else(|| format!("{remote} does not exist"))
}

fn of(engine: &dyn Installation, object: &ObjectName, number: usize) -> Option<Found> {
    let kind = remote_kind(&object.kind)?;
    let live = Kube::new(engine.api()).get(object)?;
    let uid = live["metadata"]["uid"].as_str()?;
    let cloud = cloud_with(engine, &object.kind, &live)?;
    let ids: Vec<&str> = live
        .pointer("/status/externalIds")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let is_meant = |object: &ObjectRecord| {
        object.alive
            && (ids.contains(&object.id.as_str()) || object.tags.get(UID).is_some_and(|have| have == uid))
    };
    let mut objects: Vec<ObjectRecord> = cloud.objects(kind).into_iter().filter(is_meant).collect();
    if objects.is_empty() {
        return None;
    }
    let object = objects.swap_remove(number % objects.len());
    Some(Found { cloud, kind, id: object.id, tags: object.tags })
}

/// The cloud with the objects of a resource: according to its status, or else by their tags, or else that of its
/// controller. The ids of another cloud may be the same.
fn cloud_with(engine: &dyn Installation, kind: &str, live: &Value) -> Option<Arc<Simulator>> {
    let place = &live["status"]["location"];
    if let (Some(account), Some(region)) = (place["account"].as_str(), place["region"].as_str())
        && let Some(cloud) = engine.cloud_at(account, region)
    {
        return Some(cloud);
    }
    let (of, uid) = (remote_kind(kind)?, live["metadata"]["uid"].as_str()?);
    let tagged = engine.clouds().into_iter().find(|cloud| !cloud.tagged(of, UID, uid).is_empty());
    tagged.or_else(|| cloud_of(engine, kind))
}

fn named(engine: &dyn Installation, name: &str) -> Option<Found> {
    for cloud in engine.clouds() {
        for kind in Kind::ALL {
            if let Some(id) = cloud.tagged(kind, "Name", name).into_iter().next() {
                let tags =
                    cloud.objects(kind).into_iter().find(|object| object.id == id).map(|object| object.tags);
                return Some(Found { cloud, kind, id, tags: tags.unwrap_or_default() });
            }
        }
    }
    None
}

/// The owner tags of an object, without the cluster.
pub(super) fn owner_tags(kube: &Kube<'_>, object: &ObjectName) -> Result<Vec<(String, String)>, String> {
    let live = kube.get(object).ok_or_else(|| format!("there is no {object}"))?;
    let uid = live["metadata"]["uid"].as_str().unwrap_or_default();
    let owner = format!("{}/{}/{}", object.kind, object.namespace, object.name);
    Ok(vec![(UID.to_owned(), uid.to_owned()), (OWNER.to_owned(), owner)])
}
