use super::*;
use crate::{
    desired::tests::desired,
    instance::{
        BlockDeviceMapping, Ebs, Instance,
        tests::{in_state, instance},
    },
};
use kraken_aws::tags::{CLUSTER, EPOCH, UID};

fn identity() -> Identity {
    Identity { cluster: "c".into(), uid: "u".into(), owner: "EC2Instance/ns/a".into() }
}

fn tagged(mut instance: Instance, tags: &[(&str, &str)]) -> Instance {
    instance.tags.extend(tags.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())));
    instance
}

#[test]
fn only_instances_with_the_identity_can_be_deleted() {
    let observed = Observed::new(vec![
        tagged(instance("i-1"), &[(CLUSTER, "c"), (UID, "u")]),
        tagged(instance("i-2"), &[(CLUSTER, "c"), (UID, "v")]),
        tagged(instance("i-3"), &[(CLUSTER, "d"), (UID, "u")]),
        tagged(in_state("i-4", "terminated"), &[(CLUSTER, "c"), (UID, "u")]),
        instance("i-5"),
    ]);
    assert_eq!(owned(&identity(), &observed), ["i-1"]);
}

#[test]
fn an_ignored_setting_of_the_metadata_service_is_not_sent_with_the_others() {
    let desired = desired(json!({"metadataOptions": {"value": {
        "httpTokens": "required", "httpPutResponseHopLimit": 2,
    }}}));
    let kept = |path: &str| {
        let ignored = Ignored::new(&[path.to_owned()]);
        Instances::without_ignored(&desired, &Observed::default(), &ignored).map(|kept| kept.metadata())
    };
    let hops = MetadataOptions { hop_limit: Some(2), ..MetadataOptions::default() };
    assert_eq!(kept("metadataOptions.httpTokens"), Some(hops));
    assert_eq!(kept("metadataOptions"), Some(MetadataOptions::default()));
    assert_eq!(kept("tags"), None);
}

#[test]
fn a_live_instance_without_an_owner_is_untagged() {
    let observed = Observed::new(vec![
        tagged(instance("i-1"), &[(CLUSTER, "c"), (UID, "u")]),
        instance("i-2"),
        in_state("i-3", "terminated"),
    ]);
    assert_eq!(Instances::untagged(&observed), ["i-2"]);
}

#[test]
fn launch_only_fields_and_a_removed_key_are_recorded() {
    let of = |changes| Instances::at_creation(&desired(changes));
    let none = [("keyName", "(absent)"), ("associatePublicIPAddress", ""), ("rootVolume", "")];
    assert_eq!(of(json!({})), none.map(|(path, value)| (path, value.to_owned())));
    let all = of(json!({
        "keyName": {"value": "ops"},
        "associatePublicIPAddress": {"value": true},
        "rootVolume": {"value": {"sizeGiB": 20}},
    }));
    let wanted = [("keyName", ""), ("associatePublicIPAddress", "true"), ("rootVolume", "{\"sizeGiB\":20}")];
    assert_eq!(all, wanted.map(|(path, value)| (path, value.to_owned())));
}

#[test]
fn it_is_deleted_when_all_instances_are_terminated() {
    assert!(Instances::is_gone(&Observed::default()));
    assert!(Instances::is_gone(&Observed::new(vec![in_state("i-1", "terminated")])));
    assert!(!Instances::is_gone(&Observed::new(vec![in_state("i-1", "shutting-down")])));
}

#[test]
fn the_epoch_is_the_highest_observed_one() {
    let old = tagged(in_state("i-1", "terminated"), &[(EPOCH, "7")]);
    assert_eq!(Instances::epoch(&Observed::new(vec![instance("i-2"), old])), 7);
    assert_eq!(Instances::epoch(&Observed::default()), 0);
}

#[test]
fn volumes_of_instances_are_those_that_are_attached() {
    let ebs = |id: &str| BlockDeviceMapping {
        ebs: Some(Ebs { volume_id: Some(id.to_owned()) }),
        ..BlockDeviceMapping::default()
    };
    let with_volumes =
        Instance { block_device_mappings: vec![ebs("vol-1"), ebs("vol-2")], ..instance("i-1") };
    assert_eq!(volumes([&with_volumes, &instance("i-2")].into_iter()), ["vol-1", "vol-2"]);
}
