//! The resolver, option by option.

use std::collections::BTreeMap;

use super::*;
use crate::dependency::Dependency;
use crate::option::{KeyRef, ResourceRef};
use crate::resolved::Sensitive;
use crate::types::{JsonType, Text};
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
    let db = SecretData { version: "uid/7".into(), keys: db.map(secret).into() };
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
    let (kind, name, path) = (kind.into(), name.into(), path.into());
    Opt::ValueFrom(ValueFrom::KrakenResource(ResourceRef { kind, name, path }))
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
fn a_malformed_short_reference_is_reported_with_its_part() {
    fails::<String>(
        &short("main"),
        ProblemKind::Invalid,
        "spec.field.valueFrom.ref: \"main\" is not KIND/NAME or KIND/NAME/PATH, for example VPC/main or \
         VPC/main/vpc.CidrBlock",
    );
    let name = "\"Main\" is not a name of an object (lower case letters, digits, \"-\" and \".\")";
    fails::<String>(
        &short("VPC/Main"),
        ProblemKind::Invalid,
        &format!("spec.field.valueFrom.ref: its name: {name}"),
    );
    fails::<String>(
        &short("VPC/main/a..b"),
        ProblemKind::Path,
        "spec.field.valueFrom.ref: its path: expected a name at byte 2",
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

#[test]
fn each_element_of_a_secret_list_is_scrubbed() {
    let (taken, resolution) = take::<Vec<String>>(&secret("db", "list"));
    assert_eq!(taken.unwrap().expose().len(), 2);
    let scrubbed = Scrubber::new(&resolution.secrets).scrub("no such group second-one");
    assert_eq!(scrubbed, "no such group ***");
}

#[test]
fn a_missing_dependency_is_named() {
    fails::<String>(
        &config_map("sizes", "huge"),
        ProblemKind::Missing,
        "spec.field: ConfigMap sizes has no key \"huge\"",
    );
    fails::<String>(
        &config_map("app", "port"),
        ProblemKind::Missing,
        "spec.field: waiting for ConfigMap app key \"port\"",
    );
    fails::<String>(&secret("db", "user"), ProblemKind::Missing, "spec.field: Secret db has no key \"user\"");
    fails::<String>(
        &resource("EC2Instance", "a", "instances.0.InstanceType"),
        ProblemKind::Missing,
        "spec.field: waiting for ec2instance a path instances.0.InstanceType",
    );
    fails::<Value>(
        &resource("loadbalancer", "web", "none"),
        ProblemKind::Missing,
        "spec.field: waiting for loadbalancer web path none",
    );
    fails::<String>(
        &template("{{ .Secret.x.y }}{{ .Secret.x.y }}"),
        ProblemKind::Missing,
        "spec.field: waiting for Secret x key \"y\"",
    );
}

#[test]
fn the_cause_of_a_missing_value_is_found_for_every_spelling_of_its_kind() {
    let mut values = values();
    let reference = ResourceRef { kind: "subnet".into(), name: "a".into(), path: "id".into() };
    values.causes.insert(Dependency::Resource(reference), "subnet a does not exist".into());
    let mut resolver = Resolver::new(&values);
    assert_eq!(resolver.take::<String>("field", &resource("Sub-Net", "a", "id")), None);
    assert_eq!(resolver.finish().problems[0].message, "subnet a does not exist");
}

#[test]
fn a_resource_value_of_another_type_is_a_type_problem() {
    fails::<i64>(
        &resource("loadbalancer", "web", "dns"),
        ProblemKind::Type,
        "spec.field: loadbalancer web path dns: expected integer, found string",
    );
    fails::<String>(
        &resource("loadbalancer", "web", "count"),
        ProblemKind::Type,
        "spec.field: loadbalancer web path count: expected string, found integer",
    );
}

#[test]
fn text_that_cannot_be_read_is_a_parse_problem() {
    fails::<i64>(
        &config_map("sizes", "small"),
        ProblemKind::Parse,
        "spec.field: \"t2.nano\" (ConfigMap sizes key \"small\") is not an integer",
    );
    fails::<i32>(
        &config_map("sizes", "big"),
        ProblemKind::Parse,
        "spec.field: \"99999999999\" (ConfigMap sizes key \"big\") is out of range: -2147483648 to 2147483647",
    );
    fails::<bool>(
        &template("{{ .LoadBalancer.web.dns }}"),
        ProblemKind::Parse,
        "spec.field: \"web.example\" (the rendered template) is not a boolean (true or false)",
    );
}

#[test]
fn a_parse_problem_never_shows_a_secret() {
    fails::<i64>(
        &secret("db", "password"),
        ProblemKind::Parse,
        "spec.field: Secret db key \"password\" is not an integer",
    );
    fails::<Vec<i64>>(
        &secret("db", "list"),
        ProblemKind::Parse,
        "spec.field: Secret db key \"list\" is a JSON list, but its content is invalid",
    );
    fails::<i64>(
        &template("{{ .Secret.db.password }}"),
        ProblemKind::Parse,
        "spec.field: the rendered template is not an integer",
    );
}

#[test]
fn malformed_names_are_reported_with_their_field() {
    fails::<String>(
        &config_map("", "small"),
        ProblemKind::Invalid,
        "spec.field.valueFrom.configMap.name: is empty",
    );
    fails::<String>(
        &secret("db", &"k".repeat(254)),
        ProblemKind::Invalid,
        "spec.field.valueFrom.secret.key: is longer than 253 characters",
    );
    fails::<String>(
        &resource("", "web", "dns"),
        ProblemKind::Invalid,
        "spec.field.valueFrom.krakenResource.kind: is empty",
    );
    fails::<String>(
        &resource("loadbalancer", "web", "a..b"),
        ProblemKind::Path,
        "spec.field.valueFrom.krakenResource.path: expected a name at byte 2",
    );
    fails::<String>(
        &template("{{ port }}"),
        ProblemKind::Template,
        "spec.field.valueFrom.templateString: expected a reference such as .ConfigMap.name.key at byte 3",
    );
}

#[test]
fn a_reference_with_a_malformed_name_is_not_requested() {
    let outside = "../../kube-system/secrets/x";
    assert!(take::<String>(&secret(outside, "a")).1.dependencies.is_empty());
    let (taken, resolution) = take::<String>(&template(&format!("{{{{ .Secret[\"{outside}\"].a }}}}")));
    assert_eq!(taken, None);
    assert!(resolution.dependencies.is_empty());
    assert_eq!(resolution.problems[0].kind, ProblemKind::Template);
}

#[test]
fn all_problems_and_all_dependencies_are_reported_at_once() {
    let empty = Values::default();
    let mut resolver = Resolver::new(&empty);
    assert_eq!(resolver.take::<String>("a", &config_map("x", "y")), None);
    assert_eq!(resolver.take::<i64>("b", &secret("x", "y")), None);
    assert_eq!(resolver.take::<String>("c", &template("{{ .Subnet.a.id }}{{ .ConfigMap.x.z }}")), None);
    assert_eq!(resolver.take::<i64>("d", &resource("Subnet", "a", "size")), None);
    let Resolution { dependencies, problems, .. } = resolver.finish();
    assert_eq!(dependencies.config_maps, BTreeSet::from([key("x", "y"), key("x", "z")]));
    assert_eq!(dependencies.secrets, BTreeSet::from([key("x", "y")]));
    let resources: Vec<_> = dependencies.resources.iter().map(|(r, t)| (r.path.as_str(), *t)).collect();
    assert_eq!(resources, [("id", JsonType::Any), ("size", JsonType::Integer)]);
    let fields: Vec<_> = problems.iter().map(|problem| problem.field.as_str()).collect();
    assert_eq!(fields, ["a", "b", "c", "c", "d"]);
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

#[test]
fn a_violated_rule_of_the_kind_is_reported_without_secrets() {
    let values = values();
    let mut resolver = Resolver::new(&values);
    resolver.problem("userData", "does not start with #!, but with hunter2");
    assert!(resolver.take::<String>("field", &secret("db", "password")).is_some());
    let problem = &resolver.finish().problems[0];
    assert_eq!(problem.to_string(), "spec.userData: does not start with #!, but with ***");
    assert_eq!(problem.kind, ProblemKind::Invalid);
}

#[test]
fn a_template_with_a_too_large_result_is_a_template_problem() {
    let mut values = values();
    values.config_maps.get_mut("sizes").unwrap().insert("long".into(), "x".repeat(600_000));
    let mut resolver = Resolver::new(&values);
    let text = "{{ .ConfigMap.sizes.long }}{{ .ConfigMap.sizes.long }}";
    assert_eq!(resolver.take::<String>("field", &template(text)), None);
    assert_eq!(resolver.finish().problems[0].kind, ProblemKind::Template);
}
