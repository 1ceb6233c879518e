//! Approval: with `approval: Manual` nothing happens to the cloud before somebody agreed to exactly that.

use anyhow::Result;
use serde_json::{Value, json};

use super::{approve, gadget, plan_hash, setting, small, uid};

fn manual(size: i64, colour: &str) -> Value {
    json!({
        "size": {"value": size}, "colour": {"value": colour},
        "lifecycle": {"approval": "Manual", "resyncInterval": "1s", "replace": "DeleteFirst"},
    })
}

#[tokio::test]
async fn each_plan_waits_for_its_own_approval_from_creation_to_deletion() -> Result<()> {
    let s = setting().await?;
    s.world.apply(&gadget("a", &manual(3, "grey"))).await?;
    let message = s.world.not_ready("Gadget", "a", "AwaitingApproval").await?;
    assert!(message.contains("would create 1 gadget"), "{message}");
    assert!(message.contains(&plan_hash(&s, "a").await?), "{message}");
    approve(&s, "a").await?;
    let owner = uid(&s.world.ready("Gadget", "a").await?);

    s.world.apply(&gadget("a", &manual(5, "grey"))).await?;
    let message = s.world.not_ready("Gadget", "a", "AwaitingApproval").await?;
    assert!(message.contains("would change spec.size from 3 to 5"), "{message}");
    assert_eq!(s.cloud.alive(&owner)[0].size, 3);
    approve(&s, "a").await?;
    s.world.ready("Gadget", "a").await?;

    s.world.apply(&gadget("a", &manual(5, "red"))).await?;
    let message = s.world.not_ready("Gadget", "a", "AwaitingApproval").await?;
    assert!(
        message.contains("would replace what is there, to change spec.colour from grey to red"),
        "{message}"
    );
    approve(&s, "a").await?;
    s.world.ready("Gadget", "a").await?;
    assert_eq!(s.cloud.alive(&owner)[0].colour, "red");

    s.world.delete("Gadget", "a").await?;
    let message = s.world.not_ready("Gadget", "a", "AwaitingApproval").await?;
    assert!(message.contains("would delete g-"), "{message}");
    assert_eq!(s.cloud.alive(&owner).len(), 1);
    approve(&s, "a").await?;
    s.world.gone("Gadget", "a").await?;
    assert!(s.cloud.alive(&owner).is_empty());
    Ok(())
}

#[tokio::test]
async fn a_stale_approval_is_refused_and_says_what_changed() -> Result<()> {
    let s = setting().await?;
    let owner = s.ready("a", &small()).await?;
    s.world.apply(&gadget("a", &manual(5, "grey"))).await?;
    s.world.not_ready("Gadget", "a", "AwaitingApproval").await?;
    let hash = plan_hash(&s, "a").await?;
    // Edited between the look at the plan and its approval.
    s.world.patch("Gadget", "a", json!({"spec": {"lifecycle": {"paused": true}}})).await?;
    s.world.not_ready("Gadget", "a", "Paused").await?;
    let annotation = json!({"kraken-iac.eoinfennessy.com/approved-plan": hash});
    let edit = json!({
        "metadata": {"annotations": annotation},
        "spec": {"size": {"value": 7}, "lifecycle": {"paused": false}},
    });
    s.world.patch("Gadget", "a", edit).await?;
    let message = s.world.not_ready("Gadget", "a", "AwaitingApproval").await?;
    assert!(message.contains(&format!("the approval of {hash} is stale")), "{message}");
    assert!(message.contains("spec.size becomes 7 and is 3"), "{message}");
    assert_eq!(s.cloud.alive(&owner)[0].size, 3);
    approve(&s, "a").await?;
    s.world.ready("Gadget", "a").await?;
    assert_eq!(s.cloud.alive(&owner)[0].size, 7);
    Ok(())
}

#[tokio::test]
async fn an_approval_is_good_for_one_time() -> Result<()> {
    let s = setting().await?;
    s.world.apply(&gadget("a", &manual(3, "grey"))).await?;
    s.world.not_ready("Gadget", "a", "AwaitingApproval").await?;
    approve(&s, "a").await?;
    let owner = uid(&s.world.ready("Gadget", "a").await?);
    // The same drift twice needs two approvals.
    for _ in 0..2 {
        s.cloud.tamper(&s.cloud.alive(&owner)[0].id, |thing| thing.size = 9);
        s.world.not_ready("Gadget", "a", "AwaitingApproval").await?;
        assert_eq!(s.cloud.alive(&owner)[0].size, 9);
        approve(&s, "a").await?;
        s.world.ready("Gadget", "a").await?;
        assert_eq!(s.cloud.alive(&owner)[0].size, 3);
    }
    Ok(())
}

#[tokio::test]
async fn only_what_is_shared_is_published_and_a_path_that_names_nothing_is_told() -> Result<()> {
    let s = setting().await?;
    let sharing = |lifecycle: Value| json!({"size": {"value": 3}, "lifecycle": lifecycle});
    s.ready("a", &sharing(json!({"share": {"include": ["gadget.Size"]}}))).await?;
    let state = s.world.get("StateDeclaration", "gadget.testing.a").await?;
    assert_eq!(state["spec"]["data"], json!({"gadget": {"Size": 3}}));

    let typo = json!({"share": {"include": ["a..b"]}, "ignoreChanges": ["sise"]});
    s.world.apply(&gadget("typo", &sharing(typo))).await?;
    let message = s.world.not_ready("Gadget", "typo", "InvalidSpec").await?;
    assert!(message.contains("spec.lifecycle.ignoreChanges[0]: sise is no field"), "{message}");
    assert!(message.contains("spec.lifecycle.share.include[0]"), "{message}");
    Ok(())
}
