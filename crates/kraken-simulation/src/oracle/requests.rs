//! The references of a spec, compared with those of a DependencyRequest, and its values, compared with those of their sources.

use std::collections::BTreeSet;

use serde_json::Value;

use super::source::{Source, text};
use super::{Oracle, title};
use crate::kinds::key;

/// A referenced object: its kind, its name, and the key of a ConfigMap or a Secret.
type Reference = (String, String, String);

/// Whether a spec has references, and a DependencyRequest has all of them. Which values of a state are requested is not
/// compared.
pub(crate) fn requests_all(object: &Value, request: &Value) -> bool {
    let references = references(object);
    !references.is_empty() && references.is_subset(&requested(request))
}

impl Oracle<'_> {
    /// The values in a DependencyRequest that its sources do not have any more, as text: the hub has yet to answer it again.
    ///
    /// A value that is missing on either side is not reported, since the resource then waits although it need not, or is ready
    /// although it cannot be. Of a Secret, the request has no value.
    pub fn outdated(&self, request: &Value) -> Vec<String> {
        if request["kind"] != "DependencyRequest" || request["metadata"]["deletionTimestamp"].is_string() {
            return vec![];
        }
        let namespace = request["metadata"]["namespace"].as_str().unwrap_or_default();
        let differs = |(source, answer): &(Source, Value)| {
            !self.is_permitted(namespace, source)
                || self.value(request, source).is_some_and(|value| text(&value) != text(answer))
        };
        let outdated = answered(&request["status"]["dependentValues"]).into_iter().filter(differs);
        outdated.map(|(source, _)| format!("{} has a former value of {source:?}", title(request))).collect()
    }
}

/// The values of ConfigMaps and states in an answer of the hub, with their sources.
fn answered(values: &Value) -> Vec<(Source, Value)> {
    let mut found = vec![];
    for (name, keys) in members(&values["fromConfigMaps"]) {
        for (key, value) in members(keys) {
            found.push((Source::Key("ConfigMap", name.clone(), key.clone()), value.clone()));
        }
    }
    for (kind, names) in members(&values["fromKrakenResources"]) {
        for (name, paths) in members(names) {
            for (path, value) in members(paths) {
                let path = Some(path.clone()).filter(|path| !path.is_empty());
                found.push((Source::State(kind.clone(), name.clone(), path), value.clone()));
            }
        }
    }
    found
}

fn members(object: &Value) -> impl Iterator<Item = (&String, &Value)> {
    object.as_object().into_iter().flatten()
}

fn references(object: &Value) -> BTreeSet<Reference> {
    let mut open = Oracle::of(&[]).sources(object);
    let mut found = BTreeSet::new();
    while let Some(source) = open.pop() {
        let reference = match source {
            Source::Key(kind, name, key) => (kind.to_owned(), name, key),
            Source::State(kind, name, _) => (key(&kind), name, String::new()),
            Source::Template(template) => {
                open.extend(Source::all_of_template(&template));
                continue;
            }
        };
        found.insert(reference);
    }
    found
}

fn requested(request: &Value) -> BTreeSet<Reference> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let keys = [("ConfigMap", "configMapDependencies"), ("Secret", "secretDependencies")];
    let mut found = BTreeSet::new();
    for (kind, field) in keys {
        for one in request["spec"][field].as_array().into_iter().flatten() {
            found.insert((kind.to_owned(), text(&one["name"]), text(&one["key"])));
        }
    }
    for one in request["spec"]["krakenResourceDependencies"].as_array().into_iter().flatten() {
        let name = match one["namespace"].as_str() {
            Some(namespace) => format!("{namespace}:{}", text(&one["name"])),
            None => text(&one["name"]),
        };
        found.insert((key(&text(&one["kind"])), name, String::new()));
    }
    found
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_is_outdated_only_if_a_source_has_another_value() {
        let meta = |name: &str| json!({"namespace": "prod", "name": name});
        let objects = [
            json!({"kind": "ConfigMap", "metadata": meta("source"), "data": {"k": "three", "n": "8080"}}),
            json!({
                "kind": "StateDeclaration", "metadata": meta("vpc.aws.main"),
                "spec": {"id": "vpc-2", "data": {"vpc": {"CidrBlock": "10.0.0.0/16"}}},
            }),
        ];
        let objects = objects.map(Arc::new);
        let oracle = Oracle::of(&objects);
        let is_outdated = |values: Value| {
            let status = json!({"dependentValues": values});
            let request =
                json!({"kind": "DependencyRequest", "metadata": meta("vpc.aws.a"), "status": status});
            !oracle.outdated(&request).is_empty()
        };
        for (key, value, expected) in
            [("k", "one", true), ("k", "three", false), ("n", "8080", false), ("gone", "one", false)]
        {
            let values = json!({"fromConfigMaps": {"source": {key: value}}});
            assert_eq!(is_outdated(values), expected, "{key} {value}");
        }
        for (path, value, expected) in [
            ("", "vpc-1", true),
            ("", "vpc-2", false),
            ("vpc.CidrBlock", "10.1.0.0/16", true),
            ("vpc.CidrBlock", "10.0.0.0/16", false),
        ] {
            let values = json!({"fromKrakenResources": {"vpc": {"main": {path: value}}}});
            assert_eq!(is_outdated(values), expected, "{path} {value}");
        }
        assert!(!is_outdated(Value::Null), "the hub has not answered");
        let of_other = json!({"fromKrakenResources": {"vpc": {"platform:main": {"": "vpc-1"}}}});
        assert!(is_outdated(of_other), "its namespace has no grant");
    }

    #[test]
    fn a_request_must_have_every_reference_of_the_spec() {
        let spec = json!({"spec": {
            "subnetID": {"valueFrom": {"ref": "Subnet.aws/a/subnet.SubnetId"}},
            "tags": {"Name": {"valueFrom": {"templateString": "{{ .ConfigMap.settings.k1 }}-{{ .VPC.b }}"}}},
        }});
        let request = |key: &str| {
            json!({"spec": {
                "configMapDependencies": [{"name": "settings", "key": key}],
                "krakenResourceDependencies": [{"kind": "subnet.aws", "name": "a"}, {"kind": "vpc", "name": "b"}],
            }})
        };
        assert!(requests_all(&spec, &request("k1")));
        assert!(!requests_all(&spec, &request("k2")));
        assert!(!requests_all(&json!({"spec": {}}), &request("k1")), "it has no references");
    }
}
