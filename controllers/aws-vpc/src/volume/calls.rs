//! The calls of volumes.

use kraken_aws::{ec2::types::VolumeType, errors::terminal, prelude::*};
use kraken_kind::Edit;

use super::{
    api::{self, Change, Desired},
    import,
    observed::Volume,
};
use crate::{
    conflicts::{held, unless_made},
    in_vpc::{any_of, used},
};

/// The kind Volume.
pub(crate) struct Volumes;

impl AwsResource for Volumes {
    type Kind = api::Volume;
    const FEATURES: Features = Features { is_idempotent: true, contains: "all data", ..Features::NONE };

    fn edit_of(before: &api::VolumeSpec, after: &api::VolumeSpec, field: &str) -> Edit {
        after.edit_of_volume(before, field)
    }

    fn not_importable(volume: &Volume) -> Option<String> {
        import::not_importable(volume)
    }

    /// The volumes that are attached to instances in the VPC.
    async fn within(aws: &Aws, place: &str) -> Result<Vec<Volume>, Failure> {
        let mut found = vec![];
        for query in any_of("attachment.instance-id", used(aws, place).await?.instances) {
            found.extend(Self::read(aws, query).await?);
        }
        Ok(found)
    }

    async fn read(aws: &Aws, query: DescribeQuery) -> Result<Vec<Volume>, Failure> {
        let call = aws.ec2().describe_volumes().set_volume_ids(query.ids).set_filters(query.filters);
        let pages = call.into_paginator().send();
        aws.items("DescribeVolumes", "failed to describe volumes", pages, |page| page.volumes).await
    }

    async fn create(aws: &Aws, desired: &Desired, creation: &Creation<'_>) -> Result<Volume, Failure> {
        // It is attached by a change.
        let Desired {
            availability_zone,
            size_gib,
            volume_type,
            iops,
            throughput,
            encrypted,
            kms_key_id,
            snapshot_id,
            instance_id: _,
            device: _,
        } = desired;
        let call = aws
            .ec2_once()
            .create_volume()
            .availability_zone(availability_zone.expose())
            .set_size(exposed(size_gib.as_ref()))
            .set_volume_type(exposed(volume_type.as_ref()).as_deref().map(VolumeType::from))
            .set_iops(exposed(iops.as_ref()))
            .set_throughput(exposed(throughput.as_ref()))
            .set_encrypted(exposed(encrypted.as_ref()))
            .set_kms_key_id(exposed(kms_key_id.as_ref()))
            .set_snapshot_id(exposed(snapshot_id.as_ref()))
            .client_token(&creation.launch.token)
            .set_tag_specifications(Some(creation.specifications(ResourceType::Volume)));
        let made = aws.call("CreateVolume", "failed to create the volume", call.send()).await?;
        Ok(Volume { volume_id: made.volume_id.unwrap_or_default(), ..Volume::default() })
    }

    async fn update(aws: &Aws, change: &Change, desired: &Desired, volume: &Volume) -> Result<(), Failure> {
        match change {
            // All by one call: AWS accepts one per volume in six hours.
            Change::Modify => {
                let call = aws
                    .ec2()
                    .modify_volume()
                    .volume_id(&volume.volume_id)
                    .set_size(exposed(desired.size_gib.as_ref()))
                    .set_volume_type(exposed(desired.volume_type.as_ref()).as_deref().map(VolumeType::from))
                    .set_iops(exposed(desired.iops.as_ref()))
                    .set_throughput(exposed(desired.throughput.as_ref()));
                aws.call("ModifyVolume", "failed to change the volume", call.send()).await.map(drop)
            }
            Change::Attach => {
                let (Some(instance_id), Some(device)) = (&desired.instance_id, &desired.device) else {
                    return Ok(());
                };
                ensure_free(aws, instance_id.expose(), device.expose(), volume).await?;
                // AWS rejects a volume that is still being detached, and the change is retried soon.
                detach(aws, volume, Some(instance_id.expose())).await?;
                let call = aws
                    .ec2()
                    .attach_volume()
                    .volume_id(&volume.volume_id)
                    .instance_id(instance_id.expose())
                    .device(device.expose());
                let result = aws.call("AttachVolume", "failed to attach the volume", call.send()).await;
                // AWS rejects a volume that is attached already like one that is attached to another instance.
                let read = Self::read(aws, DescribeQuery::of(&volume.volume_id));
                unless_made(result, "VolumeInUse", read, |volume| volume.is_attached_to(instance_id.expose()))
                    .await
            }
        }
    }

    async fn hand_over(aws: &Aws, desired: &Desired, replaced: &Volume) -> Result<Option<String>, Failure> {
        let (Some(instance_id), Some(device)) = (&desired.instance_id, &desired.device) else {
            return Ok(None);
        };
        let (id, instance_id, device) = (&replaced.volume_id, instance_id.expose(), device.expose());
        if !replaced.occupies(instance_id, device) {
            return Ok(None);
        }
        detach(aws, replaced, Some(instance_id)).await?;
        Ok(Some(format!("detached {id}, which is replaced, from {device} of {instance_id}")))
    }

    async fn delete(aws: &Aws, volume: &Volume) -> Result<(), Failure> {
        detach(aws, volume, None).await?;
        let call = aws.ec2().delete_volume().volume_id(&volume.volume_id);
        aws.call("DeleteVolume", "failed to delete the volume", call.send()).await.map(drop)
    }
}

/// An instance has one volume at a device.
async fn ensure_free(aws: &Aws, instance_id: &str, device: &str, own: &Volume) -> Result<(), Failure> {
    let found = Volumes::read(aws, DescribeQuery::with("attachment.instance-id", instance_id)).await?;
    let is_other = |other: &Volume| other.volume_id != own.volume_id && other.occupies(instance_id, device);
    let Some(other) = found.into_iter().find(is_other) else { return Ok(()) };
    Err(held(terminal("failed to attach the volume", ""), &other, own, |holder| {
        format!("{device} of {instance_id} is in use by {holder}: set another device, or detach that volume")
    }))
}

async fn detach(aws: &Aws, volume: &Volume, instance_id: Option<&String>) -> Result<(), Failure> {
    let Some(attachment) = volume.attachment(instance_id) else { return Ok(()) };
    let call = aws.ec2().detach_volume().volume_id(&volume.volume_id).instance_id(&attachment.instance_id);
    let result = aws.call("DetachVolume", "failed to detach the volume", call.send()).await;
    ignore_codes(result, &["IncorrectState", "InvalidAttachment.NotFound"])
}
