//! ConfigExports with `rotate`: the hub sets the sources of an empty projected volume, which no manifest has.

use std::time::Duration;

use anyhow::{Context as _, Result};
use kraken_tests::TestEnv;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::exports::{export, fact, facts, workload};

/// A workload with the volume `out` as in a user's manifest.
fn with_volume(kind: &str, name: &str) -> Value {
    let mut workload = workload(kind, name);
    workload["spec"]["template"]["spec"]["volumes"] =
        json!([{"name": "tmp", "emptyDir": {}}, {"name": "out", "projected": {}}]);
    workload
}

fn rotating(workloads: &str) -> String {
    let more = format!("rotate: true, restart: [{workloads}], entries:");
    export("e", "ConfigMap", "out", &fact("text", "a.text")).replace("entries:", &more)
}

/// The sources of the volume `out`.
fn sources(workload: &Value) -> Value {
    let volumes = workload["spec"]["template"]["spec"]["volumes"].as_array();
    let volume = volumes.into_iter().flatten().find(|volume| volume["name"] == "out");
    volume.map_or(Value::Null, |volume| volume["projected"]["sources"].clone())
}

fn only(target: &str) -> Value {
    json!([{"configMap": {"name": target}}])
}

/// The name of the target after `former`, once it is the current one; it has this text.
async fn after(test_env: &TestEnv, former: &str, text: &str) -> Result<String> {
    let name = |export: &Value| {
        let target = export["status"]["target"].as_str().unwrap_or_default();
        target.strip_prefix("ConfigMap/out-").map(|digest| format!("out-{digest}"))
    };
    let is_next = |export: &Value| name(export).is_some_and(|name| name != former);
    let current = name(&test_env.until("ConfigExport", "e", is_next).await?).context("a target")?;
    assert_eq!(test_env.get("ConfigMap", &current).await?["data"]["text"], text);
    Ok(current)
}

async fn is_set(test_env: &TestEnv, kind: &str, target: &str) -> Result<Value> {
    test_env.until(kind, "client", |workload| sources(workload) == only(target)).await
}

async fn is_rolled_out(test_env: &TestEnv, target: &str) -> Result<()> {
    let reported = format!("ConfigMap/{target}");
    test_env
        .until("ConfigExport", "e", |export| export["status"]["rolledOutTarget"] == reported)
        .await
        .map(drop)
}

async fn set_text(test_env: &TestEnv, text: &str) -> Result<()> {
    let patch = json!({"spec": {"data": {"a": {"text": text}}}});
    test_env.patch("StateDeclaration", "static-facts", patch).await
}

#[tokio::test]
async fn workloads_name_the_target_of_the_newest_content() -> Result<()> {
    const KINDS: [&str; 3] = ["Deployment", "StatefulSet", "DaemonSet"];
    let test_env = TestEnv::new().await?;
    let apply = async |kind: &str| {
        // Without force: a conflict is an error, as in Flux and Argo CD.
        let (params, manifest) = (PatchParams::apply("gitops"), with_volume(kind, "client"));
        let applied = test_env.api(kind).patch("client", &params, &Patch::Apply(&manifest)).await;
        applied.map(|object| json!(object))
    };
    for kind in KINDS {
        apply(kind).await?;
    }
    test_env.apply(&facts("{a: {text: one}}")).await?;
    let listed = KINDS.map(|kind| format!("{{kind: {kind}, name: client}}")).join(", ");
    test_env.apply(&rotating(&listed)).await?;
    let first = after(&test_env, "", "one").await?;
    for kind in KINDS {
        let set = is_set(&test_env, kind, &first).await?;
        let managers = set["metadata"]["managedFields"].as_array().context("managed fields")?;
        let own =
            managers.iter().find(|fields| fields["manager"] == "kraken-restart").context("the manager")?;
        let volume = json!({r#"k:{"name":"out"}"#: {"f:projected": {"f:sources": {}}}});
        let template = json!({"f:template": {"f:spec": {"f:volumes": volume}}});
        assert_eq!(own["fieldsV1"], json!({"f:spec": template}));
        let applied = apply(kind).await?;
        assert_eq!(applied["metadata"]["generation"], set["metadata"]["generation"]);
        assert_eq!(sources(&applied), only(&first));
    }
    is_rolled_out(&test_env, &first).await?;

    set_text(&test_env, "two").await?;
    let second = after(&test_env, &first, "two").await?;
    for kind in KINDS {
        is_set(&test_env, kind, &second).await?;
    }
    assert_eq!(test_env.get("ConfigMap", &first).await?["data"]["text"], "one", "for a rollback");
    let current = format!("ConfigMap {second}");
    let is_named = |note: &str| note.contains("Deployment client") && note.contains(&current);
    test_env.event("e", |reason, note| reason == "Restarted" && is_named(note)).await?;
    Ok(())
}

#[tokio::test]
async fn a_rollback_is_kept_until_the_content_changes() -> Result<()> {
    let test_env = TestEnv::new().await?;
    test_env.apply(&with_volume("Deployment", "client").to_string()).await?;
    test_env.apply(&facts("{a: {text: one}}")).await?;
    test_env.apply(&rotating("{kind: Deployment, name: client}")).await?;
    let first = after(&test_env, "", "one").await?;
    is_set(&test_env, "Deployment", &first).await?;
    set_text(&test_env, "two").await?;
    let second = after(&test_env, &first, "two").await?;
    is_set(&test_env, "Deployment", &second).await?;
    is_rolled_out(&test_env, &second).await?;

    // As `kubectl rollout undo` does.
    let path = "/spec/template/spec/volumes/1/projected/sources";
    let undo = json!([{"op": "replace", "path": path, "value": only(&first)}]);
    let undo = Patch::<()>::Json(serde_json::from_value(undo)?);
    test_env.api("Deployment").patch("client", &PatchParams::default(), &undo).await?;
    let label = json!({"spec": {"configMetadata": {"labels": {"team": "web"}}}});
    test_env.patch("ConfigExport", "e", label).await?;
    test_env.until("ConfigMap", &second, |map| map["metadata"]["labels"]["team"] == "web").await?;
    test_env.ready("ConfigExport", "e").await?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(sources(&test_env.get("Deployment", "client").await?), only(&first));

    set_text(&test_env, "three").await?;
    let third = after(&test_env, &second, "three").await?;
    is_set(&test_env, "Deployment", &third).await?;
    // The content of a former target is desired again, and is in that target.
    set_text(&test_env, "two").await?;
    assert_eq!(after(&test_env, &third, "two").await?, second);
    is_set(&test_env, "Deployment", &second).await.map(drop)
}

#[tokio::test]
async fn a_workload_that_is_created_later_is_set_too() -> Result<()> {
    let test_env = TestEnv::new().await?;
    test_env.apply(&facts("{a: {text: one}}")).await?;
    test_env.apply(&rotating("{kind: Deployment, name: client}")).await?;
    test_env.ready("ConfigExport", "e").await?;
    test_env.apply(&with_volume("Deployment", "client").to_string()).await?;
    let target = after(&test_env, "", "one").await?;
    is_set(&test_env, "Deployment", &target).await.map(drop)
}

#[tokio::test]
async fn a_workload_without_the_volume_is_reported_with_the_fix() -> Result<()> {
    let test_env = TestEnv::new().await?;
    test_env.apply(&workload("Deployment", "client").to_string()).await?;
    test_env.apply(&facts("{a: {text: one}}")).await?;
    test_env.apply(&rotating("{kind: Deployment, name: client}")).await?;
    let message = test_env.not_ready("ConfigExport", "e", "WriteFailed").await?;
    let fix = "failed to restart Deployment client: its pod template has no volume out; \
               add {name: out, projected: {}} to its volumes";
    assert!(message.starts_with(fix), "{message}");
    let target = after(&test_env, "", "one").await?;
    test_env.apply(&with_volume("Deployment", "client").to_string()).await?;
    is_set(&test_env, "Deployment", &target).await?;
    test_env.ready("ConfigExport", "e").await.map(drop)
}
