//! The references of a spec, compared with those of a DependencyRequest.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Oracle;
use super::values::Source;
use crate::kinds::key;

/// A referenced object: its kind, its name, and the key of a ConfigMap or a Secret.
type Reference = (String, String, String);

/// Whether a spec has references, and a DependencyRequest has all of them. Which values of a state are requested is not
/// compared.
pub(crate) fn requests_all(object: &Value, request: &Value) -> bool {
    let references = references(object);
    !references.is_empty() && references.is_subset(&requested(request))
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
        found.insert((key(&text(&one["kind"])), text(&one["name"]), String::new()));
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
