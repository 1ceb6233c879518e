//! Approval: with `approval: Manual`, nothing changes in the cloud without an approval of exactly this plan.

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
    s.test_env.apply(&gadget("a", &manual(3, "grey"))).await?;
    let message = s.test_env.not_ready("Gadget", "a", "AwaitingApproval").await?;
    assert!(message.contains("would create 1 gadget"), "{message}");
    assert!(message.contains(&plan_hash(&s, "a").await?), "{message}");
    approve(&s, "a").await?;
    let owner = uid(&s.test_env.ready("Gadget", "a").await?);

    s.test_env.apply(&gadget("a", &manual(5, "grey"))).await?;
    let message = s.test_env.not_ready("Gadget", "a", "AwaitingApproval").await?;
    assert!(message.contains("would change spec.size from 3 to 5"), "{message}");
    assert_eq!(s.cloud.alive(&owner)[0].size, 3);
    approve(&s, "a").await?;
    s.test_env.ready("Gadget", "a").await?;

    s.test_env.apply(&gadget("a", &manual(5, "red"))).await?;
    let message = s.test_env.not_ready("Gadget", "a", "AwaitingApproval").await?;
    assert!(
        message.contains("would replace the remote objects to change spec.colour from grey to red"),
        "{message}"
    );
    approve(&s, "a").await?;
    s.test_env.ready("Gadget", "a").await?;
    assert_eq!(s.cloud.alive(&owner)[0].colour, "red");

    s.test_env.delete("Gadget", "a").await?;
    let message = s.test_env.not_ready("Gadget", "a", "AwaitingApproval").await?;
    assert!(message.contains("would delete g-"), "{message}");
    assert_eq!(s.cloud.alive(&owner).len(), 1);
    approve(&s, "a").await?;
    s.test_env.gone("Gadget", "a").await?;
    assert!(s.cloud.alive(&owner).is_empty());
    Ok(())
}

#[tokio::test]
async fn a_stale_approval_is_rejected_with_the_changes() -> Result<()> {
    let s = setting().await?;
    let owner = s.ready("a", &small()).await?;
    s.test_env.apply(&gadget("a", &manual(5, "grey"))).await?;
    s.test_env.not_ready("Gadget", "a", "AwaitingApproval").await?;
    let hash = plan_hash(&s, "a").await?;
    // Edited between the review of the plan and its approval.
    s.test_env.patch("Gadget", "a", json!({"spec": {"lifecycle": {"paused": true}}})).await?;
    s.test_env.not_ready("Gadget", "a", "Paused").await?;
    let annotation = json!({"kraken-iac.eoinfennessy.com/approved-plan": hash});
    let edit = json!({
        "metadata": {"annotations": annotation},
        "spec": {"size": {"value": 7}, "lifecycle": {"paused": false}},
    });
    s.test_env.patch("Gadget", "a", edit).await?;
    let message = s.test_env.not_ready("Gadget", "a", "AwaitingApproval").await?;
    assert!(message.contains(&format!("the approval of {hash} is stale")), "{message}");
    assert!(message.contains("spec.size would become 7, currently 3"), "{message}");
    assert_eq!(s.cloud.alive(&owner)[0].size, 3);
    approve(&s, "a").await?;
    s.test_env.ready("Gadget", "a").await?;
    assert_eq!(s.cloud.alive(&owner)[0].size, 7);
    Ok(())
}

#[tokio::test]
async fn an_approval_is_valid_once() -> Result<()> {
    let s = setting().await?;
    s.test_env.apply(&gadget("a", &manual(3, "grey"))).await?;
    s.test_env.not_ready("Gadget", "a", "AwaitingApproval").await?;
    approve(&s, "a").await?;
    let owner = uid(&s.test_env.ready("Gadget", "a").await?);
    // The same drift twice needs two approvals.
    for _ in 0..2 {
        s.cloud.tamper(&s.cloud.alive(&owner)[0].id, |object| object.size = 9);
        s.test_env.not_ready("Gadget", "a", "AwaitingApproval").await?;
        assert_eq!(s.cloud.alive(&owner)[0].size, 9);
        approve(&s, "a").await?;
        s.test_env.ready("Gadget", "a").await?;
        assert_eq!(s.cloud.alive(&owner)[0].size, 3);
    }
    Ok(())
}

#[tokio::test]
async fn only_shared_paths_are_published_and_unknown_paths_are_reported() -> Result<()> {
    let s = setting().await?;
    let sharing = |lifecycle: Value| json!({"size": {"value": 3}, "lifecycle": lifecycle});
    s.ready("a", &sharing(json!({"share": {"include": ["gadget.Size"]}}))).await?;
    let state = s.test_env.get("StateDeclaration", "gadget.testing.a").await?;
    assert_eq!(state["spec"]["data"], json!({"gadget": {"Size": 3}}));

    let typo = json!({"share": {"include": ["a..b"]}, "ignoreChanges": ["sise"]});
    s.test_env.apply(&gadget("typo", &sharing(typo))).await?;
    let message = s.test_env.not_ready("Gadget", "typo", "InvalidSpec").await?;
    assert!(message.contains("spec.lifecycle.ignoreChanges[0]: sise is not a field"), "{message}");
    assert!(message.contains("spec.lifecycle.share.include[0]"), "{message}");
    Ok(())
}
