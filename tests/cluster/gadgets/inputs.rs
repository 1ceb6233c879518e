//! Invalid input, rejections and secrets: each is reported on its own resource, without effect on others.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use anyhow::Result;
use kraken_kind::FailureClass;
use kraken_simulator::hook::{Answer, Call, Hook, HookAction};
use kraken_testing::fault_proxy::FaultProxy;
use kraken_tests::{
    InProcess, TestEnv,
    test_env::condition,
    toy::{Cloud, Fault},
};
use serde_json::{Value, json};

use super::{Setting, gadget, setting, small, uid};

/// Counts the reads of Secrets.
#[derive(Default)]
struct Reads(AtomicUsize);

impl Hook for Reads {
    async fn before(&self, call: &Call) -> HookAction {
        self.0.fetch_add(usize::from(call.name == "GET secrets"), Ordering::SeqCst);
        HookAction::Pass
    }

    async fn after(&self, _: &Call, _: &Answer) -> HookAction {
        HookAction::Pass
    }
}

#[tokio::test]
async fn resyncs_without_changes_read_no_secret() -> Result<()> {
    let test_env = TestEnv::new().await?;
    let (cloud, reads) = (Cloud::default(), Arc::new(Reads::default()));
    let proxy = FaultProxy::start(&test_env.env.control_plane.admin_kubeconfig(), reads.clone()).await?;
    let spoke = InProcess::with_proxy(&test_env, &cloud, &[], Some(proxy.endpoint())).await?;
    let s = Setting { test_env, cloud, spoke };
    let value = s.test_env.secret_value("first");
    for number in 0..3 {
        let secret = format!(
            "{{apiVersion: v1, kind: Secret, metadata: {{name: s{number}}}, stringData: {{k: {value}}}}}"
        );
        s.test_env.apply(&secret).await?;
    }
    let mut owners = vec![];
    for number in 0..3 {
        let password = json!({"valueFrom": {"secret": {"name": format!("s{number}"), "key": "k"}}});
        let lifecycle = json!({"resyncInterval": "1s"});
        let spec = json!({"size": {"value": 3}, "password": password, "lifecycle": lifecycle});
        owners.push(s.ready(&format!("g{number}"), &spec).await?);
    }
    // Some resyncs, of which the first may read once more.
    let resyncs = |number: usize| s.called("describe", s.calls("describe") + number);
    resyncs(6).await;
    tokio::time::sleep(Duration::from_secs(6)).await;
    let before = reads.0.load(Ordering::SeqCst);
    resyncs(12).await;
    assert_eq!(
        reads.0.load(Ordering::SeqCst),
        before,
        "reads of Secrets by resyncs that found nothing changed"
    );

    // Drift is detected without Secrets, and reverted with them.
    s.cloud.alive(&owners[0]).iter().for_each(|object| s.cloud.tamper(&object.id, |object| object.size = 9));
    s.called("resize", 1).await;
    assert!(reads.0.load(Ordering::SeqCst) > before);
    Ok(())
}

#[tokio::test]
async fn a_rejection_is_reported_and_solved_by_an_edit() -> Result<()> {
    let s = setting().await?;
    // It is retried automatically; enough rejections to be observed.
    for _ in 0..6 {
        s.cloud.fault("create", Fault::Before(FailureClass::Terminal));
    }
    s.test_env.apply(&gadget("a", &small())).await?;
    let message = s.test_env.not_ready("Gadget", "a", "CloudRefused").await?;
    assert!(message.contains("the toy cloud rejects the call"), "{message}");
    let owner = s.ready("a", &json!({"size": {"value": 4}})).await?;
    assert_eq!(s.cloud.alive(&owner).len(), 1);
    Ok(())
}

#[tokio::test]
async fn secret_value_is_absent_even_if_the_cloud_returns_it() -> Result<()> {
    let s = setting().await?;
    let (secret, rotated) = (s.test_env.secret_value("first"), s.test_env.secret_value("rotated"));
    s.test_env
        .apply(&format!(
            "{{apiVersion: v1, kind: Secret, metadata: {{name: words}}, stringData: {{first: {secret}}}}}"
        ))
        .await?;
    let password = json!({"valueFrom": {"secret": {"name": "words", "key": "first"}}});
    let owner = s.ready("a", &json!({"size": {"value": 3}, "password": password})).await?;
    assert_eq!(s.cloud.alive(&owner)[0].note, secret, "the cloud needs the value");
    for kind in ["Gadget", "StateDeclaration", "DependencyRequest", "Event", "ConfigMap"] {
        assert!(!s.test_env.all(kind).await?.contains(&secret), "{kind}");
    }
    let state = s.test_env.get("StateDeclaration", "gadget.testing.a").await?;
    assert!(state["spec"]["data"]["gadget"].get("Note").is_none(), "{state}");
    assert_eq!(state["spec"]["withheld"], json!([{"path": "gadget.Note", "field": "password"}]));

    // A dependent on a withheld value gets the reason.
    let spec = json!({"size": {"value": 1}, "colour": {"valueFrom": {"ref": "Gadget/a/gadget.Note"}}});
    s.test_env.apply(&gadget("b", &spec)).await?;
    let message = s.test_env.not_ready("Gadget", "b", "DependenciesNotReady").await?;
    assert!(message.contains("spec.password of gadget a comes from a Secret"), "{message}");

    // Rotated: the cloud still returns the old value, which no Secret contains any more.
    s.test_env.patch("Secret", "words", json!({"stringData": {"first": rotated}})).await?;
    s.test_env.patch("Gadget", "a", json!({"spec": {"size": {"value": 4}}})).await?;
    s.test_env
        .until("StateDeclaration", "gadget.testing.a", |state| state["spec"]["data"]["gadget"]["Size"] == 4)
        .await?;
    s.test_env.ready("Gadget", "a").await?;
    assert_eq!(s.cloud.alive(&owner)[0].note, secret, "the cloud has the value of the Secret");
    for kind in ["Gadget", "StateDeclaration", "DependencyRequest", "Event", "ConfigMap"] {
        let all = s.test_env.all(kind).await?;
        assert!(!all.contains(s.test_env.env.marker()), "{kind}");
    }
    Ok(())
}

#[tokio::test]
async fn all_problems_are_reported_at_once_with_their_fields() -> Result<()> {
    let s = setting().await?;
    let spec = json!({
        "size": {"valueFrom": {"configMap": {"name": "absent", "key": "size"}}},
        "colour": {"valueFrom": {"krakenResource": {"kind": "gadget", "name": "nobody", "path": "gadget.Colour"}}},
    });
    s.test_env.apply(&gadget("a", &spec)).await?;
    // The hub learns within seconds that a new CRD is served.
    let parts = ["spec.size", "ConfigMap absent", "spec.colour", "gadget nobody"];
    let has_all = |object: &Value| {
        let message = condition(object, "Ready")["message"].as_str().unwrap_or_default();
        parts.iter().all(|part| message.contains(part))
    };
    s.test_env.until("Gadget", "a", has_all).await?;
    // The missing dependency appears, and the watch triggers a reconcile without polling.
    s.ready("nobody", &json!({"size": {"value": 1}, "colour": {"value": "blue"}})).await?;
    s.test_env
        .apply(r#"{apiVersion: v1, kind: ConfigMap, metadata: {name: absent}, data: {size: "7"}}"#)
        .await?;
    let owner = uid(&s.test_env.ready("Gadget", "a").await?);
    let made = s.cloud.alive(&owner);
    assert_eq!((made[0].size, made[0].colour.as_str()), (7, "blue"));
    Ok(())
}

#[tokio::test]
async fn an_invalid_interval_is_rejected_and_a_name_of_253_characters_is_accepted() -> Result<()> {
    let s = setting().await?;
    for bad in ["-1s", "banana"] {
        let spec = json!({"size": {"value": 3}, "lifecycle": {"resyncInterval": bad}});
        let refusal = s.test_env.refused(&gadget("bad", &spec)).await?;
        assert!(refusal.contains("spec.lifecycle.resyncInterval"), "{refusal}");
    }
    let century = json!({"size": {"value": 3}, "lifecycle": {"resyncInterval": "876000h"}});
    s.test_env.apply(&gadget("century", &century)).await?;
    let message = s.test_env.not_ready("Gadget", "century", "InvalidSpec").await?;
    assert!(message.contains("spec.lifecycle.resyncInterval"), "{message}");
    let name = "n".repeat(253);
    let from_config_map = json!({"size": {"valueFrom": {"configMap": {"name": "sizes", "key": "small"}}}});
    s.test_env
        .apply(r#"{apiVersion: v1, kind: ConfigMap, metadata: {name: sizes}, data: {small: "2"}}"#)
        .await?;
    s.test_env.apply(&gadget(&name, &from_config_map)).await?;
    let object = s.test_env.ready("Gadget", &name).await?;
    assert_eq!(condition(&object, "Synced")["status"], "True");
    Ok(())
}

#[tokio::test]
async fn an_undecodable_object_is_reported_and_does_not_block_others() -> Result<()> {
    let s = setting().await?;
    s.test_env.apply(&gadget("bad", &json!({"size": {"value": 3}, "password": 7}))).await?;
    for number in 0..50 {
        s.test_env.apply(&gadget(&format!("good-{number}"), &small())).await?;
    }
    let message = s.test_env.not_ready("Gadget", "bad", "InvalidSpec").await?;
    assert!(message.contains("Gadget"), "{message}");
    for number in 0..50 {
        s.test_env.ready("Gadget", &format!("good-{number}")).await?;
    }
    // After a fix, it is managed like any other.
    s.ready("bad", &small()).await.map(drop)
}
