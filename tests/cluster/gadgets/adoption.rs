//! Adoption: one thing that exists becomes the resource's own; nothing that is not sure is touched.

use anyhow::Result;
use kraken_testing::toy::Fault;
use serde_json::{Value, json};

use super::{Setting, approve, gadget, setting, uid};

fn adopting(size: i64, adopt: &Value) -> Value {
    json!({"size": {"value": size}, "lifecycle": {"adopt": adopt}})
}

/// What the journal has of calls that change something.
fn changes(s: &Setting) -> Vec<String> {
    s.cloud
        .journal()
        .into_iter()
        .filter(|call| !matches!(call.as_str(), "describe" | "find" | "survey"))
        .collect()
}

#[tokio::test]
async fn what_is_as_wanted_is_adopted_at_once_and_left_behind_in_the_end() -> Result<()> {
    let s = setting().await?;
    let id = s.cloud.insert("");
    let owner = s.ready("a", &adopting(1, &json!({"id": id}))).await?;
    assert_eq!(s.cloud.alive(&owner)[0].id, id);
    assert_eq!(changes(&s), ["claim"]);
    s.world.delete("Gadget", "a").await?;
    s.world.gone("Gadget", "a").await?;
    assert_eq!(changes(&s), ["claim", "release"], "what was there before stays by default");
    assert_eq!(s.cloud.alive("").len(), 1);
    Ok(())
}

#[tokio::test]
async fn what_would_change_is_shown_first_and_then_managed_as_its_own() -> Result<()> {
    let s = setting().await?;
    let id = s.cloud.insert("");
    s.world.apply(&gadget("a", &adopting(5, &json!({"tags": {"Colour": "grey"}})))).await?;
    let message = s.world.not_ready("Gadget", "a", "AwaitingApproval").await?;
    assert!(message.contains(&format!("would adopt {id}; would change spec.size from 1 to 5")), "{message}");
    let plan = s.world.get("Gadget", "a").await?["status"]["plan"].clone();
    assert_eq!((&plan["action"], &plan["changes"][0]["path"]), (&json!("Adopt"), &json!("size")));
    assert!(changes(&s).is_empty(), "{:?}", changes(&s));

    approve(&s, "a").await?;
    let owner = uid(&s.world.ready("Gadget", "a").await?);
    assert_eq!((s.cloud.alive(&owner).len(), s.cloud.alive(&owner)[0].size), (1, 5));
    assert_eq!(changes(&s), ["claim", "resize"]);
    Ok(())
}

#[tokio::test]
async fn a_crash_inside_the_adoption_leads_to_no_second_gadget() -> Result<()> {
    let mut s = setting().await?;
    let id = s.cloud.insert("");
    s.cloud.fault("claim", Fault::LostAnswer);
    s.world.apply(&gadget("a", &adopting(1, &json!({"id": id})))).await?;
    s.called("claim", 1).await;
    s = s.crash_and_restart().await?;
    let owner = uid(&s.world.ready("Gadget", "a").await?);
    assert_eq!(s.cloud.alive(&owner)[0].id, id);
    assert!(!changes(&s).contains(&"create".to_owned()));
    Ok(())
}

#[tokio::test]
async fn what_is_adopted_is_claimed_once_although_its_tags_are_visible_only_later() -> Result<()> {
    let s = setting().await?;
    let id = s.cloud.insert("");
    s.cloud.fault("claim", Fault::Stale(2));
    let owner = s.ready("a", &adopting(1, &json!({"id": id}))).await?;
    assert_eq!(s.cloud.alive(&owner)[0].id, id);
    assert_eq!(changes(&s), ["claim"]);
    Ok(())
}

#[tokio::test]
async fn a_plan_to_adopt_lists_what_cannot_be_changed_apart_from_what_would_be() -> Result<()> {
    let s = setting().await?;
    let id = s.cloud.insert("");
    let mut spec = adopting(5, &json!({"id": id}));
    spec["colour"] = json!({"value": "red"});
    s.world.apply(&gadget("a", &spec)).await?;
    let message = s.world.not_ready("Gadget", "a", "AwaitingApproval").await?;
    let words = format!("would adopt {id}; cannot change spec.colour (stays grey)");
    assert!(message.contains(&words), "{message}");
    assert!(message.contains("would change spec.size from 1 to 5"), "{message}");
    assert!(!message.contains("to red"), "{message}");
    Ok(())
}

#[tokio::test]
async fn what_is_not_sure_is_refused_with_what_would_mend_it() -> Result<()> {
    let s = setting().await?;
    let (first, second) = (s.cloud.insert(""), s.cloud.insert(""));
    let theirs = s.cloud.insert("somebody-else");
    let dead = s.cloud.insert("");
    s.cloud.tamper(&dead, |thing| thing.gone = true);
    s.cloud.tamper(&second, |thing| thing.colour = "red".into());
    s.cloud.tamper(&first, |thing| thing.colour = "red".into());
    for (name, adopt, words) in [
        ("absent", json!({"id": "g-absent"}), vec!["nothing for Gadget has id g-absent"]),
        ("foreign", json!({"id": theirs}), vec!["belongs to", "deletion Retain"]),
        ("dead", json!({"id": dead}), vec!["is deleted already"]),
        ("many", json!({"tags": {"Colour": "red"}}), vec!["2 match", &first, &second]),
        ("unknown", json!({"tags": {"Colour": "green"}}), vec!["nothing for Gadget has tags Colour=green"]),
    ] {
        s.world.apply(&gadget(name, &adopting(1, &adopt))).await?;
        let message = s.world.not_ready("Gadget", name, "AdoptionRefused").await?;
        for word in words {
            assert!(message.contains(word), "{name}: {message}");
        }
    }
    assert!(changes(&s).is_empty(), "{:?}", changes(&s));
    let both = adopting(1, &json!({"id": "g-1", "tags": {"Colour": "red"}}));
    assert!(s.world.refused(&gadget("both", &both)).await?.contains("spec.lifecycle.adopt"));
    Ok(())
}

#[tokio::test]
async fn of_two_that_want_the_same_thing_one_gets_it() -> Result<()> {
    let s = setting().await?;
    let id = s.cloud.insert("");
    for name in ["a", "b"] {
        s.world.apply(&gadget(name, &adopting(1, &json!({"id": id})))).await?;
    }
    s.called("find", 2).await;
    let (mut ready, mut refused) = (0, 0);
    for name in ["a", "b"] {
        let object = s.world.until("Gadget", name, |o| !o["status"]["observedGeneration"].is_null()).await?;
        match object["status"]["conditions"][0]["reason"].as_str() {
            Some("Available") => ready += 1,
            Some("AdoptionRefused") => refused += 1,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((ready, refused), (1, 1));
    Ok(())
}
