//! Before step 1: collects the values that an export refers to. Client required; the bodies of ConfigMaps and states come
//! from the cache, the values of Secrets are read now and not cached.

use std::sync::Arc;

use kraken_runtime::hash::HashMap;

use kraken_api::reasons::DependencyReason;
use kraken_options::{Budget, Dependencies, Dependency, JsonType, KeyRef, Values};
use kraken_runtime::work;

use crate::{
    resolve::find::{self, Transience},
    store::dependents::export::Parsed,
    store::index::{Class, Dependent, ObjectRef},
    store::lookup::{Lookups, ReadError},
    watch::cluster_state::ClusterState,
};

/// The collected values.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    /// The values, and the causes of missing values.
    pub(crate) values: Values,
    /// Whether missing values may appear without an edit; `None` if none is missing.
    pub(crate) transience: Option<Transience>,
    /// Whether a namespace does not permit a reference.
    pub(crate) is_withheld: bool,
}

impl Gathered {
    fn lacks(&mut self, dependency: Dependency, cause: find::Cause) {
        self.transience = self.transience.max(Some(cause.transience));
        self.is_withheld |= cause.reason == DependencyReason::RefNotPermitted;
        self.values.causes.insert(dependency, cause.message);
    }
}

/// The values, and the causes of missing values.
///
/// # Errors
/// If an object could not be read: an entry must not be reported as missing because of that.
pub(crate) async fn gather(
    cluster: &ClusterState,
    namespace: &str,
    dependent: &Dependent,
    parsed: &Parsed,
) -> Result<Gathered, Arc<ReadError>> {
    let lookups = cluster.lookups(dependent, &parsed.edges).await;
    if let Some(error) = lookups.failure() {
        return Err(error.clone());
    }
    let paths = parsed.dependencies.resources.keys().map(|resource| resource.path.as_str());
    let mut gathered = if find::are_costly(paths) {
        let (namespace, wanted) = (namespace.to_owned(), parsed.dependencies.clone());
        work::compute(move || values_of(&namespace, &wanted, &lookups)).await
    } else {
        values_of(namespace, &parsed.dependencies, &lookups)
    };
    for (named, keys) in readable_secrets(namespace, &parsed.dependencies, &gathered.values) {
        let read = cluster.reader.secret(&named, &keys).await.map_err(Arc::new)?;
        if !read.causes.is_empty() {
            // The metadata of a Secret that is being recreated does not show missing keys.
            let transience = if read.data.is_none() { Transience::Absent } else { Transience::Permanent };
            gathered.transience = gathered.transience.max(Some(transience));
        }
        gathered.values.causes.extend(read.causes);
        if let Some(data) = read.data {
            gathered.values.secrets.insert(named.key.name.to_string(), data);
        }
    }
    Ok(gathered)
}

/// All values except those of Secrets.
fn values_of(namespace: &str, wanted: &Dependencies, lookups: &Lookups) -> Gathered {
    let (mut gathered, mut budget) = (Gathered::default(), Budget::default());
    for key in &wanted.config_maps {
        let named = ObjectRef::new(Class::ConfigMap, namespace, &key.name);
        match find::lookup(lookups, &named).and_then(|lookup| find::config_map(lookup, key)) {
            Ok(text) => {
                let maps = &mut gathered.values.config_maps;
                maps.entry(key.name.clone()).or_default().insert(key.key.clone(), text);
            }
            Err(cause) => gathered.lacks(Dependency::ConfigMap(key.clone()), cause),
        }
    }
    for key in &wanted.secrets {
        let named = ObjectRef::new(Class::Secret, namespace, &key.name);
        if let Err(cause) = find::lookup(lookups, &named).and_then(|lookup| find::secret(lookup, key)) {
            gathered.lacks(Dependency::Secret(key.clone()), cause);
        }
    }
    for resource in wanted.resources.keys() {
        let named = ObjectRef::referenced(namespace, resource);
        let found = find::lookup(lookups, &named)
            .and_then(|lookup| find::resource(lookup, resource, JsonType::Any, &mut budget));
        match found {
            Ok(value) => {
                let by_name = gathered.values.resources.entry(resource.kind.clone()).or_default();
                by_name
                    .entry(resource.full_name().into_owned())
                    .or_default()
                    .insert(resource.path.clone(), value);
            }
            Err(cause) => gathered.lacks(Dependency::Resource(resource.clone()), cause),
        }
    }
    gathered
}

/// The existing Secrets, each with all referenced keys, so that each is read once.
fn readable_secrets(
    namespace: &str,
    wanted: &Dependencies,
    values: &Values,
) -> HashMap<ObjectRef, Vec<KeyRef>> {
    let mut secrets: HashMap<ObjectRef, Vec<KeyRef>> = HashMap::default();
    for key in &wanted.secrets {
        if !values.causes.contains_key(&Dependency::Secret(key.clone())) {
            secrets.entry(ObjectRef::new(Class::Secret, namespace, &key.name)).or_default().push(key.clone());
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
        store::lookup::{Lookup, StateData},
        store::secrets::SecretVersions,
    };

    fn db() -> Lookup {
        Lookup::Secret(Arc::new(SecretVersions::of_all("u".into(), "1".into())))
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
                from(json!({"krakenResource": {"kind": "Widget", "name": "a", "path": "x"}})),
                from(json!({"krakenResource": {"kind": "Widget", "name": "a"}})),
            ]),
        ))
    }

    #[test]
    fn values_and_causes_are_collected_and_each_secret_is_read_once() {
        let state = StateData { data: json!({"x": 1}), id: Some("t-1".into()), ..StateData::default() };
        let lookup = HashMap::from_iter([
            (ObjectRef::new(Class::Secret, "ns", "db"), db()),
            (ObjectRef::state("ns", "widget", "a"), Lookup::State(Arc::new(state))),
        ]);
        let Gathered { values, transience, .. } =
            values_of("ns", &wanted(), &Lookups { lookup, ..Lookups::default() });
        assert_eq!(transience, Some(Transience::Absent));
        assert_eq!(values.resources["widget"]["a"]["x"], 1);
        assert_eq!(values.resources["widget"]["a"][""], "t-1");
        let causes: Vec<_> = values.causes.values().map(String::as_str).collect();
        assert_eq!(causes, ["ConfigMap sizes does not exist", "Secret gone does not exist"]);
        let secrets = readable_secrets("ns", &wanted(), &values);
        assert_eq!(secrets.len(), 1);
        assert_eq!(secrets[&ObjectRef::new(Class::Secret, "ns", "db")].len(), 2);
    }

    #[test]
    fn a_reference_to_the_target_itself_has_no_value() {
        let named = ObjectRef::new(Class::Secret, "ns", "db");
        let lookup = HashMap::from_iter([(named.clone(), db())]);
        let cycles = HashMap::from_iter([(named, "reference cycle: Secret db -> Secret db".to_owned())]);
        let Gathered { values, transience, .. } =
            values_of("ns", &wanted(), &Lookups { lookup, cycles, ..Lookups::default() });
        assert_eq!(transience, Some(Transience::Permanent), "a cycle requires an edit");
        assert!(values.causes.values().any(|why| why.contains("reference cycle")));
        assert!(readable_secrets("ns", &wanted(), &values).is_empty());
    }
}
