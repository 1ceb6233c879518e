use kraken_options::{Dependencies, SecretData, SecretString};
use serde_json::{Value, json};

use super::*;
use crate::store::dependents::export::references;

pub(crate) fn dependencies(spec: &ConfigExportSpec) -> Dependencies {
    references(spec).dependencies
}

fn resolved(namespace: &str, spec: &ConfigExportSpec, values: &Values) -> ResolvedExport {
    resolve_content(namespace, spec, &references(spec).secret_entries, values)
}

pub(crate) fn spec(config_type: &str, entries: Value) -> ConfigExportSpec {
    let mut spec = json!({"configType": config_type, "configMetadata": {"name": "app"}});
    spec["entries"] = entries;
    serde_json::from_value(spec).unwrap()
}

fn from_map(key: &str) -> Value {
    json!({"key": key, "valueFrom": {"configMap": {"name": "sizes", "key": key}}})
}

fn from_secret(key: &str) -> Value {
    json!({"key": key, "valueFrom": {"secret": {"name": "db", "key": "password"}}})
}

fn values() -> Values {
    let mut values = Values::default();
    let sizes = [("small", "3.10"), ("large", " x\n")].map(|(key, text)| (key.to_owned(), text.to_owned()));
    values.config_maps.insert("sizes".into(), sizes.into());
    let keys = [("password".to_owned(), SecretString::from("hunter22"))].into();
    values.secrets.insert("db".into(), SecretData { version: "u/7".into(), keys, ..SecretData::default() });
    let paths = [("x".to_owned(), json!({"a": [1, "b"]})), ("n".to_owned(), json!(3))].into();
    values.resources.insert("widget".into(), [("a".to_owned(), paths)].into());
    values
}

fn ready(spec: &ConfigExportSpec) -> BTreeMap<String, String> {
    match resolved("ns", spec, &values()).state {
        ContentState::Ready(content) => {
            content.0.into_iter().map(|(key, value)| (key, value.expose().0.clone())).collect()
        }
        other => panic!("{other:?}"),
    }
}

fn is_invalid(spec: &ConfigExportSpec, because: &str) {
    match resolved("ns", spec, &values()).state {
        ContentState::Invalid(why) => assert!(why.contains(because), "{why}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn strings_are_written_unchanged_and_other_types_as_compact_json() {
    let content = ready(&spec(
        "ConfigMap",
        json!([
            from_map("small"), from_map("large"),
            {"key": "object", "valueFrom": {"krakenResource": {"kind": "Widget", "name": "a", "path": "x"}}},
            {"key": "number", "valueFrom": {"krakenResource": {"kind": "Widget", "name": "a", "path": "n"}}},
            {"key": "text", "value": "a b"}, {"key": "list", "value": [1, "x"]}, {"key": "bool", "value": true},
            {"key": "url", "valueFrom": {"templateString": "http://{{ .ConfigMap.sizes.small }}/{{ .Widget.a.n }}"}},
        ]),
    ));
    let expected = [
        ("small", "3.10"),
        ("large", " x\n"),
        ("object", r#"{"a":[1,"b"]}"#),
        ("number", "3"),
        ("text", "a b"),
        ("list", r#"[1,"x"]"#),
        ("bool", "true"),
        ("url", "http://3.10/3"),
    ];
    assert_eq!(content, expected.map(|(key, text)| (key.to_owned(), text.to_owned())).into());
}

#[test]
fn one_missing_value_blocks_the_target_and_all_missing_values_are_named() {
    let spec = spec("ConfigMap", json!([from_map("small"), from_map("tiny"), from_map("huge")]));
    match resolved("ns", &spec, &values()).state {
        ContentState::Waiting(why) => {
            assert!(
                why.contains("spec.entries[1]") && why.contains("tiny") && why.contains("spec.entries[2]"),
                "{why}"
            );
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn another_namespace_is_rejected() {
    let mut other = spec("ConfigMap", json!([from_map("small")]));
    other.config_metadata.namespace = Some("kube-system".into());
    is_invalid(&other, "spec.configMetadata.namespace: is kube-system");
    other.config_metadata.namespace = Some("ns".into());
    assert_eq!(ready(&other).len(), 1);
}

#[test]
fn a_target_name_with_url_syntax_is_rejected() {
    let mut other = spec("ConfigMap", json!([from_map("small")]));
    other.config_metadata.name = "../secrets/db".into();
    is_invalid(&other, "spec.configMetadata.name");
}

#[test]
fn a_duplicate_key_is_rejected_with_both_indexes() {
    let twice = json!([from_map("small"), from_map("large"), from_map("small")]);
    is_invalid(&spec("ConfigMap", twice), "spec.entries[2].key: \"small\" is already the key of entries[0]");
    is_invalid(&spec("ConfigMap", json!([{"key": "..a", "value": "x"}])), "spec.entries[0].key");
}

#[test]
fn a_value_of_a_secret_requires_a_secret_target_before_it_exists() {
    let advice = "spec.entries[0].valueFrom: comes from a Secret and cannot be exported to a ConfigMap: set configType: Secret";
    is_invalid(&spec("ConfigMap", json!([from_secret("a")])), advice);
    let template = json!([{"key": "url", "valueFrom": {"templateString": "x{{ .Secret.gone.password }}"}}]);
    is_invalid(&spec("ConfigMap", template), advice);
    assert_eq!(ready(&spec("Secret", json!([from_secret("a")])))["a"], "hunter22");
}

#[test]
fn a_value_of_a_secret_is_not_content_of_a_config_map_even_if_its_reference_was_not_found() {
    let spec = spec("ConfigMap", json!([from_map("small"), from_secret("a")]));
    let ContentState::Invalid(why) = resolve_content("ns", &spec, &BTreeSet::new(), &values()).state else {
        panic!("it is exported")
    };
    assert!(why.contains("key \"a\" comes from a Secret"), "{why}");
}

#[test]
fn secret_value_is_absent_from_debug_and_messages() {
    let resolved = resolved("ns", &spec("Secret", json!([from_secret("a")])), &values());
    assert!(!format!("{resolved:?}").contains("hunter22"));
    assert_eq!(resolved.scrubber.scrub("refused: hunter22"), "refused: ***");
}

#[test]
fn malformed_references_are_reported_without_waiting() {
    let path = json!([{"key": "a", "valueFrom": {"krakenResource": {"kind": "Widget", "name": "a", "path": "x["}}}, from_map("tiny")]);
    is_invalid(&spec("ConfigMap", path), "entries[0]");
    is_invalid(
        &spec("ConfigMap", json!([{"key": "a", "valueFrom": {"templateString": "{{ .x"}}])),
        "entries[0]",
    );
}

#[test]
fn content_above_the_size_limit_is_rejected() {
    let half = "x".repeat(MAX_CONTENT / 2 + 1);
    let entries = json!([{"key": "a", "value": half}, {"key": "b", "value": half}]);
    is_invalid(&spec("ConfigMap", entries), "a ConfigMap can contain at most 1048576");
}

#[test]
fn every_reference_is_a_dependency() {
    let entries = json!([from_map("a"), from_secret("b"), {"key": "c", "valueFrom": {"templateString": "{{ .Widget.a.n }}"}}]);
    assert_eq!(dependencies(&spec("Secret", entries)).iter().count(), 3);
}

#[test]
fn a_secret_for_which_kubernetes_issues_credentials_is_refused() {
    for refused in CREDENTIAL_TYPES {
        let mut spec = spec("Secret", json!([from_map("small")]));
        spec.secret_type = Some(refused.to_owned());
        is_invalid(&spec, &format!("spec.secretType: is {refused}"));
        assert_eq!(certain("ns", &spec, &BTreeSet::new()).len(), 1, "at admission too");
        spec.secret_type = Some("kubernetes.io/tls".to_owned());
        is_invalid(&spec, "which requires entries with the keys tls.crt and tls.key");
        spec.secret_type = Some("example.com/custom".to_owned());
        assert!(!ready(&spec).is_empty());
        let account = ("kubernetes.io/service-account.name".to_owned(), "admin".to_owned());
        spec.config_metadata.annotations.extend([account]);
        is_invalid(&spec, "reserved for Kubernetes");
    }
}
