use kraken_aws::testing::{self, assert_round_trips};
use serde_json::{Value, json};

use super::{LogGroups, api::LogGroupSpec, observed::LogGroup};
use crate::logs::types;

const KEY: &str = "arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab";

fn group() -> LogGroup {
    let sdk = types::LogGroup::builder().log_group_name("/shop/web").retention_in_days(30).build();
    sdk.into()
}

fn compared(spec: Value) -> Vec<String> {
    testing::compared::<LogGroups>(spec, &group())
}

#[test]
fn what_is_not_set_is_not_compared_and_what_aws_does_not_say_is_its_default() {
    assert_eq!(compared(json!({})), [""; 0]);
    let same = json!({
        "name": {"value": "/shop/web"}, "retentionDays": {"value": 30}, "kmsKeyID": {"value": ""},
        "class": {"value": "STANDARD"},
    });
    assert_eq!(compared(same), [""; 0]);
}

#[test]
fn the_retention_and_the_key_change_in_place() {
    let other = json!({
        "name": {"value": "/shop/api"}, "retentionDays": {"value": 0}, "kmsKeyID": {"value": KEY},
        "class": {"value": "INFREQUENT_ACCESS"},
    });
    assert_eq!(
        compared(other),
        [
            "name: /shop/web becomes /shop/api: fixed",
            "class: STANDARD becomes INFREQUENT_ACCESS: fixed",
            "retentionDays: 30 becomes 0: Retention",
            &format!("kmsKeyID:  becomes {KEY}: Key"),
        ]
    );
}

#[test]
fn all_problems_are_reported_at_once() {
    let found = testing::problems::<LogGroups>(json!({
        "name": {"value": "a b"}, "retentionDays": {"value": 2}, "kmsKeyID": {"value": "alias/shop"},
    }));
    testing::assert_begin(
        &found,
        &[
            "spec.name: must have 1 to 512 letters, digits and the characters _/.#-",
            "spec.retentionDays: must be 0 for ever, or one of 1, 3, 5, 7, 14, 30, ",
            "spec.kmsKeyID: must be the ARN of a KMS key, or empty for none",
        ],
    );
}

#[test]
fn field_names_follow_kubernetes_and_values_follow_aws() {
    assert_round_trips::<LogGroupSpec>(&json!({
        "name": {"value": "/shop/web"}, "retentionDays": {"value": 30}, "kmsKeyID": {"value": KEY},
        "class": {"value": "INFREQUENT_ACCESS"}, "tags": {"Name": "web"},
    }));
}
