//! Checks whether the desired state is reached: the objects, their published state, and the cloud.

use anyhow::{Context as _, Result};
use kraken_simulator::{Kind, ObjectRecord};
use serde_json::{Value, json};

use super::checks::UID;
use super::cloud::ADOPTABLE;
use super::desired::{Desired, Known, resolve};
use super::kinds::{in_cloud, key, text};
use super::run::Run;
use super::scenarios::hub::canary;

const PREFIX: &str = "kraken-iac.eoinfennessy.com/";

impl Run {
    /// The first difference from the desired state.
    pub(super) async fn differs(&self, desired: &Desired) -> Result<Option<String>> {
        let wanted: Vec<String> = desired.manifests.iter().map(key).collect();
        for gone in self.known.keys().filter(|key| !wanted.contains(key)) {
            let object = self.read(gone).await?;
            if !object.is_null() {
                return Ok(Some(format!("{gone} still exists: {}", ready(&object))));
            }
        }
        if desired.manifests.is_empty() {
            for target in &self.recorder.targets {
                let key = target.replace("secrets/", "Secret/").replace("configmaps/", "ConfigMap/");
                if !self.known.contains_key(&key) && !self.read(&key).await?.is_null() {
                    return Ok(Some(format!("{key} exists without its export")));
                }
            }
        }
        let mut owners = vec![];
        for manifest in &desired.manifests {
            let (key, kind) = (key(manifest), text(&manifest["kind"]));
            let object = self.read(&key).await?;
            owners.push(text(&object["metadata"]["uid"]).to_owned());
            let in_cloud = in_cloud(kind).filter(|kind| self.recorder.kinds.contains(kind));
            let problem = if let Some(kind) = in_cloud {
                let not_ready = not_ready(&object);
                if not_ready.is_some() {
                    not_ready
                } else {
                    self.cloud_differs(desired, manifest, &object, kind).await?
                }
            } else {
                match kind {
                    "ConfigExport" | "DependencyRequest" if desired.unready.contains(&key.as_str()) => {
                        still_ready(&object)
                    }
                    "ConfigExport" | "DependencyRequest" => not_ready(&object),
                    _ => self.touched(&key, &object),
                }
            };
            if let Some(problem) = problem {
                return Ok(Some(format!("{key}: {problem}")));
            }
        }
        if let Some(object) = self.ownerless(&owners) {
            return Ok(Some(format!("{} exists without an owner", object.id)));
        }
        self.objects_differ(desired).await
    }

    /// The live objects of a kind that none of these own.
    fn ownerless(&self, owners: &[String]) -> Option<ObjectRecord> {
        let alive = self.recorder.kinds.iter().flat_map(|kind| self.recorder.cloud.objects(*kind));
        alive
            .filter(|object| object.alive)
            .find(|object| !object.tags.get(UID).is_some_and(|uid| owners.contains(uid)))
    }

    /// Checks that an object that only its author writes is unchanged.
    fn touched(&self, key: &str, object: &Value) -> Option<String> {
        let version = |object: &Value| object["metadata"]["resourceVersion"].clone();
        let is_same = self.known.get(key).is_some_and(|applied| version(applied) == version(object));
        (!is_same).then(|| format!("it was changed by another client: {object}"))
    }

    /// The differences of a Ready resource from the desired state: in the cloud, its published state and its status.
    async fn cloud_differs(
        &self,
        desired: &Desired,
        manifest: &Value,
        object: &Value,
        kind: Kind,
    ) -> Result<Option<String>> {
        let uid = text(&object["metadata"]["uid"]);
        let objects = self.recorder.cloud.objects(kind).into_iter();
        let own: Vec<ObjectRecord> = objects
            .filter(|object| object.alive && object.tags.get(UID).is_some_and(|of| of == uid))
            .collect();
        let count = manifest["spec"]["maxCount"]["value"].as_u64().unwrap_or(1);
        if own.len() as u64 != count {
            return Ok(Some(format!("{} live objects, expected {count}", own.len())));
        }
        let tags = &manifest["spec"]["tags"];
        if let Some(object) = own.iter().find(|object| !has_tags(object, tags)) {
            return Ok(Some(format!("Ready, but {} has tags {:?}, not {tags}", object.id, object.tags)));
        }
        let mut expected: Vec<&str> = own.iter().map(|object| object.id.as_str()).collect();
        expected.sort_unstable();
        let listed = sorted(object["status"]["externalIds"].as_array().into_iter().flatten());
        let (name, lower) = (text(&object["metadata"]["name"]), text(&object["kind"]).to_lowercase());
        let state = self.read(&format!("StateDeclaration/{lower}.aws.{name}")).await?;
        let declared = if kind == Kind::Instance {
            let all = state["spec"]["data"]["instances"].as_array().into_iter().flatten();
            sorted(all.map(|instance| &instance["InstanceId"]))
        } else {
            sorted([&state["spec"]["id"]])
        };
        if declared != expected || listed != expected {
            return Ok(Some(format!(
                "Ready, but the cloud has {expected:?}, the status {listed:?} and the StateDeclaration {declared:?}"
            )));
        }
        let (this, mut queries) = (key(manifest), vec![]);
        queries.extend(desired.described.iter().filter(|query| query.of == this));
        for query in queries {
            for id in &expected {
                if let Some(problem) = self.recorder.cloud.misdescribed(query, id).await? {
                    return Ok(Some(format!("Ready, but {problem}")));
                }
            }
        }
        let mut instances =
            self.recorder.cloud.simulator.instances().into_iter().map(|record| record.instance);
        let stopped = instances.find(|one| expected.contains(&one.id.as_str()) && one.state != "running");
        Ok(stopped.map(|one| format!("Ready, but {} is {}", one.id, one.state)))
    }

    async fn objects_differ(&self, desired: &Desired) -> Result<Option<String>> {
        let known = Known { site: &self.recorder.cloud.site, objects: &self.known };
        for expected in &desired.objects {
            let object = self.read(&expected.key).await?;
            let Some(values) = &expected.values else {
                if object.is_null() {
                    continue;
                }
                return Ok(Some(format!("{} exists, and must not exist", expected.key)));
            };
            for (pointer, value) in values {
                let (value, found) =
                    (resolve(value, &known), object.pointer(pointer).unwrap_or(&Value::Null));
                if *found != value {
                    return Ok(Some(format!("{}{pointer} is {found}, not {value}", expected.key)));
                }
            }
        }
        Ok(None)
    }

    /// The object of the namespace, or the log, that contains a value of a Secret and must not.
    pub(super) async fn leak(&self) -> Result<Option<String>> {
        let leaks = |text: &str| canary().found(text).is_some();
        for kind in ["ConfigMap", "ConfigExport", "DependencyRequest", "StateDeclaration", "VPC", "Event"] {
            let all = self.api(kind).list(&kube::api::ListParams::default()).await;
            let all = all.with_context(|| format!("cannot list {kind}s"))?;
            if let Some(object) = all.items.into_iter().find(|object| leaks(&json!(object).to_string())) {
                return Ok(Some(format!("a value of a Secret is in {kind} {:?}", object.metadata.name)));
            }
        }
        let log = self.worker.log()?;
        Ok(leaks(&log).then(|| "a value of a Secret is in the log".to_owned()))
    }
}

fn not_ready(object: &Value) -> Option<String> {
    let ready = ready(object);
    let current = object["metadata"]["generation"] == object["status"]["observedGeneration"];
    (ready["status"] != "True" || !current).then(|| format!("it is not Ready: {ready}"))
}

fn still_ready(object: &Value) -> Option<String> {
    let ready = ready(object);
    let current = object["metadata"]["generation"] == object["status"]["observedGeneration"];
    (ready["status"] != "False" || !current)
        .then(|| format!("it does not name the missing dependency: {ready}"))
}

/// Whether it has exactly these tags, in addition to those of the controller and of its adoption.
fn has_tags(object: &ObjectRecord, tags: &Value) -> bool {
    let own = object.tags.iter().filter(|(key, _)| !key.starts_with(PREFIX) && key.as_str() != ADOPTABLE);
    let own: serde_json::Map<String, Value> = own.map(|(key, value)| (key.clone(), json!(value))).collect();
    Value::Object(own) == *tags
}

fn sorted<'a>(ids: impl IntoIterator<Item = &'a Value>) -> Vec<String> {
    let mut ids: Vec<String> = ids.into_iter().map(|id| text(id).to_owned()).collect();
    ids.sort();
    ids
}

pub(super) fn ready(object: &Value) -> Value {
    let conditions = object["status"]["conditions"].as_array();
    conditions.into_iter().flatten().find(|one| one["type"] == "Ready").cloned().unwrap_or_default()
}
