use kraken_aws::{
    AwsSpec as _,
    testing::{self, rendered, with},
};
use kraken_kind::Ignored;
use serde_json::{Value, json};

use super::{
    Volumes,
    api::VolumeSpec,
    observed::{Attachment, Volume},
};

impl Volume {
    fn attached_to(mut self, instance_id: &str, device: &str, state: &str) -> Self {
        let (instance_id, device) = (instance_id.to_owned(), device.to_owned());
        self.attachments =
            vec![Attachment { instance_id, device, state: state.to_owned(), is_of_launch: false }];
        self
    }
}

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
    testing::compared::<Volumes>(written(changes), volume)
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
    let of = |key: &str| compared(json!({"encrypted": {"value": true}, "kmsKeyID": {"value": key}}), &volume);
    for same in [arn, "0123-ab", "alias/disks", "arn:aws:kms:eu-west-1:1:alias/disks"] {
        assert!(of(same).is_empty(), "{same}");
    }
    assert_eq!(of("4567-cd"), [format!("kmsKeyID: {arn} becomes 4567-cd: fixed")]);
}

#[test]
fn an_edited_alias_is_applied_at_creation_only() {
    let of = |key: &str| {
        let spec = json!({"encrypted": {"value": true}, "kmsKeyID": {"value": key}});
        VolumeSpec::at_creation(&testing::desired::<Volumes>(written(spec)))
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
    let kept = VolumeSpec::without_ignored(&desired, &grown, &ignored).unwrap();
    assert!(kept.size_gib.is_none());
    assert_eq!(rendered(VolumeSpec::differences(&kept, &grown)), ["type: gp3 becomes gp2: Modify"]);
    let of_tags = Ignored::new(&["tags".to_owned()]);
    assert!(VolumeSpec::without_ignored(&desired, &grown, &of_tags).is_none());
}

#[test]
fn the_desired_one_of_several_attachments_is_compared() {
    let wanted = json!({"instanceID": {"value": "i-2"}, "device": {"value": "/dev/sdf"}});
    let mut shared = volume().attached_to("i-2", "/dev/sdf", "attached");
    shared.attachments.insert(0, volume().attached_to("i-1", "/dev/sdf", "attached").attachments.remove(0));
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
