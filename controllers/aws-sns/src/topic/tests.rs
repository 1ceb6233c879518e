use kraken_aws::{
    AwsSpec as _, Tags,
    testing::{self, assert_round_trips, rendered},
};
use serde_json::{Value, json};

use super::{
    Topics,
    api::TopicSpec,
    desired::attributes,
    observed::{Attributes, Topic},
};

const ARN: &str = "arn:aws:sns:us-east-1:123456789012:orders";

fn all() -> Value {
    json!({
        "displayName": {"value": "Orders"}, "kmsKeyID": {"value": "alias/shop"}, "signatureVersion": {"value": "2"},
        "tracingConfig": {"value": "Active"},
        "policy": {"statements": [{
            "effect": {"value": "Allow"}, "principals": {"services": {"value": ["s3.amazonaws.com"]}},
            "actions": {"value": ["sns:Publish"]}, "resources": {"value": ["*"]},
        }]},
    })
}

/// As AWS would return what this spec sends.
fn in_place(spec: Value) -> Attributes {
    let sent = attributes(&testing::desired::<Topics>(spec));
    Attributes::new(&sent.into_iter().map(|(_, name, value)| (name.to_owned(), value)).collect())
}

fn differing(spec: Value, attributes: Option<Attributes>) -> Vec<String> {
    let topic = Topic { attributes, ..Topic::new(ARN, Tags::new()).unwrap() };
    rendered(TopicSpec::differences(&testing::desired::<Topics>(spec), &topic))
}

#[test]
fn attributes_are_compared_only_after_deep_observations_and_each_is_set_by_its_call() {
    assert_eq!(differing(all(), Some(in_place(all()))), [""; 0]);
    assert_eq!(differing(all(), None), [""; 0]);
    assert_eq!(differing(json!({}), Some(in_place(all()))), [""; 0]);
    let found = differing(all(), Some(Attributes::new(&[].into())));
    assert_eq!(found[0], "displayName:  becomes Orders: DisplayName");
    assert_eq!(found[2], "signatureVersion: 1 becomes 2: Signature");
    assert_eq!(found.len(), 5, "{found:#?}");
}

#[test]
fn the_policy_that_aws_gives_to_each_topic_is_not_imported() {
    let topic = |policy: &str| {
        let attributes = Attributes { policy: policy.to_owned(), ..Attributes::default() };
        Topic { attributes: Some(attributes), ..Topic::new(ARN, Tags::new()).unwrap() }
    };
    let statement = r#"{"Effect":"Allow","Principal":"*","Action":"sns:Publish","Resource":"*"}"#;
    let of = |id: &str| format!(r#"{{"Version":"2012-10-17"{id},"Statement":[{statement}]}}"#);
    assert_eq!(TopicSpec::import_policy(&topic(&of(r#","Id":"__default_policy_ID""#))), None);
    assert!(TopicSpec::import_policy(&topic(&of(""))).is_some());
}

#[test]
fn all_problems_are_reported_at_once() {
    let spec = json!({
        "name": {"value": "orders.fifo"}, "contentBasedDeduplication": {"value": true}, "policy": {"statements": []},
    });
    assert_eq!(
        testing::problems::<Topics>(spec),
        [
            "spec.name: must end with .fifo if, and only if, fifoTopic is true",
            "spec.contentBasedDeduplication: requires fifoTopic",
            "spec.policy: must have at least 1 statement: a topic always has a policy",
        ]
    );
}

#[test]
fn only_the_arn_of_a_topic_names_one() {
    let topic = Topic::new(&format!("{ARN}.fifo"), Tags::new()).unwrap();
    assert_eq!((topic.topic_name.as_str(), topic.fifo_topic), ("orders.fifo", true));
    for other in ["orders", "arn:aws:sqs:us-east-1:123456789012:orders", &format!("{ARN}:1")] {
        assert_eq!(Topic::new(other, Tags::new()), None, "{other}");
    }
}

#[test]
fn field_names_follow_kubernetes_and_values_follow_aws() {
    let mut spec = all();
    spec["name"] = json!({"value": "orders.fifo"});
    spec["fifoTopic"] = json!({"value": true});
    spec["contentBasedDeduplication"] = json!({"value": true});
    spec["tags"] = json!({"Name": "orders"});
    assert_round_trips::<TopicSpec>(&spec);
}
