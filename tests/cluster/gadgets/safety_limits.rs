//! Safety limits: never more objects than the spec explains, and no creation in a location that cannot be observed.

use std::time::Duration;

use anyhow::Result;
use kraken_tests::toy::Fault;
use serde_json::{Value, json};

use super::{gadget, setting, setting_with, uid};

/// `count` gadgets of a colour, with a resync every second and create-first replacement.
fn gadgets(count: usize, colour: &str) -> Value {
    json!({
        "size": {"value": 3}, "count": {"value": count}, "colour": {"value": colour},
        "lifecycle": {"replace": "CreateFirst", "resyncInterval": "1s"},
    })
}

#[tokio::test]
async fn a_replacement_with_partial_launches_never_exceeds_old_and_new() -> Result<()> {
    let s = setting().await?;
    s.cloud.limit_launches(1);
    let owner = s.ready("a", &gadgets(3, "grey")).await?;
    assert_eq!((s.cloud.most(&owner), s.calls("create")), (3, 3));
    s.ready("a", &gadgets(3, "red")).await?;
    assert_eq!((s.cloud.most(&owner), s.calls("create")), (6, 6));
    let alive = s.cloud.alive(&owner);
    assert_eq!((alive.len(), alive.iter().all(|object| object.colour == "red")), (3, true), "{alive:?}");
    Ok(())
}

#[tokio::test]
async fn an_edit_during_a_replacement_never_exceeds_old_and_new() -> Result<()> {
    let s = setting().await?;
    let owner = s.ready("a", &gadgets(2, "grey")).await?;
    // The second replacement begins before the first is visible as a whole.
    s.cloud.fault("create", Fault::LagOfSome(1, 4));
    s.test_env.apply(&gadget("a", &gadgets(2, "red"))).await?;
    s.called("create", 2).await;
    s.ready("a", &gadgets(2, "blue")).await?;
    let alive = s.cloud.alive(&owner);
    assert_eq!((alive.len(), alive.iter().all(|object| object.colour == "blue")), (2, true), "{alive:?}");
    assert!(s.cloud.most(&owner) <= 4, "{}", s.cloud.most(&owner));
    Ok(())
}

#[tokio::test]
async fn a_launch_beyond_the_explained_number_is_rejected() -> Result<()> {
    let s = setting_with(&["--visibility-window", "1s"]).await?;
    let owner = s.ready("a", &gadgets(1, "grey")).await?;
    // Every launched object appears to precede the replacement: the loop never observes a new one.
    s.cloud.rewrite_epochs(1);
    s.test_env.apply(&gadget("a", &gadgets(1, "red"))).await?;
    let message = s.test_env.not_ready("Gadget", "a", "LaunchRefused").await?;
    assert!(message.contains("its spec accounts for 1"), "{message}");
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!((s.cloud.most(&owner), s.calls("create")), (2, 2));
    assert!(s.test_env.all("Event").await?.contains("LaunchRefused"));
    Ok(())
}

#[tokio::test]
async fn repeated_launches_are_stopped_until_a_person_confirms() -> Result<()> {
    let mut s = setting_with(&["--launch-limit", "3"]).await?;
    let owner = s.ready("a", &gadgets(1, "grey")).await?;
    for launches in 2..=3 {
        s.cloud
            .alive(&owner)
            .iter()
            .for_each(|object| s.cloud.tamper(&object.id, |object| object.gone = true));
        s.called("create", launches).await;
        s.test_env.ready("Gadget", "a").await?;
    }
    s.cloud.alive(&owner).iter().for_each(|object| s.cloud.tamper(&object.id, |object| object.gone = true));
    let message = s.test_env.not_ready("Gadget", "a", "LaunchLimitReached").await?;
    assert!(message.contains("launched 3 times") && message.contains("creation-confirmed-at"), "{message}");
    s = s.restart_with(&["--launch-limit", "3", "--launch-window", "1ms"]).await?;
    s.touch("a").await?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(s.calls("create"), 3, "a restart does not reset it, nor does time");
    s.annotate("a", "creation-confirmed-at").await?;
    s.test_env.ready("Gadget", "a").await?;
    assert_eq!(s.calls("create"), 4);
    Ok(())
}

#[tokio::test]
async fn objects_that_appear_one_by_one_are_launched_once() -> Result<()> {
    let s = setting().await?;
    s.cloud.fault("create", Fault::LagOfSome(1, 4));
    let owner = s.ready("a", &gadgets(3, "grey")).await?;
    assert_eq!((s.cloud.alive(&owner).len(), s.calls("create")), (3, 1));
    Ok(())
}

#[tokio::test]
async fn objects_that_appear_one_by_one_are_not_leaked_by_a_deletion() -> Result<()> {
    let mut s = setting_with(&["--visibility-window", "5s"]).await?;
    s.cloud.fault("create", Fault::LagOfSome(1, 3));
    s.test_env.apply(&gadget("a", &gadgets(3, "grey"))).await?;
    s.called("create", 1).await;
    let owner = uid(&s.test_env.get("Gadget", "a").await?);
    s = s.restart_with(&["--visibility-window", "5s"]).await?;
    s.test_env.delete("Gadget", "a").await?;
    s.test_env.gone("Gadget", "a").await?;
    assert!(s.cloud.alive(&owner).is_empty(), "{:?}", s.cloud.alive(&owner));
    Ok(())
}

#[tokio::test]
async fn a_controller_in_another_region_changes_nothing_and_reports_the_location() -> Result<()> {
    let mut s = setting_with(&["--visibility-window", "1s"]).await?;
    s.cloud.move_to("eu-west-1");
    let owner = s.ready("a", &gadgets(1, "grey")).await?;
    let location = s.test_env.get("Gadget", "a").await?["status"]["location"].clone();
    assert_eq!(location, json!({"account": "123456789012", "region": "eu-west-1"}));
    s.cloud.move_to("us-east-1");
    s = s.restart_with(&["--visibility-window", "1s"]).await?;
    let message = s.test_env.not_ready("Gadget", "a", "LocationMismatch").await?;
    assert!(message.contains("eu-west-1") && message.contains("us-east-1"), "{message}");
    s.test_env.delete("Gadget", "a").await?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(s.calls("create"), 1);
    assert_eq!(s.test_env.not_ready("Gadget", "a", "LocationMismatch").await?, message);
    assert_eq!(s.cloud.alive(&owner).len(), 1);
    s.cloud.move_to("eu-west-1");
    s.touch("a").await?;
    s.test_env.gone("Gadget", "a").await?;
    assert!(s.cloud.alive(&owner).is_empty());
    Ok(())
}

#[tokio::test]
async fn mass_disappearance_stops_recreation_until_a_person_confirms() -> Result<()> {
    let mut s = setting().await?;
    let mut owners = vec![];
    for number in 0..6 {
        s.test_env.apply(&gadget(&format!("g{number}"), &gadgets(1, "grey"))).await?;
    }
    for number in 0..6 {
        owners.push(uid(&s.test_env.ready("Gadget", &format!("g{number}")).await?));
    }
    let all: Vec<_> = owners.iter().flat_map(|owner| s.cloud.alive(owner)).collect();
    for object in &all {
        s.cloud.tamper(&object.id, |object| object.gone = true);
    }
    for number in 0..6 {
        let message = s.test_env.not_ready("Gadget", &format!("g{number}"), "RecreationHeld").await?;
        assert!(message.contains("creation-confirmed-at"), "{message}");
    }
    s.annotate("g0", "creation-confirmed-at").await?;
    s.test_env.ready("Gadget", "g0").await?;
    s = s.crash_and_restart().await?;
    s.annotate("g1", "creation-confirmed-at").await?;
    s.test_env.ready("Gadget", "g1").await?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(s.calls("create"), 8, "the others are held, and stay so after a restart");
    Ok(())
}
