use std::collections::BTreeMap;

use kraken_aws::{
    AwsResource as _, AwsSpec as _,
    resource::RemoteObject as _,
    testing::{self, HIDDEN, assert_begin, assert_round_trips, rendered, with},
};
use serde_json::{Value, json};

use super::{
    ParameterGroups,
    api::{ApplyMethod, DBParameterGroupSpec, Desired},
    desired::Plan,
    observed::{Parameter, ParameterGroup},
};
use crate::rds::types;

fn written(changes: Value) -> Value {
    with(json!({"family": {"value": "postgres16"}}), changes)
}

fn desired(changes: Value) -> Desired {
    testing::desired::<ParameterGroups>(written(changes))
}

/// Parameters of a spec, each with a name and a value.
fn parameters(all: &[(&str, Value)]) -> Value {
    let one = |(name, value): &(&str, Value)| json!({"name": {"value": name}, "value": value});
    json!({"parameters": all.iter().map(one).collect::<Vec<_>>()})
}

fn group(parameters: Option<&[(&str, &str, bool)]>) -> ParameterGroup {
    let one = |(name, value, is_static): &(&str, &str, bool)| {
        ((*name).to_owned(), Parameter { value: (*value).to_owned(), is_static: *is_static })
    };
    ParameterGroup {
        db_parameter_group_name: "orders".into(),
        db_parameter_group_arn: "arn:aws:rds:us-east-1:123456789012:pg:orders".into(),
        db_parameter_group_family: Some("postgres16".into()),
        description: Some("orders".into()),
        parameters: parameters.map(|all| all.iter().map(one).collect()),
        ..ParameterGroup::default()
    }
}

fn differing(changes: Value, group: &ParameterGroup) -> Vec<String> {
    rendered(DBParameterGroupSpec::differences(&desired(changes), group))
}

#[test]
fn the_name_the_family_and_the_description_are_fixed() {
    let other = json!({
        "name": {"value": "other"}, "family": {"value": "postgres17"}, "description": {"value": "shop"},
    });
    assert_eq!(
        differing(other, &group(None)),
        [
            "name: orders becomes other: fixed",
            "family: postgres16 becomes postgres17: fixed",
            "description: orders becomes shop: fixed",
        ]
    );
    assert_eq!(group(None).tagged_as(), "arn:aws:rds:us-east-1:123456789012:pg:orders");
}

#[test]
fn parameters_are_set_and_those_that_are_not_in_the_spec_are_reset() {
    let have = group(Some(&[("a", "1", false), ("b", "1", false), ("c", "1", true)]));
    let spec = parameters(&[
        ("a", json!({"value": "1"})),
        ("b", json!({"value": "2"})),
        ("d", json!({"value": "3"})),
    ]);
    assert_eq!(
        differing(spec.clone(), &have),
        [
            "parameters[\"b\"]: 1 becomes 2: Parameters",
            "parameters[\"d\"]: (absent) becomes 3: Parameters",
            "parameters[\"c\"]: (not shown) becomes (absent): Parameters",
        ]
    );
    let set = |name: &str, value: &str| (name.to_owned(), (value.to_owned(), ApplyMethod::Immediate));
    let plan = Plan {
        set: BTreeMap::from([set("b", "2"), set("d", "3")]),
        reset: BTreeMap::from([("c".to_owned(), true)]),
    };
    assert_eq!(Plan::of(&desired(spec.clone()), &have), plan);
    assert_eq!(differing(json!({}), &have), [""; 0], "they are not managed");
    assert_eq!(differing(spec, &group(None)), [""; 0], "they were not read");
    assert_eq!(differing(parameters(&[]), &have).len(), 3);
}

#[test]
fn a_parameter_applies_when_the_spec_says() {
    let spec = json!({"parameters": [{
        "name": {"value": "a"}, "value": {"value": "1"}, "applyMethod": {"value": "pending-reboot"},
    }]});
    let plan = Plan::of(&desired(spec), &group(Some(&[])));
    assert_eq!(plan.set["a"].1, ApplyMethod::PendingReboot);
}

#[test]
fn the_value_of_a_secret_is_not_shown() {
    let secret = json!({"valueFrom": {"secret": {"name": "s", "key": "k"}}});
    let found =
        differing(parameters(&[("a", secret)]), &group(Some(&[("a", HIDDEN.trim_end_matches('2'), false)])));
    assert_eq!(found, ["parameters[\"a\"]: (not shown) becomes ***: Parameters"]);
}

#[test]
fn parameters_of_the_engine_are_not_among_those_that_somebody_set() {
    let sdk = |name: &str, apply: &str| {
        types::Parameter::builder().parameter_name(name).parameter_value("1").apply_type(apply).build()
    };
    let without_value = types::Parameter::builder().parameter_name("c").build();
    let found = ParameterGroup::set(vec![sdk("a", "dynamic"), sdk("b", "static"), without_value]);
    let of = |is_static| Parameter { value: "1".to_owned(), is_static };
    assert_eq!(found, BTreeMap::from([("a".to_owned(), of(false)), ("b".to_owned(), of(true))]));
    let default = ParameterGroup { db_parameter_group_name: "default.postgres16".into(), ..group(None) };
    assert!(ParameterGroups::not_importable(&default).is_some());
    assert!(ParameterGroups::not_importable(&group(None)).is_none());
}

#[test]
fn all_problems_are_reported_at_once() {
    let one = ("a", json!({"value": "1"}));
    let mut spec = written(parameters(&[one.clone(), one]));
    spec["name"] = json!({"value": "a--b"});
    let found = testing::problems::<ParameterGroups>(spec);
    assert_begin(&found, &["spec.name: must have 1 to 255", "spec.parameters[1].name: must be unique"]);
}

#[test]
fn field_names_follow_kubernetes_and_values_follow_aws() {
    assert_round_trips::<DBParameterGroupSpec>(&written(json!({
        "name": {"value": "orders"}, "description": {"value": "shop"}, "tags": {"Name": "orders"},
        "parameters": [{
            "name": {"value": "log_min_duration_statement"}, "value": {"value": "1000"}, "applyMethod": {"value": "immediate"},
        }],
    })));
}
