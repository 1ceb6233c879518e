use kraken_aws::{
    AwsResource as _, Tags,
    lookup::Tagged as _,
    marker::Marker,
    tags::{CLUSTER, EPOCH, OWNER, UID},
    testing::{self, assert_round_trips},
};
use serde_json::{Value, json};

use super::{
    Aliases,
    api::AliasSpec,
    observed::{Alias, marker_key},
};

const ID: &str = "1234abcd-12ab-34cd-56ef-1234567890ab";
const ARN: &str = "arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab";

fn alias() -> Alias {
    Alias {
        alias_name: "alias/shop".to_owned(),
        target_key_id: ID.to_owned(),
        created: "1700000000000".to_owned(),
        ..Alias::default()
    }
}

fn spec(name: &str, key: &str) -> Value {
    json!({"name": {"value": name}, "targetKeyID": {"value": key}})
}

#[test]
fn the_key_is_the_same_by_its_id_and_its_arn() {
    for key in [ID, ARN] {
        assert_eq!(testing::compared::<Aliases>(spec("alias/shop", key), &alias()), [""; 0]);
    }
    assert_eq!(
        testing::compared::<Aliases>(spec("alias/other", "other"), &alias()),
        ["name: alias/shop becomes alias/other: fixed", &format!("targetKeyID: {ID} becomes other: Target"),]
    );
}

#[test]
fn the_owner_is_a_tag_of_a_key_and_that_of_one_alias() {
    let pairs = [(CLUSTER, "c"), (UID, "u"), (EPOCH, "3"), (OWNER, "Alias/ns/shop")];
    let tags = Tags::from(pairs.map(|(key, value)| (key.to_owned(), value.to_owned())));
    let of_key = alias().marker(&tags);
    assert!(of_key.keys().all(|key| key.len() <= 128 && *key == marker_key("alias/shop")));
    let found = alias().owned_by_tags_of(ID, &of_key).unwrap();
    assert_eq!((found.tags(), found.place()), (&tags, ID));
    // Somebody changed its target: the key before has the tag.
    let moved = Alias { target_key_id: "other".to_owned(), ..alias() };
    assert_eq!(moved.place(), "other");
    assert_eq!(moved.owned_by_tags_of(ID, &of_key).unwrap().place(), ID);
    // Another alias, one that was created again, and one whose creation did not return.
    assert_eq!(Alias { alias_name: "alias/other".to_owned(), ..alias() }.owned_by_tags_of(ID, &of_key), None);
    assert_eq!(Alias { created: "1800000000000".to_owned(), ..alias() }.owned_by_tags_of(ID, &of_key), None);
    let pending = Tags::from([(marker_key("alias/shop"), Marker::new(None, &tags).text())]);
    assert_eq!(alias().owned_by_tags_of(ID, &pending), None);
    assert!(!alias().has_own_id());
}

#[test]
fn names_of_aws_are_rejected_and_not_imported() {
    assert_eq!(
        testing::problems::<Aliases>(spec("alias/aws/s3", ID)),
        ["spec.name: must not begin with alias/aws/, which is reserved for AWS"]
    );
    for name in ["shop", "alias/", "alias/a b"] {
        assert_eq!(testing::problems::<Aliases>(spec(name, ID)).len(), 1, "{name}");
    }
    assert_eq!(testing::problems::<Aliases>(spec("alias/shop", "alias/other")).len(), 1);
    let of_aws = Alias { alias_name: "alias/aws/s3".to_owned(), ..alias() };
    assert!(Aliases::not_importable(&of_aws).is_some() && Aliases::not_importable(&alias()).is_none());
}

#[test]
fn field_names_follow_kubernetes_and_values_follow_aws() {
    assert_round_trips::<AliasSpec>(&spec("alias/shop", ARN));
}
