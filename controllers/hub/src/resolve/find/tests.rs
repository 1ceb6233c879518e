use std::sync::Arc;

use kraken_api::state_declaration::Withheld;
use serde_json::json;

use super::*;
use crate::{
    store::lookup::{ConfigMapData, tests::read_error},
    store::secrets::SecretVersions,
};

/// With a separate budget.
fn resource(lookup: &Lookup, requested: &ResourceRef, json_type: JsonType) -> Result<Value, Cause> {
    super::resource(lookup, requested, json_type, &mut Budget::default())
}

fn key(key: &str) -> KeyRef {
    KeyRef { name: "sizes".into(), key: key.into() }
}

fn sizes(keys: &[&str]) -> Lookup {
    let data = keys.iter().map(|key| ((*key).to_owned(), "t2.nano".to_owned())).collect();
    Lookup::ConfigMap(Arc::new(ConfigMapData { data, binary: ["raw".to_owned()].into() }))
}

fn a(path: &str) -> ResourceRef {
    ResourceRef::of("ec2instance", "a", path)
}

fn state(data: Value) -> Lookup {
    Lookup::State(Arc::new(StateData { data, ..StateData::default() }))
}

fn cause(reason: Reason, message: &str) -> Cause {
    Cause { reason, message: message.into(), transience: Transience::Permanent }
}

fn absent(reason: Reason, message: &str) -> Cause {
    cause(reason, message).passing(Transience::Absent)
}

#[test]
fn a_key_that_exists_is_its_text() {
    assert_eq!(config_map(&sizes(&["small"]), &key("small")), Ok("t2.nano".into()));
}

#[test]
fn a_missing_config_map_a_missing_key_and_binary_data_have_different_causes() {
    let missing = config_map(&Lookup::Missing, &key("small"));
    assert_eq!(missing, Err(absent(Reason::ConfigMapNotFound, "ConfigMap sizes does not exist")));
    let lacks = config_map(&sizes(&["large", "medium"]), &key("small"));
    let message = "ConfigMap sizes has no key \"small\" (it has: large, medium)";
    assert_eq!(lacks, Err(cause(Reason::KeyNotFound, message)));
    let binary = config_map(&sizes(&[]), &key("raw")).unwrap_err();
    assert_eq!(binary.reason, Reason::KeyNotFound);
    assert!(binary.message.contains("is binary data"), "{}", binary.message);
}

#[test]
fn the_list_of_keys_is_bounded() {
    let keys: Vec<String> = (0..1000).map(|n| format!("{n:0>253}")).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let message = config_map(&sizes(&keys), &key("small")).unwrap_err().message;
    assert!(message.len() <= MAX_MESSAGE + 3, "{message}");
    let short: Vec<String> = (10..30).map(|n| n.to_string()).collect();
    let short: Vec<&str> = short.iter().map(String::as_str).collect();
    let message = config_map(&sizes(&short), &key("small")).unwrap_err().message;
    assert!(message.ends_with("16, 17 and 12 more)"), "{message}");
    assert!(no_key("ConfigMap", &key("x"), std::iter::empty()).ends_with("(it has none)"));
}

#[test]
fn a_secret_is_answered_with_its_version_only() {
    let lookup = Lookup::Secret(Arc::new(SecretVersions::of_all("u".into(), "7".into())));
    let version = SecretVersion { uid: "u".into(), resource_version: "7".into(), digest: String::new() };
    assert_eq!(secret(&lookup, &key("any")), Ok(version));
    assert_eq!(
        secret(&Lookup::Missing, &key("any")),
        Err(absent(Reason::SecretNotFound, "Secret sizes does not exist"))
    );
}

#[test]
fn a_path_is_evaluated_on_the_state() {
    let lookup = state(json!({"instances": [{"InstanceType": "t2.nano"}]}));
    let requested = a("instances.0.InstanceType");
    assert_eq!(resource(&lookup, &requested, JsonType::String), Ok(json!("t2.nano")));
}

#[test]
fn a_reference_without_a_path_resolves_to_the_main_id() {
    let id = |id: Option<&str>| {
        let (data, id) = (json!({"": "wrong"}), id.map(str::to_owned));
        Lookup::State(Arc::new(StateData { data, id, ..StateData::default() }))
    };
    assert_eq!(resource(&id(Some("i-1")), &a(""), JsonType::String), Ok(json!("i-1")));
    assert_eq!(resource(&id(Some("i-1")), &a(""), JsonType::Any), Ok(json!("i-1")));
    let mismatch = resource(&id(Some("i-1")), &a(""), JsonType::Integer);
    let message = "ec2instance a: its id is of type string, and integer is expected";
    assert_eq!(mismatch, Err(cause(Reason::TypeMismatch, message)));
    let none = resource(&id(None), &a(""), JsonType::String);
    assert_eq!(none, Err(cause(Reason::PathNotFound, "ec2instance a has no id yet")));
    let lookup = ResourceRef { kind: "static".into(), ..a("") };
    let message = "StateDeclaration static-a has no id: set spec.id, or add a path to the reference";
    assert_eq!(resource(&id(None), &lookup, JsonType::String), Err(cause(Reason::PathNotFound, message)));
    assert_eq!(
        resource(&Lookup::Missing, &a(""), JsonType::String).unwrap_err().reason,
        Reason::StateNotFound
    );
}

#[test]
fn a_missing_state_is_reported_with_its_cause() {
    let found = |lookup: &Lookup| resource(lookup, &a("x"), JsonType::Any);
    let message = "ec2instance a does not exist";
    assert_eq!(found(&Lookup::Missing), Err(absent(Reason::StateNotFound, message)));
    let coming = found(&Lookup::Expected).unwrap_err();
    assert_eq!(
        coming.message,
        "ec2instance a exists and has not published a state yet: its Ready condition says why"
    );
    assert_eq!(coming.transience, Transience::Expected);
    let unknown = found(&Lookup::UnknownKind("no controller serves it".into()));
    assert_eq!(unknown, Err(cause(Reason::UnknownKind, "no controller serves it")));
    let several = found(&Lookup::Ambiguous("ec2instance.acme a, ec2instance.aws a".into())).unwrap_err();
    assert_eq!(several.reason, Reason::AmbiguousReference);
    assert!(several.message.contains("ec2instance.acme a, ec2instance.aws a"), "{}", several.message);
    let lookup = ResourceRef { kind: "static".into(), ..a("x") };
    assert_eq!(
        resource(&Lookup::Missing, &lookup, JsonType::Any).unwrap_err().message,
        "StateDeclaration static-a does not exist"
    );
}

#[test]
fn a_missing_path_a_malformed_path_and_a_wrong_type_have_different_causes() {
    let lookup = state(json!({"instances": [{"InstanceType": "t2.nano"}], "none": null}));
    let reason = |path: &str, json_type| resource(&lookup, &a(path), json_type).unwrap_err().reason;
    assert_eq!(reason("instances.1.InstanceType", JsonType::Any), Reason::PathNotFound);
    assert_eq!(reason("none", JsonType::Any), Reason::PathNotFound);
    assert_eq!(reason("instances[", JsonType::Any), Reason::InvalidPath);
    let mismatch = resource(&lookup, &a("instances.0.InstanceType"), JsonType::Integer).unwrap_err();
    assert_eq!(mismatch.reason, Reason::TypeMismatch);
    assert!(mismatch.message.contains("of type string") && mismatch.message.contains("integer is expected"));
}

#[test]
fn a_withheld_value_is_reported_with_the_field() {
    let of = |path: &str, field: &str| Withheld { path: path.into(), field: field.into() };
    let withheld = vec![of("instances.ImageId", "imageID"), of("", "name")];
    let lookup = Lookup::State(Arc::new(StateData { data: json!({"instances": [{}]}), id: None, withheld }));
    let message = |path: &str| resource(&lookup, &a(path), JsonType::Any).unwrap_err().message;
    assert_eq!(
        message("instances.0.ImageId"),
        "ec2instance a: path instances.0.ImageId is not published, because spec.imageID of ec2instance a comes from a Secret"
    );
    assert!(message("").contains("its id is not published, because spec.name of ec2instance a"));
    assert!(!message("instances.0.SubnetId").contains("Secret"));
    // A query that matches nothing there must not return an empty list.
    assert!(message("$.instances[*].ImageId").contains("spec.imageID of ec2instance a comes from a Secret"));
    assert_eq!(resource(&lookup, &a("$.instances[*].SubnetId"), JsonType::Array), Ok(json!([])));
}

#[test]
fn data_of_any_shape_is_answered() {
    for data in [json!(null), json!(1), json!("text"), json!([]), json!({})] {
        assert!(resource(&state(data), &a("a.b.0"), JsonType::Any).is_err());
    }
    let huge = state(json!({"a": "x".repeat(2_000_000)}));
    assert_eq!(resource(&huge, &a("a"), JsonType::Any).unwrap_err().reason, Reason::ValueTooLarge);
}

#[test]
fn an_untrusted_or_unreadable_object_is_not_reported_as_missing() {
    let untrusted = resource(&Lookup::Untrusted("because".into()), &a("x"), JsonType::Any);
    assert_eq!(untrusted, Err(absent(Reason::StateNotTrusted, "because")));
    let unreadable = resource(&Lookup::Unreadable("recursion limit exceeded".into()), &a("x"), JsonType::Any);
    let message = "failed to decode the state of ec2instance a: recursion limit exceeded";
    assert_eq!(unreadable, Err(cause(Reason::ReadFailed, message)));
    let failed = config_map(&Lookup::Failed(Arc::new(read_error())), &key("small")).unwrap_err();
    assert_eq!(failed.reason, Reason::ReadFailed);
    assert!(
        failed.message.contains("ConfigMap sizes") && failed.message.contains("the server is unavailable")
    );
}
