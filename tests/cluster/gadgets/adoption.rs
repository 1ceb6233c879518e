//! Adoption: one existing object becomes managed by the resource; ambiguous objects are never changed.

use anyhow::Result;
use kraken_tests::toy::Fault;
use serde_json::{Value, json};

use super::{Setting, approve, gadget, setting, uid};

fn adopting(size: i64, adopt: &Value) -> Value {
    json!({"size": {"value": size}, "lifecycle": {"adopt": adopt}})
}

/// The mutating calls in the journal.
fn changes(s: &Setting) -> Vec<String> {
    s.cloud
        .journal()
        .into_iter()
        .filter(|call| !matches!(call.as_str(), "describe" | "find" | "list_owned"))
        .collect()
}

#[tokio::test]
async fn a_matching_object_is_adopted_at_once_and_retained() -> Result<()> {
    let s = setting().await?;
    let id = s.cloud.insert("");
    let owner = s.ready("a", &adopting(1, &json!({"id": id}))).await?;
    assert_eq!(s.cloud.alive(&owner)[0].id, id);
    assert_eq!(changes(&s), ["claim"]);
    s.test_env.delete("Gadget", "a").await?;
    s.test_env.gone("Gadget", "a").await?;
    assert_eq!(changes(&s), ["claim", "release"], "an adopted object is retained by default");
    assert_eq!(s.cloud.alive("").len(), 1);
    Ok(())
}

#[tokio::test]
async fn a_differing_object_is_adopted_after_approval() -> Result<()> {
    let s = setting().await?;
    let id = s.cloud.insert("");
    s.test_env.apply(&gadget("a", &adopting(5, &json!({"tags": {"Colour": "grey"}})))).await?;
    let message = s.test_env.not_ready("Gadget", "a", "AwaitingApproval").await?;
    assert!(
        message.contains(&format!("would adopt {id}; would change spec.size from *** to 5")),
        "{message}"
    );
    let plan = s.test_env.get("Gadget", "a").await?["status"]["plan"].clone();
    assert_eq!((&plan["action"], &plan["changes"][0]["path"]), (&json!("Adopt"), &json!("size")));
    assert!(changes(&s).is_empty(), "{:?}", changes(&s));

    approve(&s, "a").await?;
    let owner = uid(&s.test_env.ready("Gadget", "a").await?);
    assert_eq!((s.cloud.alive(&owner).len(), s.cloud.alive(&owner)[0].size), (1, 5));
    assert_eq!(changes(&s), ["claim", "resize"]);
    Ok(())
}

#[tokio::test]
async fn a_crash_during_the_adoption_causes_no_duplicate() -> Result<()> {
    let mut s = setting().await?;
    let id = s.cloud.insert("");
    s.cloud.fault("claim", Fault::LostAnswer);
    s.test_env.apply(&gadget("a", &adopting(1, &json!({"id": id})))).await?;
    s.called("claim", 1).await;
    s = s.crash_and_restart().await?;
    let owner = uid(&s.test_env.ready("Gadget", "a").await?);
    assert_eq!(s.cloud.alive(&owner)[0].id, id);
    assert!(!changes(&s).contains(&"create".to_owned()));
    Ok(())
}

#[tokio::test]
async fn an_adopted_object_is_claimed_once_with_delayed_tags() -> Result<()> {
    let s = setting().await?;
    let id = s.cloud.insert("");
    s.cloud.fault("claim", Fault::Stale(2));
    let owner = s.ready("a", &adopting(1, &json!({"id": id}))).await?;
    assert_eq!(s.cloud.alive(&owner)[0].id, id);
    assert_eq!(changes(&s), ["claim"]);
    Ok(())
}

#[tokio::test]
async fn an_adoption_plan_lists_changes_and_immutable_fields_separately() -> Result<()> {
    let s = setting().await?;
    let id = s.cloud.insert("");
    let mut spec = adopting(5, &json!({"id": id}));
    spec["colour"] = json!({"value": "red"});
    s.test_env.apply(&gadget("a", &spec)).await?;
    let message = s.test_env.not_ready("Gadget", "a", "AwaitingApproval").await?;
    let words = format!("would adopt {id}; cannot change spec.colour (stays ***)");
    assert!(message.contains(&words), "{message}");
    // What is observed may have come from a Secret of another resource.
    assert!(message.contains("would change spec.size from *** to 5"), "{message}");
    assert!(!message.contains("to red"), "{message}");
    Ok(())
}

#[tokio::test]
async fn an_ambiguous_adoption_is_rejected_with_a_hint() -> Result<()> {
    let s = setting().await?;
    let (first, second) = (s.cloud.insert(""), s.cloud.insert(""));
    let theirs = s.cloud.insert("somebody-else");
    let dead = s.cloud.insert("");
    s.cloud.tamper(&dead, |object| object.gone = true);
    s.cloud.tamper(&second, |object| object.colour = "red".into());
    s.cloud.tamper(&first, |object| object.colour = "red".into());
    for (name, adopt, words) in [
        ("absent", json!({"id": "g-absent"}), vec!["no Gadget has id g-absent"]),
        ("foreign", json!({"id": theirs}), vec!["is owned by", "deletion Retain"]),
        ("dead", json!({"id": dead}), vec!["is already deleted"]),
        ("many", json!({"tags": {"Colour": "red"}}), vec!["2 objects match", &first, &second]),
        ("unknown", json!({"tags": {"Colour": "green"}}), vec!["no Gadget has tags Colour=green"]),
    ] {
        s.test_env.apply(&gadget(name, &adopting(1, &adopt))).await?;
        let message = s.test_env.not_ready("Gadget", name, "AdoptionRefused").await?;
        for word in words {
            assert!(message.contains(word), "{name}: {message}");
        }
    }
    assert!(changes(&s).is_empty(), "{:?}", changes(&s));
    let both = adopting(1, &json!({"id": "g-1", "tags": {"Colour": "red"}}));
    assert!(s.test_env.refused(&gadget("both", &both)).await?.contains("spec.lifecycle.adopt"));
    Ok(())
}

#[tokio::test]
async fn only_one_of_two_resources_adopts_an_object() -> Result<()> {
    let s = setting().await?;
    let id = s.cloud.insert("");
    for name in ["a", "b"] {
        s.test_env.apply(&gadget(name, &adopting(1, &json!({"id": id})))).await?;
    }
    s.called("find", 2).await;
    let (mut ready, mut refused) = (0, 0);
    for name in ["a", "b"] {
        let object =
            s.test_env.until("Gadget", name, |o| !o["status"]["observedGeneration"].is_null()).await?;
        match object["status"]["conditions"][0]["reason"].as_str() {
            Some("Available") => ready += 1,
            Some("AdoptionRefused") => refused += 1,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((ready, refused), (1, 1));
    Ok(())
}
