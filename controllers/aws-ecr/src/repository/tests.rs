use kraken_aws::{
    AwsSpec as _,
    testing::{self, assert_round_trips},
};
use kraken_kind::{Failure, FailureClass};
use serde_json::{Value, json};

use super::{
    Repositories,
    api::RepositorySpec,
    calls::not_empty,
    observed::{Policies, Repository},
};
use crate::ecr::types;

const KEY: &str = "arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab";

fn rule(count: i32) -> Value {
    let selection = json!({"tagStatus": "any", "countType": "imageCountMoreThan", "countNumber": count});
    json!({"rules": [{"rulePriority": 1, "selection": selection, "action": {"type": "expire"}}]})
}

fn policy(action: &str) -> Value {
    let statement = json!({"Effect": "Allow", "Principal": {"AWS": "123456789012"}, "Action": action});
    json!({"Version": "2012-10-17", "Statement": [statement]})
}

fn repository(policies: Option<Policies>) -> Repository {
    let sdk = types::Repository::builder().repository_name("shop/web").image_tag_mutability("MUTABLE".into());
    Repository { policies, ..sdk.build().into() }
}

fn in_place() -> Policies {
    Policies::new(Some(&rule(10).to_string()), Some(policy("ecr:BatchGetImage").to_string()))
}

fn compared(spec: Value, policies: Option<Policies>) -> Vec<String> {
    testing::compared::<Repositories>(spec, &repository(policies))
}

#[test]
fn what_is_not_set_is_not_compared_and_what_aws_does_not_say_is_its_default() {
    assert_eq!(compared(json!({}), Some(in_place())), [""; 0]);
    let same = json!({
        "name": {"value": "shop/web"}, "imageTagMutability": {"value": "MUTABLE"}, "scanOnPush": {"value": false},
        "encryptionType": {"value": "AES256"},
    });
    assert_eq!(compared(same, None), [""; 0]);
}

#[test]
fn settings_change_in_place_and_the_encryption_does_not() {
    let other = json!({
        "name": {"value": "shop/api"}, "imageTagMutability": {"value": "IMMUTABLE"}, "scanOnPush": {"value": true},
        "encryptionType": {"value": "KMS"}, "kmsKeyID": {"value": KEY},
    });
    assert_eq!(
        compared(other, None),
        [
            "name: shop/web becomes shop/api: fixed",
            "encryptionType: AES256 becomes KMS: fixed",
            &format!("kmsKeyID: (absent) becomes {KEY}: fixed"),
            "imageTagMutability: MUTABLE becomes IMMUTABLE: Mutability",
            "scanOnPush: false becomes true: Scanning",
        ]
    );
}

#[test]
fn policies_are_compared_only_after_deep_observations_and_by_their_meaning() {
    let same = json!({
        "lifecyclePolicy": {"value": rule(10)},
        "policy": {"value": {"Version": "2012-10-17", "Statement": {
            "Action": ["ecr:batchgetimage"], "Effect": "Allow", "Principal": {"AWS": ["arn:aws:iam::123456789012:root"]},
        }}},
    });
    assert_eq!(compared(same.clone(), Some(in_place())), [""; 0]);
    assert_eq!(compared(same.clone(), None), [""; 0]);
    let other =
        json!({"lifecyclePolicy": {"value": rule(20)}, "policy": {"value": policy("ecr:ListImages")}});
    let found = compared(other, Some(in_place()));
    assert!(found[0].starts_with("lifecyclePolicy: {") && found[0].ends_with(": Lifecycle"), "{found:#?}");
    assert!(found[1].starts_with("policy: [{") && found[1].ends_with(": Policy"), "{found:#?}");
    let none = json!({"lifecyclePolicy": {"value": {}}, "policy": {"value": {}}});
    assert_eq!(compared(none.clone(), Some(Policies::new(None, None))), [""; 0]);
    assert_eq!(compared(none, Some(in_place())).len(), 2);
}

#[test]
fn only_the_alias_of_a_key_is_not_compared() {
    let key = |key: &str| {
        let spec = json!({"encryptionType": {"value": "KMS"}, "kmsKeyID": {"value": key}});
        let repository =
            Repository { encryption_type: "KMS".into(), kms_key: Some(KEY.into()), ..repository(None) };
        RepositorySpec::differences(&testing::desired::<Repositories>(spec), &repository).len()
    };
    assert_eq!([KEY, "1234abcd-12ab-34cd-56ef-1234567890ab", "alias/shop", "other"].map(key), [0, 0, 0, 1]);
}

#[test]
fn all_problems_are_reported_at_once() {
    let spec = json!({
        "name": {"value": "Web"}, "kmsKeyID": {"value": "alias/shop"}, "imageTagMutability": {"value": "x"},
        "policy": {"value": {"Statement": [{"effect": 1}]}},
    });
    let found = testing::problems::<Repositories>(spec);
    let has = |text: &str| found.iter().any(|problem| problem.starts_with(text));
    for text in [
        "spec.name: must have 2 to 256 lowercase letters",
        "spec.imageTagMutability: must be",
        "spec.kmsKeyID: requires the encryptionType KMS or KMS_DSSE",
        "spec.policy: Statement[0]: ",
    ] {
        assert!(has(text), "{text}: {found:#?}");
    }
}

#[test]
fn a_repository_with_images_is_protected() {
    let failure = |code: &str| Failure {
        class: FailureClass::Terminal,
        action: String::new(),
        code: code.into(),
        message: "it has images.".into(),
    };
    let found = not_empty(failure("RepositoryNotEmptyException"));
    assert_eq!(found.class, FailureClass::Protected);
    assert!(found.message.starts_with("it has images: ") && found.message.contains("spec.emptyOnDeletion"));
    assert_eq!(not_empty(failure("Other")).class, FailureClass::Terminal);
}

#[test]
fn field_names_follow_kubernetes_and_values_follow_aws() {
    assert_round_trips::<RepositorySpec>(&json!({
        "name": {"value": "shop/web"}, "imageTagMutability": {"value": "IMMUTABLE"}, "scanOnPush": {"value": true},
        "encryptionType": {"value": "KMS"}, "kmsKeyID": {"value": "alias/shop"},
        "lifecyclePolicy": {"value": rule(10)}, "policy": {"value": policy("ecr:BatchGetImage")},
        "emptyOnDeletion": true, "tags": {"Name": "web"},
    }));
}
