use std::collections::BTreeMap;

use super::*;
use crate::{Dependency, JsonType, KeyRef, ProblemKind, Resolution, ResourceRef, SecretData, Values};
use serde_json::json;

fn read<T: OptionType>(written: &Value) -> Result<ListOpt<T>, String> {
    serde_json::from_value(written.clone()).map_err(|error| error.to_string())
}

fn list(written: &Value) -> ListOpt<String> {
    read(written).unwrap()
}

fn rejects<T: OptionType>(elements: &Value, because: &str) {
    assert_eq!(read::<T>(&json!({"value": elements})).unwrap_err(), because, "{elements}");
}

fn map_key(key: &str) -> Value {
    json!({"valueFrom": {"configMap": {"name": "groups", "key": key}}})
}

fn secret(name: &str) -> Value {
    json!({"valueFrom": {"secret": {"name": name, "key": "group"}}})
}

fn values() -> Values {
    let groups = [("web", "sg-web"), ("both", "[\"sg-a\", \"sg-b\"]"), ("port", "80")];
    let groups = groups.map(|(key, text)| (key.to_owned(), text.to_owned())).into();
    let data = |name: &str| SecretData {
        version: format!("{name}/7"),
        keys: [("group".to_owned(), format!("sg-{name}-hidden").into())].into(),
        digests: BTreeMap::new(),
    };
    let state = [("", json!("sg-main")), ("ids", json!(["sg-a", "sg-b"]))];
    let state: BTreeMap<_, _> = state.map(|(path, value)| (path.to_owned(), value)).into();
    Values {
        config_maps: [("groups".to_owned(), groups)].into(),
        secrets: ["a", "b"].map(|name| (name.to_owned(), data(name))).into(),
        resources: [("securitygroup".to_owned(), [("web".to_owned(), state)].into())].into(),
        causes: BTreeMap::new(),
    }
}

fn take<T: OptionType>(list: &ListOpt<T>) -> (Option<Resolved<Vec<T>>>, Resolution) {
    let values = values();
    let mut resolver = Resolver::new(&values);
    let taken = resolver.take_list("groups", list);
    (taken, resolver.finish())
}

fn resolves(written: &Value, expected: &[&str]) {
    let (taken, resolution) = take(&list(written));
    assert_eq!(resolution.problems, []);
    assert_eq!(taken.unwrap().public().unwrap(), expected, "{written}");
}

fn problems(written: &Value) -> Vec<String> {
    let (taken, resolution) = take(&list(written));
    assert_eq!(taken, None);
    resolution.problems.iter().map(ToString::to_string).collect()
}

#[test]
fn a_list_can_mix_literals_and_references() {
    let main = json!({"valueFrom": {"krakenResource": {"kind": "SecurityGroup", "name": "web"}}});
    let template = json!({"valueFrom": {"templateString": "{{ .ConfigMap.groups.web }}-2"}});
    let written = json!({"value": ["sg-1", map_key("web"), main, template]});
    resolves(&written, &["sg-1", "sg-web", "sg-main", "sg-web-2"]);
    assert_eq!(serde_json::to_value(list(&written)).unwrap(), written);
}

#[test]
fn a_list_can_be_all_literals_or_one_reference() {
    resolves(&json!({"value": []}), &[]);
    resolves(&json!({"value": ["sg-1", "sg-2"]}), &["sg-1", "sg-2"]);
    resolves(&map_key("both"), &["sg-a", "sg-b"]);
    assert_eq!(list(&json!({"value": ["sg-1"]})), Opt::Value(vec!["sg-1".to_owned()].into()));
}

#[test]
fn elements_are_parsed_to_their_type() {
    let ports: ListOpt<u16> = read(&json!({"value": [443, map_key("port"), 8080.0]})).unwrap();
    assert_eq!(take(&ports).0, Some(Resolved::Public(vec![443, 80, 8080])));
}

#[test]
fn every_invalid_element_is_reported_with_its_index() {
    rejects::<String>(
        &json!(["sg-1", 3, null, ["sg-2"], true]),
        "value[1]: expected string or an object with valueFrom, found integer; \
         value[2]: expected string or an object with valueFrom, found null; \
         value[3]: expected string or an object with valueFrom, found array; \
         value[4]: expected string or an object with valueFrom, found boolean",
    );
    rejects::<u16>(&json!([70_000]), "value[0]: is out of range: 0 to 65535");
    let many = read::<String>(&json!({"value": vec![1; 100]})).unwrap_err();
    assert!(many.ends_with("; and 92 more"), "{many}");
}

#[test]
fn an_element_is_a_literal_or_exactly_one_reference() {
    rejects::<String>(
        &json!([{"value": "sg-1"}]),
        "value[0]: expected string or an object with valueFrom, found object",
    );
    let mut two = map_key("web");
    two["value"] = "sg-1".into();
    rejects::<String>(
        &json!([two]),
        "value[0]: an element with valueFrom must have no other field, found \"value\"",
    );
    rejects::<String>(
        &json!([{"valueFrom": {}}]),
        "value[0]: valueFrom: exactly one of configMap, secret, krakenResource, ref, templateString is required, found none",
    );
    assert!(read::<String>(&json!({"value": "sg-1"})).unwrap_err().contains("expected a sequence"));
    assert!(read::<String>(&json!(["sg-1"])).unwrap_err().contains("exactly one of value, valueFrom"));
}

#[test]
fn all_problems_are_reported_at_once_with_their_places() {
    let resource = |path: &str| json!({"valueFrom": {"krakenResource": {"kind": "securitygroup", "name": "web", "path": path}}});
    let written = json!({"value": [map_key("gone"), "sg-1", resource("ids"), resource("a..b"), secret("c")]});
    assert_eq!(
        problems(&written),
        [
            "spec.groups.value[0]: ConfigMap groups has no key \"gone\"",
            "spec.groups.value[2]: securitygroup web path ids: expected string, found array",
            "spec.groups.value[3].valueFrom.krakenResource.path: expected a name at byte 2",
            "spec.groups.value[4]: waiting for Secret c key \"group\"",
        ]
    );
}

#[test]
fn one_secret_element_makes_the_whole_list_secret() {
    let written = json!({"value": ["sg-1", secret("b"), secret("a"), secret("b")]});
    let (taken, resolution) = take(&list(&written));
    let taken = taken.unwrap();
    assert_eq!((taken.public(), taken.secret_version()), (None, Some("a/7,b/7")));
    assert_eq!(taken.expose(), &["sg-1", "sg-b-hidden", "sg-a-hidden", "sg-b-hidden"]);
    assert_eq!(resolution.secrets.len(), 3);
    assert!(!format!("{taken:?}").contains("hidden"));
}

#[test]
fn dependencies_are_found_without_values_with_the_element_type() {
    let nothing = Values::default();
    let mut resolver = Resolver::new(&nothing);
    let main = json!({"valueFrom": {"krakenResource": {"kind": "SecurityGroup", "name": "web"}}});
    assert_eq!(
        resolver.take_list("groups", &list(&json!({"value": [map_key("web"), main, secret("a")]}))),
        None
    );
    let Resolution { dependencies, problems, .. } = resolver.finish();
    let wanted = ResourceRef::of("securitygroup", "web", "");
    assert_eq!(dependencies.resources, BTreeMap::from([(wanted, JsonType::String)]));
    let key = KeyRef { name: "groups".into(), key: "web".into() };
    assert!(dependencies.iter().any(|found| found == Dependency::ConfigMap(key.clone())));
    assert!(problems.len() == 3 && problems.iter().all(|found| found.kind == ProblemKind::Missing));
}

#[test]
fn an_absent_list_is_no_problem() {
    let values = values();
    let mut resolver = Resolver::new(&values);
    assert_eq!(resolver.take_list_if::<String>("groups", None), Some(None));
    let one = list(&json!({"value": [map_key("web")]}));
    assert!(resolver.take_list_if("groups", Some(&one)).is_some_and(|taken| taken.is_some()));
    assert_eq!(resolver.take_list_if("groups", Some(&list(&map_key("gone")))), None);
    assert_eq!(resolver.finish().problems.len(), 1);
}
