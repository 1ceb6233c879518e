//! The fields of a volume's spec that have a comparison of their own. Pure.

use kraken_aws::import::literal;
use serde_json::Value;

use super::{api::VolumeSpec, observed::Volume};

/// The IOPS of a gp3 volume that was created without a number.
const GP3_IOPS: i32 = 3_000;

impl VolumeSpec {
    pub(super) fn import_size(volume: &Volume) -> Option<Value> {
        volume.size.map(literal)
    }

    /// AWS returns the IOPS of gp2 volumes too, which follow from their size.
    pub(super) fn import_iops(volume: &Volume) -> Option<Value> {
        let is_set = match volume.volume_type.as_deref()? {
            "gp3" => volume.iops != Some(GP3_IOPS),
            "io1" | "io2" => true,
            _ => false,
        };
        volume.iops.filter(|_| is_set).map(literal)
    }

    pub(super) fn import_key(volume: &Volume) -> Option<Value> {
        let is_encrypted = volume.encrypted == Some(true);
        volume.kms_key_id.as_ref().filter(|_| is_encrypted).map(literal)
    }

    pub(super) fn import_instance(volume: &Volume) -> Option<Value> {
        volume.attachment(None).map(|attachment| literal(&attachment.instance_id))
    }

    pub(super) fn import_device(volume: &Volume) -> Option<Value> {
        volume.attachment(None).map(|attachment| literal(&attachment.device))
    }
}

/// A volume that is deleted with its instance was created by the launch.
pub(super) fn not_importable(volume: &Volume) -> Option<String> {
    let attachment = volume.attachments.iter().find(|attachment| attachment.is_of_launch)?;
    Some(format!("a volume of {}, with which it is deleted", attachment.instance_id))
}
