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

use crate::balancing::{
    id,
    moto::{ELB, call, network, text},
};

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

/// A listener whose answer to every request has this body.
fn listener(name: &str, balancer: &str, body: &Value, lifecycle: &Value) -> String {
    let response = json!({
        "statusCode": {"value": 503}, "contentType": {"value": "text/plain"}, "messageBody": body,
    });
    let spec = json!({
        "loadBalancerARN": {"value": balancer}, "port": {"value": 80}, "protocol": {"value": "HTTP"},
        "defaultAction": {"fixedResponse": response}, "lifecycle": lifecycle,
    });
    object(AWS, "Listener", name, spec)
}

/// The object in the cloud keeps the value of the Secret of its former resource. The next one does not name that Secret.
#[tokio::test]
async fn value_of_a_released_object_is_absent_from_all_output_of_the_resource_that_adopts_it() -> Result<()> {
    let controllers = ["hub", "aws-elb"];
    let suite =
        SuiteOptions { only: Some(controllers.map(str::to_owned).to_vec()), ..SuiteOptions::default() };
    let suite = controllers.iter().fold(suite, |suite, name| suite.with_env(name, "KRAKEN_LOG", "trace"));
    let test_env = TestEnv::with(suite).await?;
    let secret = test_env.secret_value("closed for maintenance");
    write(&test_env, &secret).await?;
    let network = network(&test_env).await?;
    let balancer = json!({
        "scheme": {"value": "internal"}, "subnetIDs": {"value": network.subnets},
        "securityGroupIDs": {"value": [network.group]},
    });
    test_env.apply(&object(AWS, "LoadBalancer", "web", balancer)).await?;
    let balancer = id(&test_env.ready("LoadBalancer", "web").await?)?.to_owned();
    let retained = json!({"deletion": "Retain"});
    test_env.apply(&listener("former", &balancer, &from_secret(), &retained)).await?;
    let arn = id(&test_env.ready("Listener", "former").await?)?.to_owned();
    let in_cloud = || async {
        let answer = call(&test_env, ELB, "DescribeListeners", &[("ListenerArns.member.1", &arn)]).await?;
        text(&answer, "MessageBody")
    };
    ensure!(in_cloud().await? == secret, "the provider has the value of the Secret");
    test_env.delete("Listener", "former").await?;
    test_env.gone("Listener", "former").await?;

    let adopting = json!({"adopt": {"id": arn}, "approval": "Manual", "deletion": "Delete"});
    test_env.apply(&listener("next", &balancer, &json!({"value": "back soon"}), &adopting)).await?;
    let message = test_env.not_ready("Listener", "next", "AwaitingApproval").await?;
    ensure!(message.contains("would adopt") && message.contains("***"), "{message}");
    ensure!(message.contains("back soon"), "{message}");
    let plan = test_env.get("Listener", "next").await?["status"]["plan"].clone();
    ensure!(
        plan["changes"][0]["path"].as_str().is_some_and(|path| path.starts_with("defaultAction")),
        "{plan}"
    );
    test_env.env.search().await?;
    let approved = json!({"kraken-iac.eoinfennessy.com/approved-plan": plan["hash"]});
    test_env.patch("Listener", "next", json!({"metadata": {"annotations": approved}})).await?;
    test_env.until("Listener", "next", |listener| !listener["status"]["externalIds"].is_null()).await?;

    // What differs after the adoption is not of this spec either.
    let is_changed = |listener: &Value| {
        let ready = condition(listener, "Ready");
        let hash = &listener["status"]["plan"]["hash"];
        ready["status"] == "True" || (ready["reason"] == "AwaitingApproval" && *hash != plan["hash"])
    };
    let after = test_env.until("Listener", "next", is_changed).await?;
    test_env.env.search().await?;
    let approved = json!({"kraken-iac.eoinfennessy.com/approved-plan": after["status"]["plan"]["hash"]});
    test_env.patch("Listener", "next", json!({"metadata": {"annotations": approved}})).await?;
    test_env.ready("Listener", "next").await?;
    ensure!(in_cloud().await? == "back soon", "the edit is in place");
    for name in controllers {
        let log = test_env.env.suite.controller(name)?.log_text()?;
        ensure!(log.contains("TRACE"), "{name} does not log at trace level");
    }
    test_env.patch("Listener", "next", json!({"spec": {"lifecycle": {"approval": null}}})).await?;
    for (kind, name) in [("Listener", "next"), ("LoadBalancer", "web")] {
        test_env.delete(kind, name).await?;
        test_env.gone(kind, name).await?;
    }
    test_env.env.search().await
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
