//! Exactly-once creation with lost responses, delayed reads, panics and crashes.

use std::time::Duration;

use anyhow::Result;
use kraken_kind::FailureClass;
use kraken_tests::toy::Fault;

use super::{gadget, setting, small, uid};

#[tokio::test]
async fn a_gadget_is_created_once_and_deleted_with_its_resource() -> Result<()> {
    let s = setting().await?;
    let owner = s.ready("a", &small()).await?;
    assert_eq!(s.cloud.journal().iter().filter(|call| *call == "create").count(), 1);
    assert_eq!(s.cloud.alive(&owner).len(), 1);
    let state = s.test_env.until("StateDeclaration", "gadget.testing.a", |state| !state.is_null()).await?;
    assert_eq!(state["spec"]["data"]["gadget"]["Size"], 3);
    s.test_env.delete("Gadget", "a").await?;
    s.test_env.gone("Gadget", "a").await?;
    assert!(s.cloud.alive(&owner).is_empty());
    // The garbage collector deletes the objects that the resource owns.
    s.test_env.gone("StateDeclaration", "gadget.testing.a").await
}

#[tokio::test]
async fn a_lost_response_causes_no_duplicate() -> Result<()> {
    let s = setting().await?;
    s.cloud.fault("create", Fault::LostAnswer);
    let owner = s.ready("a", &small()).await?;
    assert_eq!(s.cloud.alive(&owner).len(), 1);
    Ok(())
}

#[tokio::test]
async fn a_creation_rejected_as_in_use_is_not_searched_on_each_retry() -> Result<()> {
    let s = setting().await?;
    for _ in 0..3 {
        s.cloud.fault("create", Fault::Before(FailureClass::TokenUsed));
    }
    let owner = s.ready("a", &small()).await?;
    // Three retries follow the first rejection; ten seconds later it is searched again, on a busy machine.
    assert_eq!(s.calls("create"), 4);
    assert!(s.cloud.searches() < 3, "{}", s.cloud.searches());
    assert_eq!(s.cloud.alive(&owner).len(), 1);
    Ok(())
}

#[tokio::test]
async fn a_crash_during_the_launch_causes_no_duplicate() -> Result<()> {
    let mut s = setting().await?;
    s.cloud.fault("create", Fault::LostAnswer);
    s.test_env.apply(&gadget("a", &small())).await?;
    s.called("create", 1).await;
    s = s.crash_and_restart().await?;
    let owner = uid(&s.test_env.ready("Gadget", "a").await?);
    assert_eq!(s.cloud.alive(&owner).len(), 1);
    Ok(())
}

#[tokio::test]
async fn delayed_reads_after_a_launch_cause_no_duplicate() -> Result<()> {
    let s = setting().await?;
    s.cloud.fault("create", Fault::Lag(3));
    let owner = s.ready("a", &small()).await?;
    assert_eq!(s.cloud.alive(&owner).len(), 1);
    assert_eq!(s.cloud.journal().iter().filter(|call| *call == "create").count(), 1);
    Ok(())
}

#[tokio::test]
async fn a_restart_changes_nothing() -> Result<()> {
    let mut s = setting().await?;
    let owner = s.ready("a", &small()).await?;
    let before = s.test_env.get("Gadget", "a").await?["metadata"]["resourceVersion"].clone();
    let calls = s.cloud.journal().iter().filter(|call| *call != "list_owned").count();
    s = s.crash_and_restart().await?;
    s.called("describe", calls).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(s.test_env.get("Gadget", "a").await?["metadata"]["resourceVersion"], before);
    assert_eq!(s.cloud.alive(&owner).len(), 1);
    Ok(())
}

#[tokio::test]
async fn a_panic_affects_only_its_own_resource() -> Result<()> {
    let s = setting().await?;
    for _ in 0..4 {
        s.cloud.fault("create", Fault::Panic);
    }
    s.test_env.apply(&gadget("broken", &small())).await?;
    s.test_env.not_ready("Gadget", "broken", "InternalError").await?;
    s.ready("sound", &small()).await?;
    s.test_env.ready("Gadget", "broken").await?;
    Ok(())
}
