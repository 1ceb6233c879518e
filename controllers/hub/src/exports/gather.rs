//! Before step 1: the values that an export refers to. Client required; the bodies of ConfigMaps and states come from the
//! cache, the values of Secrets are read now and kept by nobody.

use std::sync::Arc;

use kraken_runtime::hash::HashMap;

use kraken_options::{Budget, Dependencies, Dependency, JsonType, KeyRef, Values};
use kraken_runtime::work;

use crate::{
    exports::Parsed,
    facts::{Known, ReadError},
    find::{self, Gap},
    index::{Asker, Class, Named},
    world::World,
};

/// What was found.
#[derive(Debug, Default)]
pub struct Gathered {
    /// The values, and the causes of what has none.
    pub values: Values,
    /// Whether what has no value may get one by itself; `None` if all have.
    pub gap: Option<Gap>,
}

impl Gathered {
    fn lacks(&mut self, dependency: Dependency, cause: find::Cause) {
        self.gap = self.gap.max(Some(cause.gap));
        self.values.causes.insert(dependency, cause.message);
    }
}

/// The values, and the causes of what has none.
///
/// # Errors
/// When something could not be read for now: an entry must not look missing because of that.
pub async fn gather(
    world: &World,
    namespace: &str,
    asker: &Asker,
    parsed: &Parsed,
) -> Result<Gathered, Arc<ReadError>> {
    let known = world.known(asker, &parsed.asks).await;
    if let Some(error) = known.failure() {
        return Err(error.clone());
    }
    let paths = parsed.dependencies.resources.keys().map(|resource| resource.path.as_str());
    let mut gathered = if find::are_costly(paths) {
        let (namespace, wanted) = (namespace.to_owned(), parsed.dependencies.clone());
        work::compute(move || values_of(&namespace, &wanted, &known)).await
    } else {
        values_of(namespace, &parsed.dependencies, &known)
    };
    for (named, keys) in readable_secrets(namespace, &parsed.dependencies, &gathered.values) {
        let read = world.reader.secret(&named, &keys).await.map_err(Arc::new)?;
        if !read.causes.is_empty() {
            // A Secret that is being created again looks like one that lacks nothing in its metadata.
            let gap = if read.data.is_none() { Gap::Absent } else { Gap::Certain };
            gathered.gap = gathered.gap.max(Some(gap));
        }
        gathered.values.causes.extend(read.causes);
        if let Some(data) = read.data {
            gathered.values.secrets.insert(named.key.name.to_string(), data);
        }
    }
    Ok(gathered)
}

/// Everything but the values of Secrets.
fn values_of(namespace: &str, wanted: &Dependencies, known: &Known) -> Gathered {
    let (mut gathered, mut budget) = (Gathered::default(), Budget::default());
    for key in &wanted.config_maps {
        let named = Named::new(Class::ConfigMap, namespace, &key.name);
        match find::fact(known, &named).and_then(|fact| find::config_map(fact, key)) {
            Ok(text) => {
                let maps = &mut gathered.values.config_maps;
                maps.entry(key.name.clone()).or_default().insert(key.key.clone(), text);
            }
            Err(cause) => gathered.lacks(Dependency::ConfigMap(key.clone()), cause),
        }
    }
    for key in &wanted.secrets {
        let named = Named::new(Class::Secret, namespace, &key.name);
        if let Err(cause) = find::fact(known, &named).and_then(|fact| find::secret(fact, key)) {
            gathered.lacks(Dependency::Secret(key.clone()), cause);
        }
    }
    for resource in wanted.resources.keys() {
        let named = Named::state(namespace, &resource.kind, &resource.name);
        let found = find::fact(known, &named)
            .and_then(|fact| find::resource(fact, resource, JsonType::Any, &mut budget));
        match found {
            Ok(value) => {
                let by_name = gathered.values.resources.entry(resource.kind.clone()).or_default();
                by_name.entry(resource.name.clone()).or_default().insert(resource.path.clone(), value);
            }
            Err(cause) => gathered.lacks(Dependency::Resource(resource.clone()), cause),
        }
    }
    gathered
}

/// The Secrets that exist and may be read, each with all its wanted keys, so that each is read once.
fn readable_secrets(namespace: &str, wanted: &Dependencies, values: &Values) -> HashMap<Named, Vec<KeyRef>> {
    let mut secrets: HashMap<Named, Vec<KeyRef>> = HashMap::default();
    for key in &wanted.secrets {
        if !values.causes.contains_key(&Dependency::Secret(key.clone())) {
            secrets.entry(Named::new(Class::Secret, namespace, &key.name)).or_default().push(key.clone());
        }
    }
    secrets
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        exports::resolve::tests::{dependencies, spec},
        facts::{Fact, StateData},
        secrets::SecretVersions,
    };

    fn db() -> Fact {
        Fact::Secret(Arc::new(SecretVersions::of_all("u".into(), "1".into())))
    }

    fn wanted() -> Dependencies {
        let from = |source: serde_json::Value| json!({"key": "k", "valueFrom": source});
        dependencies(&spec(
            "Secret",
            json!([
                from(json!({"configMap": {"name": "sizes", "key": "small"}})),
                from(json!({"secret": {"name": "db", "key": "user"}})),
                from(json!({"secret": {"name": "db", "key": "password"}})),
                from(json!({"secret": {"name": "gone", "key": "x"}})),
                from(json!({"krakenResource": {"kind": "Thing", "name": "a", "path": "x"}})),
                from(json!({"krakenResource": {"kind": "Thing", "name": "a"}})),
            ]),
        ))
    }

    #[test]
    fn values_and_causes_are_found_for_all_and_a_secret_is_read_once() {
        let state = StateData { data: json!({"x": 1}), id: Some("t-1".into()), ..StateData::default() };
        let facts = HashMap::from_iter([
            (Named::new(Class::Secret, "ns", "db"), db()),
            (Named::state("ns", "thing", "a"), Fact::State(Arc::new(state))),
        ]);
        let Gathered { values, gap } = values_of("ns", &wanted(), &Known { facts, ..Known::default() });
        assert_eq!(gap, Some(Gap::Absent));
        assert_eq!(values.resources["thing"]["a"]["x"], 1);
        assert_eq!(values.resources["thing"]["a"][""], "t-1");
        let causes: Vec<_> = values.causes.values().map(String::as_str).collect();
        assert_eq!(causes, ["ConfigMap sizes does not exist", "Secret gone does not exist"]);
        let secrets = readable_secrets("ns", &wanted(), &values);
        assert_eq!(secrets.len(), 1);
        assert_eq!(secrets[&Named::new(Class::Secret, "ns", "db")].len(), 2);
    }

    #[test]
    fn what_is_made_of_the_target_itself_has_no_value() {
        let named = Named::new(Class::Secret, "ns", "db");
        let facts = HashMap::from_iter([(named.clone(), db())]);
        let circles = HashMap::from_iter([(named, "reference cycle: Secret db -> Secret db".to_owned())]);
        let Gathered { values, gap } = values_of("ns", &wanted(), &Known { facts, circles });
        assert_eq!(gap, Some(Gap::Certain), "a cycle does not pass by itself");
        assert!(values.causes.values().any(|why| why.contains("reference cycle")));
        assert!(readable_secrets("ns", &wanted(), &values).is_empty());
    }
}
