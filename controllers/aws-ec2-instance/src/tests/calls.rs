//! Which instances calls are made for, and with which values.

use kraken_aws::tags::{CLUSTER, EPOCH};
use kraken_kind::{Failure, FailureClass, Ignored};

use super::*;
use crate::{
    api::EC2InstanceSpec,
    calls,
    instance::{BlockDeviceMapping, Ebs, tests::state},
    metadata_options::MetadataOptions,
};

#[test]
fn an_ignored_setting_of_the_metadata_service_is_not_sent_with_the_others() {
    let desired = desired(json!({"metadataOptions": {"value": {
        "httpTokens": "required", "httpPutResponseHopLimit": 2,
    }}}));
    let kept = |path: &str| {
        let ignored = Ignored::new(&[path.to_owned()]);
        EC2InstanceSpec::without_ignored(&desired.own, &instance("i-1"), &ignored).map(|kept| kept.metadata())
    };
    let hops = MetadataOptions { hop_limit: Some(2), ..MetadataOptions::default() };
    assert_eq!(kept("metadataOptions.httpTokens"), Some(hops));
    assert_eq!(kept("metadataOptions"), Some(MetadataOptions::default()));
    assert_eq!(kept("tags"), None);
}

#[test]
fn a_live_instance_without_an_owner_is_untagged() {
    let instances =
        vec![tagged("i-1", &[(CLUSTER, "c"), (UID, "u")]), instance("i-2"), in_state("i-3", "terminated")];
    assert_eq!(observed(instances).untagged(), ["i-2"]);
}

#[test]
fn launch_only_fields_and_a_removed_key_are_recorded() {
    let of = |changes| EC2InstanceSpec::at_creation(&desired(changes).own);
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
    assert!(Observed::default().is_gone());
    assert!(observed(vec![in_state("i-1", "terminated")]).is_gone());
    assert!(!observed(vec![in_state("i-1", "shutting-down")]).is_gone());
}

#[test]
fn an_instance_that_is_missing_after_its_termination_is_awaited() {
    // AWS returns a terminated instance for about an hour.
    assert!(kind().info().shows_deleted);
}

#[test]
fn termination_protection_is_reported_as_protection() {
    let refused = |code: &str, message: &str| Failure {
        class: FailureClass::Terminal,
        action: "failed to terminate instances".to_owned(),
        code: code.to_owned(),
        message: message.to_owned(),
    };
    let message = "The instance 'i-1' may not be terminated. Modify its 'disableApiTermination' instance attribute and try again.";
    let protected = calls::protected(refused("OperationNotPermitted", message));
    assert_eq!(protected.class, FailureClass::Protected);
    assert!(protected.message.contains("turn its termination protection off"), "{}", protected.message);
    let other = refused("OperationNotPermitted", "not for this account");
    assert_eq!(calls::protected(other.clone()), other);
}

#[test]
fn the_epoch_is_the_highest_observed_one() {
    let old = Instance { state: state("terminated"), ..tagged("i-1", &[(EPOCH, "7")]) };
    assert_eq!(observed(vec![instance("i-2"), old]).epoch(), 7);
    assert_eq!(Observed::default().epoch(), 0);
}

#[test]
fn volumes_of_instances_are_those_that_are_attached() {
    let ebs = |id: &str| BlockDeviceMapping {
        ebs: Some(Ebs { volume_id: Some(id.to_owned()) }),
        ..BlockDeviceMapping::default()
    };
    let with_volumes =
        Instance { block_device_mappings: vec![ebs("vol-1"), ebs("vol-2")], ..instance("i-1") };
    assert_eq!(with_volumes.volumes().collect::<Vec<_>>(), ["vol-1", "vol-2"]);
    assert_eq!(instance("i-2").volumes().count(), 0);
}
