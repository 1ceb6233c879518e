//! The loop that every spoke uses, driven through a cloud that loses answers, lags and panics on demand.

use std::time::Duration;

use anyhow::Result;
use kraken_spoke::FailureClass;
use kraken_testing::toy::{Cloud, Fault};
use kraken_tests::{InProcess, World, world::condition};
use serde_json::{Value, json};

fn gadget(name: &str, spec: &Value) -> String {
    json!({
        "apiVersion": "testing.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "Gadget",
        "metadata": {"name": name}, "spec": spec,
    })
    .to_string()
}

fn small() -> Value {
    json!({"size": {"value": 3}})
}

fn uid(object: &Value) -> String {
    object["metadata"]["uid"].as_str().unwrap_or_default().to_owned()
}

struct Setting {
    world: World,
    cloud: Cloud,
    spoke: InProcess,
}

async fn setting() -> Result<Setting> {
    let world = World::new().await?;
    let cloud = Cloud::default();
    let spoke = InProcess::start(&world, &cloud).await?;
    Ok(Setting { world, cloud, spoke })
}

impl Setting {
    async fn crash_and_restart(mut self) -> Result<Self> {
        drop(self.spoke);
        self.spoke = InProcess::start(&self.world, &self.cloud).await?;
        Ok(self)
    }

    /// Creates one and waits until it is ready; returns its UID.
    async fn ready(&self, name: &str, spec: &Value) -> Result<String> {
        self.world.apply(&gadget(name, spec)).await?;
        Ok(uid(&self.world.ready("Gadget", name).await?))
    }

    /// Waits until the journal holds this call so many times.
    #[allow(clippy::panic, reason = "a test's own helper")]
    async fn called(&self, operation: &str, times: usize) {
        for _ in 0..600 {
            if self.cloud.journal().iter().filter(|call| *call == operation).count() >= times {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("{operation} was not called {times} times: {:?}", self.cloud.journal());
    }
}

#[tokio::test]
async fn a_gadget_is_created_once_and_deleted_with_its_resource() -> Result<()> {
    let s = setting().await?;
    let owner = s.ready("a", &small()).await?;
    assert_eq!(s.cloud.journal().iter().filter(|call| *call == "create").count(), 1);
    assert_eq!(s.cloud.alive(&owner).len(), 1);
    let state = s.world.until("StateDeclaration", "gadget-a", |state| !state.is_null()).await?;
    assert_eq!(state["spec"]["data"]["gadget"]["Size"], 3);
    s.world.delete("Gadget", "a").await?;
    s.world.gone("Gadget", "a").await?;
    assert!(s.cloud.alive(&owner).is_empty());
    // The garbage collector takes what the resource owns.
    s.world.gone("StateDeclaration", "gadget-a").await
}

#[tokio::test]
async fn a_lost_answer_leads_to_no_second_gadget() -> Result<()> {
    let s = setting().await?;
    s.cloud.fault("create", Fault::LostAnswer);
    let owner = s.ready("a", &small()).await?;
    assert_eq!(s.cloud.alive(&owner).len(), 1);
    Ok(())
}

#[tokio::test]
async fn a_crash_inside_the_launch_leads_to_no_second_gadget() -> Result<()> {
    let mut s = setting().await?;
    s.cloud.fault("create", Fault::LostAnswer);
    s.world.apply(&gadget("a", &small())).await?;
    s.called("create", 1).await;
    s = s.crash_and_restart().await?;
    let owner = uid(&s.world.ready("Gadget", "a").await?);
    assert_eq!(s.cloud.alive(&owner).len(), 1);
    Ok(())
}

#[tokio::test]
async fn reads_that_lag_behind_a_launch_lead_to_no_second_gadget() -> Result<()> {
    let s = setting().await?;
    s.cloud.fault("create", Fault::Lag(3));
    let owner = s.ready("a", &small()).await?;
    assert_eq!(s.cloud.alive(&owner).len(), 1);
    assert_eq!(s.cloud.journal().iter().filter(|call| *call == "create").count(), 1);
    Ok(())
}

#[tokio::test]
async fn a_launch_that_is_not_visible_yet_is_not_left_behind_by_a_deletion() -> Result<()> {
    let mut s = setting().await?;
    s.cloud.fault("create", Fault::Lag(3));
    s.world.apply(&gadget("a", &small())).await?;
    s.called("create", 1).await;
    let owner = uid(&s.world.get("Gadget", "a").await?);
    s.world.delete("Gadget", "a").await?;
    s = s.crash_and_restart().await?;
    s.world.gone("Gadget", "a").await?;
    assert!(s.cloud.alive(&owner).is_empty());
    Ok(())
}

#[tokio::test]
async fn a_restart_finds_everything_in_place_and_changes_nothing() -> Result<()> {
    let mut s = setting().await?;
    let owner = s.ready("a", &small()).await?;
    let before = s.world.get("Gadget", "a").await?["metadata"]["resourceVersion"].clone();
    let calls = s.cloud.journal().len();
    s = s.crash_and_restart().await?;
    s.called("describe", calls).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(s.world.get("Gadget", "a").await?["metadata"]["resourceVersion"], before);
    assert_eq!(s.cloud.alive(&owner).len(), 1);
    Ok(())
}

#[tokio::test]
async fn a_panic_is_a_condition_of_its_own_resource_and_the_others_go_on() -> Result<()> {
    let s = setting().await?;
    for _ in 0..4 {
        s.cloud.fault("create", Fault::Panic);
    }
    s.world.apply(&gadget("broken", &small())).await?;
    s.world.not_ready("Gadget", "broken", "InternalError").await?;
    s.ready("sound", &small()).await?;
    s.world.ready("Gadget", "broken").await?;
    Ok(())
}

#[tokio::test]
async fn a_refusal_is_told_and_an_edit_mends_it() -> Result<()> {
    let s = setting().await?;
    s.cloud.fault("create", Fault::Before(FailureClass::Terminal));
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
    let state = s.world.get("StateDeclaration", "gadget-a").await?;
    assert_eq!(state["spec"]["data"]["gadget"]["Note"], "***");
    Ok(())
}

#[tokio::test]
async fn what_cannot_be_changed_is_said_with_both_values() -> Result<()> {
    let s = setting().await?;
    s.ready("a", &small()).await?;
    s.world.apply(&gadget("a", &json!({"size": {"value": 5}, "colour": {"value": "red"}}))).await?;
    let message = s.world.not_ready("Gadget", "a", "ImmutableField").await?;
    assert!(message.contains("spec.colour is grey in the cloud and red here"), "{message}");
    // What can be changed was changed all the same.
    assert_eq!(s.cloud.journal().iter().filter(|call| *call == "resize").count(), 1);
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
async fn drift_is_reverted_reported_or_ignored_as_the_resource_says() -> Result<()> {
    let s = setting().await?;
    let with = |lifecycle: Value| json!({"size": {"value": 3}, "lifecycle": lifecycle});
    let owner = s.ready("reverted", &with(json!({"resyncInterval": "1s"}))).await?;
    s.cloud.tamper(&s.cloud.alive(&owner)[0].id, |thing| thing.size = 9);
    s.called("resize", 1).await;
    assert_eq!(s.cloud.alive(&owner)[0].size, 3);

    let owner = s.ready("reported", &with(json!({"resyncInterval": "1s", "drift": "Report"}))).await?;
    s.cloud.tamper(&s.cloud.alive(&owner)[0].id, |thing| thing.size = 9);
    s.world.not_ready("Gadget", "reported", "Drifted").await?;
    let drift = s.world.get("Gadget", "reported").await?["status"]["drift"][0].clone();
    assert_eq!((&drift["path"], &drift["want"], &drift["have"]), (&json!("size"), &json!("3"), &json!("9")));
    assert_eq!(s.cloud.alive(&owner)[0].size, 9);
    // An edit is an order, drift or not.
    s.ready("reported", &json!({"size": {"value": 4}, "lifecycle": {"drift": "Report"}})).await?;
    assert_eq!(s.cloud.alive(&owner)[0].size, 4);

    let ignoring = with(json!({"resyncInterval": "1s", "ignoreChanges": ["size"]}));
    let owner = s.ready("ignored", &ignoring).await?;
    let calls = s.cloud.journal().iter().filter(|call| *call == "describe").count();
    s.cloud.tamper(&s.cloud.alive(&owner)[0].id, |thing| thing.size = 9);
    s.called("describe", calls + 4).await;
    assert_eq!(s.cloud.alive(&owner)[0].size, 9);
    Ok(())
}

#[tokio::test]
async fn what_was_deleted_outside_is_created_again() -> Result<()> {
    let s = setting().await?;
    let owner = s.ready("a", &json!({"size": {"value": 3}, "lifecycle": {"resyncInterval": "1s"}})).await?;
    s.cloud.tamper(&s.cloud.alive(&owner)[0].id, |thing| thing.gone = true);
    s.called("create", 2).await;
    s.world.ready("Gadget", "a").await?;
    assert_eq!(s.cloud.alive(&owner).len(), 1);
    Ok(())
}

#[tokio::test]
async fn deletion_is_refused_while_protected_waits_while_paused_and_retains_if_told() -> Result<()> {
    let s = setting().await?;
    let with = |lifecycle: Value| json!({"size": {"value": 3}, "lifecycle": lifecycle});
    let owner = s.ready("kept", &with(json!({"protect": true}))).await?;
    s.world.delete("Gadget", "kept").await?;
    s.world.not_ready("Gadget", "kept", "DeletionProtected").await?;
    assert_eq!(s.cloud.alive(&owner).len(), 1);
    s.world
        .patch("Gadget", "kept", json!({"spec": {"lifecycle": {"protect": false, "paused": true}}}))
        .await?;
    s.world.not_ready("Gadget", "kept", "Paused").await?;
    s.world
        .patch("Gadget", "kept", json!({"spec": {"lifecycle": {"paused": false, "deletion": "Retain"}}}))
        .await?;
    s.world.gone("Gadget", "kept").await?;
    assert!(s.cloud.journal().contains(&"release".to_owned()));
    assert!(!s.cloud.journal().contains(&"delete".to_owned()));
    Ok(())
}

#[tokio::test]
async fn a_resource_can_be_deleted_while_its_references_are_gone() -> Result<()> {
    let s = setting().await?;
    s.world
        .apply(r#"{apiVersion: v1, kind: ConfigMap, metadata: {name: sizes}, data: {small: "2"}}"#)
        .await?;
    let spec = json!({"size": {"valueFrom": {"configMap": {"name": "sizes", "key": "small"}}}});
    let owner = s.ready("a", &spec).await?;
    s.world.delete("ConfigMap", "sizes").await?;
    s.world.not_ready("Gadget", "a", "DependenciesNotReady").await?;
    assert_eq!(s.cloud.alive(&owner).len(), 1, "a missing value takes nothing away");
    s.world.delete("Gadget", "a").await?;
    s.world.gone("Gadget", "a").await?;
    assert!(s.cloud.alive(&owner).is_empty());
    Ok(())
}

#[tokio::test]
async fn an_asked_for_reconcile_happens_at_once() -> Result<()> {
    let s = setting().await?;
    let owner = s.ready("a", &small()).await?;
    s.cloud.tamper(&s.cloud.alive(&owner)[0].id, |thing| thing.size = 9);
    let now =
        json!({"metadata": {"annotations": {"kraken-iac.eoinfennessy.com/reconcile-requested-at": "now"}}});
    s.world.patch("Gadget", "a", now).await?;
    s.called("resize", 1).await;
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

#[tokio::test]
async fn a_replacement_deletes_first_if_told_and_survives_a_crash() -> Result<()> {
    let mut s = setting().await?;
    let red =
        |lifecycle: Value| json!({"size": {"value": 3}, "colour": {"value": "red"}, "lifecycle": lifecycle});
    let owner = s.ready("a", &small()).await?;
    let old = s.cloud.alive(&owner)[0].id.clone();
    s.cloud.fault("delete", Fault::LostAnswer);
    s.world.apply(&gadget("a", &red(json!({"replace": "DeleteFirst"})))).await?;
    s.called("delete", 1).await;
    s = s.crash_and_restart().await?;
    s.world.ready("Gadget", "a").await?;
    let alive = s.cloud.alive(&owner);
    assert_eq!(alive.iter().map(|thing| thing.colour.as_str()).collect::<Vec<_>>(), ["red"]);
    assert_ne!(alive[0].id, old);
    let journal = s.cloud.journal();
    let deleted = journal.iter().position(|call| call == "delete");
    assert!(deleted < journal.iter().rposition(|call| call == "create"), "{journal:?}");
    Ok(())
}

#[tokio::test]
async fn a_replacement_creates_first_if_told_and_moves_the_state_before_it_deletes() -> Result<()> {
    let mut s = setting().await?;
    let owner = s.ready("a", &small()).await?;
    s.cloud.fault("create", Fault::LostAnswer);
    let red =
        json!({"size": {"value": 3}, "colour": {"value": "red"}, "lifecycle": {"replace": "CreateFirst"}});
    s.world.apply(&gadget("a", &red)).await?;
    s.called("create", 2).await;
    s = s.crash_and_restart().await?;
    s.world.ready("Gadget", "a").await?;
    let alive = s.cloud.alive(&owner);
    assert_eq!(alive.iter().map(|thing| thing.colour.as_str()).collect::<Vec<_>>(), ["red"]);
    let state = s.world.get("StateDeclaration", "gadget-a").await?;
    assert_eq!(state["spec"]["data"]["gadget"]["Id"], alive[0].id);
    let journal = s.cloud.journal();
    let created = journal.iter().rposition(|call| call == "create");
    assert!(created < journal.iter().position(|call| call == "delete"), "{journal:?}");
    Ok(())
}

#[tokio::test]
async fn what_is_still_referred_to_waits_with_its_deletion_and_names_by_whom() -> Result<()> {
    let s = setting().await?;
    let first = s.ready("first", &json!({"size": {"value": 3}, "colour": {"value": "blue"}})).await?;
    let colour = json!({"valueFrom": {"krakenResource": {"kind": "Gadget", "name": "first", "path": "gadget.Colour"}}});
    s.ready("second", &json!({"size": {"value": 3}, "colour": colour})).await?;
    s.world.delete("Gadget", "first").await?;
    let message = s.world.not_ready("Gadget", "first", "DeletionBlocked").await?;
    assert!(message.contains("gadget second"), "{message}");
    assert_eq!(s.cloud.alive(&first).len(), 1);
    s.world.delete("Gadget", "second").await?;
    s.world.gone("Gadget", "second").await?;
    s.world.gone("Gadget", "first").await?;
    assert!(s.cloud.alive(&first).is_empty());
    Ok(())
}

#[tokio::test]
async fn orphans_are_reported_and_removed_only_if_told() -> Result<()> {
    let world = World::new().await?;
    let cloud = Cloud::default();
    cloud.insert("nobody");
    let s = Setting {
        spoke: InProcess::with(&world, &cloud, &["--orphan-interval", "200ms"]).await?,
        world,
        cloud,
    };
    let owner = s.ready("a", &small()).await?;
    s.called("survey", 5).await;
    assert_eq!(s.cloud.alive("nobody").len(), 1, "reported is not removed");
    drop(s.spoke);
    let flags = ["--orphan-interval", "200ms", "--remove-orphans"];
    let _spoke = InProcess::with(&s.world, &s.cloud, &flags).await?;
    for _ in 0..100 {
        if s.cloud.alive("nobody").is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(s.cloud.alive("nobody").is_empty());
    assert_eq!(s.cloud.alive(&owner).len(), 1, "what has an owner stays");
    Ok(())
}
