//! The desired state of a volume, and its comparison with the observed state. Pure.

use kraken_aws::{
    bounds::{INSTANCE_ID, KMS_KEY, ZONE},
    diff::{changed, fixed},
    fields::shown,
    resolved::given,
    validator::SpecValidator,
};
use kraken_spoke::{Difference, Ignored, Remedy, Resolved, Resolver};

use super::{
    api::{DEVICE, IOPS, SIZE_GIB, SNAPSHOT_ID, THROUGHPUT, TYPE, VolumeSpec},
    aws::Volume,
};

/// The desired state. Absent fields are neither sent nor compared.
#[derive(Clone, Debug)]
pub(crate) struct Desired {
    pub(super) availability_zone: Resolved<String>,
    pub(super) size_gib: Option<Resolved<i32>>,
    pub(super) volume_type: Option<Resolved<String>>,
    pub(super) iops: Option<Resolved<i32>>,
    pub(super) throughput: Option<Resolved<i32>>,
    pub(super) encrypted: Option<Resolved<bool>>,
    pub(super) kms_key_id: Option<Resolved<String>>,
    pub(super) snapshot_id: Option<Resolved<String>>,
    pub(super) instance_id: Option<Resolved<String>>,
    pub(super) device: Option<Resolved<String>>,
}

/// A change in place.
#[derive(Debug)]
pub(crate) enum Change {
    /// Changes size, type, IOPS and throughput by one call: AWS accepts one call per volume in six hours.
    Modify,
    /// Attaches it to the desired instance, after detaching it from any other.
    Attach,
}

pub(super) fn desired(spec: &VolumeSpec, values: &mut Resolver<'_>) -> Option<Desired> {
    let mut validator = SpecValidator::new(values);
    let availability_zone =
        validator.one("availabilityZone", &spec.availability_zone, |zone: &str| ZONE.check(zone));
    let size_gib = validator.optional("sizeGiB", spec.size_gib.as_ref(), |size: &i32| SIZE_GIB.check(*size));
    let volume_type = validator.optional("type", spec.volume_type.as_ref(), |kind: &str| TYPE.check(kind));
    let iops = validator.optional("iops", spec.iops.as_ref(), |iops: &i32| IOPS.check(*iops));
    let throughput =
        validator.optional("throughput", spec.throughput.as_ref(), |rate: &i32| THROUGHPUT.check(*rate));
    let encrypted = validator.any_if("encrypted", spec.encrypted.as_ref());
    let kms_key_id = validator.optional("kmsKeyID", spec.kms_key_id.as_ref(), |key: &str| KMS_KEY.check(key));
    let snapshot_id =
        validator.optional("snapshotID", spec.snapshot_id.as_ref(), |id: &str| SNAPSHOT_ID.check(id));
    let instance_id =
        validator.optional("instanceID", spec.instance_id.as_ref(), |id: &str| INSTANCE_ID.check(id));
    let device = validator.optional("device", spec.device.as_ref(), |device: &str| DEVICE.check(device));

    if spec.size_gib.is_none() && spec.snapshot_id.is_none() {
        validator.problem("sizeGiB", "is required without snapshotID");
    }
    if let Some(kind) = given(&volume_type).map(String::as_str) {
        if matches!(kind, "io1" | "io2") && spec.iops.is_none() {
            validator.problem("iops", "is required for io1 and io2");
        }
        if matches!(kind, "gp2" | "st1" | "sc1" | "standard") && spec.iops.is_some() {
            validator.problem("iops", "is only allowed for gp3, io1 and io2");
        }
        if kind != "gp3" && spec.throughput.is_some() {
            validator.problem("throughput", "is only allowed for gp3");
        }
    }
    // A problem of the option itself is already reported.
    let is_encrypted = encrypted.is_none() || given(&encrypted) == Some(&true);
    if spec.kms_key_id.is_some() && !is_encrypted {
        validator.problem("kmsKeyID", "requires encrypted: {value: true}");
    }
    if spec.instance_id.is_some() != spec.device.is_some() {
        let (field, why) = match spec.device {
            None => ("device", "is required with instanceID"),
            Some(_) => ("device", "requires instanceID"),
        };
        validator.problem(field, why);
    }

    let desired = Desired {
        availability_zone: availability_zone?,
        size_gib: size_gib?,
        volume_type: volume_type?,
        iops: iops?,
        throughput: throughput?,
        encrypted: encrypted?,
        kms_key_id: kms_key_id?,
        snapshot_id: snapshot_id?,
        instance_id: instance_id?,
        device: device?,
    };
    validator.is_valid().then_some(desired)
}

pub(super) fn differences(desired: &Desired, volume: &Volume) -> Vec<Difference<Change>> {
    let zone = Some(&desired.availability_zone);
    let attachment = volume.attachment(desired.instance_id.as_ref().map(Resolved::expose));
    let instance = attachment.map(|attachment| &attachment.instance_id);
    let device = attachment.map(|attachment| &attachment.device);
    let all = [
        fixed("availabilityZone", zone, volume.availability_zone.as_ref()),
        fixed("encrypted", desired.encrypted.as_ref(), volume.encrypted.as_ref()),
        fixed("snapshotID", desired.snapshot_id.as_ref(), volume.snapshot_id.as_ref()),
        key(desired.kms_key_id.as_ref(), volume.kms_key_id.as_ref()),
        size(desired.size_gib.as_ref(), volume.size.as_ref()),
        changed("type", desired.volume_type.as_ref(), volume.volume_type.as_ref(), Change::Modify),
        changed("iops", desired.iops.as_ref(), volume.iops.as_ref(), Change::Modify),
        changed("throughput", desired.throughput.as_ref(), volume.throughput.as_ref(), Change::Modify),
        changed("instanceID", desired.instance_id.as_ref(), instance, Change::Attach),
        changed("device", desired.device.as_ref(), device, Change::Attach),
    ];
    all.into_iter().flatten().collect()
}

/// A call that modifies a volume sends all mutable fields except ignored ones, which AWS does not change.
pub(super) fn without_ignored(desired: &Desired, ignored: &Ignored) -> Option<Desired> {
    let is_ignored = |path: &str| ignored.covers(path);
    if !["sizeGiB", "type", "iops", "throughput"].into_iter().any(is_ignored) {
        return None;
    }
    let mut kept = desired.clone();
    for (path, field) in
        [("sizeGiB", &mut kept.size_gib), ("iops", &mut kept.iops), ("throughput", &mut kept.throughput)]
    {
        field.take_if(|_| is_ignored(path));
    }
    kept.volume_type.take_if(|_| is_ignored("type"));
    Some(kept)
}

/// AWS does not return the alias of the volume's key.
pub(super) fn at_creation(desired: &Desired) -> Vec<(&'static str, String)> {
    let alias = desired.kms_key_id.as_ref().filter(|key| is_alias(key.expose()));
    vec![("kmsKeyID", alias.map(shown).unwrap_or_default())]
}

/// AWS returns the ARN of the key, which ends with the key id. Only KMS can resolve an alias.
fn key(wanted: Option<&Resolved<String>>, have: Option<&String>) -> Option<Difference<Change>> {
    let text = wanted?.expose();
    let is_same =
        have.is_some_and(|have| have == text || have.rsplit_once('/').is_some_and(|(_, id)| id == text));
    if is_same || is_alias(text) { None } else { fixed("kmsKeyID", wanted, have) }
}

/// Whether it is an alias, which may be reassigned to another key.
fn is_alias(key: &str) -> bool {
    key.starts_with("alias/") || key.contains(":alias/")
}

fn size(wanted: Option<&Resolved<i32>>, have: Option<&i32>) -> Option<Difference<Change>> {
    let difference = changed("sizeGiB", wanted, have, Change::Modify)?;
    if wanted.zip(have).is_some_and(|(wanted, have)| wanted.expose() < have) {
        let why = "the size of a volume cannot decrease: restore the old value, or delete and recreate the resource";
        return Some(Difference { remedy: Remedy::Immutable(why.to_owned()), ..difference });
    }
    Some(difference)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::volume::Volumes;
    use kraken_aws::testing::{self, rendered, with};
    use serde_json::{Value, json};

    fn written(changes: Value) -> Value {
        with(json!({"availabilityZone": {"value": "us-east-1a"}, "sizeGiB": {"value": 20}}), changes)
    }

    fn volume() -> Volume {
        Volume {
            availability_zone: Some("us-east-1a".into()),
            size: Some(20),
            volume_type: Some("gp3".into()),
            iops: Some(3000),
            encrypted: Some(false),
            ..Volume::default()
        }
    }

    fn compared(changes: Value, volume: &Volume) -> Vec<String> {
        rendered(differences(&testing::desired::<Volumes>(written(changes)), volume))
    }

    #[test]
    fn unset_fields_are_not_managed() {
        assert!(compared(json!({}), &volume().attached_to("i-1", "/dev/sdf", "attached")).is_empty());
    }

    #[test]
    fn the_size_can_only_increase() {
        let of = |size: i32| compared(json!({"sizeGiB": {"value": size}}), &volume());
        assert_eq!(of(30), ["sizeGiB: 20 becomes 30: Modify"]);
        assert_eq!(of(10), ["sizeGiB: 20 becomes 10: fixed"]);
    }

    #[test]
    fn type_and_performance_change_in_place_and_encryption_does_not() {
        let wanted = json!({
            "type": {"value": "io2"}, "iops": {"value": 4000}, "encrypted": {"value": true},
            "availabilityZone": {"value": "us-east-1b"},
        });
        assert_eq!(
            compared(wanted, &volume()),
            [
                "availabilityZone: us-east-1a becomes us-east-1b: fixed",
                "encrypted: false becomes true: fixed",
                "type: gp3 becomes io2: Modify",
                "iops: 3000 becomes 4000: Modify",
            ]
        );
    }

    #[test]
    fn a_key_is_compared_by_its_id_or_arn_and_an_alias_is_not() {
        let arn = "arn:aws:kms:eu-west-1:1:key/0123-ab";
        let volume = Volume { kms_key_id: Some(arn.into()), encrypted: Some(true), ..volume() };
        let of =
            |key: &str| compared(json!({"encrypted": {"value": true}, "kmsKeyID": {"value": key}}), &volume);
        for same in [arn, "0123-ab", "alias/disks", "arn:aws:kms:eu-west-1:1:alias/disks"] {
            assert!(of(same).is_empty(), "{same}");
        }
        assert_eq!(of("4567-cd"), [format!("kmsKeyID: {arn} becomes 4567-cd: fixed")]);
    }

    #[test]
    fn an_edited_alias_is_applied_at_creation_only() {
        let of = |key: &str| {
            let spec = json!({"encrypted": {"value": true}, "kmsKeyID": {"value": key}});
            at_creation(&testing::desired::<Volumes>(written(spec)))
        };
        assert_eq!(of("alias/disks"), [("kmsKeyID", "alias/disks".to_owned())]);
        assert_eq!(of("0123-ab"), [("kmsKeyID", String::new())]);
    }

    #[test]
    fn a_call_that_changes_the_type_does_not_send_an_ignored_size() {
        let spec = json!({"sizeGiB": {"value": 20}, "type": {"value": "gp2"}});
        let desired = testing::desired::<Volumes>(written(spec));
        let grown = Volume { size: Some(100), ..volume() };
        let ignored = Ignored::new(&["sizeGiB".to_owned()]);
        let kept = without_ignored(&desired, &ignored).unwrap();
        assert!(kept.size_gib.is_none());
        assert_eq!(rendered(differences(&kept, &grown)), ["type: gp3 becomes gp2: Modify"]);
        assert!(without_ignored(&desired, &Ignored::new(&["tags".to_owned()])).is_none());
    }

    #[test]
    fn the_desired_one_of_several_attachments_is_compared() {
        let wanted = json!({"instanceID": {"value": "i-2"}, "device": {"value": "/dev/sdf"}});
        let mut shared = volume().attached_to("i-2", "/dev/sdf", "attached");
        shared
            .attachments
            .insert(0, volume().attached_to("i-1", "/dev/sdf", "attached").attachments.remove(0));
        assert!(compared(wanted, &shared).is_empty());
    }

    #[test]
    fn a_wrong_attachment_is_corrected() {
        let wanted = || json!({"instanceID": {"value": "i-1"}, "device": {"value": "/dev/sdf"}});
        for state in ["attaching", "attached"] {
            assert!(compared(wanted(), &volume().attached_to("i-1", "/dev/sdf", state)).is_empty());
        }
        for other in [volume(), volume().attached_to("i-1", "/dev/sdf", "detaching")] {
            assert_eq!(
                compared(wanted(), &other),
                ["instanceID: (absent) becomes i-1: Attach", "device: (absent) becomes /dev/sdf: Attach"]
            );
        }
        assert_eq!(
            compared(wanted(), &volume().attached_to("i-2", "/dev/sdf", "attached")),
            ["instanceID: i-2 becomes i-1: Attach"]
        );
    }

    #[test]
    fn all_problems_are_reported_at_once() {
        assert_eq!(
            testing::problems::<Volumes>(json!({
                "availabilityZone": {"value": ""}, "type": {"value": "io1"}, "throughput": {"value": 100},
                "kmsKeyID": {"value": "alias/a"}, "device": {"value": "/dev/sdf"},
            })),
            [
                "spec.availabilityZone: must be the name of a zone such as us-east-1a",
                "spec.throughput: must be 125 to 2000",
                "spec.sizeGiB: is required without snapshotID",
                "spec.iops: is required for io1 and io2",
                "spec.throughput: is only allowed for gp3",
                "spec.kmsKeyID: requires encrypted: {value: true}",
                "spec.device: requires instanceID",
            ]
        );
    }
}
