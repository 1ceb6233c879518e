//! Queues in moto, through their controller as its real binary.

use anyhow::{Context as _, Result};
use kraken_simulator::{FailureMode, FailurePoint, REGION};
use kraken_testing::{Environment, Shared};
use kraken_tests::TestEnv;
use serde_json::{Value, json};

use crate::{
    balancing::{id, request_reconcile, until},
    services::{self, resource},
};

async fn test_env() -> Result<TestEnv> {
    static SHARED: Shared<Environment> = Shared::new();
    services::start(&SHARED, &["aws-sqs"]).await
}

/// A call of moto's SQS.
async fn sqs(test_env: &TestEnv, action: &str, body: &Value) -> Result<Value> {
    test_env.env.moto.json("sqs", "1.0", &format!("AmazonSQS.{action}"), body).await
}

/// The URL of a queue of this test.
fn url(id: &str) -> String {
    format!(
        "https://sqs.{REGION}.amazonaws.com/123456789012/{}",
        id.rsplit([':', '/']).next().unwrap_or_default()
    )
}

async fn attributes(test_env: &TestEnv, id: &str) -> Result<Value> {
    let body = json!({"QueueUrl": url(id), "AttributeNames": ["All"]});
    Ok(sqs(test_env, "GetQueueAttributes", &body).await?["Attributes"].clone())
}

async fn tags(test_env: &TestEnv, id: &str) -> Result<Value> {
    Ok(sqs(test_env, "ListQueueTags", &json!({"QueueUrl": url(id)})).await?["Tags"].clone())
}

#[tokio::test]
async fn a_queue_with_a_dead_letter_queue_is_created_corrected_and_deleted_in_any_order() -> Result<()> {
    let test_env = test_env().await?;
    let name = format!("orders-{}.fifo", test_env.ns.name);
    let spec = json!({
        "name": {"value": name}, "fifoQueue": {"value": true}, "contentBasedDeduplication": {"value": true},
        "visibilityTimeoutSeconds": {"value": 120}, "tags": {"Team": "shop"},
        "redrivePolicy": {
            "deadLetterTargetARN": {"valueFrom": {"ref": "Queue/failed/queue.QueueArn"}}, "maxReceiveCount": {"value": 5},
        },
        "policy": {"statements": [{
            "effect": {"value": "Allow"}, "principals": {"services": {"value": ["sns.amazonaws.com"]}},
            "actions": {"value": ["sqs:SendMessage"]}, "resources": {"value": ["*"]},
        }]},
    });
    test_env.apply(&resource("Queue", "orders", &spec)).await?;
    test_env.apply(&resource("Queue", "failed", &json!({"fifoQueue": {"value": true}}))).await?;
    let arn = id(&test_env.ready("Queue", "orders").await?)?.to_owned();
    assert!(arn.starts_with("arn:") && arn.ends_with(&name), "{arn}");
    let state = test_env.get("StateDeclaration", "queue.aws.failed").await?;
    let dead = state["spec"]["data"]["queue"]["QueueArn"].as_str().context("no ARN")?.to_owned();
    let found = attributes(&test_env, &arn).await?;
    assert!(found["RedrivePolicy"].to_string().contains(&dead), "{found}");
    assert!(found["Policy"].to_string().contains("sns.amazonaws.com"), "{found}");
    assert_eq!(found["VisibilityTimeout"], "120", "{found}");
    assert_eq!(tags(&test_env, &arn).await?["Team"], "shop");

    let drifted = json!({"QueueUrl": url(&arn), "Attributes": {"VisibilityTimeout": "1"}});
    sqs(&test_env, "SetQueueAttributes", &drifted).await?;
    request_reconcile(&test_env, "Queue", "orders", "1").await?;
    until(|| async { Ok(attributes(&test_env, &arn).await?["VisibilityTimeout"] == "120") }).await?;
    test_env.patch("Queue", "orders", json!({"spec": {"visibilityTimeoutSeconds": {"value": 60}}})).await?;
    until(|| async { Ok(attributes(&test_env, &arn).await?["VisibilityTimeout"] == "60") }).await?;

    for name in ["failed", "orders"] {
        test_env.delete("Queue", name).await?;
    }
    for name in ["failed", "orders"] {
        test_env.gone("Queue", name).await?;
    }
    assert!(attributes(&test_env, &arn).await.is_err());
    Ok(())
}

#[tokio::test]
async fn a_name_in_use_is_rejected_and_adopted_on_request() -> Result<()> {
    let test_env = test_env().await?;
    let name = format!("taken-{}", test_env.ns.name);
    let made = sqs(&test_env, "CreateQueue", &json!({"QueueName": name, "tags": {"Test": "other"}})).await?;
    let arn = format!("arn:aws:sqs:{REGION}:123456789012:{name}");
    assert_eq!(url(made["QueueUrl"].as_str().context("no URL")?), url(&arn));
    test_env.apply(&resource("Queue", "a", &json!({"name": {"value": name}}))).await?;
    let why = test_env.not_ready("Queue", "a", "CloudRefused").await?;
    assert!(
        why.contains(&format!("the name {name} is in use by")) && why.contains("not managed by Kraken"),
        "{why}"
    );
    assert_eq!(tags(&test_env, &arn).await?, json!({"Test": "other"}));
    test_env.delete("Queue", "a").await?;
    test_env.gone("Queue", "a").await?;
    test_env
        .apply(&resource(
            "Queue",
            "b",
            &json!({"name": {"value": name}, "lifecycle": {"adopt": {"id": arn}}}),
        ))
        .await?;
    test_env.ready("Queue", "b").await?;
    test_env.delete("Queue", "b").await?;
    test_env.gone("Queue", "b").await?;
    // An adopted queue is kept, with the tags that it had.
    assert_eq!(tags(&test_env, &arn).await?, json!({"Test": "other"}));
    Ok(())
}

#[tokio::test]
async fn a_creation_without_a_response_is_found_and_not_repeated() -> Result<()> {
    let test_env = test_env().await?;
    test_env.env.proxy.fail_next("CreateQueue", FailurePoint::After, FailureMode::Drop);
    test_env.apply(&resource("Queue", "once", &json!({"tags": {"Test": test_env.ns.name}}))).await?;
    let arn = id(&test_env.ready("Queue", "once").await?)?.to_owned();
    assert_eq!(tags(&test_env, &arn).await?["Test"], json!(test_env.ns.name));
    assert_eq!(test_env.env.proxy.pending_failures(), 0);
    test_env.delete("Queue", "once").await?;
    test_env.gone("Queue", "once").await?;
    assert!(attributes(&test_env, &arn).await.is_err());
    Ok(())
}
