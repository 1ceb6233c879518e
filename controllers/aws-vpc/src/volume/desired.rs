//! The rules between the fields of a volume, and its own comparisons. Pure.

use kraken_aws::{AwsSpec as _, prelude::*};
use kraken_kind::{Edit, Opt};

use super::{
    api::{Change, Desired, PartialDesired, VolumeSpec},
    observed::{Attachment, Volume},
};

impl VolumeSpec {
    pub(super) fn between_fields(&self, partial: &PartialDesired, validator: &mut SpecValidator<'_, '_>) {
        if self.size_gib.is_none() && self.snapshot_id.is_none() {
            validator.problem("sizeGiB", "is required without snapshotID");
        }
        if let Some(kind) = given(&partial.volume_type).map(String::as_str) {
            if matches!(kind, "io1" | "io2") && self.iops.is_none() {
                validator.problem("iops", "is required for io1 and io2");
            }
            if matches!(kind, "gp2" | "st1" | "sc1" | "standard") && self.iops.is_some() {
                validator.problem("iops", "is only allowed for gp3, io1 and io2");
            }
            if kind != "gp3" && self.throughput.is_some() {
                validator.problem("throughput", "is only allowed for gp3");
            }
        }
        // A problem of the option itself is already reported.
        let is_encrypted = partial.encrypted.is_none() || given(&partial.encrypted) == Some(&true);
        if self.kms_key_id.is_some() && !is_encrypted {
            validator.problem("kmsKeyID", "requires encrypted: {value: true}");
        }
        if self.instance_id.is_some() != self.device.is_some() {
            let is_given = self.device.is_some();
            let why = if is_given { "requires instanceID" } else { "is required with instanceID" };
            validator.problem("device", why);
        }
    }

    pub(super) fn compare_size(desired: &Desired, volume: &Volume) -> Option<Difference<Change>> {
        let (wanted, have) = (desired.size_gib.as_ref(), volume.size.as_ref());
        let difference = changed("sizeGiB", wanted, have, Change::Modify)?;
        if wanted.zip(have).is_some_and(|(wanted, have)| wanted.expose() < have) {
            let why = "the size of a volume cannot decrease: restore the old value, or let Kraken replace the volume \
                       (spec.lifecycle.replace)";
            return Some(Difference { remedy: Remedy::Immutable(why.to_owned()), ..difference });
        }
        Some(difference)
    }

    /// A smaller size is another volume.
    pub(super) fn edit_of_volume(&self, before: &Self, field: &str) -> Edit {
        let literal = |spec: &Self| match spec.size_gib {
            Some(Opt::Value(size)) => Some(size),
            _ => None,
        };
        match (field, literal(before), literal(self)) {
            ("sizeGiB", Some(before), Some(after)) if after < before => Edit::Replaces,
            _ => Self::edit_of(before, self, field),
        }
    }

    /// AWS returns the ARN of the key, which ends with the key id. Only KMS can resolve an alias.
    pub(super) fn compare_key(desired: &Desired, volume: &Volume) -> Option<Difference<Change>> {
        let (wanted, have) = (desired.kms_key_id.as_ref(), volume.kms_key_id.as_ref());
        let text = wanted?.expose();
        let is_same =
            have.is_some_and(|have| have == text || have.rsplit_once('/').is_some_and(|(_, id)| id == text));
        if is_same || is_alias(text) { None } else { fixed("kmsKeyID", wanted, have) }
    }

    pub(super) fn compare_instance(desired: &Desired, volume: &Volume) -> Option<Difference<Change>> {
        let have = attachment(desired, volume).map(|attachment| &attachment.instance_id);
        changed("instanceID", desired.instance_id.as_ref(), have, Change::Attach)
    }

    pub(super) fn compare_device(desired: &Desired, volume: &Volume) -> Option<Difference<Change>> {
        let have = attachment(desired, volume).map(|attachment| &attachment.device);
        changed("device", desired.device.as_ref(), have, Change::Attach)
    }

    /// AWS does not return the alias of the volume's key.
    pub(super) fn at_creation(desired: &Desired) -> Vec<(&'static str, String)> {
        let alias = desired.kms_key_id.as_ref().filter(|key| is_alias(key.expose()));
        vec![("kmsKeyID", alias.map(shown).unwrap_or_default())]
    }
}

fn attachment<'a>(desired: &Desired, volume: &'a Volume) -> Option<&'a Attachment> {
    volume.attachment(desired.instance_id.as_ref().map(Resolved::expose))
}

/// Whether it is an alias, which may be reassigned to another key.
fn is_alias(key: &str) -> bool {
    key.starts_with("alias/") || key.contains(":alias/")
}
