//! The observed volume, which is the published state.

use kraken_aws::{aws_observed, ec2::types, observed::non_empty, resource::Phase};

#[aws_observed(from = types::Volume, id = volume_id, phase = Self::phase)]
pub(crate) struct Volume {
    pub(super) volume_id: String,
    pub(super) availability_zone: Option<String>,
    pub(super) size: Option<i32>,
    pub(super) volume_type: Option<String>,
    pub(super) iops: Option<i32>,
    pub(super) throughput: Option<i32>,
    pub(super) encrypted: Option<bool>,
    pub(super) kms_key_id: Option<String>,
    #[from(non_empty(sdk.snapshot_id))]
    pub(super) snapshot_id: Option<String>,
    pub(super) attachments: Vec<Attachment>,
    pub(super) state: String,
}

#[aws_observed(from = types::VolumeAttachment)]
pub(crate) struct Attachment {
    pub(super) instance_id: String,
    pub(super) device: String,
    pub(super) state: String,
    /// Whether the volume is deleted when the instance is terminated.
    #[serde(skip)]
    #[from(sdk.delete_on_termination == Some(true))]
    pub(super) is_of_launch: bool,
}

impl Volume {
    /// The current or pending attachment: that of this instance if it exists, because a volume may have several.
    pub(super) fn attachment(&self, instance_id: Option<&String>) -> Option<&Attachment> {
        let is_there = |a: &&Attachment| matches!(&*a.state, "attaching" | "attached" | "busy");
        let mut all = self.attachments.iter().filter(is_there);
        let first = all.clone().next();
        all.find(|attachment| Some(&attachment.instance_id) == instance_id).or(first)
    }

    pub(super) fn is_attached_to(&self, instance_id: &String) -> bool {
        self.attachment(Some(instance_id)).is_some_and(|attachment| attachment.instance_id == *instance_id)
    }

    /// Whether it is at this device, also while it is being detached.
    pub(super) fn occupies(&self, instance_id: &str, device: &str) -> bool {
        let is_there =
            |a: &Attachment| a.state != "detached" && a.instance_id == instance_id && a.device == device;
        self.attachments.iter().any(is_there)
    }

    fn phase(&self) -> Phase {
        match &*self.state {
            "creating" => Phase::Pending(self.state.clone()),
            "error" => {
                Phase::Failed("AWS failed to create it; its KMS key or snapshot may be missing".to_owned())
            }
            "deleting" => Phase::Deleting,
            "deleted" => Phase::Deleted,
            _ => Phase::Available,
        }
    }
}
