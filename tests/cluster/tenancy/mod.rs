//! A user with access to one namespace cannot cause a read or a write in another. Each line of the table is one attempt, each with a
//! name of its own; the results are verified in the API server's audit log, the other namespace and the cloud.

mod attempts;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use kraken_testing::{ControlPlaneOptions, Environment, EnvironmentOptions, SuiteOptions};
use kraken_tests::{TestEnv, TestUser, test_env::condition};
use kube::api::ListParams;
use serde_json::{Value, json};

use attempts::Expected::{Harmless, Refused, Stuck, Ungranted};
use attempts::attempts;

/// A setting of the other namespace. Neither it nor the password may be found in the attacker's.
const SETTING: &str = "marker-7f3a91-setting";
const CORE: &str = "core.kraken-iac.eoinfennessy.com/v1alpha1";
const AWS: &str = "aws.kraken-iac.eoinfennessy.com/v1alpha1";
const EXPORT: &str = "configexport.kraken-iac.eoinfennessy.com/v1alpha1";
const KINDS: [&str; 11] = [
    "ConfigMap",
    "Secret",
    "ConfigExport",
    "StateDeclaration",
    "DependencyRequest",
    "ReferenceGrant",
    "VPC",
    "Subnet",
    "SecurityGroup",
    "KeyPair",
    "Event",
];

/// Name, version and content of everything in a namespace.
async fn content(test_env: &TestEnv) -> Result<BTreeMap<String, String>> {
    let mut all = BTreeMap::new();
    for kind in KINDS {
        for object in test_env.api(kind).list(&ListParams::default()).await?.items {
            let name = object.metadata.name.clone().unwrap_or_default();
            all.insert(format!("{kind}/{name}"), serde_json::to_string(&object)?);
        }
    }
    Ok(all)
}

/// Waits until an attempt was reconciled and is not Ready, with this in its message.
async fn stuck(test_env: &TestEnv, label: &str, attempt: &Value, why: &str) -> Result<()> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (kind, name) = (text(&attempt["kind"]), text(&attempt["metadata"]["name"]));
    let is_stuck = |object: &Value| {
        let ready = condition(object, "Ready");
        ready["status"] == "False" && ready["message"].as_str().unwrap_or_default().contains(why)
    };
    let seen = test_env.until(&kind, &name, is_stuck).await;
    seen.map(drop).with_context(|| label.to_owned())
}

#[tokio::test]
async fn no_attempt_from_one_namespace_reads_or_writes_another() -> Result<()> {
    let only = ["hub", "aws-vpc"].map(str::to_owned).to_vec();
    let suite =
        SuiteOptions { resync_interval: Some("0".to_owned()), only: Some(only), ..SuiteOptions::default() };
    let suite = suite.with_env("hub", "KRAKEN_LOG", "trace").with_env("aws-vpc", "KRAKEN_LOG", "trace");
    let options = EnvironmentOptions {
        control_plane: ControlPlaneOptions { audit: true, ..ControlPlaneOptions::default() },
        suite,
    };
    let env = Arc::new(Environment::start(options).await?);
    let (victim, test_env) = (TestEnv::on(env.clone()).await?, TestEnv::on(env.clone()).await?);
    let (password, own_password) = (env.secret_value("password"), env.secret_value("mine"));
    victim
        .apply(&format!(
            "{{apiVersion: v1, kind: Secret, metadata: {{name: db}}, stringData: {{password: {password}}}}}\n---\n\
             {{apiVersion: v1, kind: ConfigMap, metadata: {{name: settings}}, data: {{cidr: 10.1.0.0/16, more: {SETTING}}}}}\n---\n\
             {{apiVersion: {AWS}, kind: VPC, metadata: {{name: main}}, spec: \
              {{cidrBlock: {{valueFrom: {{configMap: {{name: settings, key: cidr}}}}}}, tags: {{Name: {SETTING}}}}}}}\n---\n\
             {{apiVersion: {AWS}, kind: Account, metadata: {{name: shop}}, spec: {{defaultTags: {{Team: {SETTING}}}}}}}\n---\n\
             {{apiVersion: {EXPORT}, kind: ConfigExport, metadata: {{name: out}}, spec: {{configType: ConfigMap, \
              configMetadata: {{name: out}}, entries: [{{key: id, valueFrom: {{ref: VPC/main}}}}]}}}}\n---\n\
             {{apiVersion: {EXPORT}, kind: ConfigExport, metadata: {{name: vault}}, spec: {{configType: Secret, \
              configMetadata: {{name: vault}}, entries: [{{key: p, valueFrom: {{secret: {{name: db, key: password}}}}}}]}}}}"
        ))
        .await?;
    // Grants of the same resource to another namespace, and of another resource to this one.
    let grant = |name: &str, from: &str, to: Value| {
        let spec = json!({"from": [{"namespace": from}], "to": [to]});
        json!({"apiVersion": CORE, "kind": "ReferenceGrant", "metadata": {"name": name}, "spec": spec})
    };
    let to_third = grant("third", "third", json!({"kind": "VPC"}));
    let of_subnet = grant("subnet", &test_env.ns.name, json!({"kind": "Subnet", "name": "shared"}));
    victim.apply(&format!("{to_third}\n---\n{of_subnet}")).await?;
    let theirs = victim.ready("VPC", "main").await?;
    victim.ready("ConfigExport", "out").await?;
    victim.ready("ConfigExport", "vault").await?;
    test_env
        .apply(&format!(
            "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: kube-root-ca.crt}}, data: {{ca.crt: x}}}}\n---\n\
             {{apiVersion: v1, kind: Secret, metadata: {{name: precious}}, stringData: {{password: {own_password}}}}}\n---\n\
             {{apiVersion: v1, kind: Secret, type: kubernetes.io/service-account-token, metadata: {{name: token, annotations: \
              {{kubernetes.io/service-account.name: default}}}}}}"
        ))
        .await?;
    let everything = json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]);
    let mallory = TestUser::new(&test_env, "mallory", &everything).await?;
    tokio::time::sleep(Duration::from_secs(3)).await; // until the policies take effect and the victim's controllers are idle
    let (before, requests) = (content(&victim).await?, env.control_plane.requests()?.len());
    let cloud = victim.in_cloud("DescribeVpcs", "vpcSet").await?;
    let own: BTreeMap<String, String> =
        content(&test_env).await?.into_iter().filter(|(key, _)| !key.starts_with("Event")).collect();

    let attempts = attempts(&victim.ns.name, &theirs);
    let no_grant = format!(
        "namespace {} has no ReferenceGrant that lets namespace {}",
        victim.ns.name, test_env.ns.name
    );
    let mut accepted = Vec::new();
    for (label, attempt, expected) in &attempts {
        match (mallory.apply(&attempt.to_string()).await, expected) {
            (Ok(()), Refused) => anyhow::bail!("accepted: {label}"),
            (Ok(()), Stuck) => accepted.push((label, attempt, "")),
            (Ok(()), Ungranted) => accepted.push((label, attempt, no_grant.as_str())),
            (Ok(()), Harmless) | (Err(_), Refused | Stuck) => {}
            (Err(error), Harmless | Ungranted) => return Err(error.context(*label)),
        }
    }
    for (label, attempt, why) in accepted {
        stuck(&test_env, label, attempt, why).await?;
    }
    tokio::time::sleep(Duration::from_secs(2)).await;

    assert_eq!(content(&victim).await?, before, "the other namespace is unchanged");
    let later = env.control_plane.requests()?.split_off(requests);
    let reached: Vec<_> = later.iter().filter(|request| request.namespace == victim.ns.name).collect();
    assert!(reached.is_empty(), "{reached:?}");
    assert_eq!(victim.in_cloud("DescribeVpcs", "vpcSet").await?, cloud, "its VPC is unchanged");
    let after = content(&test_env).await?;
    for (key, text) in &after {
        assert!(!text.contains(&password) && !text.contains(SETTING), "{key}: {text}");
    }
    for (key, text) in own {
        assert_eq!(after.get(&key), Some(&text), "{key} existed before, and the attacker must not write it");
    }
    Ok(())
}
