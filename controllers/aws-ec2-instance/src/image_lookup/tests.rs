use kraken_aws::{
    AwsLookup,
    lookup_kind::Search,
    testing::{answered, wanted, with},
};
use serde_json::{Value, json};

use super::{ImageLookups, observed::Image};

fn spec(changes: Value) -> Value {
    let ubuntu = json!({"owner": {"value": "099720109477"}, "name": {"value": "ubuntu-*"}, "tags": {}});
    with(ubuntu, changes)
}

fn image(id: &str, created: &str, architecture: &str) -> Image {
    Image {
        image_id: id.into(),
        name: Some(format!("ubuntu-{created}")),
        creation_date: Some(format!("{created}T00:00:00.000Z")),
        architecture: Some(architecture.into()),
        ..Image::default()
    }
}

#[test]
fn the_newest_image_is_the_answer() {
    let images = vec![
        image("ami-1", "2026-01-01", "x86_64"),
        image("ami-3", "2026-03-01", "x86_64"),
        image("ami-2", "2026-02-01", "x86_64"),
    ];
    assert_eq!(answered::<ImageLookups>(spec(json!({})), images).unwrap(), ["ami-3"]);
}

#[test]
fn images_of_several_architectures_are_ambiguous() {
    let images = vec![image("ami-1", "2026-01-01", "x86_64"), image("ami-2", "2026-01-02", "arm64")];
    assert_eq!(
        answered::<ImageLookups>(spec(json!({})), images.clone()).unwrap_err(),
        "the search for images with owner 099720109477, name ubuntu-* found 2, ami-1 (ubuntu-2026-01-01, 2026-01-01), ami-2 \
         (ubuntu-2026-01-02, 2026-01-02): they are of the architectures arm64 and x86_64: set spec.architecture"
    );
    let one = spec(json!({"architecture": {"value": "arm64"}}));
    assert_eq!(answered::<ImageLookups>(one, vec![images[1].clone()]).unwrap(), ["ami-2"]);
}

#[test]
fn the_condition_says_what_was_searched_for() {
    let arm = spec(json!({"architecture": {"value": "arm64"}, "tags": {"Env": "prod"}}));
    assert_eq!(
        answered::<ImageLookups>(arm, vec![]).unwrap_err(),
        "the search for images with owner 099720109477, name ubuntu-*, architecture arm64, tags.Env prod found none: edit the \
         spec, or check the account and the region"
    );
}

#[test]
fn only_available_images_are_searched_for() {
    let desired = wanted::<ImageLookups>(spec(json!({}))).unwrap();
    let search = Search::of_owner("099720109477").like("name", Some("ubuntu-*"));
    assert_eq!(ImageLookups::search(&desired), search.with("state", Some("available")));
}

#[test]
fn the_owner_is_required_and_must_be_one() {
    let wrong = spec(json!({"owner": {"value": "canonical"}, "architecture": {"value": "amd64"}}));
    assert_eq!(
        wanted::<ImageLookups>(wrong).unwrap_err(),
        [
            "spec.owner: must be the 12 digits of an account, or self, amazon or aws-marketplace",
            "spec.architecture: must be one of x86_64, arm64, i386, x86_64_mac, arm64_mac",
        ]
    );
}

#[test]
fn a_name_may_come_from_another_object_but_not_from_a_secret() {
    let from = |source: Value| spec(json!({"name": {"valueFrom": source}}));
    let config_map = json!({"configMap": {"name": "images", "key": "web"}});
    let problems = wanted::<ImageLookups>(from(config_map)).unwrap_err();
    assert_eq!(problems.len(), 1);
    assert!(problems[0].starts_with("spec.name: "), "{problems:?}");
    let secret = json!({"secret": {"name": "s", "key": "k"}});
    let refused = wanted::<ImageLookups>(from(secret)).unwrap_err();
    assert!(refused[0].contains("Secret"), "{refused:?}");
}
