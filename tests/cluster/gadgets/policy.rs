//! What the loop decides, what it leaves alone, and what it says of both.

use std::time::{Duration, Instant};

use anyhow::Result;
use kraken_runtime::patch::{Version, replace_status};
use kraken_spoke::FailureClass;
use kraken_testing::toy::Fault;
use kraken_tests::world::condition;
use serde_json::{Value, json};

use super::{Setting, gadget, setting, small, uid};

fn with(lifecycle: &Value) -> Value {
    json!({"size": {"value": 3}, "lifecycle": lifecycle})
}

fn count(s: &Setting, operation: &str) -> usize {
    s.cloud.journal().iter().filter(|call| *call == operation).count()
}

#[tokio::test]
async fn drift_stays_drift_after_an_outage() -> Result<()> {
    let s = setting().await?;
    let owner = s.ready("a", &with(&json!({"drift": "Report", "resyncInterval": "1s"}))).await?;
    let id = s.cloud.alive(&owner)[0].id.clone();
    s.cloud.fault("describe", Fault::Before(FailureClass::Terminal));
    s.cloud.tamper(&id, |thing| thing.size = 9);
    let object = s.world.until("Gadget", "a", |o| condition(o, "Drifted")["status"] == "True").await?;
    assert_eq!(condition(&object, "Ready")["status"], "True");
    assert_eq!(condition(&object, "Synced")["status"], "False");
    let events = s.world.events_of("a").await?;
    assert!(events.iter().any(|(reason, _)| reason == "CloudRefused"), "the outage was seen: {events:?}");
    assert!(events.iter().any(|(reason, note)| reason == "Drifted" && note.contains("spec.size is 9")));
    // Neither does an edit of how things are done make an edit of it.
    s.world.patch("Gadget", "a", json!({"spec": {"lifecycle": {"protect": true}}})).await?;
    s.world.ready("Gadget", "a").await?;
    assert_eq!((s.cloud.alive(&owner)[0].size, count(&s, "resize")), (9, 0));
    Ok(())
}

#[tokio::test]
async fn neither_drift_nor_an_edit_of_what_is_protected_replaces_anything() -> Result<()> {
    let s = setting().await?;
    let replacing =
        |protect: bool| json!({"replace": "DeleteFirst", "protect": protect, "resyncInterval": "1s"});
    s.ready("protected", &with(&replacing(true))).await?;
    let red = json!({"size": {"value": 3}, "colour": {"value": "red"}, "lifecycle": replacing(true)});
    s.world.apply(&gadget("protected", &red)).await?;
    let message = s.world.not_ready("Gadget", "protected", "ImmutableField").await?;
    assert!(message.contains("spec.lifecycle.protect is true"), "{message}");
    let object = s.world.get("Gadget", "protected").await?;
    assert_eq!(condition(&object, "Stalled")["reason"], "ImmutableField", "only an edit helps");

    let owner = s.ready("drifted", &with(&replacing(false))).await?;
    s.cloud.tamper(&s.cloud.alive(&owner)[0].id, |thing| thing.colour = "red".into());
    let message = s.world.not_ready("Gadget", "drifted", "ImmutableField").await?;
    assert!(message.contains("drift alone replaces nothing"), "{message}");
    assert_eq!(count(&s, "delete"), 0);

    // An edit replaces what drifted, and takes what stalled it away.
    let blue = json!({"size": {"value": 3}, "colour": {"value": "blue"}, "lifecycle": replacing(false)});
    s.ready("drifted", &blue).await?;
    assert_eq!(s.cloud.alive(&owner)[0].colour, "blue");
    let object = s.world.get("Gadget", "drifted").await?;
    assert!(condition(&object, "Stalled").is_null() && condition(&object, "Reconciling").is_null());
    Ok(())
}

#[tokio::test]
async fn a_plan_that_was_forged_in_the_status_is_not_approved_by_the_hash_of_another() -> Result<()> {
    let s = setting().await?;
    let owner = s.ready("a", &small()).await?;
    let manual = |size: i64| json!({"size": {"value": size}, "lifecycle": {"approval": "Manual"}});
    let plan_for = async |size: i64| {
        s.world.apply(&gadget("a", &manual(size))).await?;
        let wants = size.to_string();
        let object = s
            .world
            .until("Gadget", "a", |o| o["status"]["plan"]["changes"][0]["want"] == wants.as_str())
            .await?;
        anyhow::Ok(object["status"]["plan"].clone())
    };
    let harmless = plan_for(4).await?["hash"].clone();
    let mut forged = plan_for(99).await?;
    forged["hash"] = harmless.clone();
    s.world.patch_status("Gadget", "a", json!({"plan": forged})).await?;
    let annotation = json!({"kraken-iac.eoinfennessy.com/approved-plan": harmless});
    s.world.patch("Gadget", "a", json!({"metadata": {"annotations": annotation}})).await?;
    let stale = |o: &Value| !o["status"]["plan"]["stale"].is_null();
    s.world.until("Gadget", "a", stale).await?;
    assert_eq!((s.cloud.alive(&owner)[0].size, count(&s, "resize")), (3, 0));
    Ok(())
}

#[tokio::test]
async fn a_status_that_somebody_else_wrote_into_is_taken_over_whole() -> Result<()> {
    let s = setting().await?;
    let manual = json!({"size": {"value": 3}, "lifecycle": {"approval": "Manual"}});
    s.world.apply(&gadget("a", &manual)).await?;
    s.world.not_ready("Gadget", "a", "AwaitingApproval").await?;
    // From now on a person owns a part of what the controller is going to remove.
    s.world.patch_status("Gadget", "a", json!({"plan": {"stale": "a note of mine"}})).await?;
    super::approve(&s, "a").await?;
    let object = s.world.ready("Gadget", "a").await?;
    assert!(object["status"]["plan"].is_null(), "{}", object["status"]);
    Ok(())
}

#[tokio::test]
async fn each_action_on_the_cloud_leaves_one_event_that_says_what_was_done() -> Result<()> {
    let s = setting().await?;
    let lifecycle = json!({"resyncInterval": "1s"});
    let owner = s.ready("a", &with(&lifecycle)).await?;
    let id = s.cloud.alive(&owner)[0].id.clone();
    s.ready("a", &json!({"size": {"value": 5}, "lifecycle": lifecycle})).await?;
    s.cloud.tamper(&id, |thing| thing.size = 9);
    s.called("resize", 2).await;
    s.world.ready("Gadget", "a").await?;
    s.world.delete("Gadget", "a").await?;
    s.world.gone("Gadget", "a").await?;
    let events = s.world.events_of("a").await?;
    for (reason, note) in [
        ("Created", format!("created {id}")),
        ("Updated", "changed spec.size from 3 to 5".to_owned()),
        ("DriftReverted", "changed spec.size from 9 to 5".to_owned()),
        ("Deleted", format!("asked for the deletion of {id}")),
    ] {
        let found = events.iter().filter(|event| **event == (reason.to_owned(), note.clone())).count();
        assert_eq!(found, 1, "{reason}: {note}: {events:#?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_change_that_reads_do_not_show_yet_is_not_repeated() -> Result<()> {
    let s = setting().await?;
    s.ready("a", &small()).await?;
    s.cloud.fault("resize", Fault::Stale(1));
    let owner = s.ready("a", &json!({"size": {"value": 5}})).await?;
    assert_eq!((s.cloud.alive(&owner)[0].size, count(&s, "resize")), (5, 1));
    Ok(())
}

#[tokio::test]
async fn what_is_wrong_for_certain_and_what_is_being_deleted_is_said_at_once() -> Result<()> {
    let s = setting().await?;
    s.ready("deleted", &small()).await?;
    let started = Instant::now();
    let mixed = json!({
        "size": {"value": 500},
        "colour": {"valueFrom": {"krakenResource": {"kind": "gadget", "name": "nobody", "path": "gadget.Colour"}}},
    });
    s.world.apply(&gadget("mixed", &mixed)).await?;
    let message = s.world.not_ready("Gadget", "mixed", "InvalidSpec").await?;
    assert!(message.contains("spec.size: 500 is not from 1 to 100"), "{message}");
    for _ in 0..3 {
        s.cloud.fault("delete", Fault::Before(FailureClass::NotYet));
    }
    s.world.delete("Gadget", "deleted").await?;
    let object = s.world.until("Gadget", "deleted", |o| condition(o, "Ready")["status"] == "False").await?;
    assert_eq!(condition(&object, "Ready")["reason"], "Deleting");
    assert_eq!(condition(&object, "Reconciling")["status"], "True");
    assert!(started.elapsed() < Duration::from_secs(8), "{:?}", started.elapsed());
    s.world.gone("Gadget", "deleted").await?;
    Ok(())
}

#[tokio::test]
async fn an_edit_of_what_is_applied_at_creation_only_is_reported_until_it_is_created_anew() -> Result<()> {
    let s = setting().await?;
    let spec = |password: &str, replace: &str| {
        json!({
            "size": {"value": 3}, "password": {"value": password}, "lifecycle": {"replace": replace},
        })
    };
    let owner = s.ready("a", &spec("first", "Never")).await?;
    s.world.apply(&gadget("a", &spec("second", "Never"))).await?;
    let message = s.world.not_ready("Gadget", "a", "ImmutableField").await?;
    assert!(message.contains("spec.password") && message.contains("at creation only"), "{message}");
    s.ready("a", &spec("first", "Never")).await?;
    s.ready("a", &spec("second", "DeleteFirst")).await?;
    assert_eq!(s.cloud.alive(&owner)[0].note, "second");
    Ok(())
}

#[tokio::test]
async fn a_status_from_a_stale_copy_is_a_conflict_and_a_broken_one_is_none() -> Result<()> {
    let s = setting().await?;
    s.ready("a", &small()).await?;
    let api = s.world.api("Gadget");
    let (status, broken) = (json!({"conditions": []}), json!({"conditions": [{"type": "Ready"}]}));
    let stale = Version::of(&api.get("a").await?);
    s.world.patch("Gadget", "a", json!({"metadata": {"labels": {"a": "b"}}})).await?;
    let error = replace_status(&api, "test", "a", &stale, status).await.expect_err("it is stale");
    assert!(error.is_conflict(), "{error}");
    let fresh = Version::of(&api.get("a").await?);
    let error = replace_status(&api, "test", "a", &fresh, broken).await.expect_err("it breaks the schema");
    assert!(error.is_invalid() && !error.is_conflict(), "{error}");
    Ok(())
}

#[tokio::test]
async fn an_edit_that_is_taken_back_half_way_is_undone_whatever_the_policy_of_drift() -> Result<()> {
    let s = setting().await?;
    let report = |size: i64| json!({"size": {"value": size}, "lifecycle": {"drift": "Report"}});
    s.ready("a", &report(3)).await?;
    // The change takes effect, and nobody is told.
    s.cloud.fault("resize", Fault::LostAnswer);
    s.cloud.fault("describe", Fault::Before(FailureClass::Transient));
    s.world.apply(&gadget("a", &report(5))).await?;
    s.called("resize", 1).await;
    s.world.apply(&gadget("a", &report(3))).await?;
    let owner = uid(&s.world.ready("Gadget", "a").await?);
    assert_eq!(s.cloud.alive(&owner)[0].size, 3);
    assert!(condition(&s.world.get("Gadget", "a").await?, "Drifted").is_null());
    Ok(())
}
