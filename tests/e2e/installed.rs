//! The tests that every installation method must pass.

use anyhow::{Context as _, Result};
use kraken_testing::paths;
use serde_json::json;

use crate::site::{Site, TOOLS, cluster, mistaken, name, pods, system, system_json, until};

#[tokio::test]
#[ignore = "cargo xtask e2e"]
async fn controllers_run_as_their_own_accounts_under_pod_security_restricted() -> Result<()> {
    let namespace: serde_json::Value =
        serde_json::from_str(&cluster(&["get", "namespace", "kraken-system", "-o", "json"]).await?)?;
    let labels = &namespace["metadata"]["labels"];
    assert_eq!(labels["pod-security.kubernetes.io/enforce"], "restricted", "{labels}");
    for controller in paths::controllers()? {
        let controller = format!("kraken-{controller}");
        let pods = pods(&controller).await?;
        let pod = pods.first().with_context(|| format!("{controller} has no pod"))?;
        assert_eq!(pod["spec"]["serviceAccountName"], json!(controller));
        assert_eq!(pod["status"]["phase"], "Running");
        assert_eq!(pod["status"]["containerStatuses"][0]["restartCount"], 0, "{}", pod["status"]);
        let log = system(&["logs", name(pod)]).await?;
        for refusal in ["forbidden", "permission denied", "panicked"] {
            assert!(!log.to_lowercase().contains(refusal), "{controller}: {log}");
        }
    }
    Ok(())
}

#[tokio::test]
#[ignore = "cargo xtask e2e"]
async fn an_invalid_resource_is_rejected_through_the_service_of_each_webhook() -> Result<()> {
    let site = Site::new("mistakes").await?;
    let vpc = mistaken("VPC", "cidrBlock");
    let refused = until("the rejection of a VPC", async || site.refused(&vpc).await, |_| true).await?;
    assert!(refused.contains("spec.cidrBlock.valueFrom.templateString"), "{refused}");

    // Only the webhook of the hub finds a reference of a resource to itself.
    let subnet = |name: &str, other: &str| {
        format!(
            "apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1\nkind: Subnet\nmetadata: {{name: {name}}}\n\
             spec: {{vpcID: {{valueFrom: {{ref: Subnet/{other}}}}}, cidrBlock: {{value: 10.0.0.0/24}}}}\n"
        )
    };
    let refused =
        until("the rejection of a cycle", async || site.refused(&subnet("one", "one")).await, |_| true)
            .await?;
    assert!(refused.contains("reference cycle"), "{refused}");
    site.end().await
}

#[tokio::test]
#[ignore = "cargo xtask e2e"]
async fn pods_mount_exported_values_and_see_them_change() -> Result<()> {
    let site = Site::new("web-tier").await?;
    // The pod is created first and waits for its volumes, like that of the sample's Deployment.
    site.apply(&pod("client", "web-address", "web-secret")).await?;
    let samples = paths::workspace_root()?.join("config/samples/web-tier");
    // Without the Deployment, whose image is on the internet: the pod above does the same.
    for file in ["05-address", "04-load-balancer", "03-instances", "02-network", "01-settings"] {
        let path = samples.join(format!("{file}.yaml")).display().to_string();
        site.kubectl(&["apply", "--server-side", "-f", &path]).await?;
    }
    site.apply(SECRETS).await?;
    site.ready(&["kraken", "--all"]).await?;
    site.ready(&["pod/client"]).await?;
    let url = site.file("client", "/etc/web/url").await?;
    assert!(url.starts_with("http://") && url.contains(":80/"), "{url}");
    assert_eq!(site.file("client", "/etc/secret/password").await?, "s3cret-one");

    site.kubectl(&["patch", "configmap", "web-tier", "--type=merge", "-p", r#"{"data":{"port":"8080"}}"#])
        .await?;
    site.until_file("client", "/etc/web/url", |text| text.contains(":8080/")).await?;
    site.kubectl(&[
        "patch",
        "secret",
        "source",
        "--type=merge",
        "-p",
        r#"{"stringData":{"password":"s3cret-two"}}"#,
    ])
    .await?;
    site.until_file("client", "/etc/secret/password", |text| text == "s3cret-two").await?;

    // The value of a Secret is only in Secrets.
    let all = site.kubectl(&["get", "kraken,kraken-internal,events", "-o", "json"]).await?;
    let logs = system(&["logs", "-l", "app.kubernetes.io/part-of=kraken", "--tail=-1"]).await?;
    for text in [all, logs] {
        assert!(!text.contains("s3cret-"), "the value of a Secret is visible");
    }

    assert_eq!(site.in_cloud("DescribeVpcs", "vpcSet").await?.len(), 1);
    site.kubectl(&["delete", "kraken", "--all", "--timeout=120s"]).await?;
    assert!(site.in_cloud("DescribeVpcs", "vpcSet").await?.is_empty());
    // The garbage collector of Kubernetes discovers a new kind after up to 30 s.
    let targets = async || site.kubectl(&["get", "configmap,secret", "-o", "name"]).await;
    let gone = |names: &String| !names.contains("web-address") && !names.contains("web-secret");
    until("the deletion of the targets", targets, gone).await?;
    site.end().await
}

#[tokio::test]
#[ignore = "cargo xtask e2e"]
async fn pods_restart_with_the_new_value_of_an_environment_variable() -> Result<()> {
    let site = Site::new("restart").await?;
    site.apply(RESTARTED).await?;
    site.apply(&deployment("client", "greeting").to_string()).await?;
    site.ready(&["configexport/greeting"]).await?;
    let printed = async || site.kubectl(&["logs", "deployment/client", "--tail=1"]).await;
    until("the first value in the pod", printed, |text| text.trim() == "hello").await?;
    let count = async || -> Result<usize> {
        let sets = site.kubectl(&["get", "replicaset", "-l", "app=client", "-o", "name"]).await?;
        Ok(sets.lines().count())
    };
    assert_eq!(count().await?, 1, "the first value restarts nothing");
    let patch = r#"{"data":{"text":"goodbye"}}"#;
    site.kubectl(&["patch", "configmap", "source", "--type=merge", "-p", patch]).await?;
    until("the new value in the pod", printed, |text| text.trim() == "goodbye").await?;
    site.kubectl(&["rollout", "status", "deployment/client", "--timeout=120s"]).await?;
    assert_eq!(count().await?, 2, "one restart");
    site.end().await
}

#[tokio::test]
#[ignore = "cargo xtask e2e"]
async fn a_rollback_restores_the_values_of_a_rotated_target() -> Result<()> {
    let site = Site::new("rotate").await?;
    site.apply(&RESTARTED.replace("  restart:", "  rotate: true\n  restart:")).await?;
    let mut client = deployment("client", "greeting");
    let pod = &mut client["spec"]["template"]["spec"];
    pod["volumes"] = json!([{"name": "greeting", "projected": {}}]);
    let container = &mut pod["containers"][0];
    container["volumeMounts"] = json!([{"name": "greeting", "mountPath": "/etc/greeting"}]);
    let print = "while true; do echo $(cat /etc/greeting/text); sleep 1; done";
    container["command"] = json!(["sh", "-c", print]);
    container["envFrom"] = json!([]);
    site.apply(&client.to_string()).await?;
    let printed = async || site.kubectl(&["logs", "deployment/client", "--tail=1"]).await;
    until("the first value in the pod", printed, |text| text.trim() == "hello").await?;
    let patch = r#"{"data":{"text":"goodbye"}}"#;
    site.kubectl(&["patch", "configmap", "source", "--type=merge", "-p", patch]).await?;
    until("the new value in the pod", printed, |text| text.trim() == "goodbye").await?;
    site.kubectl(&["rollout", "status", "deployment/client", "--timeout=120s"]).await?;
    site.kubectl(&["rollout", "undo", "deployment/client"]).await?;
    until("the former value in the pod", printed, |text| text.trim() == "hello").await?;
    site.end().await
}

#[tokio::test]
#[ignore = "cargo xtask e2e"]
async fn metrics_are_served_on_the_annotated_port() -> Result<()> {
    let site = Site::new("metrics").await?;
    site.apply(&pod_without_volumes("probe")).await?;
    site.ready(&["pod/probe"]).await?;
    for controller in paths::controllers()? {
        let pods =
            system_json(&["get", "pods", "-l", &format!("app.kubernetes.io/name=kraken-{controller}")])
                .await?;
        let pod = &pods["items"][0];
        assert_eq!(pod["metadata"]["annotations"]["prometheus.io/port"], "8080");
        let address = pod["status"]["podIP"].as_str().context("the pod has no address")?;
        let url = format!("http://{address}:8080/metrics");
        let metrics = site.kubectl(&["exec", "probe", "--", "wget", "-q", "-O", "-", &url]).await?;
        let leads = format!("kraken_leader{{lease=\"kraken-{controller}\"}} 1");
        assert!(metrics.contains(&leads), "{controller}: {metrics}");
    }
    site.end().await
}

/// A Secret of a user, and its export.
const SECRETS: &str = "apiVersion: v1
kind: Secret
metadata: {name: source}
stringData: {password: s3cret-one}
---
apiVersion: configexport.kraken-iac.eoinfennessy.com/v1alpha1
kind: ConfigExport
metadata: {name: web-secret}
spec:
  configType: Secret
  configMetadata: {name: web-secret}
  entries:
  - key: password
    valueFrom: {secret: {name: source, key: password}}
";

/// An export that restarts the Deployment `client`.
const RESTARTED: &str = "apiVersion: v1
kind: ConfigMap
metadata: {name: source}
data: {text: hello}
---
apiVersion: configexport.kraken-iac.eoinfennessy.com/v1alpha1
kind: ConfigExport
metadata: {name: greeting}
spec:
  configType: ConfigMap
  configMetadata: {name: greeting}
  restart: [{kind: Deployment, name: client}]
  entries:
  - key: text
    valueFrom: {configMap: {name: source, key: text}}
";

/// A Deployment whose pod prints the variable `text` of a ConfigMap.
fn deployment(name: &str, map: &str) -> serde_json::Value {
    let mut spec = container(name)["spec"].take();
    spec["containers"][0]["command"] = json!(["sh", "-c", "while true; do echo $text; sleep 1; done"]);
    spec["containers"][0]["envFrom"] = json!([{"configMapRef": {"name": map}}]);
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
        "spec": {
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": spec},
        },
    })
}

fn pod(name: &str, map: &str, secret: &str) -> String {
    let mut pod = container(name);
    pod["spec"]["volumes"] = json!([
        {"name": "web", "configMap": {"name": map}},
        {"name": "secret", "secret": {"secretName": secret}},
    ]);
    pod["spec"]["containers"][0]["volumeMounts"] = json!([
        {"name": "web", "mountPath": "/etc/web"},
        {"name": "secret", "mountPath": "/etc/secret"},
    ]);
    pod.to_string()
}

fn pod_without_volumes(name: &str) -> String {
    container(name).to_string()
}

fn container(name: &str) -> serde_json::Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {
            "terminationGracePeriodSeconds": 1,
            "automountServiceAccountToken": false,
            "securityContext": {"runAsNonRoot": true, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [{
                "name": "shell", "image": TOOLS, "imagePullPolicy": "IfNotPresent",
                "command": ["sh", "-c", "while true; do sleep 1; done"],
                "securityContext": {
                    "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
                    "capabilities": {"drop": ["ALL"]},
                },
            }],
        },
    })
}
