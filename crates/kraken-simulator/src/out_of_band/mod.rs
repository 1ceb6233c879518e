//! Out-of-band changes in the account: by users, other tools, or AWS. Faults, limits and hooks do not apply.

mod changes;
mod create;
mod network;
mod parts;
mod values;

use std::time::Duration;

use anyhow::{Result, anyhow};
use tokio::time::Instant;

pub use changes::{OutOfBandChange, out_of_band_changes};

use crate::form::Form;
use crate::kind::Kind;
use crate::simulator::Simulator;

impl Simulator {
    /// Executes a call of the API, given by its parameters without `Action`; returns the ids of the affected objects.
    ///
    /// # Errors
    /// The cloud's error.
    pub fn out_of_band(&self, action: &str, parameters: &[(&str, &str)]) -> Result<Vec<String>> {
        let mut all = vec![("Action", action)];
        all.extend(parameters);
        let form = Form::of(&all);
        let mut state = self.shared.lock();
        let (mut call, _) = state.arrive(&form, true);
        let result = state.carry_out(&mut call, &form);
        result.map(|answer| answer.ids).map_err(|refusal| anyhow!("{}: {}", refusal.code, refusal.message))
    }

    /// Hides an object from Describe calls for some time, like a stale replica. Other calls are not affected.
    pub fn hide(&self, kind: Kind, id: &str, time: Duration) {
        let mut state = self.shared.lock();
        let object = state.cloud.registry.object(id).filter(|object| object.kind == kind);
        if let Some(object) = object {
            state.cloud.registry.described_from(object, Instant::now() + time);
        }
    }

    /// The time from which Describe calls return an object.
    pub fn described_since(&self, id: &str) -> Option<Instant> {
        let state = self.shared.lock();
        state.cloud.registry.object(id).and_then(|object| state.cloud.registry.since(object))
    }

    /// Freezes the representation of an object in Describe calls, like a stale replica. Its tags and its existence are not
    /// affected.
    pub fn keep_described(&self, kind: Kind, id: &str, time: Duration) {
        let mut state = self.shared.lock();
        let object = state.cloud.registry.object(id).filter(|object| object.kind == kind);
        if let Some(object) = object {
            state.cloud.keep_described(object, Instant::now() + time);
        }
    }

    /// Terminates an instance out of band.
    ///
    /// # Errors
    /// As [`Simulator::out_of_band`].
    pub fn terminate_out_of_band(&self, id: &str) -> Result<()> {
        self.out_of_band("TerminateInstances", &[("InstanceId.1", id)]).map(drop)
    }

    /// Stops an instance out of band.
    ///
    /// # Errors
    /// As [`Simulator::out_of_band`].
    pub fn stop_out_of_band(&self, id: &str) -> Result<()> {
        self.out_of_band("StopInstances", &[("InstanceId.1", id)]).map(drop)
    }

    /// Sets a tag out of band, or removes it (`None`); the id of a load balancing object is an ARN.
    ///
    /// # Errors
    /// As [`Simulator::out_of_band`].
    pub fn tag_out_of_band(&self, id: &str, key: &str, value: Option<&str>) -> Result<()> {
        if id.starts_with("arn:") {
            let arn = ("ResourceArns.member.1", id);
            let done = match value {
                Some(value) => {
                    let tag = [arn, ("Tags.member.1.Key", key), ("Tags.member.1.Value", value)];
                    self.out_of_band_elb("AddTags", &tag)
                }
                None => self.out_of_band_elb("RemoveTags", &[arn, ("TagKeys.member.1", key)]),
            };
            return done.map(drop);
        }
        let mut parameters = vec![("ResourceId.1", id), ("Tag.1.Key", key)];
        let action = if value.is_some() { "CreateTags" } else { "DeleteTags" };
        parameters.extend(value.map(|value| ("Tag.1.Value", value)));
        self.out_of_band(action, &parameters).map(drop)
    }

    /// Enables or disables an instance's termination protection out of band.
    ///
    /// # Errors
    /// As [`Simulator::out_of_band`].
    pub fn protect_out_of_band(&self, id: &str, protected: bool) -> Result<()> {
        let value = protected.to_string();
        let parameters = [("InstanceId", id), ("DisableApiTermination.Value", value.as_str())];
        self.out_of_band("ModifyInstanceAttribute", &parameters).map(drop)
    }

    /// Launches an instance with these tags out of band; returns its id.
    ///
    /// # Errors
    /// As [`Simulator::out_of_band`].
    pub fn launch_out_of_band(
        &self,
        image: &str,
        instance_type: &str,
        tags: &[(&str, &str)],
    ) -> Result<String> {
        let numbered = tags.iter().enumerate().map(|(index, (key, value))| {
            let name = format!("TagSpecification.1.Tag.{}", index + 1);
            [(format!("{name}.Key"), *key), (format!("{name}.Value"), *value)]
        });
        let numbered: Vec<(String, &str)> = numbered.flatten().collect();
        let mut parameters = vec![
            ("ImageId", image),
            ("InstanceType", instance_type),
            ("MinCount", "1"),
            ("MaxCount", "1"),
            ("TagSpecification.1.ResourceType", "instance"),
        ];
        parameters.extend(numbered.iter().map(|(name, value)| (name.as_str(), *value)));
        let ids = self.out_of_band("RunInstances", &parameters)?;
        ids.into_iter().next().ok_or_else(|| anyhow!("the launch created nothing"))
    }
}
