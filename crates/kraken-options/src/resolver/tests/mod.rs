//! The resolver, option by option.

mod problems;

use std::collections::BTreeMap;

use super::*;
use crate::option::{KeyRef, ResourceRef};
use crate::resolved::Sensitive;
use crate::types::Text;
use crate::values::SecretData;
use serde_json::{Value, json};

/// The dependencies of the tests below.
fn values() -> Values {
    let sizes = [("small", "t2.nano"), ("count", "3\n"), ("list", "[\"a\", \"b\"]"), ("big", "99999999999")];
    let db = [("password", "hunter2"), ("port", "5432"), ("list", "[\"first-one\", \"second-one\"]")];
    let fields =
        [("", json!("lb-1")), ("dns", json!("web.example")), ("count", json!(3)), ("none", json!(null))];
    let texts = |(key, text): (&str, &str)| (key.to_owned(), text.to_owned());
    let secret = |(key, text): (&str, &str)| (key.to_owned(), SecretString::from(text));
    let digests = [("password".to_owned(), "k.1".to_owned()), ("port".to_owned(), String::new())].into();
    let db = SecretData { version: "uid/7".into(), keys: db.map(secret).into(), digests };
    let paths: BTreeMap<_, _> = fields.map(|(path, value)| (path.to_owned(), value)).into();
    Values {
        config_maps: [("sizes".to_owned(), sizes.map(texts).into())].into(),
        secrets: [("db".to_owned(), db)].into(),
        resources: [("loadbalancer".to_owned(), [("web".to_owned(), paths)].into())].into(),
        causes: BTreeMap::new(),
    }
}

fn key(name: &str, key: &str) -> KeyRef {
    KeyRef { name: name.into(), key: key.into() }
}

fn config_map<T>(name: &str, of: &str) -> Opt<T> {
    Opt::ValueFrom(ValueFrom::ConfigMap(key(name, of)))
}

fn secret<T>(name: &str, of: &str) -> Opt<T> {
    Opt::ValueFrom(ValueFrom::Secret(key(name, of)))
}

fn resource<T>(kind: &str, name: &str, path: &str) -> Opt<T> {
    Opt::ValueFrom(ValueFrom::KrakenResource(ResourceRef::of(kind, name, path)))
}

fn template<T>(text: &str) -> Opt<T> {
    Opt::ValueFrom(ValueFrom::TemplateString(text.into()))
}

fn take<T: OptionType>(option: &Opt<T>) -> (Option<Resolved<T>>, Resolution) {
    let values = values();
    let mut resolver = Resolver::new(&values);
    let taken = resolver.take("field", option);
    (taken, resolver.finish())
}

fn resolves<T: OptionType>(option: &Opt<T>, expected: T) {
    let (taken, resolution) = take(option);
    assert_eq!(resolution.problems, []);
    assert_eq!(taken, Some(Resolved::Public(expected)));
}

fn resolves_in_secret<T: OptionType>(option: &Opt<T>, expected: T) {
    let (taken, resolution) = take(option);
    assert_eq!(resolution.problems, []);
    assert_eq!(taken, Some(Resolved::Secret(Sensitive::new(expected, "uid/7".into()))));
    assert!(!resolution.secrets.is_empty());
}

fn fails<T: OptionType>(option: &Opt<T>, kind: ProblemKind, shown: &str) {
    let (taken, resolution) = take(option);
    assert_eq!(taken, None);
    let problems: Vec<_> = resolution.problems.iter().map(|p| (p.kind, p.to_string())).collect();
    assert_eq!(problems, [(kind, shown.to_owned())]);
}

#[test]
fn a_literal_resolves_to_itself() {
    resolves(&Opt::Value(3_i64), 3);
    assert!(take(&Opt::Value(3_i64)).1.dependencies.is_empty());
}

#[test]
fn a_config_map_resolves_to_its_text_parsed_to_the_type() {
    resolves(&config_map("sizes", "small"), "t2.nano".to_owned());
    resolves(&config_map("sizes", "count"), 3_i32);
    resolves(&config_map("sizes", "count"), "3\n".to_owned());
    resolves(&config_map("sizes", "list"), vec!["a".to_owned(), "b".to_owned()]);
    resolves(&config_map("sizes", "list"), json!(["a", "b"]));
    resolves(&config_map("sizes", "list"), Text("[\"a\", \"b\"]".into()));
}

#[test]
fn a_secret_resolves_to_a_secret() {
    resolves_in_secret(&secret("db", "password"), "hunter2".to_owned());
    resolves_in_secret(&secret("db", "port"), 5432_u16);
}

#[test]
fn a_resource_resolves_however_its_kind_is_spelled() {
    for kind in ["LoadBalancer", "loadbalancer", "load-balancer"] {
        resolves(&resource(kind, "web", "dns"), "web.example".to_owned());
        resolves(&resource(kind, "web", "count"), 3_i64);
    }
}

fn short<T>(text: &str) -> Opt<T> {
    Opt::ValueFrom(ValueFrom::Ref(crate::ShortRef(text.into())))
}

#[test]
fn a_short_reference_resolves_as_the_long_one_does() {
    resolves(&short("LoadBalancer/web"), "lb-1".to_owned());
    resolves(&short("load-balancer/web/dns"), "web.example".to_owned());
    fails::<i64>(
        &short("LoadBalancer/web"),
        ProblemKind::Type,
        "spec.field: the id of loadbalancer web: expected integer, found string",
    );
    fails::<String>(
        &short("VPC.aws/main"),
        ProblemKind::Missing,
        "spec.field: waiting for the id of vpc.aws main",
    );
}

#[test]
fn a_resource_without_a_path_resolves_to_its_main_id() {
    resolves(&resource("LoadBalancer", "web", ""), "lb-1".to_owned());
    resolves(&template("id={{ .LoadBalancer.web }}"), "id=lb-1".to_owned());
    fails::<i64>(
        &resource("LoadBalancer", "web", ""),
        ProblemKind::Type,
        "spec.field: the id of loadbalancer web: expected integer, found string",
    );
    fails::<String>(
        &resource("vpc", "main", ""),
        ProblemKind::Missing,
        "spec.field: waiting for the id of vpc main",
    );
    fails::<String>(
        &template("{{ .VPC.main }}"),
        ProblemKind::Missing,
        "spec.field: waiting for the id of vpc main",
    );
}

#[test]
fn a_template_resolves_to_its_text_parsed_to_the_type() {
    resolves(&template("http://{{ .LoadBalancer.web.dns }}/"), "http://web.example/".to_owned());
    resolves(&template("1{{ .LoadBalancer.web.count }}"), 13_i64);
    resolves(&template("{{ .ConfigMap.sizes.list }}"), vec!["a".to_owned(), "b".to_owned()]);
}

#[test]
fn one_secret_in_a_template_makes_all_of_it_secret() {
    let text = "{{ .ConfigMap.sizes.small }}:{{ .Secret.db.password }}@{{ .Secret.db.port }}";
    resolves_in_secret(&template(text), "t2.nano:hunter2@5432".to_owned());
}

#[test]
fn versions_of_several_secrets_are_joined() {
    let mut values = values();
    let other = SecretData { version: "other/9".into(), ..values.secrets["db"].clone() };
    values.secrets.insert("other".into(), other);
    let mut resolver = Resolver::new(&values);
    let text = "{{ .Secret.other.port }}{{ .Secret.db.port }}{{ .Secret.db.password }}";
    let taken: Option<Resolved<String>> = resolver.take("field", &template(text));
    assert_eq!(taken.unwrap().secret_version(), Some("other/9,uid/7"));
}

/// The digest of a text that resolves in these values.
fn digest(option: &Opt<String>, values: &Values) -> Option<String> {
    let mut resolver = Resolver::new(values);
    resolver.take("field", option).unwrap().secret_digest().map(str::to_owned)
}

#[test]
fn a_secret_has_the_digest_of_its_key_as_the_hub_gave_it() {
    let values = values();
    assert_eq!(digest(&secret("db", "password"), &values).as_deref(), Some("k.1"));
    assert_eq!(digest(&secret("db", "port"), &values), None);
    assert_eq!(digest(&config_map("sizes", "small"), &values), None);
}

#[test]
fn the_digest_of_a_template_covers_its_texts_and_the_digests_of_its_secrets() {
    let of = |text: &str, password: &str, size: &str| {
        let mut values = values();
        let db = values.secrets.get_mut("db").unwrap();
        db.digests.insert("password".into(), password.into());
        db.digests.insert("list".into(), "k.2".into());
        values.config_maps.get_mut("sizes").unwrap().insert("small".into(), size.into());
        digest(&template(text), &values)
    };
    let text = "{{ .ConfigMap.sizes.small }}:{{ .Secret.db.password }}{{ .Secret.db.list }}";
    let before = of(text, "k.1", "t2.nano").unwrap();
    assert!(before.len() == 32 && !before.contains("k.1"), "{before}");
    assert_eq!(of(text, "k.1", "t2.nano").as_ref(), Some(&before));
    let edited = "{{ .ConfigMap.sizes.small }}{{ .Secret.db.password }}:{{ .Secret.db.list }}";
    for after in [of(text, "k.3", "t2.nano"), of(text, "k.1", "t2.micro"), of(edited, "k.1", "t2.nano")] {
        assert!(after.is_some_and(|after| after != before));
    }
    assert_eq!(
        of("{{ .Secret.db.password }}{{ .Secret.db.port }}", "k.1", ""),
        None,
        "one digest is missing"
    );
}

#[test]
fn each_element_of_a_secret_list_is_scrubbed() {
    let (taken, resolution) = take::<Vec<String>>(&secret("db", "list"));
    assert_eq!(taken.unwrap().expose().len(), 2);
    let scrubbed = Scrubber::new(&resolution.secrets).scrub("no such group second-one");
    assert_eq!(scrubbed, "no such group ***");
}

#[test]
fn an_absent_option_is_no_problem() {
    let values = values();
    let mut resolver = Resolver::new(&values);
    assert_eq!(resolver.take_if::<i64>("a", None), Some(None));
    assert_eq!(resolver.take_if("b", Some(&Opt::Value(3_i64))), Some(Some(Resolved::Public(3))));
    assert_eq!(resolver.take_if::<i64>("c", Some(&config_map("x", "y"))), None);
    assert_eq!(resolver.finish().problems.len(), 1);
}
