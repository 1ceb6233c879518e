//! Tests: faults in specs of random shape, whose messages are those of the resolver that the controllers use.

use std::collections::BTreeMap;

use kraken_options::{
    Dependency, KeyRef, ListOpt, MapOpt, Opt, Resolver, ResourceRef, SecretData, ValueFrom, Values, summary,
};
use serde_json::{Value, json};

use super::{Use, Via, fixtures::*};

/// The references of a spec: each field with the object that it names, and the message of the hub if that has no value.
const REFERENCES: [(&str, &str, &str); 12] = [
    ("imageID", "ConfigMap/settings", "ConfigMap settings does not exist"),
    ("instanceType", "ConfigMap/sizes", "ConfigMap sizes has no key \"small\" (it has: a, b)"),
    ("userData", "Secret/db", "Secret db has no key \"password\""),
    ("vpcID", "VPC/main", "vpc main does not exist"),
    (
        "subnetID",
        "Subnet/a",
        "subnet a exists and has not published a state yet: its Ready condition says why",
    ),
    ("groups.value[0]", "SecurityGroup/app", "securitygroup app does not exist"),
    ("groups.value[1]", "SecurityGroup/app-2", "securitygroup app-2 has no path X"),
    ("tags[\"Team\"]", "ConfigMap/team", "ConfigMap team does not exist"),
    ("tags[\"a: b; spec.vpcID\"]", "ConfigMap/odd", "ConfigMap odd does not exist"),
    ("text", "VPC/other", "vpc other does not exist"),
    ("text", "Secret/other", "Secret other does not exist"),
    ("lifecycle.dependsOn[0]", "InternetGateway/gw", "internetgateway gw does not exist"),
];

fn spec() -> Value {
    let of = |source: Value| json!({"valueFrom": source});
    json!({
        "imageID": of(json!({"configMap": {"name": "settings", "key": "image"}})),
        "instanceType": of(json!({"configMap": {"name": "sizes", "key": "small"}})),
        "userData": of(json!({"secret": {"name": "db", "key": "password"}})),
        "vpcID": of(json!({"ref": "VPC/main"})),
        "subnetID": of(json!({"krakenResource": {"kind": "sub-net.aws", "name": "a", "path": "SubnetId"}})),
        "groups": {"value": [of(json!({"ref": "SecurityGroup/app"})), of(json!({"ref": "SecurityGroup/app-2/X"}))]},
        "tags": {
            "Team": of(json!({"configMap": {"name": "team", "key": "name"}})),
            "a: b; spec.vpcID": of(json!({"configMap": {"name": "odd", "key": "k"}})),
        },
        "text": of(json!({"templateString": "{{ .VPC.other }} and {{ .Secret.other.k }}"})),
        "lifecycle": {"dependsOn": [{"kind": "InternetGateway", "name": "gw"}]},
    })
}

fn resource(kind: &str, name: &str, path: &str) -> Dependency {
    Dependency::Resource(ResourceRef::of(kind, name, path))
}

fn key(name: &str, key: &str) -> KeyRef {
    KeyRef { name: name.to_owned(), key: key.to_owned() }
}

fn dependencies() -> [Dependency; 12] {
    [
        Dependency::ConfigMap(key("settings", "image")),
        Dependency::ConfigMap(key("sizes", "small")),
        Dependency::Secret(key("db", "password")),
        resource("vpc", "main", ""),
        resource("subnet.aws", "a", "SubnetId"),
        resource("securitygroup", "app", ""),
        resource("securitygroup", "app-2", "X"),
        Dependency::ConfigMap(key("team", "name")),
        Dependency::ConfigMap(key("odd", "k")),
        resource("vpc", "other", ""),
        Dependency::Secret(key("other", "k")),
        resource("internetgateway", "gw", ""),
    ]
}

/// The message of the Ready condition if these references have no value, and all others have one.
fn message(seeded: &[usize]) -> String {
    let mut values = Values::default();
    for (index, dependency) in dependencies().into_iter().enumerate() {
        if seeded.contains(&index) {
            values.causes.insert(dependency, REFERENCES[index].2.to_owned());
            continue;
        }
        match dependency {
            Dependency::ConfigMap(KeyRef { name, key }) => {
                values.config_maps.entry(name).or_default().insert(key, "x".to_owned());
            }
            Dependency::Secret(KeyRef { name, key }) => {
                let data = SecretData {
                    version: "1".into(),
                    keys: [(key, "x".into())].into(),
                    ..SecretData::default()
                };
                values.secrets.insert(name, data);
            }
            Dependency::Resource(ResourceRef { kind, name, path, .. }) => {
                let states: &mut BTreeMap<_, _> = values.resources.entry(kind).or_default();
                states.entry(name).or_default().insert(path, json!("x"));
            }
        }
    }
    let spec = spec();
    let mut resolver = Resolver::new(&values);
    for field in ["imageID", "instanceType", "userData", "vpcID", "subnetID", "text"] {
        let option: Opt<String> = serde_json::from_value(spec[field].clone()).unwrap();
        resolver.take(field, &option);
    }
    let groups: ListOpt<String> = serde_json::from_value(spec["groups"].clone()).unwrap();
    resolver.take_list("groups", &groups);
    let tags: MapOpt<String> = serde_json::from_value(spec["tags"].clone()).unwrap();
    resolver.take_map("tags", &tags);
    let gateway: ValueFrom = serde_json::from_value(json!({"ref": "InternetGateway/gw"})).unwrap();
    resolver.take_from::<String>("lifecycle.dependsOn[0]", &gateway);
    summary(&resolver.finish().problems)
}

#[test]
fn seeded_faults_are_the_root_causes_and_nothing_else_is() {
    // One, two and three faults: 12 + 66 + 220.
    let mut sets: Vec<Vec<usize>> = vec![];
    for a in 0..REFERENCES.len() {
        sets.push(vec![a]);
        for b in a + 1..REFERENCES.len() {
            sets.push(vec![a, b]);
            sets.extend((b + 1..REFERENCES.len()).map(|c| vec![a, b, c]));
        }
    }
    assert_eq!(sets.len(), 298);
    for seeded in sets {
        let message = message(&seeded);
        let mut objects =
            vec![object("EC2Instance", "web", spec(), not_ready("DependenciesNotReady", &message))];
        // Two references lead to resources that exist: one is ready, the other is not.
        objects.push(object("Subnet", "a", json!({}), not_ready("CloudRefused", "limit")));
        objects.push(object("SecurityGroup", "app-2", json!({}), ready()));
        let graph = graph(objects);
        let mut found: Vec<_> =
            graph.roots(&node("EC2Instance", "web")).iter().map(|root| root.node.to_string()).collect();
        let mut expected: Vec<_> = seeded.iter().map(|index| REFERENCES[*index].1.to_owned()).collect();
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{message}");
    }
}

#[test]
fn fields_are_named_as_the_resolver_names_them() {
    let graph = graph([object("EC2Instance", "web", spec(), ready())]);
    let uses = graph.uses(&node("EC2Instance", "web"));
    for (field, object, _) in REFERENCES.iter().filter(|(field, ..)| !field.starts_with("lifecycle.")) {
        let found = uses.iter().find(|one| one.of.to_string() == *object);
        let Some(Use { via: Via::Field { path, .. }, .. }) = found else { panic!("{object}: {found:?}") };
        assert_eq!(path, field);
    }
}
