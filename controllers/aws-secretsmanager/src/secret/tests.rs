use kraken_aws::{
    AwsResource as _, AwsSpec as _, Tags,
    prelude::Creation,
    resource::{Phase, RemoteObject as _},
    tags::{CLUSTER, EPOCH, OWNER, UID},
    testing::{self, DIGEST, HIDDEN, assert_begin, assert_round_trips, rendered, with},
};
use kraken_kind::{Failure, FailureClass, Launch};
use serde_json::{Value, json};

use super::{
    Secrets,
    api::SecretSpec,
    holder::{Holder, is_scheduled, is_taken, whose},
    observed::{Secret, current},
    value::version,
};

const ARN: &str = "arn:aws:secretsmanager:us-east-1:123456789012:secret:shop/orders-AbCdEf";
const KEY: &str = "arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab";

fn written(changes: Value) -> Value {
    let spec = json!({
        "description": {"value": "Orders"}, "kmsKeyID": {"value": "alias/shop"},
        "secretString": {"valueFrom": {"secret": {"name": "s", "key": "k"}}},
        "policy": {"statements": [{
            "effect": {"value": "Allow"}, "principals": {"aws": {"value": ["arn:aws:iam::123456789012:root"]}},
            "actions": {"value": ["secretsmanager:GetSecretValue"]}, "resources": {"value": ["*"]},
        }]},
    });
    with(spec, changes)
}

/// As AWS would return what [`written`] sends.
fn secret() -> Secret {
    let desired = testing::desired::<Secrets>(written(json!({})));
    Secret {
        arn: ARN.to_owned(),
        name: "shop/orders".to_owned(),
        description: "Orders".to_owned(),
        kms_key_id: Some("alias/shop".to_owned()),
        version: version(&desired, "shop/orders", "token"),
        policy: desired.policy.as_ref().map(|policy| policy.expose().text()),
        ..Secret::default()
    }
}

fn differing(changes: Value, secret: &Secret) -> Vec<String> {
    testing::compared::<Secrets>(written(changes), secret)
}

#[test]
fn each_field_that_differs_is_changed_by_its_call() {
    assert_eq!(differing(json!({}), &secret()), [""; 0]);
    let unset = json!({"description": null, "kmsKeyID": null, "secretString": null, "policy": null});
    assert_eq!(differing(unset, &Secret::default()), [""; 0]);
    let other = Secret {
        description: "other".to_owned(),
        kms_key_id: None,
        version: None,
        policy: Some(String::new()),
        ..secret()
    };
    let found = differing(json!({"name": {"value": "other"}}), &other);
    assert_begin(
        &found,
        &[
            "name: shop/orders becomes other",
            "description: other becomes Orders: Description",
            "kmsKeyID: (absent) becomes alias/shop: Key",
            "secretString: (absent) becomes ***: Value",
            "policy",
        ],
    );
    // Policies are read by deep observations only.
    assert_eq!(differing(json!({}), &Secret { policy: None, ..secret() }), [""; 0]);
    let none = json!({"policy": {"statements": []}});
    assert_eq!(differing(none.clone(), &Secret { policy: Some(String::new()), ..secret() }), [""; 0]);
    assert_eq!(differing(none, &secret()).len(), 1);
}

#[test]
fn the_id_of_a_version_tells_whether_it_has_the_value_and_not_which() {
    let desired = testing::desired::<Secrets>(written(json!({})));
    let first = version(&desired, "shop/orders", "token").unwrap();
    assert!((32..=64).contains(&first.len()), "{first}");
    assert!(!first.contains(HIDDEN) && !first.contains(DIGEST), "{first}");
    // Another change to the same value is another version; a repeated one is the same.
    let again = version(&desired, "shop/orders", &first).unwrap();
    assert_ne!(first, again);
    assert_eq!(version(&desired, "shop/orders", &first).unwrap(), again);
    assert_eq!(differing(json!({}), &Secret { version: Some(again.clone()), ..secret() }), [""; 0]);
    // Another secret with the same value does not look the same.
    assert_ne!(version(&desired, "shop/other", "token").unwrap()[..16], first[..16]);
    // A version of somebody else, such as a function that rotates it.
    let foreign = Secret { version: Some("0".repeat(32)), ..secret() };
    assert_eq!(differing(json!({}), &foreign), ["secretString: (not shown) becomes ***: Value"]);
    assert!(!serde_json::to_string(&secret()).unwrap().contains(&first));

    let stages = [("a", "AWSPREVIOUS"), ("b", "AWSCURRENT"), ("c", "AWSPENDING")];
    let stages = stages.map(|(version, stage)| (version.to_owned(), vec![stage.to_owned()]));
    assert_eq!(current(stages).as_deref(), Some("b"));
}

#[test]
fn a_key_is_the_same_by_its_id_alias_and_arn() {
    let (_, id) = KEY.rsplit_once('/').unwrap();
    let alias = "arn:aws:kms:us-east-1:123456789012:alias/shop";
    let of = |wanted: &str, have: Option<&str>| {
        let secret = Secret { kms_key_id: have.map(str::to_owned), ..secret() };
        differing(json!({"kmsKeyID": {"value": wanted}}), &secret).len()
    };
    for (wanted, have) in [
        (KEY, Some(KEY)),
        (id, Some(KEY)),
        (KEY, Some(id)),
        ("alias/shop", Some(alias)),
        ("alias/aws/secretsmanager", None),
    ] {
        assert_eq!(of(wanted, have), 0, "{wanted} {have:?}");
    }
    for (wanted, have) in [(KEY, None), ("alias/op", Some(alias)), (&id[1..], Some(KEY)), (alias, Some(KEY))]
    {
        assert_eq!(of(wanted, have), 1, "{wanted} {have:?}");
    }
}

#[test]
fn a_value_comes_from_a_secret_and_all_problems_are_reported_at_once() {
    let spec = written(json!({"secretString": {"value": HIDDEN}, "recoveryWindowDays": 5}));
    let found = testing::problems::<Secrets>(spec);
    assert_begin(
        &found,
        &["spec.secretString: must come from a Secret", "spec.recoveryWindowDays: must be 7 to 30"],
    );
    assert!(!found.concat().contains(HIDDEN));
}

#[test]
fn a_deletion_says_before_how_long_the_secret_can_be_restored() {
    let of = |spec: Value| {
        let (spec, mut secret) = (serde_json::from_value(spec).unwrap(), secret());
        Secrets::to_delete(&spec, &mut secret);
        (Secrets::contains(&spec).into_owned(), secret.recovery_window_days)
    };
    assert_eq!(of(json!({})), ("its value, which can be restored for 30 days,".to_owned(), 30));
    assert_eq!(of(json!({"recoveryWindowDays": 7})).1, 7);
    assert_eq!(of(json!({"recoveryWindowDays": 0})), ("its value, at once and for ever,".to_owned(), 0));
    let scheduled = Secret { deleted_date: Some("2030-01-01".to_owned()), ..secret() };
    assert_eq!((secret().phase(), scheduled.phase()), (Phase::Available, Phase::Deleted));
}

fn tags(cluster: &str, uid: &str, epoch: &str, owner: &str) -> Tags {
    let tags = [(CLUSTER, cluster), (UID, uid), (EPOCH, epoch), (OWNER, owner)];
    tags.map(|(key, value)| (key.to_owned(), value.to_owned())).into()
}

#[test]
fn only_a_secret_of_this_resource_or_its_name_is_restored() {
    let owner = "SecretsManagerSecret/ns/orders";
    let (own, launch) = (tags("c", "u", "2", owner), Launch { epoch: 2, token: "t".into() });
    let creation = Creation { tags: &own, launch: &launch };
    let holder = |tags: Tags, is_deleted: bool| {
        let deleted_date = is_deleted.then(|| "2030-01-01T00:00:00Z".to_owned());
        Secret { deleted_date, tags, ..secret() }
    };
    let of = |tags: Tags| [false, true].map(|is_deleted| whose(&holder(tags.clone(), is_deleted), &creation));
    assert_eq!(of(own.clone()), [Holder::Launch, Holder::Deleted]);
    assert_eq!(of(tags("c", "u", "1", owner)), [Holder::Other, Holder::Deleted]);
    assert_eq!(of(tags("c", "former", "1", owner)), [Holder::Former, Holder::Deleted]);
    for other in [
        tags("c", "v", "1", "SecretsManagerSecret/ns/other"),
        tags("other", "u", "1", owner),
        tags("released-by/c", "", "", ""),
        Tags::new(),
    ] {
        assert_eq!(of(other), [Holder::Other, Holder::Other]);
    }

    let refusal = || Failure {
        class: FailureClass::Terminal,
        action: "failed".into(),
        code: "InvalidRequestException".into(),
        message: "a secret with this name is already scheduled for deletion".into(),
    };
    assert!(is_scheduled(&refusal()));
    let other = tags("c", "v", "1", "SecretsManagerSecret/ns/other");
    let scheduled = is_taken(refusal(), "shop/orders", holder(other.clone(), true), &creation);
    assert_eq!(scheduled.class, FailureClass::Terminal);
    for part in ["2030-01-01", "SecretsManagerSecret/ns/other", "restore-secret", "lifecycle.adopt"] {
        assert!(scheduled.message.contains(part), "{part}: {}", scheduled.message);
    }
    let taken = is_taken(refusal(), "shop/orders", holder(other, false), &creation);
    assert!(taken.message.starts_with("the name shop/orders is in use by"), "{}", taken.message);
}

#[test]
fn what_others_manage_is_not_imported() {
    assert_eq!(Secrets::not_importable(&secret()), None);
    let of_service = Secret { owning_service: Some("rds".to_owned()), ..secret() };
    assert!(Secrets::not_importable(&of_service).unwrap().contains("rds"));
    let of = |region: &str| {
        Secrets::not_importable(&Secret { primary_region: Some(region.to_owned()), ..secret() })
    };
    assert_eq!(of("us-east-1"), None);
    assert!(of("eu-west-1").unwrap().contains("replica"));
    assert!(Secret::is_arn(ARN) && !Secret::is_arn("shop/orders") && !Secret::is_arn(KEY));
    let found = SecretSpec::imported(&secret());
    assert!(!format!("{found:?}").contains("secretString"), "{found:?}");
    assert_eq!(
        rendered(SecretSpec::differences(&testing::desired::<Secrets>(json!({})), &secret())),
        [""; 0]
    );
}

#[test]
fn field_names_follow_kubernetes_and_values_follow_aws() {
    let spec = written(json!({
        "name": {"value": "shop/orders"}, "recoveryWindowDays": 7, "tags": {"Name": "orders"},
    }));
    assert_round_trips::<SecretSpec>(&spec);
}
