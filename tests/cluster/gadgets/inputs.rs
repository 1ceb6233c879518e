//! Bad input, refusals and secrets: each told where it is, and nothing else disturbed.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use anyhow::Result;
use kraken_spoke::FailureClass;
use kraken_testing::{
    kube_proxy::{Answer, Call, Hook, KubeProxy, Order},
    toy::{Cloud, Fault},
};
use kraken_tests::{InProcess, World, world::condition};
use serde_json::json;

use super::{Setting, gadget, setting, small, uid};

/// Counts the reads of Secrets.
#[derive(Default)]
struct Reads(AtomicUsize);

impl Hook for Reads {
    async fn before(&self, call: &Call) -> Order {
        self.0.fetch_add(usize::from(call.name == "GET secrets"), Ordering::SeqCst);
        Order::Pass
    }

    async fn after(&self, _: &Call, _: &Answer) -> Order {
        Order::Pass
    }
}

#[tokio::test]
async fn resyncs_that_find_nothing_changed_read_no_secret() -> Result<()> {
    let world = World::new().await?;
    let (cloud, reads) = (Cloud::default(), Arc::new(Reads::default()));
    let proxy = KubeProxy::start(&world.env.control_plane.admin_kubeconfig(), reads.clone()).await?;
    let spoke = InProcess::through(&world, &cloud, &[], Some(proxy.endpoint())).await?;
    let s = Setting { world, cloud, spoke };
    for number in 0..3 {
        let secret = format!(
            "{{apiVersion: v1, kind: Secret, metadata: {{name: s{number}}}, stringData: {{k: first}}}}"
        );
        s.world.apply(&secret).await?;
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

    // Drift is found without them, and put right with them.
    s.cloud.alive(&owners[0]).iter().for_each(|thing| s.cloud.tamper(&thing.id, |thing| thing.size = 9));
    s.called("resize", 1).await;
    assert!(reads.0.load(Ordering::SeqCst) > before);
    Ok(())
}

#[tokio::test]
async fn a_refusal_is_told_and_an_edit_mends_it() -> Result<()> {
    let s = setting().await?;
    // It is tried again by itself now and then; enough refusals to be seen.
    for _ in 0..6 {
        s.cloud.fault("create", Fault::Before(FailureClass::Terminal));
    }
    s.world.apply(&gadget("a", &small())).await?;
    let message = s.world.not_ready("Gadget", "a", "CloudRefused").await?;
    assert!(message.contains("the toy cloud refuses"), "{message}");
    let owner = s.ready("a", &json!({"size": {"value": 4}})).await?;
    assert_eq!(s.cloud.alive(&owner).len(), 1);
    Ok(())
}

#[tokio::test]
async fn a_secret_is_nowhere_even_if_the_cloud_repeats_it() -> Result<()> {
    let s = setting().await?;
    let secret = "correct-horse-battery";
    s.world
        .apply(&format!(
            "{{apiVersion: v1, kind: Secret, metadata: {{name: words}}, stringData: {{first: {secret}}}}}"
        ))
        .await?;
    let password = json!({"valueFrom": {"secret": {"name": "words", "key": "first"}}});
    let owner = s.ready("a", &json!({"size": {"value": 3}, "password": password})).await?;
    assert_eq!(s.cloud.alive(&owner)[0].note, secret, "the cloud needs the value");
    for kind in ["Gadget", "StateDeclaration", "DependencyRequest", "Event", "ConfigMap"] {
        assert!(!s.world.all(kind).await?.contains(secret), "{kind}");
    }
    let state = s.world.get("StateDeclaration", "gadget.testing.a").await?;
    assert!(state["spec"]["data"]["gadget"].get("Note").is_none(), "{state}");
    assert_eq!(state["spec"]["withheld"], json!([{"path": "gadget.Note", "field": "password"}]));

    // Who refers to what is withheld is told why.
    let asks = json!({"size": {"value": 1}, "colour": {"valueFrom": {"ref": "Gadget/a/gadget.Note"}}});
    s.world.apply(&gadget("b", &asks)).await?;
    let message = s.world.not_ready("Gadget", "b", "DependenciesNotReady").await?;
    assert!(message.contains("spec.password of gadget a comes from a Secret"), "{message}");

    // Rotated: the cloud still says the old words, which no Secret holds any more.
    let rotated = json!({"stringData": {"first": "battery-staple-horse"}});
    s.world.patch("Secret", "words", rotated).await?;
    s.world.patch("Gadget", "a", json!({"spec": {"size": {"value": 4}}})).await?;
    s.world
        .until("StateDeclaration", "gadget.testing.a", |state| state["spec"]["data"]["gadget"]["Size"] == 4)
        .await?;
    s.world.ready("Gadget", "a").await?;
    assert_eq!(s.cloud.alive(&owner)[0].note, secret, "the cloud has what it was given");
    for kind in ["Gadget", "StateDeclaration", "DependencyRequest", "Event", "ConfigMap"] {
        let all = s.world.all(kind).await?;
        assert!(!all.contains(secret) && !all.contains("battery-staple"), "{kind}");
    }
    Ok(())
}

#[tokio::test]
async fn every_problem_is_told_at_once_with_its_field() -> Result<()> {
    let s = setting().await?;
    let spec = json!({
        "size": {"valueFrom": {"configMap": {"name": "absent", "key": "size"}}},
        "colour": {"valueFrom": {"krakenResource": {"kind": "gadget", "name": "nobody", "path": "gadget.Colour"}}},
    });
    s.world.apply(&gadget("a", &spec)).await?;
    let message = s.world.not_ready("Gadget", "a", "DependenciesNotReady").await?;
    for part in ["spec.size", "ConfigMap absent", "spec.colour", "gadget nobody"] {
        assert!(message.contains(part), "{part} is not in: {message}");
    }
    // What was missing appears, and nothing polls: the watch wakes it.
    s.ready("nobody", &json!({"size": {"value": 1}, "colour": {"value": "blue"}})).await?;
    s.world
        .apply(r#"{apiVersion: v1, kind: ConfigMap, metadata: {name: absent}, data: {size: "7"}}"#)
        .await?;
    let owner = uid(&s.world.ready("Gadget", "a").await?);
    let made = s.cloud.alive(&owner);
    assert_eq!((made[0].size, made[0].colour.as_str()), (7, "blue"));
    Ok(())
}

#[tokio::test]
async fn an_unreadable_interval_is_refused_and_a_name_of_253_characters_is_not() -> Result<()> {
    let s = setting().await?;
    for bad in ["-1s", "banana"] {
        let spec = json!({"size": {"value": 3}, "lifecycle": {"resyncInterval": bad}});
        let refusal = s.world.refused(&gadget("bad", &spec)).await?;
        assert!(refusal.contains("spec.lifecycle.resyncInterval"), "{refusal}");
    }
    let century = json!({"size": {"value": 3}, "lifecycle": {"resyncInterval": "876000h"}});
    s.world.apply(&gadget("century", &century)).await?;
    let message = s.world.not_ready("Gadget", "century", "InvalidSpec").await?;
    assert!(message.contains("spec.lifecycle.resyncInterval"), "{message}");
    let name = "n".repeat(253);
    let from_config_map = json!({"size": {"valueFrom": {"configMap": {"name": "sizes", "key": "small"}}}});
    s.world
        .apply(r#"{apiVersion: v1, kind: ConfigMap, metadata: {name: sizes}, data: {small: "2"}}"#)
        .await?;
    s.world.apply(&gadget(&name, &from_config_map)).await?;
    let object = s.world.ready("Gadget", &name).await?;
    assert_eq!(condition(&object, "Synced")["status"], "True");
    Ok(())
}

#[tokio::test]
async fn an_object_that_does_not_decode_among_fifty_good_ones_is_told_and_passed_over() -> Result<()> {
    let s = setting().await?;
    s.world.apply(&gadget("bad", &json!({"size": {"value": 3}, "password": 7}))).await?;
    for number in 0..50 {
        s.world.apply(&gadget(&format!("good-{number}"), &small())).await?;
    }
    let message = s.world.not_ready("Gadget", "bad", "InvalidSpec").await?;
    assert!(message.contains("Gadget"), "{message}");
    for number in 0..50 {
        s.world.ready("Gadget", &format!("good-{number}")).await?;
    }
    // Mended, it is managed like any other.
    s.ready("bad", &small()).await.map(drop)
}
