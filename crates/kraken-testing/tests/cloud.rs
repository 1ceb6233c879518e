//! moto and the proxy in front of it.

use std::time::{Duration, Instant};

use anyhow::Result;
use kraken_simulator::{FailureMode, FailurePoint, http};
use kraken_testing::{Moto, Proxy};

const AUTHORIZATION: &str = "AWS4-HMAC-SHA256 Credential=testing/20200101/us-east-1/ec2/aws4_request, SignedHeaders=host, Signature=0";

async fn call(endpoint: &str, action: &str, fields: &[(&str, &str)]) -> Result<http::Response> {
    let form: Vec<(&str, &str)> =
        [("Action", action), ("Version", "2016-11-15")].into_iter().chain(fields.iter().copied()).collect();
    http::post_form(endpoint, &[("authorization", AUTHORIZATION)], &form).await
}

async fn run_one(endpoint: &str) -> Result<http::Response> {
    let fields = [
        ("ImageId", "ami-12c6146b"),
        ("MinCount", "1"),
        ("MaxCount", "1"),
        ("InstanceType", "t3.micro"),
        ("TagSpecification.1.ResourceType", "instance"),
        ("TagSpecification.1.Tag.1.Key", "Name"),
        ("TagSpecification.1.Tag.1.Value", "a & b"),
    ];
    call(endpoint, "RunInstances", &fields).await
}

#[tokio::test]
async fn instances_are_listed_with_their_tags_over_all_pages() -> Result<()> {
    let moto = Moto::start().await?;
    assert!(moto.instances().await?.is_empty());
    for _ in 0..101 {
        // One reservation more than moto puts on a page.
        assert_eq!(run_one(moto.endpoint()).await?.status, 200);
    }
    let instances = moto.instances().await?;
    assert_eq!(instances.len(), 101);
    let first = &instances[0];
    assert!(first.is_alive() && first.id.starts_with("i-") && first.subnet_id.starts_with("subnet-"));
    assert_eq!((first.instance_type.as_str(), first.image_id.as_str()), ("t3.micro", "ami-12c6146b"));
    assert_eq!(first.tags["Name"], "a & b");
    moto.reset().await?;
    assert!(moto.instances().await?.is_empty());
    Ok(())
}

#[tokio::test]
async fn calls_are_counted_and_pass_unchanged() -> Result<()> {
    let moto = Moto::start().await?;
    let proxy = Proxy::start(moto.endpoint())?;
    assert_eq!(run_one(proxy.endpoint()).await?.status, 200);
    assert!(call(proxy.endpoint(), "DescribeInstances", &[]).await?.body.contains("t3.micro"));
    assert_eq!(proxy.count("RunInstances"), 1);
    assert_eq!(proxy.calls().values().sum::<u64>(), 2);
    let journal = proxy.journal();
    assert_eq!(journal.iter().map(|call| call.status).collect::<Vec<_>>(), [Some(200), Some(200)]);
    proxy.clear();
    assert_eq!(proxy.count("RunInstances"), 0);
    Ok(())
}

#[tokio::test]
async fn scripted_failures_come_before_or_after_the_call() -> Result<()> {
    let moto = Moto::start().await?;
    let proxy = Proxy::start(moto.endpoint())?;

    proxy.fail_next("RunInstances", FailurePoint::Before, FailureMode::throttled());
    let answer = run_one(proxy.endpoint()).await?;
    assert_eq!(answer.status, 503);
    assert!(answer.body.contains("<Code>RequestLimitExceeded</Code>"));
    assert_eq!(moto.instances().await?.len(), 0);

    proxy.fail_next("RunInstances", FailurePoint::Before, FailureMode::Drop);
    assert!(run_one(proxy.endpoint()).await.is_err());
    assert_eq!(moto.instances().await?.len(), 0);

    proxy.fail_next("RunInstances", FailurePoint::After, FailureMode::Drop);
    assert_eq!(call(proxy.endpoint(), "DescribeInstances", &[]).await?.status, 200);
    assert_eq!(proxy.pending_failures(), 1);
    assert!(run_one(proxy.endpoint()).await.is_err());
    assert_eq!(moto.instances().await?.len(), 1);

    proxy.fail_next("*", FailurePoint::After, FailureMode::Delay(Duration::from_millis(300)));
    let started = Instant::now();
    let endpoint = proxy.endpoint().to_owned();
    let held = tokio::spawn(async move { run_one(&endpoint).await });
    proxy.wait_for("RunInstances", 4, Duration::from_secs(5)).await?;
    assert_eq!(moto.instances().await?.len(), 2, "moto completes the call while the caller waits");
    assert_eq!(held.await??.status, 200);
    assert!(started.elapsed() >= Duration::from_millis(300));

    proxy.fail_always("*", FailurePoint::Before, FailureMode::error(500, "InternalError", "no"));
    assert_eq!(run_one(proxy.endpoint()).await?.status, 500);
    assert_eq!(run_one(proxy.endpoint()).await?.status, 500);
    proxy.clear_failures();
    assert_eq!(run_one(proxy.endpoint()).await?.status, 200);
    assert!(proxy.wait_for("Nothing", 1, Duration::from_millis(20)).await.is_err());
    Ok(())
}
