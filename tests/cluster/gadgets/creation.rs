//! Created exactly once, through lost answers, lag, panics and crashes.

use std::time::Duration;

use anyhow::Result;
use kraken_spoke::FailureClass;
use kraken_testing::toy::Fault;

use super::{gadget, setting, small, uid};

#[tokio::test]
async fn a_gadget_is_created_once_and_deleted_with_its_resource() -> Result<()> {
    let s = setting().await?;
    let owner = s.ready("a", &small()).await?;
    assert_eq!(s.cloud.journal().iter().filter(|call| *call == "create").count(), 1);
    assert_eq!(s.cloud.alive(&owner).len(), 1);
    let state = s.world.until("StateDeclaration", "gadget.testing.a", |state| !state.is_null()).await?;
    assert_eq!(state["spec"]["data"]["gadget"]["Size"], 3);
    s.world.delete("Gadget", "a").await?;
    s.world.gone("Gadget", "a").await?;
    assert!(s.cloud.alive(&owner).is_empty());
    // The garbage collector takes what the resource owns.
    s.world.gone("StateDeclaration", "gadget.testing.a").await
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
async fn a_creation_that_is_refused_as_in_use_is_not_searched_for_at_each_try() -> Result<()> {
    let s = setting().await?;
    for _ in 0..3 {
        s.cloud.fault("create", Fault::Before(FailureClass::TokenUsed));
    }
    let owner = s.ready("a", &small()).await?;
    // Three tries follow on the first refusal; ten seconds later it is searched for again, on a busy machine.
    assert_eq!(s.calls("create"), 4);
    assert!(s.cloud.searches() < 3, "{}", s.cloud.searches());
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
