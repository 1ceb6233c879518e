//! A user with access to one namespace cannot cause a read or a write in another. Each line of the table is one attempt; the
//! results are verified in the API server's audit log, the other namespace and the cloud.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, Result};
use kraken_testing::{ControlPlaneOptions, Environment, EnvironmentOptions, SuiteOptions};
use kraken_tests::{Person, TestEnv, test_env::condition};
use kube::api::ListParams;
use serde_json::{Value, json};

/// Values of the other namespace, which must not be found in the attacker's.
const PASSWORD: &str = "canary-7f3a91-password";
const SETTING: &str = "marker-7f3a91-setting";
const AWS: &str = "aws.kraken-iac.eoinfennessy.com/v1alpha1";
const CORE: &str = "core.kraken-iac.eoinfennessy.com/v1alpha1";
const EXPORT: &str = "configexport.kraken-iac.eoinfennessy.com/v1alpha1";
const KINDS: [&str; 10] = [
    "ConfigMap",
    "Secret",
    "ConfigExport",
    "StateDeclaration",
    "DependencyRequest",
    "VPC",
    "Subnet",
    "SecurityGroup",
    "KeyPair",
    "Event",
];

/// The expected result of an attempt.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Expected {
    /// The API server rejects it.
    Refused,
    /// It is rejected, or accepted and never becomes Ready.
    Stuck,
    /// It is accepted and takes effect in the attacker's own namespace.
    Harmless,
}
use Expected::{Harmless, Refused, Stuck};

fn object(api: &str, kind: &str, name: &str, spec: &Value) -> Value {
    json!({"apiVersion": api, "kind": kind, "metadata": {"name": name}, "spec": spec})
}

fn with(mut object: Value, field: &str, value: &Value) -> Value {
    object["metadata"][field] = value.clone();
    object
}

fn vpc(name: &str, cidr: &Value, lifecycle: &Value) -> Value {
    object(AWS, "VPC", name, &json!({"cidrBlock": cidr, "lifecycle": lifecycle}))
}

fn export(name: &str, spec: &Value, value: &Value) -> Value {
    let (mut spec, mut entry) = (spec.clone(), value.clone());
    entry["key"] = "k".into();
    spec["entries"] = json!([entry]);
    object(EXPORT, "ConfigExport", name, &spec)
}

fn to(kind: &str, target: &str) -> Value {
    json!({"configType": kind, "configMetadata": {"name": target}})
}

fn from(source: &Value) -> Value {
    json!({"valueFrom": source})
}

/// The attempts. `theirs` is the other namespace's VPC, `owner` a reference to it.
fn attempts(other: &str, theirs: &Value) -> Vec<(&'static str, Value, Expected)> {
    let id = theirs["status"]["externalIds"][0].clone();
    let owner = json!([{
        "apiVersion": AWS, "kind": "VPC", "name": "main", "uid": theirs["metadata"]["uid"], "controller": true,
        "blockOwnerDeletion": true,
    }]);
    let (literal, none) = (json!({"value": "10.9.0.0/16"}), json!({}));
    let state = |name: &str| {
        object(CORE, "StateDeclaration", name, &json!({"data": {"vpc": {"VpcId": id}}, "id": id}))
    };
    let secret = |name: &str| json!({"secret": {"name": name, "key": "password"}});
    let template = |text: &str| json!({"templateString": text});
    let intent = json!({
        "epoch": 1, "at": "2026-01-01T00:00:00Z", "hash": "x", "replacedBefore": 1, "outgoing": [id], "adopted": [id],
    });
    vec![
        ("a state of a resource that has none", state("vpc.aws.main"), Refused),
        ("a state owned by the other's VPC", with(state("vpc.aws.main"), "ownerReferences", &owner), Refused),
        ("a state in the other namespace", with(state("static-x"), "namespace", &json!(other)), Refused),
        (
            "a request for a Secret",
            object(
                CORE,
                "DependencyRequest",
                "vpc.aws.main",
                &json!({"secretDependencies": [{"name": "db", "key": "password"}]}),
            ),
            Refused,
        ),
        (
            "a request owned by the other's VPC",
            with(
                object(
                    CORE,
                    "DependencyRequest",
                    "vpc.aws.main",
                    &json!({"configMapDependencies": [{"name": "settings", "key": "cidr"}]}),
                ),
                "ownerReferences",
                &owner,
            ),
            Refused,
        ),
        (
            "a VPC in the other namespace",
            with(vpc("x", &literal, &none), "namespace", &json!(other)),
            Refused,
        ),
        ("facts owned by the other's VPC", with(state("static-owned"), "ownerReferences", &owner), Harmless),
        (
            "facts labelled as a controller's",
            with(
                state("static-labelled"),
                "labels",
                &json!({"kraken-iac.eoinfennessy.com/owner-kind": "vpc.aws"}),
            ),
            Harmless,
        ),
        (
            "an export to the other namespace",
            export(
                "to-other",
                &json!({"configType": "ConfigMap", "configMetadata": {"name": "settings", "namespace": other}}),
                &json!({"value": "x"}),
            ),
            Stuck,
        ),
        (
            "an export whose target is a path",
            export(
                "to-path",
                &to("ConfigMap", &format!("../../{other}/configmaps/settings")),
                &json!({"value": "x"}),
            ),
            Refused,
        ),
        (
            "an export onto kube-root-ca.crt",
            export("to-ca", &to("ConfigMap", "kube-root-ca.crt"), &json!({"value": "x"})),
            Stuck,
        ),
        (
            "an export onto a token of a service account",
            export("to-token", &to("Secret", "token"), &json!({"value": "x"})),
            Stuck,
        ),
        (
            "an export onto a Secret that exists",
            export("to-precious", &to("Secret", "precious"), &json!({"value": "x"})),
            Stuck,
        ),
        (
            "an export that makes a token of a service account",
            export(
                "new-token",
                &json!({"configType": "Secret", "secretType": "kubernetes.io/service-account-token",
                "configMetadata": {"name": "new-token"}}),
                &json!({"value": "x"}),
            ),
            Stuck,
        ),
        (
            "an export of a Secret as a ConfigMap",
            export("leak", &to("ConfigMap", "leak"), &from(&secret("precious"))),
            Refused,
        ),
        (
            "an export of a templated Secret as a ConfigMap",
            export(
                "leak-template",
                &to("ConfigMap", "leak-template"),
                &from(&template("{{ .Secret.precious.password }}")),
            ),
            Stuck,
        ),
        (
            "an export owned by the other's VPC",
            with(
                export("owned", &to("ConfigMap", "owned"), &json!({"value": "x"})),
                "ownerReferences",
                &owner,
            ),
            Harmless,
        ),
        (
            "a ConfigMap's name with a namespace",
            vpc(
                "by-slash",
                &from(&json!({"configMap": {"name": format!("{other}/settings"), "key": "cidr"}})),
                &none,
            ),
            Stuck,
        ),
        (
            "a ConfigMap's name as a path",
            vpc(
                "by-path",
                &from(
                    &json!({"configMap": {"name": format!("../../{other}/configmaps/settings"), "key": "cidr"}}),
                ),
                &none,
            ),
            Stuck,
        ),
        (
            "a Secret's name as a path",
            vpc("secret-path", &from(&secret(&format!("../../{other}/secrets/db"))), &none),
            Stuck,
        ),
        (
            "a Secret's name as an escaped path",
            vpc("secret-escaped", &from(&secret(&format!("..%2f{other}%2fdb"))), &none),
            Stuck,
        ),
        (
            "a resource of the other's name",
            vpc(
                "by-name",
                &from(&json!({"krakenResource": {"kind": "vpc", "name": "main", "path": "vpc.CidrBlock"}})),
                &none,
            ),
            Stuck,
        ),
        (
            "a resource's name with a namespace",
            vpc(
                "by-namespace",
                &from(
                    &json!({"krakenResource": {"kind": "vpc", "name": format!("{other}/main"), "path": "vpc.CidrBlock"}}),
                ),
                &none,
            ),
            Stuck,
        ),
        (
            "a reference with a namespace",
            vpc("by-ref", &from(&json!({"ref": format!("VPC/../{other}/main")})), &none),
            Refused,
        ),
        (
            "a template with a path in brackets",
            vpc(
                "by-template",
                &from(&template(&format!(
                    "{{{{ .ConfigMap[\"../../{other}/configmaps/settings\"].cidr }}}}"
                ))),
                &none,
            ),
            Stuck,
        ),
        (
            "a template with a Secret's path",
            vpc(
                "by-secret-template",
                &from(&template(&format!("{{{{ .Secret[\"../{other}/db\"].password }}}}"))),
                &none,
            ),
            Stuck,
        ),
        (
            "a template within a value",
            vpc("nested-template", &from(&template("{{ \"{{ .Secret.db.password }}\" }}")), &none),
            Stuck,
        ),
        ("adoption by the other's id", vpc("adopt-id", &literal, &json!({"adopt": {"id": id}})), Stuck),
        (
            "adoption by the other's tags",
            vpc(
                "adopt-tags",
                &literal,
                &json!({"adopt": {"tags": {"kraken-iac.eoinfennessy.com/owner": format!("VPC/{other}/main")}}}),
            ),
            Stuck,
        ),
        (
            "a dependency on the other's resource",
            vpc(
                "depends",
                &literal,
                &json!({"dependsOn": [{"kind": "VPC", "name": format!("{other}/main")}]}),
            ),
            Stuck,
        ),
        (
            "an intent that claims the other's VPC",
            with(
                vpc("intent", &literal, &json!({"replace": "DeleteFirst"})),
                "annotations",
                &json!({"kraken-iac.eoinfennessy.com/intent": intent.to_string()}),
            ),
            Harmless,
        ),
        (
            "a VPC owned by the other's VPC",
            with(vpc("owned", &literal, &none), "ownerReferences", &owner),
            Harmless,
        ),
        (
            "a target marked as the other's export's",
            with(
                json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "out"}}),
                "annotations",
                &json!({"kraken-iac.eoinfennessy.com/exported-by": format!("{other}/out")}),
            ),
            Harmless,
        ),
        ("a name that reads like another's record", vpc("aws.main", &literal, &none), Harmless),
        (
            "a key whose Secret is the other's",
            object(AWS, "KeyPair", "key", &json!({"generate": {"secretName": format!("../{other}/stolen")}})),
            Stuck,
        ),
    ]
}

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

/// Waits until an attempt was reconciled and is not Ready.
async fn stuck(test_env: &TestEnv, label: &str, attempt: &Value) -> Result<()> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (kind, name) = (text(&attempt["kind"]), text(&attempt["metadata"]["name"]));
    let seen = test_env.until(&kind, &name, |object| condition(object, "Ready")["status"] == "False").await;
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
    let env: &'static Environment = Box::leak(Box::new(Environment::start(options).await?));
    let (victim, test_env) = (TestEnv::on(env).await?, TestEnv::on(env).await?);
    victim
        .apply(&format!(
            "{{apiVersion: v1, kind: Secret, metadata: {{name: db}}, stringData: {{password: {PASSWORD}}}}}\n---\n\
             {{apiVersion: v1, kind: ConfigMap, metadata: {{name: settings}}, data: {{cidr: 10.1.0.0/16, more: {SETTING}}}}}\n---\n\
             {{apiVersion: {AWS}, kind: VPC, metadata: {{name: main}}, spec: \
              {{cidrBlock: {{valueFrom: {{configMap: {{name: settings, key: cidr}}}}}}, tags: {{Name: {SETTING}}}}}}}\n---\n\
             {{apiVersion: {EXPORT}, kind: ConfigExport, metadata: {{name: out}}, spec: {{configType: ConfigMap, \
              configMetadata: {{name: out}}, entries: [{{key: id, valueFrom: {{ref: VPC/main}}}}]}}}}\n---\n\
             {{apiVersion: {EXPORT}, kind: ConfigExport, metadata: {{name: vault}}, spec: {{configType: Secret, \
              configMetadata: {{name: vault}}, entries: [{{key: p, valueFrom: {{secret: {{name: db, key: password}}}}}}]}}}}"
        ))
        .await?;
    let theirs = victim.ready("VPC", "main").await?;
    victim.ready("ConfigExport", "out").await?;
    victim.ready("ConfigExport", "vault").await?;
    test_env
        .apply(
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: kube-root-ca.crt}, data: {ca.crt: x}}\n---\n\
             {apiVersion: v1, kind: Secret, metadata: {name: precious}, stringData: {password: canary-mine}}\n---\n\
             {apiVersion: v1, kind: Secret, type: kubernetes.io/service-account-token, metadata: {name: token, annotations: \
              {kubernetes.io/service-account.name: default}}}",
        )
        .await?;
    let everything = json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]);
    let mallory = Person::new(&test_env, "mallory", &everything).await?;
    tokio::time::sleep(Duration::from_secs(3)).await; // until the policies take effect and the victim's controllers are idle
    let (before, requests) = (content(&victim).await?, env.control_plane.requests()?.len());
    let cloud = victim.in_cloud("DescribeVpcs", "vpcSet").await?;
    let own: BTreeMap<String, String> =
        content(&test_env).await?.into_iter().filter(|(key, _)| !key.starts_with("Event")).collect();

    let attempts = attempts(&victim.ns.name, &theirs);
    assert!(attempts.len() >= 30, "{}", attempts.len());
    let mut accepted = Vec::new();
    for (label, attempt, expected) in &attempts {
        match (mallory.apply(&attempt.to_string()).await, expected) {
            (Ok(()), Refused) => anyhow::bail!("accepted: {label}"),
            (Ok(()), Stuck) => accepted.push((label, attempt)),
            (Ok(()), Harmless) | (Err(_), Refused | Stuck) => {}
            (Err(error), Harmless) => return Err(error.context(*label)),
        }
    }
    for (label, attempt) in accepted {
        stuck(&test_env, label, attempt).await?;
    }
    tokio::time::sleep(Duration::from_secs(2)).await;

    assert_eq!(content(&victim).await?, before, "the other namespace is as it was");
    let later = env.control_plane.requests()?.split_off(requests);
    let reached: Vec<_> = later.iter().filter(|request| request.namespace == victim.ns.name).collect();
    assert!(reached.is_empty(), "{reached:?}");
    assert_eq!(victim.in_cloud("DescribeVpcs", "vpcSet").await?, cloud, "its VPC is as it was");
    let after = content(&test_env).await?;
    for (key, text) in &after {
        assert!(!text.contains(PASSWORD) && !text.contains(SETTING), "{key}: {text}");
    }
    for (key, text) in own {
        assert_eq!(
            after.get(&key),
            Some(&text),
            "{key} existed before, and is not the attacker's to have written"
        );
    }
    Ok(())
}
