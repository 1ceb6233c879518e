//! Edits, drift and replacement.

use anyhow::Result;
use kraken_tests::{test_env::condition, toy::Fault};
use serde_json::{Value, json};

use super::{gadget, setting, small};

#[tokio::test]
async fn an_immutable_field_is_reported_with_both_values() -> Result<()> {
    let s = setting().await?;
    s.ready("a", &small()).await?;
    s.test_env.apply(&gadget("a", &json!({"size": {"value": 5}, "colour": {"value": "red"}}))).await?;
    let message = s.test_env.not_ready("Gadget", "a", "ImmutableField").await?;
    assert!(message.contains("spec.colour: observed grey, desired red"), "{message}");
    // Mutable fields were changed nevertheless.
    assert_eq!(s.cloud.journal().iter().filter(|call| *call == "resize").count(), 1);
    Ok(())
}

#[tokio::test]
async fn drift_is_reverted_reported_or_ignored_by_policy() -> Result<()> {
    let s = setting().await?;
    let with = |lifecycle: Value| json!({"size": {"value": 3}, "lifecycle": lifecycle});
    let owner = s.ready("reverted", &with(json!({"resyncInterval": "1s"}))).await?;
    s.cloud.tamper(&s.cloud.alive(&owner)[0].id, |object| object.size = 9);
    s.called("resize", 1).await;
    assert_eq!(s.cloud.alive(&owner)[0].size, 3);

    let owner = s.ready("reported", &with(json!({"resyncInterval": "1s", "drift": "Report"}))).await?;
    s.cloud.tamper(&s.cloud.alive(&owner)[0].id, |object| object.size = 9);
    let object =
        s.test_env.until("Gadget", "reported", |o| condition(o, "Drifted")["status"] == "True").await?;
    assert_eq!(condition(&object, "Ready")["status"], "True", "drift that is only reported is no failure");
    let drift = object["status"]["drift"][0].clone();
    assert_eq!((&drift["path"], &drift["want"], &drift["have"]), (&json!("size"), &json!("3"), &json!("9")));
    assert_eq!(s.cloud.alive(&owner)[0].size, 9);
    // An edit is applied regardless of drift.
    s.ready("reported", &json!({"size": {"value": 4}, "lifecycle": {"drift": "Report"}})).await?;
    assert_eq!(s.cloud.alive(&owner)[0].size, 4);

    let ignoring = with(json!({"resyncInterval": "1s", "ignoreChanges": ["size"]}));
    let owner = s.ready("ignored", &ignoring).await?;
    let calls = s.cloud.journal().iter().filter(|call| *call == "describe").count();
    s.cloud.tamper(&s.cloud.alive(&owner)[0].id, |object| object.size = 9);
    s.called("describe", calls + 4).await;
    assert_eq!(s.cloud.alive(&owner)[0].size, 9);
    Ok(())
}

#[tokio::test]
async fn an_object_deleted_out_of_band_is_recreated() -> Result<()> {
    let s = setting().await?;
    let owner = s.ready("a", &json!({"size": {"value": 3}, "lifecycle": {"resyncInterval": "1s"}})).await?;
    s.cloud.tamper(&s.cloud.alive(&owner)[0].id, |object| object.gone = true);
    s.called("create", 2).await;
    s.test_env.ready("Gadget", "a").await?;
    assert_eq!(s.cloud.alive(&owner).len(), 1);
    Ok(())
}

#[tokio::test]
async fn a_requested_reconcile_runs_at_once() -> Result<()> {
    let s = setting().await?;
    let owner = s.ready("a", &small()).await?;
    s.cloud.tamper(&s.cloud.alive(&owner)[0].id, |object| object.size = 9);
    let now =
        json!({"metadata": {"annotations": {"kraken-iac.eoinfennessy.com/reconcile-requested-at": "now"}}});
    s.test_env.patch("Gadget", "a", now).await?;
    s.called("resize", 1).await;
    Ok(())
}

#[tokio::test]
async fn a_delete_first_replacement_survives_a_crash() -> Result<()> {
    let mut s = setting().await?;
    let red =
        |lifecycle: Value| json!({"size": {"value": 3}, "colour": {"value": "red"}, "lifecycle": lifecycle});
    let owner = s.ready("a", &small()).await?;
    let old = s.cloud.alive(&owner)[0].id.clone();
    s.cloud.fault("delete", Fault::LostAnswer);
    s.test_env.apply(&gadget("a", &red(json!({"replace": "DeleteFirst"})))).await?;
    s.called("delete", 1).await;
    s = s.crash_and_restart().await?;
    s.test_env.ready("Gadget", "a").await?;
    let alive = s.cloud.alive(&owner);
    assert_eq!(alive.iter().map(|object| object.colour.as_str()).collect::<Vec<_>>(), ["red"]);
    assert_ne!(alive[0].id, old);
    let journal = s.cloud.journal();
    let deleted = journal.iter().position(|call| call == "delete");
    assert!(deleted < journal.iter().rposition(|call| call == "create"), "{journal:?}");
    Ok(())
}

#[tokio::test]
async fn a_create_first_replacement_publishes_the_new_state_before_deleting() -> Result<()> {
    let mut s = setting().await?;
    let owner = s.ready("a", &small()).await?;
    s.cloud.fault("create", Fault::LostAnswer);
    let red =
        json!({"size": {"value": 3}, "colour": {"value": "red"}, "lifecycle": {"replace": "CreateFirst"}});
    s.test_env.apply(&gadget("a", &red)).await?;
    s.called("create", 2).await;
    s = s.crash_and_restart().await?;
    s.test_env.ready("Gadget", "a").await?;
    let alive = s.cloud.alive(&owner);
    assert_eq!(alive.iter().map(|object| object.colour.as_str()).collect::<Vec<_>>(), ["red"]);
    s.test_env.event("a", |reason, _| reason == "Replaced").await?;
    let events = s.test_env.events_of("a").await?;
    let replaced: Vec<_> = events.iter().filter(|(reason, _)| reason == "Replaced").collect();
    assert_eq!(replaced.len(), 1, "{events:#?}");
    let state = s.test_env.get("StateDeclaration", "gadget.testing.a").await?;
    assert_eq!(state["spec"]["data"]["gadget"]["Id"], alive[0].id);
    let journal = s.cloud.journal();
    let created = journal.iter().rposition(|call| call == "create");
    assert!(created < journal.iter().position(|call| call == "delete"), "{journal:?}");
    Ok(())
}
