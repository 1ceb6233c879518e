use kraken_aws::{
    AwsSpec as _, Tags,
    marker::Marker,
    resource::{Phase, RemoteObject as _},
    tags::{CLUSTER, EPOCH, OWNER, UID},
    testing::{self, assert_round_trips, rendered, with},
};
use serde_json::{Value, json};

use super::{
    Subscriptions,
    api::SubscriptionSpec,
    desired::attributes,
    marker::{self, id_in},
    observed::Subscription,
    read::topic_in,
};

const TOPIC: &str = "arn:aws:sns:us-east-1:123456789012:orders";
const ARN: &str = "arn:aws:sns:us-east-1:123456789012:orders:1234abcd-12ab-34cd-56ef-1234567890ab";
const QUEUE: &str = "arn:aws:sqs:us-east-1:123456789012:orders";

fn written(changes: Value) -> Value {
    let spec =
        json!({"topicARN": {"value": TOPIC}, "protocol": {"value": "sqs"}, "endpoint": {"value": QUEUE}});
    with(spec, changes)
}

fn all() -> Value {
    written(json!({
        "filterPolicy": {"value": {"z": [{"prefix": "paid-"}], "event": ["created", 1]}},
        "filterPolicyScope": {"value": "MessageBody"}, "rawMessageDelivery": {"value": true},
        "deadLetterTargetARN": {"value": QUEUE},
    }))
}

/// As AWS would return what this spec sends.
fn in_place(spec: Value) -> Subscription {
    let sent = attributes(&testing::desired::<Subscriptions>(spec));
    let sent = sent.into_iter().map(|(_, name, value)| (name.to_owned(), value));
    let own = [("SubscriptionArn", ARN), ("TopicArn", TOPIC), ("Protocol", "sqs"), ("Endpoint", QUEUE)];
    let own = own.map(|(name, value)| (name.to_owned(), value.to_owned()));
    Subscription::new(&sent.chain(own).collect(), Tags::new())
}

fn differing(spec: Value, found: &Subscription) -> Vec<String> {
    rendered(SubscriptionSpec::differences(&testing::desired::<Subscriptions>(spec), found))
}

#[test]
fn attributes_are_compared_only_after_deep_observations_and_the_filter_as_json() {
    assert_eq!(differing(all(), &in_place(all())), [""; 0]);
    assert_eq!(differing(all(), &Subscription { attributes: None, ..in_place(all()) }), [""; 0]);
    assert_eq!(differing(written(json!({})), &in_place(all())), [""; 0]);
    assert_eq!(
        differing(all(), &in_place(written(json!({})))),
        [
            r#"filterPolicy: {} becomes {"event":["created",1],"z":[{"prefix":"paid-"}]}: Filter"#,
            "filterPolicyScope: MessageAttributes becomes MessageBody: Filter",
            "rawMessageDelivery: false becomes true: RawDelivery",
            &format!("deadLetterTargetARN:  becomes {QUEUE}: Redrive"),
        ]
    );
    assert_eq!(SubscriptionSpec::import_filter(&in_place(written(json!({})))), None);
    assert_eq!(SubscriptionSpec::import_filter(&in_place(all())), Some(all()["filterPolicy"].clone()));
}

#[test]
fn the_topic_the_protocol_and_the_endpoint_are_fixed() {
    let other = written(json!({
        "topicARN": {"value": format!("{TOPIC}-2")}, "protocol": {"value": "email"}, "endpoint": {"value": "a@example.com"},
    }));
    let found = differing(other, &in_place(all()));
    assert_eq!(found.len(), 3, "{found:#?}");
    assert!(found.iter().all(|difference| difference.ends_with(": fixed")), "{found:#?}");
}

#[test]
fn the_endpoint_has_the_form_of_its_protocol() {
    for (protocol, endpoint, says) in [
        (
            "sqs",
            "https://sqs.us-east-1.amazonaws.com/1/orders",
            "must be the ARN of a queue for the protocol sqs",
        ),
        ("lambda", QUEUE, "must be the ARN of a function for the protocol lambda"),
        ("email", "shop", "must be an email address for the protocol email"),
        ("https", "http://a", "must be a URL with https:// and without a password for the protocol https"),
        ("http", "http://a:b@c/d", "must be a URL with http:// and without a password for the protocol http"),
    ] {
        let spec = written(json!({"protocol": {"value": protocol}, "endpoint": {"value": endpoint}}));
        assert_eq!(testing::problems::<Subscriptions>(spec), [format!("spec.endpoint: {says}")]);
    }
    for (protocol, endpoint) in [("sms", "+491234"), ("https", "https://a.example.com/b@c")] {
        let spec = written(json!({"protocol": {"value": protocol}, "endpoint": {"value": endpoint}}));
        testing::desired::<Subscriptions>(spec);
    }
}

#[test]
fn all_problems_are_reported_at_once() {
    let spec = written(json!({
        "protocol": {"value": "email"}, "rawMessageDelivery": {"value": true},
        "subscriptionRoleARN": {"value": "arn:aws:iam::123456789012:role/delivery"},
    }));
    assert_eq!(
        testing::problems::<Subscriptions>(spec),
        [
            "spec.endpoint: must be an email address for the protocol email",
            "spec.subscriptionRoleARN: is only supported for firehose",
            "spec.rawMessageDelivery: is only supported for sqs, firehose, http and https",
        ]
    );
}

#[test]
fn a_subscription_that_is_not_confirmed_is_pending() {
    let texts = [("PendingConfirmation".to_owned(), "true".to_owned())].into();
    assert!(matches!(Subscription::new(&texts, Tags::new()).phase(), Phase::Pending(_)));
    assert_eq!(in_place(all()).phase(), Phase::Available);
}

#[test]
fn the_owner_of_a_subscription_is_in_a_tag_of_its_topic() {
    let pairs = [(CLUSTER, "c"), (UID, "u"), (EPOCH, "3"), (OWNER, "Subscription/shop/orders")];
    let tags = Tags::from(pairs.map(|(key, value)| (key.into(), value.into())));
    let (key, other) = (marker::key("sqs", QUEUE), marker::key("lambda", QUEUE));
    assert!(key.len() <= 128 && key != other, "{key}");
    let owner = Marker::new(Some(id_in(ARN)), &tags);
    let topic = Tags::from([(key.clone(), owner.text())]);
    let found = marker::of(&topic, "sqs", QUEUE).unwrap();
    assert_eq!((&found, marker::arn(&found, TOPIC).as_deref()), (&owner, Some(ARN)));
    assert_eq!(marker::of(&topic, "lambda", QUEUE), None);
    let topic = Tags::from([(key, Marker::new(None, &tags).text())]);
    assert_eq!(marker::arn(&marker::of(&topic, "sqs", QUEUE).unwrap(), TOPIC), None);
}

#[test]
fn the_topic_is_in_the_arn() {
    assert_eq!(topic_in(ARN), Some(TOPIC));
    for other in [TOPIC, "orders", "arn:aws:sqs:us-east-1:1:a:b"] {
        assert_eq!(topic_in(other), None, "{other}");
    }
}

#[test]
fn field_names_follow_kubernetes_and_values_follow_aws() {
    assert_round_trips::<SubscriptionSpec>(&with(
        all(),
        json!({"subscriptionRoleARN": {"value": "arn:aws:iam::123456789012:role/delivery"}}),
    ));
}
