use kraken_aws::{
    AwsSpec as _, Tags, tags,
    testing::{self, with},
};
use kraken_kind::Identity;
use serde_json::{Value, json};

use super::{
    HostedZones,
    api::HostedZoneSpec,
    observed::{Config, Zone},
    reference,
};

fn written(changes: Value) -> Value {
    with(json!({"name": {"value": "example.com"}}), changes)
}

fn zone() -> Zone {
    let config = Some(Config { comment: Some("the shop".into()), private_zone: false });
    Zone { id: "Z1".into(), name: "example.com.".into(), config, ..Zone::default() }
}

fn compared(changes: Value) -> Vec<String> {
    testing::compared::<HostedZones>(written(changes), &zone())
}

#[test]
fn a_name_is_the_same_with_its_last_dot_and_in_capitals() {
    assert_eq!(compared(json!({"name": {"value": "Example.com."}})), [""; 0]);
    assert_eq!(
        compared(json!({"name": {"value": "example.org"}, "comment": {"value": ""}})),
        ["name: example.com becomes example.org: fixed", "comment: the shop becomes : Comment"]
    );
}

#[test]
fn a_name_must_be_a_domain() {
    assert_eq!(
        testing::problems::<HostedZones>(json!({"name": {"value": "*.example.com"}})),
        ["spec.name: must be a domain name, such as example.com"]
    );
}

#[test]
fn a_zone_without_tags_is_owned_by_its_reference_until_it_is_released() {
    let identity = Identity { cluster: "c".into(), uid: "u".into(), owner: "HostedZone/ns/a".into() };
    let created = tags::identity_tags(&identity, 3);
    let reference = reference::of(&created);
    assert_eq!(reference, "kraken/c/u/3");
    let bare = reference::with_identity(Tags::new(), &reference);
    assert!(tags::owned_by(&identity, &bare));
    assert_eq!(tags::epoch(&bare), 3);
    // Tags of another owner, who adopted it.
    let other = Identity { uid: "v".into(), ..identity.clone() };
    let adopted = reference::with_identity(tags::identity_tags(&other, 1), &reference);
    assert!(tags::owned_by(&other, &adopted));
    let released = Tags::from([(tags::CLUSTER.to_owned(), reference::RELEASED.to_owned())]);
    assert!(tags::is_untagged(&reference::with_identity(released, &reference)));
    assert!(tags::is_untagged(&reference::with_identity(Tags::new(), "2026-11-27T10:00:00Z")));
}

#[test]
fn an_import_is_the_inverse() {
    let found = HostedZoneSpec::imported(&zone());
    assert_eq!(found.group(), Some(written(json!({"comment": {"value": "the shop"}}))));
}
