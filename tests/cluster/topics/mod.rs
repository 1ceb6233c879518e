//! Topics and subscriptions in moto, through their controller as its real binary.

use anyhow::{Result, bail};
use kraken_simulator::{FailureMode, FailurePoint, REGION, http};
use kraken_testing::{Environment, Shared};
use kraken_tests::TestEnv;
use serde_json::{Value, json};

use crate::{
    balancing::{id, request_reconcile, until},
    services::{self, resource},
};

async fn test_env() -> Result<TestEnv> {
    static SHARED: Shared<Environment> = Shared::new();
    services::start(&SHARED, &["aws-sns", "aws-sqs"]).await
}

/// A call of moto's SNS; the text of the response.
async fn sns(test_env: &TestEnv, action: &str, fields: &[(&str, &str)]) -> Result<String> {
    let credential = format!(
        "AWS4-HMAC-SHA256 Credential=testing/20200101/{REGION}/sns/aws4_request, SignedHeaders=host, Signature=0"
    );
    let mut form = vec![("Action", action), ("Version", "2010-03-31")];
    form.extend(fields);
    let headers = [("authorization", credential.as_str())];
    let answer = http::post_form(test_env.env.moto.endpoint(), &headers, &form).await?;
    if answer.status != 200 {
        bail!("{action} failed with {}: {}", answer.status, answer.body);
    }
    Ok(answer.body)
}

/// The first text of an element in a response.
fn text(body: &str, element: &str) -> String {
    let rest = body.split(&format!("<{element}>")).nth(1).unwrap_or_default();
    rest.split("</").next().unwrap_or_default().to_owned()
}

/// The value of an attribute in a response; empty if there is none.
fn attribute(body: &str, name: &str) -> String {
    body.split(&format!("<key>{name}</key>")).nth(1).map(|rest| text(rest, "value")).unwrap_or_default()
}

async fn of_topic(test_env: &TestEnv, arn: &str, name: &str) -> Result<String> {
    Ok(attribute(&sns(test_env, "GetTopicAttributes", &[("TopicArn", arn)]).await?, name))
}

async fn of_subscription(test_env: &TestEnv, arn: &str, name: &str) -> Result<String> {
    let fields = [("SubscriptionArn", arn)];
    Ok(attribute(&sns(test_env, "GetSubscriptionAttributes", &fields).await?, name).replace("&quot;", "\""))
}

async fn tags(test_env: &TestEnv, topic: &str) -> Result<String> {
    sns(test_env, "ListTagsForResource", &[("ResourceArn", topic)]).await
}

/// A topic that Kraken does not manage, its ARN.
async fn foreign_topic(test_env: &TestEnv, name: &str) -> Result<String> {
    let fields = [("Name", name), ("Tags.member.1.Key", "Test"), ("Tags.member.1.Value", "other")];
    Ok(text(&sns(test_env, "CreateTopic", &fields).await?, "TopicArn"))
}

#[tokio::test]
async fn a_topic_and_a_subscription_are_created_corrected_and_deleted_in_any_order() -> Result<()> {
    let test_env = test_env().await?;
    let spec = json!({
        "topicARN": {"valueFrom": {"ref": "Topic/orders"}}, "protocol": {"value": "sqs"},
        "endpoint": {"valueFrom": {"ref": "Queue/orders"}}, "rawMessageDelivery": {"value": true},
        "filterPolicy": {"value": {"event": ["paid", {"prefix": "paid-"}]}},
    });
    test_env.apply(&resource("Subscription", "orders", &spec)).await?;
    test_env.apply(&resource("Queue", "orders", &json!({}))).await?;
    let name = format!("orders-{}", test_env.ns.name);
    let spec = json!({
        "name": {"value": name}, "displayName": {"value": "Orders"}, "kmsKeyID": {"value": "alias/shop"},
        "tags": {"Team": "shop"},
        "policy": {"statements": [{
            "effect": {"value": "Allow"}, "principals": {"services": {"value": ["s3.amazonaws.com"]}},
            "actions": {"value": ["sns:Publish"]}, "resources": {"value": ["*"]},
        }]},
    });
    test_env.apply(&resource("Topic", "orders", &spec)).await?;
    let topic = id(&test_env.ready("Topic", "orders").await?)?.to_owned();
    let arn = id(&test_env.ready("Subscription", "orders").await?)?.to_owned();
    assert!(arn.starts_with(&format!("{topic}:")) && topic.ends_with(&name), "{arn}");
    let state = test_env.get("StateDeclaration", "subscription.aws.orders").await?;
    let queue = state["spec"]["data"]["subscription"]["Endpoint"].as_str().unwrap_or_default();
    assert!(queue.starts_with("arn:aws:sqs:"), "{state}");
    assert_eq!(of_topic(&test_env, &topic, "DisplayName").await?, "Orders");
    assert!(of_topic(&test_env, &topic, "Policy").await?.contains("s3.amazonaws.com"));
    assert!(of_subscription(&test_env, &arn, "FilterPolicy").await?.contains("paid-"));
    assert_eq!(of_subscription(&test_env, &arn, "RawMessageDelivery").await?, "true");
    assert!(tags(&test_env, &topic).await?.contains("<Value>shop</Value>"));

    for (name, drift, wanted) in
        [("DisplayName", "Eve", "Orders"), ("KmsMasterKeyId", "alias/eve", "alias/shop")]
    {
        let fields = [("TopicArn", topic.as_str()), ("AttributeName", name), ("AttributeValue", drift)];
        sns(&test_env, "SetTopicAttributes", &fields).await?;
        request_reconcile(&test_env, "Topic", "orders", name).await?;
        until(|| async { Ok(of_topic(&test_env, &topic, name).await? == wanted) }).await?;
    }
    for (name, drift, wanted) in [
        ("RawMessageDelivery", "false", "true"),
        ("FilterPolicy", "{}", r#"{"event":["paid",{"prefix":"paid-"}]}"#),
    ] {
        let fields = [("SubscriptionArn", arn.as_str()), ("AttributeName", name), ("AttributeValue", drift)];
        sns(&test_env, "SetSubscriptionAttributes", &fields).await?;
        request_reconcile(&test_env, "Subscription", "orders", name).await?;
        until(|| async { Ok(of_subscription(&test_env, &arn, name).await? == wanted) }).await?;
    }
    let edit = json!({"spec": {"filterPolicy": {"value": {"event": ["sent"]}}}});
    test_env.patch("Subscription", "orders", edit).await?;
    until(|| async { Ok(of_subscription(&test_env, &arn, "FilterPolicy").await?.contains("sent")) }).await?;

    // Unsubscribed by somebody: created again.
    sns(&test_env, "Unsubscribe", &[("SubscriptionArn", &arn)]).await?;
    request_reconcile(&test_env, "Subscription", "orders", "again").await?;
    until(|| async {
        let found = test_env.get("Subscription", "orders").await?;
        Ok(id(&found).is_ok_and(|other| other != arn && other.starts_with(&topic)))
    })
    .await?;

    test_env.delete("Subscription", "orders").await?;
    test_env.gone("Subscription", "orders").await?;
    assert!(!tags(&test_env, &topic).await?.contains("subscription-"));
    assert!(!sns(&test_env, "ListSubscriptions", &[]).await?.contains(&topic));
    for kind in ["Topic", "Queue"] {
        test_env.delete(kind, "orders").await?;
        test_env.gone(kind, "orders").await?;
    }
    assert!(tags(&test_env, &topic).await.is_err());
    Ok(())
}

#[tokio::test]
async fn the_name_of_a_topic_in_use_is_rejected_and_adopted_on_request() -> Result<()> {
    let test_env = test_env().await?;
    let name = format!("taken-{}", test_env.ns.name);
    let topic = foreign_topic(&test_env, &name).await?;
    let spec = json!({"name": {"value": name}, "displayName": {"value": "Orders"}});
    test_env.apply(&resource("Topic", "a", &spec)).await?;
    let why = test_env.not_ready("Topic", "a", "CloudRefused").await?;
    assert!(
        why.contains(&format!("the name {name} is in use by")) && why.contains("not managed by Kraken"),
        "{why}"
    );
    assert_ne!(of_topic(&test_env, &topic, "DisplayName").await?, "Orders");
    assert!(!tags(&test_env, &topic).await?.contains("kraken"));
    test_env.delete("Topic", "a").await?;
    test_env.gone("Topic", "a").await?;
    let adopts = json!({"name": {"value": name}, "lifecycle": {"adopt": {"id": topic}}});
    test_env.apply(&resource("Topic", "b", &adopts)).await?;
    test_env.ready("Topic", "b").await?;
    test_env.delete("Topic", "b").await?;
    test_env.gone("Topic", "b").await?;
    // An adopted topic is kept, with the tags that it had.
    let kept = tags(&test_env, &topic).await?;
    assert!(kept.contains("<Value>other</Value>") && !kept.contains("kraken"), "{kept}");
    Ok(())
}

#[tokio::test]
async fn a_subscription_of_others_is_not_taken_over_and_adopted_and_retained_on_request() -> Result<()> {
    let test_env = test_env().await?;
    let topic = foreign_topic(&test_env, &format!("others-{}", test_env.ns.name)).await?;
    let endpoint = format!("arn:aws:sqs:{REGION}:123456789012:others");
    let fields = [("TopicArn", topic.as_str()), ("Protocol", "sqs"), ("Endpoint", &endpoint)];
    let arn = text(&sns(&test_env, "Subscribe", &fields).await?, "SubscriptionArn");
    let spec = |name: &str, lifecycle: Value| {
        let spec = json!({
            "topicARN": {"value": topic}, "protocol": {"value": "sqs"}, "endpoint": {"value": endpoint},
            "lifecycle": lifecycle,
        });
        resource("Subscription", name, &spec)
    };
    test_env.apply(&spec("a", json!({}))).await?;
    let why = test_env.not_ready("Subscription", "a", "CloudRefused").await?;
    assert!(why.contains("is in use by") && why.contains("not managed by Kraken"), "{why}");
    assert!(!tags(&test_env, &topic).await?.contains("kraken"));
    test_env.delete("Subscription", "a").await?;
    test_env.gone("Subscription", "a").await?;

    test_env.apply(&spec("b", json!({"adopt": {"id": arn}, "deletion": "Retain"}))).await?;
    assert_eq!(id(&test_env.ready("Subscription", "b").await?)?, arn);
    test_env.patch("Subscription", "b", json!({"spec": {"rawMessageDelivery": {"value": true}}})).await?;
    until(|| async { Ok(of_subscription(&test_env, &arn, "RawMessageDelivery").await? == "true") }).await?;
    // A second resource with the same endpoint.
    test_env.apply(&spec("c", json!({}))).await?;
    let why = test_env.not_ready("Subscription", "c", "ValueInUse").await?;
    assert!(why.contains("which belongs to Subscription/"), "{why}");
    for name in ["c", "b"] {
        test_env.delete("Subscription", name).await?;
        test_env.gone("Subscription", name).await?;
    }
    assert_eq!(of_subscription(&test_env, &arn, "Protocol").await?, "sqs");
    assert!(!tags(&test_env, &topic).await?.contains("kraken"));
    Ok(())
}

#[tokio::test]
async fn creations_without_a_response_are_found_and_not_repeated() -> Result<()> {
    let test_env = test_env().await?;
    for action in ["CreateTopic", "Subscribe"] {
        test_env.env.proxy.fail_next(action, FailurePoint::After, FailureMode::Drop);
    }
    test_env.apply(&resource("Topic", "once", &json!({}))).await?;
    let spec = json!({
        "topicARN": {"valueFrom": {"ref": "Topic/once"}}, "protocol": {"value": "sqs"},
        "endpoint": {"value": format!("arn:aws:sqs:{REGION}:123456789012:once")},
    });
    test_env.apply(&resource("Subscription", "once", &spec)).await?;
    let topic = id(&test_env.ready("Topic", "once").await?)?.to_owned();
    let arn = id(&test_env.ready("Subscription", "once").await?)?.to_owned();
    assert_eq!(test_env.env.proxy.pending_failures(), 0);
    let all = sns(&test_env, "ListSubscriptionsByTopic", &[("TopicArn", &topic)]).await?;
    assert_eq!(all.matches("<SubscriptionArn>").count(), 1, "{all}");
    assert!(all.contains(&arn), "{all}");
    for kind in ["Subscription", "Topic"] {
        test_env.delete(kind, "once").await?;
        test_env.gone(kind, "once").await?;
    }
    assert!(tags(&test_env, &topic).await.is_err());
    Ok(())
}
