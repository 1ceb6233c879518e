//! A web team's first week, from the sample: applied in reverse, changed, renamed and destroyed.

use std::sync::Arc;

use anyhow::Result;
use kraken_testing::{Environment, EnvironmentOptions, SuiteOptions, manifests, paths};
use kraken_tests::{TestEnv, test_env::TIMEOUT};
use serde_json::{Value, json};

use crate::balancing::request_reconcile;

/// The value of a key of a ConfigMap or Secret that a ConfigExport writes.
fn exported(object: &Value, key: &str) -> String {
    match &object["data"][key] {
        Value::String(text) => text.clone(),
        _ => String::new(),
    }
}

/// The reads of the kinds that the sample has.
const READS: [&str; 14] = [
    "DescribeVpcs",
    "DescribeSubnets",
    "DescribeSecurityGroups",
    "DescribeRouteTables",
    "DescribeLaunchTemplates",
    "DescribeAutoScalingGroups",
    "DescribePolicies",
    "DescribeLoadBalancers",
    "DescribeTargetGroups",
    "DescribeListeners",
    "DescribeCertificate",
    "DescribeDBInstances",
    "ListQueueTags",
    "GetRole",
];

/// What is Ready is in place, field by field, for controllers without a memory, too.
async fn restart_changes_nothing(test_env: &TestEnv, resources: &[&manifests::Document]) -> Result<()> {
    let env = &test_env.env;
    env.proxy.clear();
    for controller in env.suite.controllers() {
        controller.restart().await?;
    }
    for (number, when) in [(1, "first"), (2, "second")] {
        for action in READS {
            env.proxy.wait_for(action, number, TIMEOUT).await?;
        }
        // Whatever the first observation leads to is complete when the second one begins.
        for resource in resources {
            request_reconcile(test_env, &resource.gvk.kind, &resource.name, when).await?;
        }
    }
    // A path alone is that of a GET; the tags of zones are read by POST.
    let reads = ["Describe", "Get", "List", "Head", "/", "POST /2013-04-01/tags/hostedzone"];
    let calls = env.proxy.calls();
    let changes: Vec<&String> =
        calls.keys().filter(|action| !reads.iter().any(|read| action.starts_with(read))).collect();
    assert!(changes.is_empty(), "{changes:?}");
    Ok(())
}

#[tokio::test]
async fn first_week_is_applied_in_reverse_changed_renamed_and_destroyed() -> Result<()> {
    let suite = SuiteOptions { webhooks: true, ..SuiteOptions::default() };
    let options = EnvironmentOptions { suite, ..EnvironmentOptions::default() };
    let test_env = TestEnv::on(Arc::new(Environment::start(options).await?)).await?;
    let proxy = &test_env.env.proxy;
    let (client, ns) = (test_env.client(), test_env.ns.name.clone());
    let password = test_env.secret_value("password");
    let mut samples = manifests::read(&paths::workspace_root()?.join("config/samples/shop"))?;
    for sample in samples.iter_mut().filter(|sample| sample.gvk.kind == "Secret") {
        sample.value["stringData"]["password"] = password.as_str().into();
    }
    samples.reverse();
    manifests::apply(&client, &samples, &ns).await?;
    let kraken = |sample: &&manifests::Document| sample.gvk.group.ends_with(".kraken-iac.eoinfennessy.com");
    for sample in samples.iter().filter(kraken) {
        test_env.ready(&sample.gvk.kind, &sample.name).await?;
    }
    let map = test_env.get("ConfigMap", "shop").await?;
    assert_eq!(exported(&map, "SERVERS"), "2 to 6");
    assert!(exported(&map, "QUEUE").starts_with("arn:aws:sqs:"), "{map}");
    let decoded = |secret: &Value| -> String {
        let secret: Option<k8s_openapi::api::core::v1::Secret> = serde_json::from_value(secret.clone()).ok();
        let url = secret.and_then(|secret| secret.data?.remove("DATABASE_URL"));
        url.map(|url| String::from_utf8_lossy(&url.0).into_owned()).unwrap_or_default()
    };
    let connection = test_env.get("Secret", "shop-connection").await?;
    assert!(decoded(&connection).starts_with(&format!("postgres://shop:{password}@")), "no connection");

    restart_changes_nothing(&test_env, &samples.iter().filter(kraken).collect::<Vec<_>>()).await?;
    for sample in samples.iter().filter(kraken) {
        test_env.ready(&sample.gvk.kind, &sample.name).await?;
    }

    // One key, and one password.
    test_env.patch("ConfigMap", "shop-settings", json!({"data": {"maximum": "8"}})).await?;
    test_env.until("ConfigMap", "shop", |map| exported(map, "SERVERS") == "2 to 8").await?;
    let other = test_env.secret_value("other-password");
    test_env.patch("Secret", "shop-database", json!({"stringData": {"password": other}})).await?;
    test_env.until("Secret", "shop-connection", |secret| decoded(secret).contains(&other)).await?;
    test_env.ready("AutoScalingGroup", "shop").await?;
    let start = std::time::Instant::now();
    while proxy.count("ModifyDBInstance") == 0 && start.elapsed() < TIMEOUT {
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    test_env.ready("DBInstance", "shop").await?;
    assert_eq!(proxy.count("ModifyDBInstance"), 1);
    assert_eq!(proxy.count("UpdateAutoScalingGroup"), 1);

    // A queue under another name in Git: applied, then pruned. The old one goes after its user has moved.
    let renamed: Vec<manifests::Document> = samples
        .iter()
        .filter(|sample| sample.value.to_string().contains("shop-failed"))
        .map(|sample| {
            let mut sample = sample.clone();
            let text = sample.value.to_string().replace("shop-failed", "shop-undelivered");
            sample.name = sample.name.replace("shop-failed", "shop-undelivered");
            serde_json::from_str(&text).map(|value| {
                sample.value = value;
                sample
            })
        })
        .collect::<Result<_, _>>()?;
    assert_eq!(renamed.len(), 3);
    manifests::apply(&client, &renamed, &ns).await?;
    test_env.delete("Queue", "shop-failed").await?;
    test_env.gone("Queue", "shop-failed").await?;
    let undelivered = test_env.ready("Queue", "shop-undelivered").await?;
    test_env.ready("Queue", "shop-orders").await?;
    let id = undelivered["status"]["externalIds"][0].as_str().unwrap_or_default().to_owned();
    test_env.until("ConfigMap", "shop", |map| exported(map, "FAILED_ORDERS") == id).await?;

    samples.extend(renamed);
    manifests::delete(&client, &samples, &ns).await?;
    for sample in samples.iter().filter(kraken) {
        test_env.gone(&sample.gvk.kind, &sample.name).await?;
    }
    assert_eq!(proxy.left(), Vec::<String>::new());
    let rejected = proxy.rejected_deletions();
    assert!(rejected.is_empty(), "deleted too early: {rejected:?}");
    Ok(())
}
