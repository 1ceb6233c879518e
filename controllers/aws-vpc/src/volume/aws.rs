//! Volumes in AWS.

use kraken_aws::{
    Aws, AwsResource, TagOptions, Tags,
    ec2::types::{self, ResourceType, VolumeType},
    lookup::Tagged,
    missing::unless_done,
    resolved::exposed,
    resource::{Creation, DescribeQuery, Phase, RemoteObject},
    tags,
};
use kraken_spoke::{Difference, Failure, Ignored, Resolver};
use serde::Serialize;

use super::{
    api::{Volume as Resource, VolumeSpec},
    desired::{self, Change, Desired},
};

/// The kind Volume.
pub(crate) struct Volumes;

/// An observed volume, which is the published state.
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

impl Tagged for Volume {
    fn id(&self) -> &str {
        &self.volume_id
    }

    fn tags(&self) -> &Tags {
        &self.tags
    }
}

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

fn volume(volume: types::Volume) -> Volume {
    let attachment = |attachment: types::VolumeAttachment| Attachment {
        instance_id: attachment.instance_id.unwrap_or_default(),
        device: attachment.device.unwrap_or_default(),
        state: attachment.state.map(|state| state.as_str().to_owned()).unwrap_or_default(),
    };
    let attachments = volume.attachments.unwrap_or_default();
    let mut attachments: Vec<Attachment> = attachments.into_iter().map(attachment).collect();
    attachments.sort();
    Volume {
        volume_id: volume.volume_id.unwrap_or_default(),
        availability_zone: volume.availability_zone,
        size: volume.size,
        volume_type: volume.volume_type.map(|kind| kind.as_str().to_owned()),
        iops: volume.iops,
        throughput: volume.throughput,
        encrypted: volume.encrypted,
        kms_key_id: volume.kms_key_id,
        snapshot_id: volume.snapshot_id.filter(|id| !id.is_empty()),
        attachments,
        state: volume.state.map(|state| state.as_str().to_owned()).unwrap_or_default(),
        tags: tags::from_sdk(&volume.tags.unwrap_or_default()),
    }
}

impl AwsResource for Volumes {
    type Kind = Resource;
    type Desired = Desired;
    type RemoteObject = Volume;
    type Change = Change;
    const NOUN: &'static str = "volume";
    const STATE_KEY: &'static str = "volume";
    const SECRET_FIELD_PATHS: &[(&str, &[&str])] = &[
        ("availabilityZone", &["volume.AvailabilityZone"]),
        ("sizeGiB", &["volume.Size"]),
        ("type", &["volume.VolumeType"]),
        ("iops", &["volume.Iops"]),
        ("throughput", &["volume.Throughput"]),
        ("encrypted", &["volume.Encrypted"]),
        ("kmsKeyID", &["volume.KmsKeyId"]),
        ("snapshotID", &["volume.SnapshotId"]),
        ("instanceID", &["volume.Attachments.InstanceId"]),
        ("device", &["volume.Attachments.Device"]),
    ];
    const SUMMARY: &[(&str, &str)] = &[
        ("Size", "volume.Size"),
        ("Type", "volume.VolumeType"),
        ("Instance", "volume.Attachments.0.InstanceId"),
        ("State", "volume.State"),
    ];
    const IS_IDEMPOTENT: bool = true;
    const DRIFT_PATHS: &[&str] = &["state"];

    fn desired(spec: &VolumeSpec, values: &mut Resolver<'_>) -> Option<Desired> {
        desired::desired(spec, values)
    }

    fn tags(spec: &VolumeSpec) -> &TagOptions {
        &spec.tags
    }

    fn differences(desired: &Desired, volume: &Volume) -> Vec<Difference<Change>> {
        desired::differences(desired, volume)
    }

    fn without_ignored(desired: &Desired, _: &Volume, ignored: &Ignored) -> Option<Desired> {
        desired::without_ignored(desired, ignored)
    }

    fn at_creation(desired: &Desired) -> Vec<(&'static str, String)> {
        desired::at_creation(desired)
    }

    async fn read(aws: &Aws, query: DescribeQuery) -> Result<Vec<Volume>, Failure> {
        let call = aws.ec2().describe_volumes().set_volume_ids(query.ids).set_filters(query.filters);
        let pages = call.into_paginator().send();
        let pages = aws.pages("DescribeVolumes", "failed to describe volumes", pages).await?;
        Ok(pages.into_iter().flat_map(|page| page.volumes.unwrap_or_default()).map(volume).collect())
    }

    async fn create(aws: &Aws, desired: &Desired, creation: &Creation<'_>) -> Result<Volume, Failure> {
        let call = aws
            .ec2_once()
            .create_volume()
            .availability_zone(desired.availability_zone.expose())
            .set_size(exposed(desired.size_gib.as_ref()))
            .set_volume_type(kind(desired))
            .set_iops(exposed(desired.iops.as_ref()))
            .set_throughput(exposed(desired.throughput.as_ref()))
            .set_encrypted(exposed(desired.encrypted.as_ref()))
            .set_kms_key_id(exposed(desired.kms_key_id.as_ref()))
            .set_snapshot_id(exposed(desired.snapshot_id.as_ref()))
            .client_token(&creation.launch.token)
            .set_tag_specifications(Some(creation.specifications(ResourceType::Volume)));
        let made = aws.call("CreateVolume", "failed to create the volume", call.send()).await?;
        Ok(Volume { volume_id: made.volume_id.unwrap_or_default(), ..Volume::default() })
    }

    async fn update(aws: &Aws, change: &Change, desired: &Desired, volume: &Volume) -> Result<(), Failure> {
        match change {
            Change::Modify => {
                let call = aws
                    .ec2()
                    .modify_volume()
                    .volume_id(&volume.volume_id)
                    .set_size(exposed(desired.size_gib.as_ref()))
                    .set_volume_type(kind(desired))
                    .set_iops(exposed(desired.iops.as_ref()))
                    .set_throughput(exposed(desired.throughput.as_ref()));
                aws.call("ModifyVolume", "failed to change the volume", call.send()).await.map(drop)
            }
            Change::Attach => {
                let (Some(instance_id), Some(device)) = (&desired.instance_id, &desired.device) else {
                    return Ok(());
                };
                // AWS rejects a volume that is still being detached, and the change is retried soon.
                detach(aws, volume, Some(instance_id.expose())).await?;
                let call = aws
                    .ec2()
                    .attach_volume()
                    .volume_id(&volume.volume_id)
                    .instance_id(instance_id.expose())
                    .device(device.expose());
                let result = aws.call("AttachVolume", "failed to attach the volume", call.send()).await;
                unless_attached(aws, result.map(drop), &volume.volume_id, instance_id.expose()).await
            }
        }
    }

    async fn delete(aws: &Aws, volume: &Volume) -> Result<(), Failure> {
        detach(aws, volume, None).await?;
        let call = aws.ec2().delete_volume().volume_id(&volume.volume_id);
        aws.call("DeleteVolume", "failed to delete the volume", call.send()).await.map(drop)
    }
}

/// AWS rejects a volume that is attached already with the same error as one that is attached to another instance.
async fn unless_attached(
    aws: &Aws,
    result: Result<(), Failure>,
    id: &str,
    instance_id: &String,
) -> Result<(), Failure> {
    match result {
        Err(failure) if failure.code == "VolumeInUse" => {
            let ids = Some(vec![id.to_owned()]);
            let found = Volumes::read(aws, DescribeQuery { ids, filters: None }).await?;
            let attached = found.iter().find_map(|volume| volume.attachment(Some(instance_id)));
            if attached.is_some_and(|attached| attached.instance_id == *instance_id) {
                Ok(())
            } else {
                Err(failure)
            }
        }
        result => result,
    }
}

async fn detach(aws: &Aws, volume: &Volume, instance_id: Option<&String>) -> Result<(), Failure> {
    let Some(attachment) = volume.attachment(instance_id) else { return Ok(()) };
    let call = aws.ec2().detach_volume().volume_id(&volume.volume_id).instance_id(&attachment.instance_id);
    let result = aws.call("DetachVolume", "failed to detach the volume", call.send()).await;
    unless_done(result, &["IncorrectState", "InvalidAttachment.NotFound"])
}

fn kind(desired: &Desired) -> Option<VolumeType> {
    desired.volume_type.as_ref().map(|kind| VolumeType::from(kind.expose().as_str()))
}
