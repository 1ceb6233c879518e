//! Kraken under Flux and Argo CD: healthy when Ready, failed at once when only an edit helps, pruned in the order of references.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use kraken_testing::gitops::{Flux, health};
use kraken_testing::{manifests, paths};
use kraken_tests::TestEnv;
use kraken_tests::test_env::TIMEOUT;
use kube::{
    Api,
    api::{DeleteParams, DynamicObject, Patch, PatchParams},
};
use serde_json::{Value, json};

/// The timeout of the Kustomization. A result that is reported earlier did not wait for it.
const APPLY_TIMEOUT: Duration = Duration::from_mins(5);

/// The sample with the key that it lacks on purpose.
fn quickstart(folder: &Path) -> Result<()> {
    let sample = paths::workspace_root()?.join("config/samples/quickstart");
    for entry in fs::read_dir(sample)? {
        let entry = entry?;
        let text = fs::read_to_string(entry.path())?;
        let text = text.replace("  count: \"1\"", "  batch-type: t3.small\n  count: \"1\"");
        fs::write(folder.join(entry.file_name()), text)?;
    }
    Ok(())
}

fn kustomization(namespace: &str) -> Value {
    json!({
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": {"name": "quickstart"},
        "spec": {
            "sourceRef": {"kind": "GitRepository", "name": "repository"}, "path": "./", "targetNamespace": namespace,
            "interval": "10m", "timeout": format!("{}s", APPLY_TIMEOUT.as_secs()), "prune": true, "wait": true,
        },
    })
}

/// Waits until `Ready` of the Kustomization has this status for the latest revision, and returns the reason and the
/// message.
async fn until_ready_is(flux: &Flux, api: &Api<DynamicObject>, status: &str) -> Result<(String, String)> {
    let started = Instant::now();
    let mut last = Value::Null;
    while started.elapsed() < TIMEOUT {
        if let Some(object) = api.get_opt("quickstart").await? {
            let conditions = object.data["status"]["conditions"].as_array().cloned().unwrap_or_default();
            if let Some(ready) = conditions.into_iter().find(|condition| condition["type"] == "Ready") {
                last = ready;
            }
            if last["status"] == status && last["reason"] != "Progressing" {
                let text = |key: &str| last[key].as_str().unwrap_or_default().to_owned();
                return Ok((text("reason"), text("message")));
            }
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    bail!("Flux does not report Ready={status}, but {last}\n{}", flux.log())
}

#[tokio::test]
async fn flux_waits_for_ready_fails_on_stalled_and_prunes_everything() -> Result<()> {
    let test_env = TestEnv::new().await?;
    let flux = Flux::start(&test_env.env.control_plane).await?;
    let namespace = &test_env.ns.name;
    let kustomizations = flux.kustomizations(namespace);
    let repository = tempfile::tempdir()?;

    quickstart(repository.path())?;
    flux.publish(namespace, "repository", repository.path()).await?;
    let apply = PatchParams::apply("test");
    kustomizations.patch("quickstart", &apply, &Patch::Apply(kustomization(namespace))).await?;
    until_ready_is(&flux, &kustomizations, "True").await?;
    for name in ["web", "worker", "batch"] {
        assert_eq!(
            test_env.get("EC2Instance", name).await?["status"]["conditions"][0]["status"],
            "True",
            "{name}"
        );
    }

    // It requires an edit, so it must be reported without waiting five minutes.
    let impossible = "apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1\nkind: EC2Instance\nmetadata: {name: adopted}\nspec:\n  \
                      imageID: {value: ami-12c6146b}\n  instanceType: {value: t3.micro}\n  minCount: {value: 1}\n  \
                      maxCount: {value: 1}\n  lifecycle: {adopt: {id: i-0123456789abcdef0}}\n";
    fs::write(repository.path().join("99-adopted.yaml"), impossible)?;
    flux.publish(namespace, "repository", repository.path()).await?;
    let (reason, message) = until_ready_is(&flux, &kustomizations, "False").await?;
    assert_eq!(reason, "HealthCheckFailed", "{message}");
    assert!(message.contains("EC2Instance") && message.contains("adopted"), "{message}");
    assert!(!message.contains("timeout"), "it was not waited for: {message}");

    fs::remove_file(repository.path().join("99-adopted.yaml"))?;
    flux.publish(namespace, "repository", repository.path()).await?;
    until_ready_is(&flux, &kustomizations, "True").await?;
    test_env.gone("EC2Instance", "adopted").await?;

    kustomizations.delete("quickstart", &DeleteParams::default()).await?;
    for name in ["batch", "worker", "web"] {
        test_env.gone("EC2Instance", name).await?;
        assert!(test_env.alive(name).await?.is_empty(), "{name} runs on");
    }
    for (kind, name) in
        [("ConfigExport", "web-network"), ("ConfigMap", "web-network"), ("Secret", "worker-id")]
    {
        test_env.gone(kind, name).await?;
    }
    Ok(())
}

#[tokio::test]
async fn reapplying_writes_nothing_and_differs_in_nothing() -> Result<()> {
    let test_env = TestEnv::new().await?;
    let folder = tempfile::tempdir()?;
    quickstart(folder.path())?;
    let documents = manifests::read(folder.path())?;
    manifests::apply(&test_env.client(), &documents, &test_env.ns.name).await?;
    for name in ["web", "worker", "batch"] {
        test_env.ready("EC2Instance", name).await?;
    }
    for name in ["web-network", "worker-id"] {
        test_env.ready("ConfigExport", name).await?;
    }
    let mut before = vec![];
    for document in &documents {
        before.push(test_env.get(&document.gvk.kind, &document.name).await?);
    }
    // What `kubectl diff --server-side` and Argo CD's server-side diff compare.
    let dry_run = PatchParams { dry_run: true, ..PatchParams::apply("kubectl") };
    let reapply = PatchParams::apply("kraken-test");
    for round in 0..6 {
        for (document, before) in documents.iter().zip(&before) {
            let api = test_env.api(&document.gvk.kind);
            if round == 0 {
                let merged = api.patch(&document.name, &dry_run, &Patch::Apply(&document.value)).await?;
                let mut merged = serde_json::to_value(merged)?;
                merged["metadata"]["managedFields"] = before["metadata"]["managedFields"].clone();
                merged["metadata"]["generation"] = before["metadata"]["generation"].clone();
                assert_eq!(merged["spec"], before["spec"], "{} differs", document.name);
                assert_eq!(merged["data"], before["data"], "{} differs", document.name);
            }
            api.patch(&document.name, &reapply, &Patch::Apply(&document.value)).await?;
        }
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
    for (document, before) in documents.iter().zip(&before) {
        let after = test_env.get(&document.gvk.kind, &document.name).await?;
        assert_eq!(after["metadata"]["generation"], before["metadata"]["generation"], "{}", document.name);
        assert_eq!(after["status"], before["status"], "{}", document.name);
        let ours = |object: &Value| {
            let managers = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
            let is_ours = |entry: &Value| {
                entry["manager"]
                    .as_str()
                    .is_some_and(|manager| manager.starts_with("kraken-") && manager != "kraken-test")
            };
            managers.into_iter().filter(is_ours).collect::<Vec<_>>()
        };
        assert_eq!(ours(&after), ours(before), "a controller wrote {} again", document.name);
    }
    Ok(())
}

#[tokio::test]
async fn argo_cd_health_follows_the_conditions() -> Result<()> {
    let config = manifests::read(&paths::workspace_root()?.join("config/argocd"))?;
    let data = config[0].value["data"].as_object().cloned().unwrap_or_default();
    let folder = tempfile::tempdir()?;
    let object = |generation: u64, observed: u64, conditions: Value| json!({"metadata": {"generation": generation}, "status": {"observedGeneration": observed, "conditions": conditions}});
    let ready = |status: &str, reason: &str| json!({"type": "Ready", "status": status, "reason": reason, "message": "text"});
    let stalled = json!({"type": "Stalled", "status": "True", "reason": "InvalidSpec", "message": "text"});
    let cases = [
        (json!({"metadata": {"generation": 1}}), "Progressing"),
        (object(1, 1, json!([ready("True", "Available")])), "Healthy"),
        (object(2, 1, json!([ready("True", "Available")])), "Progressing"),
        (object(1, 1, json!([ready("False", "Creating")])), "Progressing"),
        (object(1, 1, json!([ready("Unknown", "Pending")])), "Progressing"),
        (object(1, 1, json!([ready("False", "InvalidSpec"), stalled])), "Degraded"),
        (object(1, 1, json!([ready("False", "Paused")])), "Suspended"),
        (object(1, 1, json!([ready("False", "AwaitingApproval")])), "Suspended"),
    ];
    let objects: Vec<Value> = cases.iter().map(|(object, _)| object.clone()).collect();
    let crds = manifests::read(&paths::workspace_root()?.join("crds"))?;
    let conditions = "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/conditions";
    let with_conditions = crds.iter().filter(|crd| crd.value.pointer(conditions).is_some());
    assert_eq!(data.len(), with_conditions.count());
    for (key, script) in data {
        let path = folder.path().join(&key);
        fs::write(&path, script.as_str().unwrap_or_default())?;
        let statuses: Vec<String> =
            health(&path, &objects).await?.into_iter().map(|health| health.status).collect();
        let expected: Vec<&str> = cases.iter().map(|(_, status)| *status).collect();
        assert_eq!(statuses, expected, "{key}");
    }
    Ok(())
}
