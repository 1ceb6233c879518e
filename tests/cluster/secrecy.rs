//! Values of Secrets at the most verbose log level, throughout their lifecycle: use, invalid values, errors of the provider that quote
//! them, rotation and deletion.

use anyhow::{Result, bail, ensure};
use k8s_openapi::ByteString;
use kraken_simulator::{FailureMode, FailurePoint};
use kraken_testing::SuiteOptions;
use kraken_tests::{
    TestEnv,
    test_env::{TIMEOUT, condition},
};
use serde_json::{Value, json};

const AWS: &str = "aws.kraken-iac.eoinfennessy.com/v1alpha1";
const EXPORT: &str = "configexport.kraken-iac.eoinfennessy.com/v1alpha1";
const CONTROLLERS: [&str; 3] = ["hub", "aws-ec2-instance", "aws-vpc"];

fn object(version: &str, kind: &str, name: &str, spec: Value) -> String {
    json!({"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}).to_string()
}

/// A reference to the only Secret.
fn from_secret() -> Value {
    json!({"valueFrom": {"secret": {"name": "boot", "key": "script"}}})
}

fn export(name: &str, kind: &str) -> String {
    let mut entry = from_secret();
    entry["key"] = json!("script");
    let spec = json!({"configType": kind, "configMetadata": {"name": name}, "entries": [entry]});
    object(EXPORT, "ConfigExport", name, spec)
}

/// An instance with a value of the Secret in this field.
fn instance(name: &str, field: &str) -> String {
    let mut spec = json!({
        "imageID": {"value": "ami-12c6146b"}, "instanceType": {"value": "t2.nano"},
        "minCount": {"value": 1}, "maxCount": {"value": 1}, "lifecycle": {"disruption": "Allow"},
    });
    spec[field] = from_secret();
    spec["userDataChange"] = json!({"value": "Stop"});
    object(AWS, "EC2Instance", name, spec)
}

/// Writes the Secret with this script, and returns the script as the API server has it.
async fn write(test_env: &TestEnv, script: &str) -> Result<Value> {
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "boot"}, "stringData": {"script": script},
    });
    test_env.apply(&secret.to_string()).await?;
    Ok(json!(ByteString(script.as_bytes().to_vec())))
}

#[tokio::test]
async fn values_of_secrets_are_absent_from_all_output_at_every_log_level() -> Result<()> {
    // Without resyncs: a rotation must arrive by an event.
    let mut suite = SuiteOptions {
        only: Some(CONTROLLERS.map(str::to_owned).to_vec()),
        resync_interval: Some("0".to_owned()),
        ..SuiteOptions::default()
    };
    for controller in CONTROLLERS {
        suite = suite.with_env(controller, "KRAKEN_LOG", "trace");
    }
    let test_env = TestEnv::with(suite).await?;
    let script = format!("echo {}", test_env.secret_value("first"));
    let encoded = write(&test_env, &script).await?;

    test_env.apply(&export("kept", "Secret")).await?;
    test_env.ready("ConfigExport", "kept").await?;
    assert_eq!(test_env.get("Secret", "kept").await?["data"]["script"], encoded);
    test_env.refused(&export("leak", "ConfigMap")).await?;

    // The provider quotes the value in several encodings.
    let proxy = &test_env.env.proxy;
    let quoted = format!(
        "Value ({script}) for parameter userData is invalid: {} or {}",
        encoded.as_str().unwrap_or_default(),
        script.replace(' ', "%20")
    );
    proxy.fail_always(
        "RunInstances",
        FailurePoint::Before,
        FailureMode::error(400, "InvalidParameterValue", &quoted),
    );
    test_env.apply(&instance("a", "userData")).await?;
    let message = test_env.not_ready("EC2Instance", "a", "CloudRefused").await?;
    assert!(message.contains("***"), "{message}");
    proxy.clear_failures();
    test_env.patch("EC2Instance", "a", json!({"spec": {"tags": {"Team": "web"}}})).await?;
    test_env.ready("EC2Instance", "a").await?;

    // Values that the field does not accept.
    let invalid = [
        ("EC2Instance", "refused", instance("refused", "subnetID")),
        ("EC2Instance", "unparsed", instance("unparsed", "monitoring")),
        ("VPC", "cidr", object(AWS, "VPC", "cidr", json!({"cidrBlock": from_secret()}))),
        ("KeyPair", "key", object(AWS, "KeyPair", "key", json!({"publicKey": from_secret()}))),
    ];
    for (kind, name, manifest) in &invalid {
        test_env.apply(manifest).await?;
        test_env
            .until(kind, name, |object| {
                let reason = &condition(object, "Ready")["reason"];
                reason == "InvalidSpec" || reason == "CloudRefused"
            })
            .await?;
    }

    // The rotated value is applied, and the former one remains absent.
    let encoded = write(&test_env, &format!("echo {}", test_env.secret_value("rotated"))).await?;
    test_env.until("Secret", "kept", |secret| secret["data"]["script"] == encoded).await?;
    proxy.wait_for("StopInstances", 1, TIMEOUT).await?;

    for (kind, name) in invalid.iter().map(|(kind, name, _)| (*kind, *name)).chain([("EC2Instance", "a")]) {
        test_env.delete(kind, name).await?;
        test_env.gone(kind, name).await?;
    }
    test_env.delete("ConfigExport", "kept").await?;
    test_env.gone("ConfigExport", "kept").await?;
    for controller in CONTROLLERS {
        let log = test_env.env.suite.controller(controller)?.log_text()?;
        ensure!(log.contains("TRACE"), "{controller} does not log at trace level");
    }
    test_env.env.search().await?;
    a_leak_is_found(&test_env).await
}

/// Writes a part of the marker to a ConfigMap, and verifies that the search reports it once. The end of the test searches again.
async fn a_leak_is_found(test_env: &TestEnv) -> Result<()> {
    let part: String = test_env.env.marker().chars().skip(3).take(10).collect();
    let leak = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "leak"}, "data": {"key": format!("{part}...")},
    });
    test_env.apply(&leak.to_string()).await?;
    let Err(found) = test_env.env.search().await else { bail!("a part of a value is not found in etcd") };
    let key = format!("/registry/configmaps/{}/leak, in part", test_env.ns.name);
    ensure!(found.to_string().contains(&key), "{found}");
    Ok(())
}
