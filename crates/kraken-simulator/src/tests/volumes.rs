//! Volumes.

use super::account::Account;

const CREATE: &str = "AvailabilityZone=us-east-1a Size=10 VolumeType=gp3";

fn volume(account: &mut Account) -> String {
    let id = account.text("CreateVolume", CREATE, &["volumeId"]);
    account.settle();
    id
}

fn state(account: &mut Account, id: &str) -> String {
    account.only("DescribeVolumes", &format!("VolumeId.1={id}"), "volumeSet").text_at(&["status"])
}

#[test]
fn a_volume_is_creating_then_available() {
    let mut account = Account::new();
    let made = account.ok("CreateVolume", CREATE);
    for (name, value) in [("status", "creating"), ("size", "10"), ("iops", "3000"), ("throughput", "125")] {
        assert_eq!(made.text_at(&[name]), value, "{name}");
    }
    let id = made.text_at(&["volumeId"]);
    assert_eq!(account.code("DeleteVolume", &format!("VolumeId={id}")), "IncorrectState");
    account.settle();
    assert_eq!(state(&mut account, &id), "available");
    account.ok("DeleteVolume", &format!("VolumeId={id}"));
    let (code, message) = account.no("DeleteVolume", &format!("VolumeId={id}"));
    assert_eq!(
        (code.as_str(), message),
        ("InvalidVolume.NotFound", format!("The volume '{id}' does not exist."))
    );
}

#[test]
fn a_token_creates_one_volume() {
    let mut account = Account::new();
    let fields = format!("{CREATE} ClientToken=t");
    let id = account.text("CreateVolume", &fields, &["volumeId"]);
    assert_eq!(account.text("CreateVolume", &fields, &["volumeId"]), id);
    let other = fields.replace("Size=10", "Size=11");
    assert_eq!(account.code("CreateVolume", &other), "IdempotentParameterMismatch");
}

#[test]
fn a_volume_is_attached_to_an_instance_of_its_zone_and_detached() {
    let mut account = Account::new();
    let (id, instance) = (volume(&mut account), account.instance(""));
    let attach = format!("VolumeId={id} InstanceId={instance} Device=/dev/sdf");
    assert_eq!(account.code("AttachVolume", &attach), "IncorrectState", "the instance is pending");
    account.settle();
    assert_eq!(account.text("AttachVolume", &attach, &["status"]), "attaching");
    assert_eq!(account.code("AttachVolume", &attach), "VolumeInUse");
    account.settle();
    let described = account.only("DescribeVolumes", &format!("VolumeId.1={id}"), "volumeSet");
    let attachment = described.items("attachmentSet").next().unwrap();
    assert_eq!(
        (described.text_at(&["status"]), attachment.text_at(&["status"])),
        ("in-use".into(), "attached".into())
    );
    let devices = account.described_instance(&instance);
    assert_eq!(devices.items("blockDeviceMapping").count(), 2);
    let (code, message) = account.no("DeleteVolume", &format!("VolumeId={id}"));
    assert_eq!(
        (code.as_str(), message),
        ("VolumeInUse", format!("Volume {id} is currently attached to {instance}"))
    );
    assert_eq!(account.text("DetachVolume", &format!("VolumeId={id}"), &["status"]), "detaching");
    assert_eq!(state(&mut account, &id), "in-use");
    account.settle();
    assert_eq!(state(&mut account, &id), "available");
    let (code, message) = account.no("DetachVolume", &format!("VolumeId={id}"));
    assert_eq!(
        (code.as_str(), message),
        ("IncorrectState", format!("Volume '{id}' is in the 'available' state."))
    );
}

#[test]
fn an_attachment_requires_the_same_zone_and_a_free_device() {
    let mut account = Account::new();
    let instance = account.instance("");
    let (id, second) = (volume(&mut account), volume(&mut account));
    let elsewhere = CREATE.replace("1a", "1b");
    let elsewhere = account.text("CreateVolume", &elsewhere, &["volumeId"]);
    account.settle();
    let attach = |id: &str| format!("VolumeId={id} InstanceId={instance} Device=/dev/sdf");
    assert_eq!(account.code("AttachVolume", &attach(&elsewhere)), "InvalidVolume.ZoneMismatch");
    account.ok("AttachVolume", &attach(&id));
    assert_eq!(account.code("AttachVolume", &attach(&second)), "InvalidParameterValue");
}

#[test]
fn the_root_volume_is_deleted_with_its_instance_and_others_become_available() {
    let mut account = Account::new();
    let (id, instance) = (volume(&mut account), account.instance("BlockDeviceMapping.1.Ebs.VolumeSize=20"));
    account.settle();
    account.ok("AttachVolume", &format!("VolumeId={id} InstanceId={instance} Device=/dev/sdf"));
    let by_instance = format!("Filter.1.Name=attachment.instance-id Filter.1.Value.1={instance}");
    let sizes = account.texts("DescribeVolumes", &by_instance, "volumeSet", &["size"]);
    assert_eq!(sizes, ["10", "20"]);
    let filter = "Filter.1.Name=size Filter.1.Value.1=20";
    let root = account.only("DescribeVolumes", filter, "volumeSet").text_at(&["volumeId"]);
    assert_eq!(account.code("DetachVolume", &format!("VolumeId={root}")), "OperationNotPermitted");
    account.terminate(&instance);
    assert_eq!(state(&mut account, &id), "available");
    assert_eq!(account.code("DescribeVolumes", &format!("VolumeId.1={root}")), "InvalidVolume.NotFound");
}

#[test]
fn the_size_of_a_volume_can_only_increase() {
    let mut account = Account::new();
    let id = volume(&mut account);
    let grow = format!("VolumeId={id} Size=20 Iops=4000");
    let modification = account.ok("ModifyVolume", &grow);
    let modification = modification.child("volumeModification").unwrap();
    assert_eq!(modification.text_at(&["modificationState"]), "modifying");
    assert_eq!(
        (modification.text_at(&["originalSize"]), modification.text_at(&["targetSize"])),
        ("10".into(), "20".into())
    );
    assert_eq!(account.code("ModifyVolume", &grow), "IncorrectModificationState");
    account.settle();
    let described =
        account.only("DescribeVolumesModifications", &format!("VolumeId.1={id}"), "volumeModificationSet");
    assert_eq!(described.text_at(&["modificationState"]), "completed");
    let described = account.only("DescribeVolumes", "", "volumeSet");
    assert_eq!((described.text_at(&["size"]), described.text_at(&["iops"])), ("20".into(), "4000".into()));
    assert_eq!(account.code("ModifyVolume", &format!("VolumeId={id} Size=5")), "InvalidParameterValue");
    account.ok("ModifyVolume", &format!("VolumeId={id} VolumeType=gp2"));
    let described = account.only("DescribeVolumes", "", "volumeSet");
    assert_eq!((described.text_at(&["iops"]), described.child("throughput")), ("100".into(), None));
}

#[test]
fn invalid_volume_settings_are_rejected() {
    let mut account = Account::new();
    for (fields, code) in [
        ("Size=10", "MissingParameter"),
        ("AvailabilityZone=us-east-1z Size=10", "InvalidZone.NotFound"),
        ("AvailabilityZone=us-east-1a", "MissingParameter"),
        ("AvailabilityZone=us-east-1a Size=10 VolumeType=moon", "InvalidParameterValue"),
        ("AvailabilityZone=us-east-1a Size=20000 VolumeType=gp3", "InvalidParameterValue"),
        ("AvailabilityZone=us-east-1a Size=10 VolumeType=gp2 Iops=100", "InvalidParameterCombination"),
        ("AvailabilityZone=us-east-1a Size=10 VolumeType=io1", "MissingParameter"),
    ] {
        assert_eq!(account.code("CreateVolume", fields), code, "{fields}");
    }
    let both = "VolumeId.1=vol-00000000 MaxResults=5";
    assert_eq!(account.code("DescribeVolumes", both), "InvalidParameterCombination");
}
