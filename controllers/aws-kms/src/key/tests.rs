use kraken_aws::{
    AwsResource as _, AwsSpec as _, Tags,
    lookup::Tagged as _,
    resource::{Phase, RemoteObject as _},
    testing::{self, assert_begin, assert_round_trips, rendered, with},
};
use serde_json::{Value, json};

use super::{
    Keys,
    api::KeySpec,
    calls::is_restorable,
    observed::{Key, Settings},
};

const ARN: &str = "arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab";

fn written(changes: Value) -> Value {
    let spec = json!({
        "description": {"value": "The shop"}, "enableKeyRotation": {"value": true},
        "rotationPeriodDays": {"value": 180}, "enabled": {"value": true},
        "policy": {"statements": [{
            "effect": {"value": "Allow"}, "principals": {"aws": {"value": ["arn:aws:iam::123456789012:root"]}},
            "actions": {"value": ["kms:*"]}, "resources": {"value": ["*"]},
        }]},
    });
    with(spec, changes)
}

/// As AWS would return what [`written`] sends.
fn key() -> Key {
    let desired = testing::desired::<Keys>(written(json!({})));
    let policy = desired.policy.as_ref().map(|policy| policy.expose().text()).unwrap_or_default();
    Key {
        key_id: "1234abcd-12ab-34cd-56ef-1234567890ab".to_owned(),
        arn: ARN.to_owned(),
        description: "The shop".to_owned(),
        key_spec: "SYMMETRIC_DEFAULT".to_owned(),
        key_usage: "ENCRYPT_DECRYPT".to_owned(),
        key_state: "Enabled".to_owned(),
        enabled: true,
        is_material_of_kms: true,
        settings: Some(Settings { policy, is_rotated: true, rotation_period_days: Some(180) }),
        tags: Tags::new(),
        ..Key::default()
    }
}

fn differing(changes: Value, key: &Key) -> Vec<String> {
    testing::compared::<Keys>(written(changes), key)
}

#[test]
fn each_field_that_differs_is_changed_by_its_call() {
    assert_eq!(differing(json!({}), &key()), [""; 0]);
    assert_eq!(rendered(KeySpec::differences(&testing::desired::<Keys>(json!({})), &key())), [""; 0]);
    let other = Key {
        description: String::new(),
        settings: Some(Settings { is_rotated: false, rotation_period_days: None, policy: String::new() }),
        ..key()
    };
    let found = differing(
        json!({"keySpec": {"value": "RSA_2048"}, "keyUsage": {"value": "SIGN_VERIFY"}, "enableKeyRotation": null, "rotationPeriodDays": null}),
        &other,
    );
    assert_begin(
        &found,
        &[
            "keySpec: SYMMETRIC_DEFAULT becomes RSA_2048",
            "keyUsage: ENCRYPT_DECRYPT becomes SIGN_VERIFY",
            "description",
            "policy",
        ],
    );
    assert_eq!(
        differing(json!({"description": null, "policy": null, "enabled": {"value": false}}), &other),
        [
            "enableKeyRotation: false becomes true: Rotation",
            "rotationPeriodDays: (absent) becomes 180: Rotation",
            "enabled: true becomes false: Enabled",
        ]
    );
    assert_eq!(differing(json!({}), &Key { settings: None, ..key() }), [""; 0], "read deeply only");
}

#[test]
fn the_rotation_of_a_disabled_key_is_not_changed() {
    let disabled = Key {
        enabled: false,
        settings: Some(Settings { is_rotated: false, ..key().settings.unwrap() }),
        ..key()
    };
    assert_eq!(differing(json!({"enabled": {"value": false}}), &disabled), [""; 0]);
    assert_eq!(differing(json!({}), &disabled), ["enabled: false becomes true: Enabled"]);
}

#[test]
fn all_problems_are_reported_at_once() {
    let spec = written(json!({
        "keySpec": {"value": "RSA_2048"}, "policy": {"statements": []}, "deletionWindowDays": 6,
    }));
    assert_eq!(
        testing::problems::<Keys>(spec),
        [
            "spec.keyUsage: is required with this keySpec",
            "spec.enableKeyRotation: requires the keySpec SYMMETRIC_DEFAULT",
            "spec.policy: must have at least 1 statement: a key always has a policy",
            "spec.deletionWindowDays: must be 7 to 30",
        ]
    );
    let spec = json!({"rotationPeriodDays": {"value": 90}});
    assert_eq!(
        testing::problems::<Keys>(spec),
        ["spec.rotationPeriodDays: requires enableKeyRotation: {value: true}"]
    );
}

#[test]
fn a_deletion_says_before_what_is_lost_and_a_scheduled_one_counts_as_done() {
    let of = |spec: Value| {
        let (spec, mut key) = (serde_json::from_value(spec).unwrap(), key());
        Keys::to_delete(&spec, &mut key);
        (Keys::contains(&spec).into_owned(), key.deletion_window_days)
    };
    let (says, days) = of(json!({}));
    assert_eq!(
        (says.as_str(), days),
        ("everything that it encrypts, unless the deletion is cancelled within 30 days,", 30)
    );
    assert_eq!(of(json!({"deletionWindowDays": 7})).1, 7);
    for (state, phase) in [
        ("Enabled", Phase::Available),
        ("Disabled", Phase::Available),
        ("PendingDeletion", Phase::Deleted),
        ("PendingReplicaDeletion", Phase::Deleted),
        ("Creating", Phase::Pending("Creating".to_owned())),
    ] {
        assert_eq!(Key { key_state: state.to_owned(), ..key() }.phase(), phase, "{state}");
    }
}

#[test]
fn the_deletion_of_a_key_is_cancelled_only_if_the_key_is_as_the_spec_says() {
    let desired = testing::desired::<Keys>(written(json!({})));
    let scheduled = Key { key_state: "PendingDeletion".to_owned(), enabled: false, ..key() };
    assert!(is_restorable(&desired, &scheduled));
    assert!(!is_restorable(&desired, &key()));
    assert!(!is_restorable(&desired, &Key { is_replica: true, ..scheduled.clone() }));
    // It was replaced.
    let other = testing::desired::<Keys>(
        json!({"keySpec": {"value": "RSA_2048"}, "keyUsage": {"value": "SIGN_VERIFY"}}),
    );
    assert!(!is_restorable(&other, &scheduled));
}

#[test]
fn the_policy_that_aws_gives_to_each_key_and_keys_of_aws_are_not_imported() {
    let statement = r#"{"Effect":"Allow","Principal":"*","Action":"kms:*","Resource":"*"}"#;
    let of = |id: &str| {
        let policy = format!(r#"{{"Version":"2012-10-17"{id},"Statement":[{statement}]}}"#);
        KeySpec::import_policy(&Key { settings: Some(Settings { policy, ..Settings::default() }), ..key() })
    };
    assert_eq!(of(r#","Id":"key-default-1""#), None);
    assert!(of("").is_some());
    assert_eq!(Keys::not_importable(&key()), None);
    for other in [Key { is_of_aws: true, ..key() }, Key { is_replica: true, ..key() }] {
        assert!(Keys::not_importable(&other).is_some());
    }
    assert!(Key::is_arn(key().id()));
    for other in ["alias/shop", "1234abcd", "arn:aws:kms:us-east-1:123456789012:alias/shop"] {
        assert!(!Key::is_arn(other), "{other}");
    }
}

#[test]
fn field_names_follow_kubernetes_and_values_follow_aws() {
    let spec = written(json!({
        "keySpec": {"value": "SYMMETRIC_DEFAULT"}, "keyUsage": {"value": "ENCRYPT_DECRYPT"}, "multiRegion": {"value": true},
        "deletionWindowDays": 7, "tags": {"Name": "shop"},
    }));
    assert_round_trips::<KeySpec>(&spec);
}
