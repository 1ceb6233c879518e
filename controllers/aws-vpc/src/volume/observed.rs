//! The observed volume, which is the published state.

use kraken_aws::{
    Tags,
    resource::{Phase, RemoteObject},
    tagged_by, tags,
};
use serde::Serialize;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Volume {
    pub(super) volume_id: String,
    pub(super) availability_zone: Option<String>,
    pub(super) size: Option<i32>,
    pub(super) volume_type: Option<String>,
    pub(super) iops: Option<i32>,
    pub(super) throughput: Option<i32>,
    pub(super) encrypted: Option<bool>,
    pub(super) kms_key_id: Option<String>,
    pub(super) snapshot_id: Option<String>,
    pub(super) attachments: Vec<Attachment>,
    pub(super) state: String,
    #[serde(serialize_with = "tags::written")]
    pub(super) tags: Tags,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Attachment {
    pub(super) instance_id: String,
    pub(super) device: String,
    pub(super) state: String,
}

impl Volume {
    /// The current or pending attachment: that of this instance if it exists, because a volume may have several.
    pub(super) fn attachment(&self, instance_id: Option<&String>) -> Option<&Attachment> {
        let is_there = |a: &&Attachment| matches!(&*a.state, "attaching" | "attached" | "busy");
        let mut all = self.attachments.iter().filter(is_there);
        let first = all.clone().next();
        all.find(|attachment| Some(&attachment.instance_id) == instance_id).or(first)
    }

    #[cfg(test)]
    pub(super) fn attached_to(mut self, instance_id: &str, device: &str, state: &str) -> Self {
        let (instance_id, device) = (instance_id.to_owned(), device.to_owned());
        self.attachments = vec![Attachment { instance_id, device, state: state.to_owned() }];
        self
    }
}

tagged_by!(Volume, volume_id);

impl RemoteObject for Volume {
    fn phase(&self) -> Phase {
        match &*self.state {
            "creating" => Phase::Settling(self.state.clone()),
            "error" => {
                Phase::Failed("AWS failed to create it; its KMS key or snapshot may be missing".to_owned())
            }
            "deleting" => Phase::Leaving,
            "deleted" => Phase::Gone,
            _ => Phase::Up,
        }
    }
}
