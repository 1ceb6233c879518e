//! Step 2: the references and the lookups -> the values, and the causes of unmet dependencies. Pure.

use kraken_api::{
    DependencyRequestSpec,
    dependency_request::{DependentValues, KeyDependency, ResourceDependency, Unmet},
    reasons::DependencyReason as Reason,
};
use kraken_options::{Budget, Dependency, KeyRef, ResourceRef, kind_key};
use serde_json::Value;

use crate::{
    resolve::find::{self, Cause, Transience},
    store::index::{Class, ObjectRef},
    store::lookup::Lookups,
};

/// The maximum size of a value, in bytes of JSON.
pub(crate) const MAX_VALUE: usize = 256 * 1024;
/// The maximum size of all values of one request: an object is limited to 1.5 MiB, including its managedFields.
pub(crate) const MAX_TOTAL: usize = 768 * 1024;

/// The answer to a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Answer {
    /// The resolved values.
    pub(crate) values: DependentValues,
    /// The dependencies without a value.
    pub(crate) unmet: Vec<Unmet>,
    /// Whether unmet dependencies may be resolved without an edit; `None` if nothing is unmet, or only what waits for the dependent.
    pub(crate) transience: Option<Transience>,
}

/// Resolves every dependency: its value, or the cause why there is none.
pub(crate) fn answer(namespace: &str, spec: &DependencyRequestSpec, lookups: &Lookups) -> Answer {
    let mut made =
        AnswerBuilder { lookups, left: MAX_TOTAL, budget: Budget::default(), answer: Answer::default() };
    for wanted in &spec.config_map_dependencies {
        made.config_map(&ObjectRef::new(Class::ConfigMap, namespace, &wanted.name), key_ref(wanted));
    }
    for wanted in &spec.secret_dependencies {
        made.secret(&ObjectRef::new(Class::Secret, namespace, &wanted.name), key_ref(wanted));
    }
    for wanted in &spec.kraken_resource_dependencies {
        made.resource(&ObjectRef::referenced(namespace, &wanted.reference()), wanted);
    }
    made.answer
}

struct AnswerBuilder<'a> {
    lookups: &'a Lookups,
    /// The remaining bytes for values.
    left: usize,
    /// The budget for all paths.
    budget: Budget,
    answer: Answer,
}

impl AnswerBuilder<'_> {
    fn config_map(&mut self, named: &ObjectRef, wanted: KeyRef) {
        let found = find::lookup(self.lookups, named).and_then(|lookup| find::config_map(lookup, &wanted));
        match found.and_then(|text| self.fits(text.len(), "store less in the key").map(|()| text)) {
            Ok(text) => {
                let keys = self.answer.values.from_config_maps.entry(wanted.name).or_default();
                keys.insert(wanted.key, text);
            }
            Err(cause) => self.unmet(named, &Dependency::ConfigMap(wanted), cause),
        }
    }

    fn secret(&mut self, named: &ObjectRef, wanted: KeyRef) {
        match find::lookup(self.lookups, named).and_then(|lookup| find::secret(lookup, &wanted)) {
            Ok(version) => {
                self.answer.values.from_secrets.entry(wanted.name).or_default().insert(wanted.key, version);
            }
            Err(cause) => self.unmet(named, &Dependency::Secret(wanted), cause),
        }
    }

    fn resource(&mut self, named: &ObjectRef, wanted: &ResourceDependency) {
        let reference = wanted.reference();
        let looked_up = ResourceRef { kind: kind_key(&wanted.kind), ..reference.clone() };
        let budget = &mut self.budget;
        let found = find::lookup(self.lookups, named)
            .and_then(|lookup| find::resource(lookup, &looked_up, wanted.json_type, budget));
        match found.and_then(|value| self.fits(size(&value), "use a more specific path").map(|()| value)) {
            Ok(value) => {
                let name = reference.full_name().into_owned();
                let by_name = self.answer.values.from_kraken_resources.entry(reference.kind).or_default();
                by_name.entry(name).or_default().insert(reference.path, value);
            }
            Err(cause) => self.unmet(named, &Dependency::Resource(reference), cause),
        }
    }

    fn fits(&mut self, bytes: usize, help: &str) -> Result<(), Cause> {
        if bytes > MAX_VALUE {
            let message = format!("the value is {bytes} bytes, the limit is {MAX_VALUE}; {help}");
            return Err(Cause::new(Reason::ValueTooLarge, message));
        }
        let Some(left) = self.left.checked_sub(bytes) else {
            let message = format!("all values of this resource together exceed {MAX_TOTAL} bytes");
            return Err(Cause::new(Reason::ValueTooLarge, message));
        };
        self.left = left;
        Ok(())
    }

    fn unmet(&mut self, named: &ObjectRef, dependency: &Dependency, cause: Cause) {
        if !self.lookups.mutual.contains(named) {
            self.answer.transience = self.answer.transience.max(Some(cause.transience));
        }
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
        store::lookup::{ConfigMapData, Lookup, StateData},
        store::secrets::SecretVersions,
    };

    pub(crate) fn spec(spec: Value) -> DependencyRequestSpec {
        serde_json::from_value(spec).unwrap()
    }

    fn maps(entries: &[(&str, &str, String)]) -> Lookups {
        let lookup = |key: &str, text: &String| {
            let data = [(key.to_owned(), text.clone())].into();
            Lookup::ConfigMap(Arc::new(ConfigMapData { data, ..ConfigMapData::default() }))
        };
        let lookup = entries
            .iter()
            .map(|(name, key, text)| (ObjectRef::new(Class::ConfigMap, "ns", name), lookup(key, text)));
        Lookups { lookup: lookup.collect(), ..Lookups::default() }
    }

    fn answered(requested: Value, lookups: &Lookups) -> Answer {
        answer("ns", &spec(requested), lookups)
    }

    fn reasons(answer: &Answer) -> Vec<&str> {
        answer.unmet.iter().map(|unmet| unmet.reason.as_str()).collect()
    }

    #[test]
    fn every_dependency_is_answered_independently() {
        let mut lookups = maps(&[("sizes", "small", "t2.nano".into())]);
        let state = StateData { data: json!({"x": [1, 2]}), id: Some("i-1".into()), ..StateData::default() };
        lookups.lookup.insert(ObjectRef::state("ns", "ec2instance", "a"), Lookup::State(Arc::new(state)));
        let versions = SecretVersions::of_all("u".into(), "7".into());
        lookups.lookup.insert(ObjectRef::new(Class::Secret, "ns", "db"), Lookup::Secret(Arc::new(versions)));
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
            &lookups,
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
        let lookup = HashMap::from_iter([(
            ObjectRef::state("ns", "ec2instance", "a"),
            Lookup::State(Arc::new(state)),
        )]);
        let lookups = Lookups { lookup, ..Lookups::default() };
        let paths: Vec<Value> = (0..200)
            .map(|n| json!({"kind": "ec2instance", "name": "a", "path": format!("$[?@.a.b == {n}].a")}))
            .collect();
        let answer = answered(json!({"krakenResourceDependencies": paths}), &lookups);
        let values = &answer.values.from_kraken_resources["ec2instance"]["a"];
        assert!(!values.is_empty() && values.len() < 100, "{}", values.len());
        assert!(
            answer.unmet.len() > 100
                && answer.unmet.iter().all(|unmet| unmet.message.contains("too many steps"))
        );
    }

    #[test]
    fn a_value_in_a_cycle_is_not_passed_on() {
        let named = ObjectRef::state("ns", "ec2instance", "a");
        let state = StateData { data: json!({"x": 1}), ..StateData::default() };
        let lookup = HashMap::from_iter([(named.clone(), Lookup::State(Arc::new(state)))]);
        let cycles = HashMap::from_iter([(named, "reference cycle: a -> a".to_owned())]);
        let requested =
            json!({"krakenResourceDependencies": [{"kind": "ec2instance", "name": "a", "path": "x"}]});
        let answer = answer("ns", &spec(requested), &Lookups { lookup, cycles, ..Lookups::default() });
        assert_eq!(answer.values, DependentValues::default());
        assert_eq!(reasons(&answer), ["ReferenceCycle"]);
        assert_eq!(answer.unmet[0].message, "reference cycle: a -> a");
        assert_eq!(answer.transience, Some(Transience::Permanent));
    }

    #[test]
    fn one_permanent_cause_makes_the_whole_answer_permanent() {
        let mut lookups = maps(&[("sizes", "small", "t2.nano".into())]);
        lookups.lookup.insert(ObjectRef::state("ns", "vpc", "main"), Lookup::Expected);
        let main = json!([{"kind": "vpc", "name": "main"}]);
        let requested =
            |keys: Value| json!({"configMapDependencies": keys, "krakenResourceDependencies": main});
        let transience = |keys: Value| answered(requested(keys), &lookups).transience;
        assert_eq!(transience(json!([])), Some(Transience::Expected));
        assert_eq!(transience(json!([{"name": "gone", "key": "small"}])), Some(Transience::Absent));
        assert_eq!(
            transience(json!([{"name": "sizes", "key": "smal"}])),
            Some(Transience::Permanent),
            "a typo"
        );
        assert_eq!(answered(json!({}), &lookups).transience, None);
    }

    #[test]
    fn a_too_large_value_is_reported_and_does_not_count_for_the_total() {
        let lookup = maps(&[("big", "a", "x".repeat(MAX_VALUE + 1)), ("small", "a", "y".repeat(MAX_VALUE))]);
        let requested =
            json!({"configMapDependencies": [{"name": "big", "key": "a"}, {"name": "small", "key": "a"}]});
        let answer = answered(requested, &lookup);
        assert_eq!(reasons(&answer), ["ValueTooLarge"]);
        assert_eq!(answer.values.from_config_maps.len(), 1);
    }

    #[test]
    fn all_values_together_are_bounded() {
        let lookup = maps(&["a", "b", "c", "d"].map(|name| (name, "k", "x".repeat(MAX_VALUE))));
        let requested: Vec<_> =
            ["a", "b", "c", "d"].iter().map(|name| json!({"name": name, "key": "k"})).collect();
        let answer = answered(json!({"configMapDependencies": requested}), &lookup);
        assert_eq!(answer.values.from_config_maps.len(), 3);
        assert_eq!(reasons(&answer), ["ValueTooLarge"]);
    }

    #[test]
    fn an_empty_request_has_an_empty_answer() {
        assert_eq!(answered(json!({}), &Lookups::default()), Answer::default());
    }
}
