use kraken_aws::{
    AwsSpec as _,
    testing::{self, assert_round_trips, rendered},
};
use kraken_kind::{Failure, FailureClass};
use serde_json::{Value, json};

use super::{
    Buckets,
    api::BucketSpec,
    calls::{not_empty, rule_to_sdk},
    lifecycle::Rule,
    observed::{Bucket, Settings},
};
use crate::s3::types::{ExpirationStatus, LifecycleRule, LifecycleRuleFilter, Tag};

fn bucket(settings: Option<Settings>) -> Bucket {
    Bucket { settings, ..Bucket::new("web", "us-east-1", kraken_aws::Tags::new()) }
}

fn differing(written: Value, bucket: &Bucket) -> Vec<String> {
    rendered(BucketSpec::differences(&testing::desired::<Buckets>(written), bucket))
}

fn all() -> Value {
    json!({
        "versioning": {"value": "Enabled"}, "blockPublicAccess": {"value": true},
        "encryption": {"algorithm": {"value": "aws:kms"}, "kmsKeyID": {"value": "alias/shop"}},
        "lifecycleRules": [{
            "id": {"value": "logs"}, "prefix": {"value": "logs/"}, "expirationDays": {"value": 30},
            "transitions": [{"days": {"value": 7}, "storageClass": {"value": "GLACIER"}}],
        }],
        "policy": {"statements": [{
            "effect": {"value": "Deny"}, "principals": {"aws": {"value": ["*"]}}, "actions": {"value": ["s3:*"]},
            "resources": {"value": ["arn:aws:s3:::web/*"]},
        }]},
    })
}

fn unset() -> Settings {
    Settings { versioning: Some("Disabled".into()), blocks_public_access: Some(false), ..Settings::default() }
}

fn in_place() -> Settings {
    let statement = r#"{"Effect":"Deny","Principal":"*","Action":"s3:*","Resource":["arn:aws:s3:::web/*"]}"#;
    let desired = testing::desired::<Buckets>(all());
    Settings {
        versioning: Some("Enabled".into()),
        blocks_public_access: Some(true),
        algorithm: Some("aws:kms".into()),
        kms_key_id: Some("alias/shop".into()),
        bucket_key: None,
        rules: desired.lifecycle_rules.iter().flatten().map(Rule::from).collect(),
        policy: format!(r#"{{"Version":"2012-10-17","Statement":{statement}}}"#),
    }
}

#[test]
fn settings_are_compared_by_their_meaning_and_only_after_deep_observations() {
    assert_eq!(differing(all(), &bucket(Some(in_place()))), [""; 0]);
    assert_eq!(differing(all(), &bucket(None)), [""; 0]);
    assert_eq!(differing(json!({}), &bucket(Some(unset()))), [""; 0]);
}

#[test]
fn each_setting_has_its_call_and_empty_lists_delete() {
    let found = differing(all(), &bucket(Some(unset())));
    let calls: Vec<&str> = found.iter().filter_map(|one| one.rsplit(": ").next()).collect();
    assert_eq!(
        calls,
        ["Versioning", "PublicAccess", "Encryption", "Encryption", "Lifecycle", "Policy"],
        "{found:?}"
    );
    assert_eq!(
        found[4],
        "lifecycleRules[\"logs\"]: (absent) becomes prefix logs/, expire after 30 days, GLACIER after 7 days: Lifecycle"
    );
    let none = json!({"lifecycleRules": [], "policy": {"statements": []}});
    assert_eq!(differing(none.clone(), &bucket(Some(unset()))), [""; 0]);
    let found = differing(none, &bucket(Some(in_place())));
    assert_eq!(found.len(), 2, "{found:?}");
}

#[test]
fn a_rule_with_settings_that_a_spec_cannot_express_differs() {
    let tag = Tag::builder().key("a").value("b").build().unwrap();
    let filter = LifecycleRuleFilter::builder().tag(tag).build();
    let rule =
        LifecycleRule::builder().id("logs").status(ExpirationStatus::Enabled).filter(filter).build().unwrap();
    let rule = Rule::from(rule);
    assert_eq!((rule.to_string(), rule.imported()), ("settings that are not supported".to_owned(), None));
    let own = in_place().rules.remove(0);
    assert_eq!(Rule::from(rule_to_sdk(&own).unwrap()), own);
}

#[test]
fn a_bucket_with_objects_is_protected_and_the_message_says_how_to_empty_it() {
    let failure = |code: &str| Failure {
        class: FailureClass::Terminal,
        action: String::new(),
        code: code.into(),
        message: "not empty".into(),
    };
    let found = not_empty(failure("BucketNotEmpty"));
    assert_eq!(found.class, FailureClass::Protected);
    assert!(found.message.contains("spec.emptyOnDeletion"), "{found}");
    assert_eq!(not_empty(failure("AccessDenied")), failure("AccessDenied"));
}

#[test]
fn all_problems_are_reported_at_once() {
    let rule = |id: &str| json!({"id": {"value": id}, "expirationDays": {"value": 1}});
    let spec = json!({
        "name": {"value": "A"},
        "lifecycleRules": [rule("a"), rule("a"), {"id": {"value": "b"}}],
        "policy": {"json": {"value": r#"{"Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}}"#}},
    });
    assert_eq!(
        testing::problems::<Buckets>(spec),
        [
            "spec.name: must have 3 to 63 lower-case letters, digits, dots and hyphens, and begin and end with a letter or digit",
            "spec.lifecycleRules[2]: does nothing: set expirationDays, noncurrentVersionExpirationDays, \
             abortIncompleteMultipartUploadDays or transitions",
            "spec.policy.json: Statement[0] has no Principal: the policy of a resource names whose access it allows or denies",
            "spec.lifecycleRules[1].id: is the id of another rule of the bucket",
        ]
    );
    let encryption =
        json!({"encryption": {"algorithm": {"value": "AES256"}, "kmsKeyID": {"value": "alias/shop"}}});
    assert_eq!(
        testing::problems::<Buckets>(encryption),
        ["spec.encryption.kmsKeyID: cannot be combined with the algorithm AES256"]
    );
}

#[test]
fn the_arn_and_the_domain_follow_from_the_region() {
    let found = Bucket::new("web", "cn-north-1", kraken_aws::Tags::new());
    assert_eq!(found.bucket_arn, "arn:aws-cn:s3:::web");
    assert_eq!(found.bucket_regional_domain_name, "web.s3.cn-north-1.amazonaws.com.cn");
}

#[test]
fn field_names_follow_kubernetes_and_values_follow_aws() {
    let mut spec = all();
    spec["name"] = json!({"value": "web"});
    spec["emptyOnDeletion"] = json!(true);
    spec["tags"] = json!({"Name": "web"});
    assert_round_trips::<BucketSpec>(&spec);
}
