//! Policies: the decisions of the loop, and their conditions and events.

use anyhow::{Context as _, Result};
use kraken_kind::FailureClass;
use kraken_runtime::patch::{Version, replace_status};
use kraken_tests::{test_env::condition, toy::Fault};
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
    s.cloud.tamper(&id, |object| object.size = 9);
    let object = s.test_env.until("Gadget", "a", |o| condition(o, "Drifted")["status"] == "True").await?;
    assert_eq!(condition(&object, "Ready")["status"], "True");
    assert_eq!(condition(&object, "Synced")["status"], "False");
    s.test_env.event("a", |reason, _| reason == "CloudRefused").await.context("the outage was not seen")?;
    s.test_env
        .event("a", |reason, note| reason == "Drifted" && note.contains("spec.size: observed 9"))
        .await?;
    // An edit of a policy does not count as an edit of the desired state either.
    s.test_env.patch("Gadget", "a", json!({"spec": {"lifecycle": {"protect": true}}})).await?;
    s.test_env.ready("Gadget", "a").await?;
    assert_eq!((s.cloud.alive(&owner)[0].size, count(&s, "resize")), (9, 0));
    Ok(())
}

#[tokio::test]
async fn neither_drift_nor_an_edit_replaces_a_protected_object() -> Result<()> {
    let s = setting().await?;
    let replacing =
        |protect: bool| json!({"replace": "DeleteFirst", "protect": protect, "resyncInterval": "1s"});
    s.ready("protected", &with(&replacing(true))).await?;
    let red = json!({"size": {"value": 3}, "colour": {"value": "red"}, "lifecycle": replacing(true)});
    s.test_env.apply(&gadget("protected", &red)).await?;
    let message = s.test_env.not_ready("Gadget", "protected", "ImmutableField").await?;
    assert!(message.contains("spec.lifecycle.protect is true"), "{message}");
    let object = s.test_env.get("Gadget", "protected").await?;
    assert_eq!(condition(&object, "Stalled")["reason"], "ImmutableField", "an edit is required");

    let owner = s.ready("drifted", &with(&replacing(false))).await?;
    s.cloud.tamper(&s.cloud.alive(&owner)[0].id, |object| object.colour = "red".into());
    let message = s.test_env.not_ready("Gadget", "drifted", "ImmutableField").await?;
    assert!(message.contains("drift alone does not cause a replacement"), "{message}");
    assert_eq!(count(&s, "delete"), 0);

    // An edit replaces the drifted object, and removes the condition Stalled.
    let blue = json!({"size": {"value": 3}, "colour": {"value": "blue"}, "lifecycle": replacing(false)});
    s.ready("drifted", &blue).await?;
    assert_eq!(s.cloud.alive(&owner)[0].colour, "blue");
    let object = s.test_env.get("Gadget", "drifted").await?;
    assert!(condition(&object, "Stalled").is_null() && condition(&object, "Reconciling").is_null());
    Ok(())
}

#[tokio::test]
async fn a_forged_plan_is_not_approved_by_another_hash() -> Result<()> {
    let s = setting().await?;
    let owner = s.ready("a", &small()).await?;
    let manual = |size: i64| json!({"size": {"value": size}, "lifecycle": {"approval": "Manual"}});
    let plan_for = async |size: i64| {
        s.test_env.apply(&gadget("a", &manual(size))).await?;
        let wants = size.to_string();
        let object = s
            .test_env
            .until("Gadget", "a", |o| o["status"]["plan"]["changes"][0]["want"] == wants.as_str())
            .await?;
        anyhow::Ok(object["status"]["plan"].clone())
    };
    let harmless = plan_for(4).await?["hash"].clone();
    let mut forged = plan_for(99).await?;
    forged["hash"] = harmless.clone();
    s.test_env.patch_status("Gadget", "a", json!({"plan": forged})).await?;
    let annotation = json!({"kraken-iac.eoinfennessy.com/approved-plan": harmless});
    s.test_env.patch("Gadget", "a", json!({"metadata": {"annotations": annotation}})).await?;
    let stale = |o: &Value| !o["status"]["plan"]["stale"].is_null();
    s.test_env.until("Gadget", "a", stale).await?;
    assert_eq!((s.cloud.alive(&owner)[0].size, count(&s, "resize")), (3, 0));
    Ok(())
}

#[tokio::test]
async fn a_status_with_foreign_fields_is_replaced_as_a_whole() -> Result<()> {
    let s = setting().await?;
    let manual = json!({"size": {"value": 3}, "lifecycle": {"approval": "Manual"}});
    s.test_env.apply(&gadget("a", &manual)).await?;
    s.test_env.not_ready("Gadget", "a", "AwaitingApproval").await?;
    // From now on a user owns a field that the controller will remove.
    s.test_env.patch_status("Gadget", "a", json!({"plan": {"stale": "a note of mine"}})).await?;
    super::approve(&s, "a").await?;
    let object = s.test_env.ready("Gadget", "a").await?;
    assert!(object["status"]["plan"].is_null(), "{}", object["status"]);
    Ok(())
}

#[tokio::test]
async fn each_action_on_the_cloud_has_one_event() -> Result<()> {
    let s = setting().await?;
    let lifecycle = json!({"resyncInterval": "1s"});
    let owner = s.ready("a", &with(&lifecycle)).await?;
    let id = s.cloud.alive(&owner)[0].id.clone();
    s.ready("a", &json!({"size": {"value": 5}, "lifecycle": lifecycle})).await?;
    s.cloud.tamper(&id, |object| object.size = 9);
    s.called("resize", 2).await;
    s.test_env.ready("Gadget", "a").await?;
    s.test_env.delete("Gadget", "a").await?;
    s.test_env.gone("Gadget", "a").await?;
    s.test_env.event("a", |reason, _| reason == "Deleted").await?;
    let events = s.test_env.events_of("a").await?;
    for (reason, note) in [
        ("Created", format!("created {id}")),
        ("Updated", "changed spec.size from 3 to 5".to_owned()),
        ("DriftReverted", "changed spec.size from 9 to 5".to_owned()),
        ("Deleted", format!("requested the deletion of {id}")),
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
async fn permanent_problems_and_deletions_are_reported_while_something_is_waited_for() -> Result<()> {
    let s = setting().await?;
    s.ready("deleted", &small()).await?;
    let mixed = json!({
        "size": {"value": 500},
        "colour": {"valueFrom": {"krakenResource": {"kind": "gadget", "name": "nobody", "path": "gadget.Colour"}}},
    });
    s.test_env.apply(&gadget("mixed", &mixed)).await?;
    let message = s.test_env.not_ready("Gadget", "mixed", "InvalidSpec").await?;
    assert!(message.contains("spec.size: 500 is not from 1 to 100"), "{message}");
    // More than are tried before the condition is read.
    for _ in 0..100 {
        s.cloud.fault("delete", Fault::Before(FailureClass::NotYet));
    }
    s.test_env.delete("Gadget", "deleted").await?;
    let object =
        s.test_env.until("Gadget", "deleted", |o| condition(o, "Ready")["status"] == "False").await?;
    assert_eq!(condition(&object, "Ready")["reason"], "Deleting");
    assert_eq!(condition(&object, "Reconciling")["status"], "True");
    s.cloud.clear_faults();
    s.test_env.gone("Gadget", "deleted").await?;
    Ok(())
}

#[tokio::test]
async fn an_edit_of_a_creation_only_field_is_reported_until_replacement() -> Result<()> {
    let s = setting().await?;
    let spec = |password: &str, replace: &str| {
        json!({
            "size": {"value": 3}, "password": {"value": password}, "lifecycle": {"replace": replace},
        })
    };
    let owner = s.ready("a", &spec("first", "Never")).await?;
    s.test_env.apply(&gadget("a", &spec("second", "Never"))).await?;
    let message = s.test_env.not_ready("Gadget", "a", "ImmutableField").await?;
    assert!(message.contains("spec.password") && message.contains("at creation only"), "{message}");
    s.ready("a", &spec("first", "Never")).await?;
    s.ready("a", &spec("second", "DeleteFirst")).await?;
    assert_eq!(s.cloud.alive(&owner)[0].note, "second");
    Ok(())
}

#[tokio::test]
async fn a_stale_status_write_conflicts_and_an_invalid_one_does_not() -> Result<()> {
    let s = setting().await?;
    s.ready("a", &small()).await?;
    let api = s.test_env.api("Gadget");
    let (status, broken) = (json!({"conditions": []}), json!({"conditions": [{"type": "Ready"}]}));
    let stale = Version::of(&api.get("a").await?);
    s.test_env.patch("Gadget", "a", json!({"metadata": {"labels": {"a": "b"}}})).await?;
    let error = replace_status(&api, "test", "a", &stale, status).await.expect_err("it is stale");
    assert!(error.is_conflict(), "{error}");
    let fresh = Version::of(&api.get("a").await?);
    let error = replace_status(&api, "test", "a", &fresh, broken).await.expect_err("it breaks the schema");
    assert!(error.is_invalid() && !error.is_conflict(), "{error}");
    Ok(())
}

#[tokio::test]
async fn an_edit_reverted_halfway_is_undone_with_any_drift_policy() -> Result<()> {
    let s = setting().await?;
    let report = |size: i64| json!({"size": {"value": size}, "lifecycle": {"drift": "Report"}});
    s.ready("a", &report(3)).await?;
    // The change takes effect, and its response is lost.
    s.cloud.fault("resize", Fault::LostAnswer);
    s.cloud.fault("describe", Fault::Before(FailureClass::Transient));
    s.test_env.apply(&gadget("a", &report(5))).await?;
    s.called("resize", 1).await;
    s.test_env.apply(&gadget("a", &report(3))).await?;
    let owner = uid(&s.test_env.ready("Gadget", "a").await?);
    assert_eq!(s.cloud.alive(&owner)[0].size, 3);
    assert!(condition(&s.test_env.get("Gadget", "a").await?, "Drifted").is_null());
    Ok(())
}
