//! What Kraken wrote down is lost: finalizers, intents, status, owner tags. Nothing is created twice or left behind for it.

use anyhow::Result;
use kraken_testing::toy::Fault;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::{Setting, gadget, setting, setting_with, small};

const FINALIZER: &str = "kraken-iac.eoinfennessy.com/external";
const INTENT: &str = "kraken-iac.eoinfennessy.com/intent";

/// As `kubectl replace` does with a file that has neither.
fn wiped() -> Value {
    json!({"metadata": {"finalizers": null, "annotations": null}})
}

fn is_on_record(object: &Value) -> bool {
    object["metadata"]["finalizers"][0] == FINALIZER && !object["metadata"]["annotations"][INTENT].is_null()
}

impl Setting {
    /// Deletes it, and checks that nothing of it is left.
    async fn deleted(&self, name: &str, owner: &str) -> Result<()> {
        self.world.delete("Gadget", name).await?;
        self.world.gone("Gadget", name).await?;
        assert!(self.cloud.alive(owner).is_empty(), "{:?}", self.cloud.alive(owner));
        Ok(())
    }
}

#[tokio::test]
async fn a_finalizer_and_an_intent_that_were_wiped_are_put_back_at_once() -> Result<()> {
    let s = setting().await?;
    let by_hand = json!({"metadata": {"finalizers": null}});
    for (name, patch) in [("replaced", wiped()), ("by-hand", by_hand)] {
        let owner = s.ready(name, &small()).await?;
        s.world.patch("Gadget", name, patch).await?;
        s.world.until("Gadget", name, is_on_record).await?;
        assert_eq!(s.cloud.alive(&owner).len(), 1);
        s.deleted(name, &owner).await?;
    }
    assert_eq!(s.calls("create"), 2);
    assert!(s.world.all("Event").await?.contains("RecordRestored"));
    Ok(())
}

#[tokio::test]
async fn what_was_wiped_while_no_controller_ran_is_rebuilt_from_the_status() -> Result<()> {
    let window = ["--visibility-window", "2s"];
    let mut s = setting_with(&window).await?;
    let owner = s.ready("a", &small()).await?;
    drop(std::mem::replace(&mut s.spoke, kraken_tests::InProcess::stopped()));
    s.world.patch("Gadget", "a", wiped()).await?;
    s = s.restart_with(&window).await?;
    let object = s.world.until("Gadget", "a", is_on_record).await?;
    let intent: Value =
        serde_json::from_str(object["metadata"]["annotations"][INTENT].as_str().unwrap_or_default())?;
    assert_eq!(intent["epoch"], 2, "the next launch has a token of its own: {intent}");
    s.ready("a", &json!({"size": {"value": 4}})).await?;
    assert_eq!((s.cloud.alive(&owner).len(), s.calls("create")), (1, 1));
    s.deleted("a", &owner).await
}

#[tokio::test]
async fn a_backup_from_before_the_launch_leads_to_no_second_gadget() -> Result<()> {
    let window = ["--visibility-window", "2s"];
    let mut s = setting_with(&window).await?;
    let owner = s.ready("a", &small()).await?;
    drop(std::mem::replace(&mut s.spoke, kraken_tests::InProcess::stopped()));
    s.world.patch("Gadget", "a", wiped()).await?;
    let nothing = json!({"status": null});
    s.world.api("Gadget").patch_status("a", &PatchParams::default(), &Patch::Merge(nothing)).await?;
    s = s.restart_with(&window).await?;
    s.world.ready("Gadget", "a").await?;
    s.world.until("Gadget", "a", is_on_record).await?;
    assert_eq!((s.cloud.alive(&owner).len(), s.calls("create")), (1, 1));
    s.deleted("a", &owner).await
}

#[tokio::test]
async fn an_intent_that_is_wiped_during_a_replacement_does_not_lose_where_it_began() -> Result<()> {
    let s = setting().await?;
    let owner = s.ready("a", &small()).await?;
    s.cloud.fault("create", Fault::Lag(3));
    let red =
        json!({"size": {"value": 3}, "colour": {"value": "red"}, "lifecycle": {"replace": "CreateFirst"}});
    s.world.apply(&gadget("a", &red)).await?;
    s.called("create", 2).await;
    s.world.patch("Gadget", "a", wiped()).await?;
    s.world.ready("Gadget", "a").await?;
    let alive = s.cloud.alive(&owner);
    assert_eq!(alive.iter().map(|thing| thing.colour.as_str()).collect::<Vec<_>>(), ["red"]);
    assert_eq!((s.cloud.most(&owner), s.calls("create")), (2, 2));
    Ok(())
}

#[tokio::test]
async fn owner_tags_that_were_taken_off_are_put_back_and_lead_to_no_second_gadget() -> Result<()> {
    let s = setting_with(&["--visibility-window", "1s"]).await?;
    let owner = s.ready("a", &small()).await?;
    let id = s.cloud.alive(&owner)[0].id.clone();
    for times in 1..=2 {
        s.cloud.tamper(&id, |thing| {
            thing.owner.clear();
            thing.epoch = 0;
        });
        s.touch("a").await?;
        s.called("claim", times).await;
        s.world.ready("Gadget", "a").await?;
        assert_eq!(s.cloud.alive(&owner)[0].id, id);
    }
    // Nothing is deleted that does not say whose it is, and nothing is left behind.
    s.cloud.tamper(&id, |thing| thing.owner.clear());
    s.deleted("a", &owner).await?;
    assert!(s.cloud.alive("").is_empty());
    assert_eq!(s.calls("create"), 1);
    Ok(())
}

#[tokio::test]
async fn what_was_adopted_is_left_behind_by_its_replacement() -> Result<()> {
    let s = setting().await?;
    let id = s.cloud.insert("");
    let owner = s.ready("a", &json!({"size": {"value": 1}, "lifecycle": {"adopt": {"id": id}}})).await?;
    let edit = json!({"colour": {"value": "red"}, "lifecycle": {"replace": "CreateFirst"}});
    s.world.patch("Gadget", "a", json!({"spec": edit})).await?;
    s.world.ready("Gadget", "a").await?;
    assert_eq!(s.cloud.alive(&owner).len(), 1);
    assert_eq!(s.cloud.alive("")[0].id, id);
    assert_eq!((s.calls("release"), s.calls("delete")), (1, 0));
    s.deleted("a", &owner).await?;
    assert_eq!(s.cloud.alive("").len(), 1);
    Ok(())
}

#[tokio::test]
async fn of_what_was_adopted_and_what_was_created_each_meets_its_own_end() -> Result<()> {
    let mut s = setting().await?;
    let id = s.cloud.insert("");
    let adopting = json!({"size": {"value": 1}, "lifecycle": {"adopt": {"id": id}}});
    let owner = s.ready("a", &adopting).await?;
    // Scaled, and `adopt` is not in the spec any more.
    s.world
        .patch("Gadget", "a", json!({"spec": {"count": {"value": 2}, "lifecycle": {"adopt": null}}}))
        .await?;
    let object = s.world.ready("Gadget", "a").await?;
    assert_eq!(s.cloud.alive(&owner).len(), 2);
    assert_eq!(object["status"]["adopted"], json!([id]));
    s = s.crash_and_restart().await?;
    s.deleted("a", &owner).await?;
    let left = s.cloud.alive("");
    assert_eq!(left.iter().map(|thing| &thing.id).collect::<Vec<_>>(), [&id]);
    Ok(())
}
