//! Lost records: finalizers, ledgers, statuses, owner tags. Nothing is duplicated or leaked because of it.

use anyhow::Result;
use kraken_tests::toy::Fault;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::{Setting, gadget, setting, setting_with, small};

const FINALIZER: &str = "kraken-iac.eoinfennessy.com/external";

/// Like `kubectl replace` with a file that has neither.
fn replaced() -> Value {
    json!({"metadata": {"finalizers": null, "annotations": null}})
}

fn is_on_record(object: &Value) -> bool {
    object["metadata"]["finalizers"][0] == FINALIZER && object["status"]["ledger"].is_object()
}

impl Setting {
    /// Removes its ledger, or the whole status, as only a cluster administrator can.
    async fn lose(&self, name: &str, status: &Value) -> Result<()> {
        let patch = Patch::Merge(json!({ "status": status }));
        self.test_env.api("Gadget").patch_status(name, &PatchParams::default(), &patch).await?;
        Ok(())
    }

    /// Deletes it, and checks that no remote object remains.
    async fn deleted(&self, name: &str, owner: &str) -> Result<()> {
        self.test_env.delete("Gadget", name).await?;
        self.test_env.gone("Gadget", name).await?;
        assert!(self.cloud.alive(owner).is_empty(), "{:?}", self.cloud.alive(owner));
        Ok(())
    }
}

#[tokio::test]
async fn a_removed_finalizer_is_restored_at_once() -> Result<()> {
    let s = setting().await?;
    let by_hand = json!({"metadata": {"finalizers": null}});
    for (name, patch) in [("replaced", replaced()), ("by-hand", by_hand)] {
        let owner = s.ready(name, &small()).await?;
        s.test_env.patch("Gadget", name, patch).await?;
        s.test_env.until("Gadget", name, is_on_record).await?;
        assert_eq!(s.cloud.alive(&owner).len(), 1);
        s.deleted(name, &owner).await?;
    }
    assert_eq!(s.calls("create"), 2);
    assert!(s.test_env.all("Event").await?.contains("RecordRestored"));
    Ok(())
}

#[tokio::test]
async fn a_ledger_that_was_lost_while_no_controller_ran_is_rebuilt() -> Result<()> {
    let window = ["--visibility-window", "2s"];
    let mut s = setting_with(&window).await?;
    let owner = s.ready("a", &small()).await?;
    drop(std::mem::replace(&mut s.spoke, kraken_tests::InProcess::stopped()));
    s.test_env.patch("Gadget", "a", replaced()).await?;
    s.lose("a", &json!({"ledger": null})).await?;
    s = s.restart_with(&window).await?;
    let object = s.test_env.until("Gadget", "a", is_on_record).await?;
    let ledger = &object["status"]["ledger"];
    assert!(ledger["hash"].is_null(), "the token of the launch is not used again: {ledger}");
    s.ready("a", &json!({"size": {"value": 4}})).await?;
    assert_eq!((s.cloud.alive(&owner).len(), s.calls("create")), (1, 1));
    s.deleted("a", &owner).await
}

#[tokio::test]
async fn a_backup_from_before_the_launch_causes_no_duplicate() -> Result<()> {
    let window = ["--visibility-window", "2s"];
    let mut s = setting_with(&window).await?;
    let owner = s.ready("a", &small()).await?;
    drop(std::mem::replace(&mut s.spoke, kraken_tests::InProcess::stopped()));
    s.test_env.patch("Gadget", "a", replaced()).await?;
    s.lose("a", &Value::Null).await?;
    s = s.restart_with(&window).await?;
    s.test_env.ready("Gadget", "a").await?;
    s.test_env.until("Gadget", "a", is_on_record).await?;
    assert_eq!((s.cloud.alive(&owner).len(), s.calls("create")), (1, 1));
    s.deleted("a", &owner).await
}

#[tokio::test]
async fn a_removed_ledger_does_not_lose_the_boundary_of_a_replacement() -> Result<()> {
    let s = setting().await?;
    let owner = s.ready("a", &small()).await?;
    s.cloud.fault("create", Fault::Lag(3));
    let red =
        json!({"size": {"value": 3}, "colour": {"value": "red"}, "lifecycle": {"replace": "CreateFirst"}});
    s.test_env.apply(&gadget("a", &red)).await?;
    s.called("create", 2).await;
    s.test_env.patch("Gadget", "a", replaced()).await?;
    s.lose("a", &json!({"ledger": null})).await?;
    s.test_env.ready("Gadget", "a").await?;
    let alive = s.cloud.alive(&owner);
    assert_eq!(alive.iter().map(|object| object.colour.as_str()).collect::<Vec<_>>(), ["red"]);
    assert_eq!((s.cloud.most(&owner), s.calls("create")), (2, 2));
    Ok(())
}

#[tokio::test]
async fn removed_owner_tags_are_restored_and_cause_no_duplicate() -> Result<()> {
    let s = setting_with(&["--visibility-window", "1s"]).await?;
    let owner = s.ready("a", &small()).await?;
    let id = s.cloud.alive(&owner)[0].id.clone();
    for times in 1..=2 {
        s.cloud.tamper(&id, |object| {
            object.owner.clear();
            object.epoch = 0;
        });
        s.touch("a").await?;
        s.called("claim", times).await;
        s.test_env.ready("Gadget", "a").await?;
        assert_eq!(s.cloud.alive(&owner)[0].id, id);
    }
    // No object without owner tags is deleted, and nothing is leaked.
    s.cloud.tamper(&id, |object| object.owner.clear());
    s.deleted("a", &owner).await?;
    assert!(s.cloud.alive("").is_empty());
    assert_eq!(s.calls("create"), 1);
    Ok(())
}

#[tokio::test]
async fn an_adopted_object_is_retained_after_its_replacement() -> Result<()> {
    let s = setting().await?;
    let id = s.cloud.insert("");
    let owner = s.ready("a", &json!({"size": {"value": 1}, "lifecycle": {"adopt": {"id": id}}})).await?;
    let edit = json!({"colour": {"value": "red"}, "lifecycle": {"replace": "CreateFirst"}});
    s.test_env.patch("Gadget", "a", json!({"spec": edit})).await?;
    s.test_env.ready("Gadget", "a").await?;
    assert_eq!(s.cloud.alive(&owner).len(), 1);
    assert_eq!(s.cloud.alive("")[0].id, id);
    assert_eq!((s.calls("release"), s.calls("delete")), (1, 0));
    s.deleted("a", &owner).await?;
    assert_eq!(s.cloud.alive("").len(), 1);
    Ok(())
}

#[tokio::test]
async fn adopted_objects_are_retained_and_created_ones_deleted() -> Result<()> {
    let mut s = setting().await?;
    let id = s.cloud.insert("");
    let adopting = json!({"size": {"value": 1}, "lifecycle": {"adopt": {"id": id}}});
    let owner = s.ready("a", &adopting).await?;
    // Scaled, and `adopt` is not in the spec any more.
    s.test_env
        .patch("Gadget", "a", json!({"spec": {"count": {"value": 2}, "lifecycle": {"adopt": null}}}))
        .await?;
    let object = s.test_env.ready("Gadget", "a").await?;
    assert_eq!(s.cloud.alive(&owner).len(), 2);
    assert_eq!(object["status"]["adopted"], json!([id]));
    s = s.crash_and_restart().await?;
    s.deleted("a", &owner).await?;
    let left = s.cloud.alive("");
    assert_eq!(left.iter().map(|object| &object.id).collect::<Vec<_>>(), [&id]);
    Ok(())
}
