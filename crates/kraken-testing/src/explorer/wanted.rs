//! Whether everything is as somebody wanted it: the object, what it publishes, and the cloud.

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::lane::Lane;
use super::scenario::{NAME, Wish};
use crate::moto::Instance;

impl Lane {
    /// What is not as wanted yet.
    pub(super) async fn differs(&self, wish: Option<&Wish>) -> Result<Option<String>> {
        let object = self.objects.get_opt(NAME).await.context("cannot read the EC2Instance")?;
        let object = object.map_or(Value::Null, |object| json!(object));
        let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
        let ready = ready(&object);
        let Some(wish) = wish else {
            let live = self.trial.cloud.instances().into_iter().find(Instance::is_alive);
            let left = live.map(|instance| format!("{} lives without an owner", instance.id));
            return Ok(if object.is_null() {
                left
            } else {
                Some(format!("the object is still there: {ready}"))
            });
        };
        let current = object["metadata"]["generation"] == ready["observedGeneration"];
        if object.is_null() || ready["status"] != "True" || !current {
            return Ok(Some(format!("it is not Ready: {ready}")));
        }
        let (own, others): (Vec<_>, Vec<_>) = self
            .trial
            .cloud
            .instances()
            .into_iter()
            .filter(Instance::is_alive)
            .partition(|instance| instance.tags.values().any(|value| value == uid));
        if let Some(other) = others.first() {
            return Ok(Some(format!("{} lives without an owner", other.id)));
        }
        if own.len() != wish.count {
            return Ok(Some(format!("{} instances live, {} are wanted", own.len(), wish.count)));
        }
        if let Some(instance) = own.iter().find(|instance| !fits(instance, wish)) {
            return Ok(Some(format!("Ready, but {instance:?} is not as wanted")));
        }
        let state = self.states.get_opt(&format!("ec2instance.aws.{NAME}")).await?;
        let state = state.map_or(Value::Null, |state| json!(state));
        let mut expected: Vec<&str> = own.iter().map(|instance| instance.id.as_str()).collect();
        expected.sort_unstable();
        let declared = state["spec"]["data"]["instances"].as_array().cloned().unwrap_or_default();
        let declared = sorted(declared.iter().map(|instance| instance["InstanceId"].clone()));
        let listed = object["status"]["externalIds"].as_array().cloned().unwrap_or_default();
        let listed = sorted(listed.into_iter());
        if declared != expected || listed != expected {
            return Ok(Some(format!(
                "Ready, but the cloud has {expected:?}, the status {listed:?} and the StateDeclaration {declared:?}"
            )));
        }
        Ok(None)
    }
}

fn fits(instance: &Instance, wish: &Wish) -> bool {
    let tags = wish.tags.iter().all(|(key, value)| instance.tags.get(*key).is_some_and(|have| have == value));
    let stale = instance.tags.contains_key("Old") && !wish.tags.iter().any(|(key, _)| *key == "Old");
    instance.state == "running"
        && instance.instance_type == wish.instance_type
        && instance.image_id == wish.image
        && tags
        && !stale
}

fn sorted(ids: impl Iterator<Item = Value>) -> Vec<String> {
    let mut ids: Vec<String> = ids.map(|id| id.as_str().unwrap_or_default().to_owned()).collect();
    ids.sort();
    ids
}

pub(super) fn ready(object: &Value) -> Value {
    let conditions = object["status"]["conditions"].as_array();
    conditions.into_iter().flatten().find(|one| one["type"] == "Ready").cloned().unwrap_or_default()
}
