use kraken_aws::{
    AwsSpec as _, Tags,
    testing::{self, assert_round_trips, rendered},
};
use serde_json::{Value, json};

use super::{
    Queues,
    api::QueueSpec,
    desired::attributes,
    observed::{Address, Attributes, Queue},
};

const URL: &str = "https://sqs.cn-north-1.amazonaws.com.cn/123456789012/orders.fifo";
const DEAD: &str = "arn:aws:sqs:us-east-1:123456789012:failed";

fn all() -> Value {
    json!({
        "visibilityTimeoutSeconds": {"value": 120}, "messageRetentionSeconds": {"value": 86400}, "delaySeconds": {"value": 1},
        "maxMessageSizeBytes": {"value": 65536}, "receiveWaitTimeSeconds": {"value": 20},
        "redrivePolicy": {"deadLetterTargetARN": {"value": DEAD}, "maxReceiveCount": {"value": 5}},
        "kmsKeyID": {"value": "alias/shop"}, "kmsDataKeyReusePeriodSeconds": {"value": 600},
        "policy": {"statements": [{
            "effect": {"value": "Allow"}, "principals": {"services": {"value": ["sns.amazonaws.com"]}},
            "actions": {"value": ["sqs:SendMessage"]}, "resources": {"value": ["*"]},
        }]},
    })
}

fn queue(attributes: Option<Attributes>) -> Queue {
    let address = Address::of_url("https://sqs.us-east-1.amazonaws.com/123456789012/orders", "us-east-1");
    Queue { attributes, ..Queue::new(&address, Tags::new()) }
}

/// As AWS would return what this spec sends.
fn in_place(spec: Value) -> Attributes {
    let sent = attributes(&testing::desired::<Queues>(spec), None);
    Attributes::new(&sent.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

fn differing(spec: Value, attributes: Option<Attributes>) -> Vec<String> {
    rendered(QueueSpec::differences(&testing::desired::<Queues>(spec), &queue(attributes)))
}

#[test]
fn attributes_are_compared_only_after_deep_observations_and_each_is_sent() {
    assert_eq!(differing(all(), Some(in_place(all()))), [""; 0]);
    assert_eq!(differing(all(), None), [""; 0]);
    assert_eq!(differing(json!({}), Some(in_place(all()))), [""; 0]);
    let found = differing(
        all(),
        Some(in_place(json!({
            "visibilityTimeoutSeconds": {"value": 1}, "messageRetentionSeconds": {"value": 60}, "delaySeconds": {"value": 0},
            "maxMessageSizeBytes": {"value": 1024}, "receiveWaitTimeSeconds": {"value": 0},
            "kmsKeyID": {"value": "alias/other"}, "kmsDataKeyReusePeriodSeconds": {"value": 60},
        }))),
    );
    assert_eq!(found.len(), 10, "{found:#?}");
}

#[test]
fn a_part_of_the_redrive_policy_keeps_the_other_and_an_empty_target_removes_it() {
    let sent = |redrive: Value| {
        let desired = testing::desired::<Queues>(json!({"redrivePolicy": redrive}));
        attributes(&desired, Some(&queue(Some(in_place(all()))))).remove("RedrivePolicy").unwrap()
    };
    let sent_count: Value = serde_json::from_str(&sent(json!({"maxReceiveCount": {"value": 9}}))).unwrap();
    assert_eq!(sent_count, json!({"deadLetterTargetArn": DEAD, "maxReceiveCount": 9}));
    assert_eq!(sent(json!({"deadLetterTargetARN": {"value": ""}})), "");
}

#[test]
fn a_policy_without_statements_is_none() {
    let none = json!({"policy": {"statements": []}});
    assert_eq!(differing(none.clone(), Some(Attributes::default())), [""; 0]);
    assert_eq!(differing(none, Some(in_place(all()))).len(), 1);
}

#[test]
fn all_problems_are_reported_at_once() {
    let spec = json!({
        "name": {"value": "orders.fifo"}, "contentBasedDeduplication": {"value": true},
        "sqsManagedSSEEnabled": {"value": true}, "kmsKeyID": {"value": "alias/shop"},
    });
    assert_eq!(
        testing::problems::<Queues>(spec),
        [
            "spec.name: must end with .fifo if, and only if, fifoQueue is true",
            "spec.contentBasedDeduplication: requires fifoQueue",
            "spec.sqsManagedSSEEnabled: cannot be combined with kmsKeyID; remove one of them",
        ]
    );
}

#[test]
fn each_url_of_a_queue_gives_its_only_arn() {
    for url in [URL, "https://cn-north-1.queue.amazonaws.com.cn/123456789012/orders.fifo"] {
        let found = Queue::new(&Address::of_url(url, "cn-north-1"), Tags::new());
        assert_eq!(found.queue_arn, "arn:aws-cn:sqs:cn-north-1:123456789012:orders.fifo");
        assert_eq!((found.queue_url.as_str(), found.fifo_queue), (URL, true));
        assert_eq!(Address::of_arn(&found.queue_arn), Some(Address::of_url(url, "cn-north-1")));
    }
    for other in
        ["orders", URL, "arn:aws:sns:us-east-1:123456789012:orders", "arn:aws:sqs:us-east-1:123456789012:a:b"]
    {
        assert_eq!(Address::of_arn(other), None, "{other}");
    }
}

#[test]
fn field_names_follow_kubernetes_and_values_follow_aws() {
    let mut spec = all();
    spec["name"] = json!({"value": "orders.fifo"});
    spec["fifoQueue"] = json!({"value": true});
    spec["tags"] = json!({"Name": "orders"});
    assert_round_trips::<QueueSpec>(&spec);
}
