//! The hub: requests for values of a ConfigMap, of a Secret and of a state, and exports.
//!
//! Requests and states are written in the form of spokes; no spoke runs. A ConfigMap with the name of an exported Secret
//! is foreign, and so are the sources: all must remain unchanged.

use std::sync::LazyLock;

use kraken_api::{CONTENT_HASH_ANNOTATION, StateDeclarationSpec};
use serde_json::{Value, json};

use crate::canary::Canary;

use super::super::desired::{Desired, config_map, object, secret};
use super::super::scenario::{HUB, Scenario, Step, apply};

/// The value of a Secret, which must not occur in a status, event or log.
const CANARY: &str = "hkwqzvtnrgxjpmsy-one";
/// The same after a change.
const OTHER_CANARY: &str = "ywtmxqhrkznjvgsp-two";

const REQUEST: &str = "DependencyRequest/vpc.aws.b";

/// The owner of a request or of a state. No controller of it runs.
fn owner(name: &str) -> Value {
    object("VPC", name, &json!({"cidrBlock": {"value": "10.0.0.0/16"}}))
}

/// An object as its spoke writes it.
fn owned(kind: &str, name: &str, spec: &Value) -> Value {
    let mut made = object(kind, &format!("vpc.aws.{name}"), spec);
    made["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "aws.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "VPC", "name": name,
        "uid": format!("${{uid:VPC/{name}}}"), "controller": true,
    }]);
    made
}

fn request(spec: &Value) -> Value {
    owned("DependencyRequest", "b", spec)
}

/// The state of the VPC `a`.
fn state(cidr: &str) -> Value {
    let spec = json!({"data": {"vpc": {"VpcId": "vpc-1", "CidrBlock": cidr}}, "id": "vpc-1"});
    let hash = serde_json::from_value(spec.clone()).map(|spec: StateDeclarationSpec| spec.content_hash());
    let mut made = owned("StateDeclaration", "a", &spec);
    made["metadata"]["annotations"] = json!({CONTENT_HASH_ANNOTATION: hash.unwrap_or_default()});
    made
}

fn export(config_type: &str, target: &str, entries: &Value) -> Value {
    object(
        "ConfigExport",
        "e",
        &json!({
            "configType": config_type, "configMetadata": {"name": target}, "entries": entries,
        }),
    )
}

fn entry(key: &str, from: &Value) -> Value {
    json!({"key": key, "valueFrom": from})
}

/// A request for a key of a ConfigMap with the value `size`.
fn of_config_map(size: &str) -> Desired {
    let spec = json!({"configMapDependencies": [{"name": "settings", "key": "size"}]});
    Desired::of([owner("b"), config_map("settings", &json!({"size": size})), request(&spec)]).holding(
        REQUEST,
        vec![("/status/dependentValues/fromConfigMaps", json!({"settings": {"size": size}}))],
    )
}

/// The same after the deletion of the key.
fn of_no_key() -> Desired {
    let spec = json!({"configMapDependencies": [{"name": "settings", "key": "size"}]});
    Desired::of([owner("b"), config_map("settings", &json!({"other": "1"})), request(&spec)])
        .unready(REQUEST)
        .holding(REQUEST, vec![("/status/dependentValues/fromConfigMaps", Value::Null)])
}

/// A request for a key of a Secret: the hub's response contains the version of the Secret, and not its content.
fn of_secret(password: &str) -> Desired {
    let spec = json!({"secretDependencies": [{"name": "db", "key": "password"}]});
    // The digest has a random key.
    let of = |path, text: &str| (path, json!(text));
    let expected = vec![
        of("/status/dependentValues/fromSecrets/db/password/uid", "${uid:Secret/db}"),
        of("/status/dependentValues/fromSecrets/db/password/resourceVersion", "${version:Secret/db}"),
    ];
    Desired::of([owner("b"), secret("db", &json!({"password": password})), request(&spec)])
        .holding(REQUEST, expected)
}

/// A request for a field of a state.
fn of_state(cidr: &str) -> Desired {
    let wanted = json!({"kind": "vpc", "name": "a", "path": "vpc.CidrBlock", "type": "string"});
    let spec = json!({"krakenResourceDependencies": [wanted]});
    let answer = json!({"vpc": {"a": {"vpc.CidrBlock": cidr}}});
    Desired::of([owner("a"), owner("b"), state(cidr), request(&spec)])
        .holding(REQUEST, vec![("/status/dependentValues/fromKrakenResources", answer)])
}

/// An export of a ConfigMap, a Secret and a state to a Secret, with a foreign ConfigMap of the same name.
fn of_all(size: &str, (password, encoded): (&str, &str)) -> Desired {
    let entries = json!([
        entry("size", &json!({"configMap": {"name": "settings", "key": "size"}})),
        entry("password", &json!({"secret": {"name": "db", "key": "password"}})),
        entry("vpc", &json!({"krakenResource": {"kind": "vpc", "name": "a"}})),
    ]);
    let data = json!({"size": base64(size), "password": encoded, "vpc": "dnBjLTE="});
    Desired::of([
        config_map("app", &json!({"theirs": "yes"})),
        config_map("settings", &json!({"size": size})),
        secret("db", &json!({"password": password})),
        owner("a"),
        state("10.0.0.0/16"),
        export("Secret", "app", &entries),
    ])
    .holding("Secret/app", vec![("/data", data)])
}

/// In base64, as Secrets are read.
fn base64(text: &str) -> &'static str {
    match text {
        "small" => "c21hbGw=",
        "large" => "bGFyZ2U=",
        CANARY => "aGt3cXp2dG5yZ3hqcG1zeS1vbmU=",
        OTHER_CANARY => "eXd0bXhxaHJrem5qdmdzcC10d28=",
        _ => "",
    }
}

/// All forms and parts of the values that must not occur. The parts are those of the letters before the dash, because other texts
/// may have the word after it.
pub(in super::super) fn canary() -> &'static Canary {
    static FORMS: LazyLock<Canary> = LazyLock::new(|| {
        let letters = |value: &'static str| value.split_once('-').map_or(value, |(letters, _)| letters);
        Canary::of(&[letters(CANARY), letters(OTHER_CANARY)])
    });
    &FORMS
}

/// The value of a Secret in base64.
#[cfg(test)]
pub(in super::super) fn encoded_value() -> &'static str {
    base64(CANARY)
}

/// An export of some keys of one ConfigMap into another.
fn of_keys(target: &str, keys: &[&str]) -> Desired {
    let all = json!({"a": "1", "b": "2"});
    let from = |key: &&str| entry(key, &json!({"configMap": {"name": "settings", "key": key}}));
    let entries: Vec<Value> = keys.iter().map(from).collect();
    let data: Value = keys.iter().map(|key| ((*key).to_owned(), all[*key].clone())).collect();
    Desired::of([config_map("settings", &all), export("ConfigMap", target, &json!(entries))])
        .holding(&format!("ConfigMap/{target}"), vec![("/data", data)])
}

/// The same after the deletion of its source: no partial target exists.
fn of_no_source() -> Desired {
    let entries = ["a", "b"].map(|key| entry(key, &json!({"configMap": {"name": "settings", "key": key}})));
    Desired::of([export("ConfigMap", "app", &json!(entries))])
        .unready("ConfigExport/e")
        .without("ConfigMap/app")
}

/// One after the other.
fn each(all: impl IntoIterator<Item = Desired>) -> Vec<Step> {
    all.into_iter().flat_map(apply).collect()
}

pub(in super::super) fn all() -> Vec<Scenario> {
    let story = |name, all: Vec<Desired>| Scenario::new(name, HUB, each(all));
    let (first, second) = ((CANARY, base64(CANARY)), (OTHER_CANARY, base64(OTHER_CANARY)));
    let mut moved = of_keys("app2", &["a", "b"]).without("ConfigMap/app");
    let mut retyped = Desired::of(moved.manifests.clone()).without("ConfigMap/app2");
    for object in retyped.manifests.iter_mut().filter(|object| object["kind"] == "ConfigExport") {
        object["spec"]["configType"] = json!("Secret");
    }
    retyped = retyped.holding("Secret/app2", vec![("/data", json!({"a": "MQ==", "b": "Mg=="}))]);
    moved = moved.without("Secret/app2");
    vec![
        story("hub-config-map", vec![of_config_map("small"), of_config_map("large")]),
        story("hub-no-key", vec![of_no_key(), of_config_map("large")]).after(of_config_map("small")),
        story("hub-secret", vec![of_secret(CANARY), of_secret(OTHER_CANARY)]),
        story("hub-state", vec![of_state("10.0.0.0/16"), of_state("10.1.0.0/16")]),
        story("export-create", vec![of_all("small", first)]),
        story("export-edit", vec![of_all("large", second)]).after(of_all("small", first)),
        story("export-key", vec![of_keys("app", &["a"]), of_keys("app", &["a", "b"])])
            .after(of_keys("app", &["a", "b"])),
        story("export-move", vec![moved, retyped]).after(of_keys("app", &["a", "b"])),
        story("export-missing", vec![of_no_source(), of_keys("app", &["a", "b"])])
            .after(of_keys("app", &["a", "b"])),
        Scenario::new("export-delete", HUB, vec![Step::Apply(gone()), Step::Settle])
            .after(of_all("small", first)),
    ]
}

/// All objects except the export are unchanged.
fn gone() -> Desired {
    let mut left = of_all("small", (CANARY, base64(CANARY)));
    left.manifests.retain(|object| object["kind"] != "ConfigExport");
    Desired::of(left.manifests).without("Secret/app")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_values_are_encoded_as_in_kubernetes() {
        use k8s_openapi::ByteString;
        for text in ["small", "large", CANARY, OTHER_CANARY] {
            let encoded = serde_json::to_value(ByteString(text.as_bytes().to_vec())).unwrap();
            assert_eq!(encoded, base64(text), "{text}");
        }
    }
}
