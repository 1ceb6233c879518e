//! Step 2: what is asked and what is known -> the values, and the causes of what is unmet. Pure.

use kraken_api::{
    DependencyRequestSpec,
    dependency_request::{DependentValues, KeyDependency, ResourceDependency, Unmet},
    reasons::DependencyReason as Reason,
};
use kraken_options::{Budget, Dependency, KeyRef, ResourceRef, kind_key};
use serde_json::Value;

use crate::{
    facts::Known,
    find::{self, Cause, Gap},
    index::{Class, Named},
};

/// The largest value that is passed on, in bytes of JSON.
pub const MAX_VALUE: usize = 256 * 1024;
/// The most that all values of one request may be together: an object holds 1.5 MiB, and its bookkeeping counts too.
pub const MAX_TOTAL: usize = 768 * 1024;

/// The answer to a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// The values found.
    pub values: DependentValues,
    /// The dependencies without a value.
    pub unmet: Vec<Unmet>,
    /// Whether what is unmet may pass by itself; `None` if nothing is unmet.
    pub gap: Option<Gap>,
}

/// Answers every dependency: with its value, or with why there is none.
pub fn answer(namespace: &str, spec: &DependencyRequestSpec, known: &Known) -> Answer {
    let mut made = Making { known, left: MAX_TOTAL, budget: Budget::default(), answer: Answer::default() };
    for wanted in &spec.config_map_dependencies {
        made.config_map(&Named::new(Class::ConfigMap, namespace, &wanted.name), key_ref(wanted));
    }
    for wanted in &spec.secret_dependencies {
        made.secret(&Named::new(Class::Secret, namespace, &wanted.name), key_ref(wanted));
    }
    for wanted in &spec.kraken_resource_dependencies {
        made.resource(&Named::state(namespace, &wanted.kind, &wanted.name), wanted);
    }
    made.answer
}

struct Making<'a> {
    known: &'a Known,
    /// How many bytes of values may follow.
    left: usize,
    /// What all paths together may cost.
    budget: Budget,
    answer: Answer,
}

impl Making<'_> {
    fn config_map(&mut self, named: &Named, wanted: KeyRef) {
        let found = find::fact(self.known, named).and_then(|fact| find::config_map(fact, &wanted));
        match found.and_then(|text| self.fits(text.len()).map(|()| text)) {
            Ok(text) => {
                let keys = self.answer.values.from_config_maps.entry(wanted.name).or_default();
                keys.insert(wanted.key, text);
            }
            Err(cause) => self.unmet(&Dependency::ConfigMap(wanted), cause),
        }
    }

    fn secret(&mut self, named: &Named, wanted: KeyRef) {
        match find::fact(self.known, named).and_then(|fact| find::secret(fact, &wanted)) {
            Ok(version) => {
                self.answer.values.from_secrets.entry(wanted.name).or_default().insert(wanted.key, version);
            }
            Err(cause) => self.unmet(&Dependency::Secret(wanted), cause),
        }
    }

    fn resource(&mut self, named: &Named, wanted: &ResourceDependency) {
        let asked =
            ResourceRef { kind: wanted.kind.clone(), name: wanted.name.clone(), path: wanted.path.clone() };
        let looked_up = ResourceRef { kind: kind_key(&wanted.kind), ..asked.clone() };
        let budget = &mut self.budget;
        let found = find::fact(self.known, named)
            .and_then(|fact| find::resource(fact, &looked_up, wanted.json_type, budget));
        match found.and_then(|value| self.fits(size(&value)).map(|()| value)) {
            Ok(value) => {
                let by_name = self.answer.values.from_kraken_resources.entry(asked.kind).or_default();
                by_name.entry(asked.name).or_default().insert(asked.path, value);
            }
            Err(cause) => self.unmet(&Dependency::Resource(asked), cause),
        }
    }

    fn fits(&mut self, bytes: usize) -> Result<(), Cause> {
        if bytes > MAX_VALUE {
            let message = format!(
                "the value is {bytes} bytes, and at most {MAX_VALUE} are passed on; name a part of it"
            );
            return Err(Cause::new(Reason::ValueTooLarge, message));
        }
        let Some(left) = self.left.checked_sub(bytes) else {
            let message = format!("all values of this resource are together more than {MAX_TOTAL} bytes");
            return Err(Cause::new(Reason::ValueTooLarge, message));
        };
        self.left = left;
        Ok(())
    }

    fn unmet(&mut self, dependency: &Dependency, cause: Cause) {
        self.answer.gap = self.answer.gap.max(Some(cause.gap));
        self.answer.unmet.push(Unmet::new(dependency, cause.reason, cause.message));
    }
}

fn key_ref(wanted: &KeyDependency) -> KeyRef {
    KeyRef { name: wanted.name.clone(), key: wanted.key.clone() }
}

fn size(value: &Value) -> usize {
    value.to_string().len()
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::Arc;

    use kraken_runtime::hash::HashMap;

    use serde_json::json;

    use super::*;
    use crate::{
        facts::{ConfigMapData, Fact, StateData},
        secrets::SecretVersions,
    };

    pub(crate) fn spec(spec: Value) -> DependencyRequestSpec {
        serde_json::from_value(spec).unwrap()
    }

    fn maps(entries: &[(&str, &str, String)]) -> Known {
        let fact = |key: &str, text: &String| {
            let data = [(key.to_owned(), text.clone())].into();
            Fact::ConfigMap(Arc::new(ConfigMapData { data, ..ConfigMapData::default() }))
        };
        let facts = entries
            .iter()
            .map(|(name, key, text)| (Named::new(Class::ConfigMap, "ns", name), fact(key, text)));
        Known { facts: facts.collect(), ..Known::default() }
    }

    fn answered(asked: Value, known: &Known) -> Answer {
        answer("ns", &spec(asked), known)
    }

    fn reasons(answer: &Answer) -> Vec<&str> {
        answer.unmet.iter().map(|unmet| unmet.reason.as_str()).collect()
    }

    #[test]
    fn every_dependency_is_answered_whatever_the_others_are() {
        let mut known = maps(&[("sizes", "small", "t2.nano".into())]);
        let state = StateData { data: json!({"x": [1, 2]}), id: Some("i-1".into()), ..StateData::default() };
        known.facts.insert(Named::state("ns", "ec2instance", "a"), Fact::State(Arc::new(state)));
        let versions = SecretVersions::of_all("u".into(), "7".into());
        known.facts.insert(Named::new(Class::Secret, "ns", "db"), Fact::Secret(Arc::new(versions)));
        let answer = answered(
            json!({
                "configMapDependencies": [{"name": "sizes", "key": "small"}, {"name": "gone", "key": "a"}],
                "secretDependencies": [{"name": "db", "key": "password"}, {"name": "gone", "key": "a"}],
                "krakenResourceDependencies": [
                    {"kind": "EC2Instance", "name": "a", "path": "x.1", "type": "integer"},
                    {"kind": "EC2Instance", "name": "a", "type": "string"},
                    {"kind": "ec2instance", "name": "b", "path": "x", "type": "any"},
                ],
            }),
            &known,
        );
        assert_eq!(
            serde_json::to_value(&answer.values).unwrap(),
            json!({
                "fromConfigMaps": {"sizes": {"small": "t2.nano"}},
                "fromSecrets": {"db": {"password": {"uid": "u", "resourceVersion": "7"}}},
                "fromKrakenResources": {"EC2Instance": {"a": {"": "i-1", "x.1": 2}}},
            })
        );
        assert_eq!(reasons(&answer), ["ConfigMapNotFound", "SecretNotFound", "StateNotFound"]);
    }

    #[test]
    fn all_paths_of_a_request_share_one_budget() {
        let data = (0..20_000).map(|n| json!({"a": {"b": n}})).collect();
        let state = StateData { data, ..StateData::default() };
        let facts =
            HashMap::from_iter([(Named::state("ns", "ec2instance", "a"), Fact::State(Arc::new(state)))]);
        let known = Known { facts, ..Known::default() };
        let paths: Vec<Value> = (0..200)
            .map(|n| json!({"kind": "ec2instance", "name": "a", "path": format!("$[?@.a.b == {n}].a")}))
            .collect();
        let answer = answered(json!({"krakenResourceDependencies": paths}), &known);
        let values = &answer.values.from_kraken_resources["ec2instance"]["a"];
        assert!(!values.is_empty() && values.len() < 100, "{}", values.len());
        assert!(
            answer.unmet.len() > 100
                && answer.unmet.iter().all(|unmet| unmet.message.contains("too many steps"))
        );
    }

    #[test]
    fn a_value_in_a_circle_is_not_passed_on() {
        let named = Named::state("ns", "ec2instance", "a");
        let state = StateData { data: json!({"x": 1}), ..StateData::default() };
        let facts = HashMap::from_iter([(named.clone(), Fact::State(Arc::new(state)))]);
        let circles = HashMap::from_iter([(named, "reference cycle: a -> a".to_owned())]);
        let asked =
            json!({"krakenResourceDependencies": [{"kind": "ec2instance", "name": "a", "path": "x"}]});
        let answer = answer("ns", &spec(asked), &Known { facts, circles });
        assert_eq!(answer.values, DependentValues::default());
        assert_eq!(reasons(&answer), ["ReferenceCycle"]);
        assert_eq!(answer.unmet[0].message, "reference cycle: a -> a");
        assert_eq!(answer.gap, Some(Gap::Certain));
    }

    #[test]
    fn one_certain_cause_makes_the_whole_answer_certain() {
        let mut known = maps(&[("sizes", "small", "t2.nano".into())]);
        known.facts.insert(Named::state("ns", "vpc", "main"), Fact::Coming);
        let main = json!([{"kind": "vpc", "name": "main"}]);
        let asked = |keys: Value| json!({"configMapDependencies": keys, "krakenResourceDependencies": main});
        let gap = |keys: Value| answered(asked(keys), &known).gap;
        assert_eq!(gap(json!([])), Some(Gap::Coming));
        assert_eq!(gap(json!([{"name": "gone", "key": "small"}])), Some(Gap::Absent));
        assert_eq!(gap(json!([{"name": "sizes", "key": "smal"}])), Some(Gap::Certain), "a typo");
        assert_eq!(answered(json!({}), &known).gap, None);
    }

    #[test]
    fn a_value_that_is_too_large_is_told_and_leaves_room_for_others() {
        let facts = maps(&[("big", "a", "x".repeat(MAX_VALUE + 1)), ("small", "a", "y".repeat(MAX_VALUE))]);
        let asked =
            json!({"configMapDependencies": [{"name": "big", "key": "a"}, {"name": "small", "key": "a"}]});
        let answer = answered(asked, &facts);
        assert_eq!(reasons(&answer), ["ValueTooLarge"]);
        assert_eq!(answer.values.from_config_maps.len(), 1);
    }

    #[test]
    fn all_values_together_are_bounded() {
        let facts = maps(&["a", "b", "c", "d"].map(|name| (name, "k", "x".repeat(MAX_VALUE))));
        let asked: Vec<_> =
            ["a", "b", "c", "d"].iter().map(|name| json!({"name": name, "key": "k"})).collect();
        let answer = answered(json!({"configMapDependencies": asked}), &facts);
        assert_eq!(answer.values.from_config_maps.len(), 3);
        assert_eq!(reasons(&answer), ["ValueTooLarge"]);
    }

    #[test]
    fn a_request_for_nothing_is_answered_with_nothing() {
        assert_eq!(answered(json!({}), &Known::default()), Answer::default());
    }
}
