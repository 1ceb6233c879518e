//! Routes watch events to dependents: each event triggers exactly the affected reconciles. No client.

use std::sync::Arc;

use kraken_runtime::hash::HashMap;

use kraken_api::{ConfigExport, DependencyRequest};
use kraken_runtime::{
    mutants::{self, Mutant},
    queue::{Lane, Queue},
    watch::{Change, ObjectKey, version},
};
use kube::{Resource, ResourceExt, core::PartialObjectMeta};
use parking_lot::{Mutex, RwLock};
use tracing::warn;

use crate::{
    exports::{self, Parsed},
    requests,
    resolve::debounce::Debounce,
    store::index::{Class, Dependent, Edges, Effect, Index, ObjectRef},
    store::lookup::Cache,
    store::secrets::SecretDigests,
    watch::owned::{Owned, controlling_export},
    watch::undecodable::Undecodable,
    watch::written::Written,
};

/// The state that the events of all watches update.
#[derive(Debug)]
pub struct EventRouter {
    /// The index of references.
    pub index: RwLock<Index>,
    /// The targets of exports.
    pub owned: Mutex<Owned>,
    /// The cached bodies.
    pub cache: Cache,
    /// The digests of referenced Secrets.
    digests: Arc<SecretDigests>,
    /// The last status writes.
    pub written: Written,
    /// The exports that are in place.
    pub settled: exports::Settled,
    /// The parsed references of each export, once per spec.
    pub parsed: Mutex<HashMap<ObjectKey, Arc<Parsed>>>,
    /// The exports that cannot be decoded.
    pub undecodable: Undecodable,
    /// The debouncing of missing values.
    pub debounce: Debounce,
    /// The queue of DependencyRequests.
    pub requests: Queue<ObjectKey>,
    /// The queue of ConfigExports.
    pub exports: Queue<ObjectKey>,
}

impl EventRouter {
    /// An empty router; at most this number of each kind is reconciled concurrently.
    pub fn new(digests: Arc<SecretDigests>, concurrency: usize) -> Self {
        Self {
            index: RwLock::default(),
            owned: Mutex::default(),
            cache: Cache::default(),
            digests,
            written: Written::default(),
            settled: exports::Settled::default(),
            parsed: Mutex::default(),
            undecodable: Undecodable::default(),
            debounce: Debounce::default(),
            requests: Queue::new(concurrency),
            exports: Queue::new(concurrency),
        }
    }

    /// A DependencyRequest changed.
    pub fn request(&self, change: &Change<DependencyRequest>) {
        let dependent = Dependent::Request(ObjectKey::of(change.meta()));
        match change {
            Change::Applied(request, before) => {
                if is_restored(&**request, before.as_deref()) {
                    self.written.forget(&dependent);
                }
                let is_own = is_only_status(&**request, before.as_deref())
                    && request.status.as_ref().is_some_and(|status| self.written.is_own(&dependent, status));
                if !is_own {
                    self.edges(&dependent, &requests::edges(request));
                }
            }
            Change::Deleted(_) => self.gone(&dependent),
            Change::Invalid(..) => invalid(requests::KIND, change),
        }
    }

    /// A ConfigExport changed.
    pub fn export(&self, change: &Change<ConfigExport>) {
        let key = ObjectKey::of(change.meta());
        let dependent = Dependent::Export(key.clone());
        match change {
            Change::Applied(export, before) => {
                self.undecodable.forget(&key);
                if is_restored(&**export, before.as_deref()) {
                    self.written.forget(&dependent);
                }
                let is_own = is_only_status(&**export, before.as_deref())
                    && export.status.as_ref().is_some_and(|status| self.written.is_own(&dependent, status));
                if !is_own {
                    let edges = self.parsed(export).edges.clone();
                    self.edges(&dependent, &edges);
                }
            }
            Change::Deleted(export) => {
                self.settled.forget(&export.uid().unwrap_or_default());
                self.parsed.lock().remove(&key);
                self.undecodable.forget(&key);
                self.gone(&dependent);
            }
            Change::Invalid(meta, error) => {
                invalid(exports::KIND, change);
                self.undecodable.note(key.clone(), meta, error);
                self.exports.add(key, Lane::Edit);
            }
        }
    }

    /// The references of an export: its templates are parsed once per spec.
    pub fn parsed(&self, export: &ConfigExport) -> Arc<Parsed> {
        let mut parsed = self.parsed.lock();
        let key = ObjectKey::of(export.meta());
        if let Some(parsed) = parsed.get(&key).filter(|parsed| parsed.is_of(export)) {
            return parsed.clone();
        }
        let found = Arc::new(Parsed::of(export));
        parsed.insert(key, found.clone());
        found
    }

    /// An object that may be referenced changed.
    pub fn object<K>(&self, class: Class, change: &Change<PartialObjectMeta<K>>)
    where
        K: Resource<DynamicType = ()>,
    {
        if mutants::active(Mutant::HubMissesChanges) && matches!(change, Change::Applied(_, Some(_))) {
            return;
        }
        let meta = change.meta();
        let named = ObjectRef { class, key: ObjectKey::of(meta) };
        let is_gone = matches!(change, Change::Deleted(_));
        if class == Class::State && (is_gone || matches!(change, Change::Applied(_, None))) {
            self.index.write().publish(&named, !is_gone);
        }
        if is_gone {
            self.forget(&named);
        }
        for dependent in self.index.read().dependents(&named) {
            self.add(&dependent);
        }
        if class != Class::State {
            let now = if is_gone { None } else { controlling_export(meta) };
            let before = self.owned.lock().set(&named, now.clone());
            for controlling_export in [now, before].into_iter().flatten() {
                self.exports.add(ObjectKey::new(&named.key.namespace, &controlling_export.name), Lane::Edit);
            }
        }
    }

    /// Removes cached data of an object that is deleted or no longer referenced.
    pub fn forget(&self, named: &ObjectRef) {
        self.cache.forget(named);
        if named.class == Class::Secret {
            self.digests.forget(named);
        }
    }

    fn edges(&self, dependent: &Dependent, edges: &Edges) {
        let effect = self.index.write().set(dependent, edges);
        self.follow(&effect);
        self.add(dependent);
    }

    fn gone(&self, dependent: &Dependent) {
        let effect = self.index.write().remove(dependent);
        self.follow(&effect);
        self.written.forget(dependent);
        self.debounce.clear(dependent);
    }

    fn follow(&self, effect: &Effect) {
        for named in &effect.forgotten {
            if named.is_of_any_group() {
                let index = self.index.read();
                let meant = index.candidates(named);
                meant.iter().filter(|named| !index.is_named(named)).for_each(|named| self.forget(named));
            } else {
                self.forget(named);
            }
        }
        for dependent in &effect.affected {
            self.add(dependent);
        }
    }

    fn add(&self, dependent: &Dependent) {
        match dependent {
            Dependent::Request(key) => self.requests.add(key.clone(), Lane::Edit),
            Dependent::Export(key) => self.exports.add(key.clone(), Lane::Edit),
        }
    }
}

/// Whether a backup of the API server was restored: the object has an older version than before, and a status that was written
/// since then is lost.
fn is_restored<K: Resource>(now: &K, before: Option<&K>) -> bool {
    before.is_some_and(|before| version(now.meta()) < version(before.meta()))
}

/// Whether only the status, or metadata of others, changed.
fn is_only_status<K: Resource>(now: &K, before: Option<&K>) -> bool {
    let of = |object: &K| {
        let meta = object.meta().clone();
        (meta.uid, meta.generation, meta.deletion_timestamp, meta.owner_references)
    };
    before.is_some_and(|before| of(before) == of(now))
}

fn invalid<K: Resource>(kind: &'static str, change: &Change<K>) {
    if let Change::Invalid(meta, error) = change {
        let (namespace, name) = (meta.namespace.as_deref(), meta.name.as_deref());
        warn!(kind, namespace, name, "failed to decode the object; skipping it: {error}");
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use k8s_openapi::api::core::v1::ConfigMap;
    use kraken_api::{DependencyRequestStatus, dependency_request::DependentValues};
    use kraken_runtime::queue::Requeue;
    use kube::api::ObjectMeta;
    use serde_json::json;

    use super::*;

    const DEPENDENTS: usize = 10_000;

    fn router() -> EventRouter {
        EventRouter::new(Arc::default(), DEPENDENTS)
    }

    fn request(number: usize) -> DependencyRequest {
        let spec = json!({"configMapDependencies": [{"name": "sizes", "key": "small"}]});
        let mut request =
            DependencyRequest::new(&format!("vpc.aws.{number}"), serde_json::from_value(spec).unwrap());
        request.metadata.namespace = Some("ns".into());
        request.metadata.uid = Some(number.to_string());
        request.metadata.generation = Some(1);
        request
    }

    fn answered(request: &DependencyRequest, text: &str) -> DependencyRequest {
        let mut values = DependentValues::default();
        values.from_config_maps.entry("sizes".into()).or_default().insert("small".into(), text.into());
        let status =
            DependencyRequestStatus { dependent_values: values, ..DependencyRequestStatus::default() };
        DependencyRequest { status: Some(status), ..request.clone() }
    }

    fn sizes() -> Change<PartialObjectMeta<ConfigMap>> {
        let metadata =
            ObjectMeta { namespace: Some("ns".into()), name: Some("sizes".into()), ..ObjectMeta::default() };
        Change::Applied(Arc::new(PartialObjectMeta { metadata, ..PartialObjectMeta::default() }), None)
    }

    /// Drains the queue, and counts its keys.
    fn drained(queue: &Queue<ObjectKey>) -> usize {
        let mut runs = 0;
        while let Some((key, _)) = queue.next().now_or_never() {
            queue.done(&key, Requeue::Never);
            runs += 1;
        }
        runs
    }

    #[test]
    fn one_config_map_triggers_each_of_ten_thousand_dependents_once() {
        let router = router();
        let requests: Vec<_> = (0..DEPENDENTS).map(request).collect();
        for request in &requests {
            router.request(&Change::Applied(Arc::new(request.clone()), None));
        }
        assert_eq!(drained(&router.requests), DEPENDENTS);
        router.object(Class::ConfigMap, &sizes());
        assert_eq!(drained(&router.requests), DEPENDENTS);
        for request in &requests {
            let answered = answered(request, "t2.nano");
            let dependent = Dependent::Request(ObjectKey::of(request.meta()));
            router.written.sending(&dependent, &answered.status);
            router.request(&Change::Applied(Arc::new(answered), Some(Arc::new(request.clone()))));
        }
        assert_eq!(drained(&router.requests), 0, "our own writes trigger no reconcile");
    }

    #[test]
    fn a_status_write_by_others_triggers_a_reconcile() {
        let router = router();
        let pending = request(1);
        router.request(&Change::Applied(Arc::new(pending.clone()), None));
        drained(&router.requests);
        let ours = answered(&pending, "t2.nano");
        let by = Dependent::Request(ObjectKey::of(pending.meta()));
        router.written.sending(&by, ours.status.as_ref().unwrap());
        let theirs = answered(&pending, "x1e.32xlarge");
        router.request(&Change::Applied(Arc::new(theirs), Some(Arc::new(ours))));
        assert_eq!(drained(&router.requests), 1);
    }

    #[test]
    fn a_status_that_was_written_after_a_restored_backup_is_written_again() {
        let router = router();
        let at = |version: &str| {
            let mut request = request(1);
            request.metadata.resource_version = Some(version.into());
            Arc::new(request)
        };
        let dependent = Dependent::Request(ObjectKey::of(&request(1).metadata));
        router.written.note(dependent.clone(), &"x", Some("7".into()), Some("9".into()));
        router.request(&Change::Applied(at("9"), Some(at("7"))));
        assert!(router.written.is_current(&dependent, &"x", Some("9")));
        router.request(&Change::Applied(at("7"), Some(at("9"))));
        assert!(!router.written.is_current(&dependent, &"x", Some("7")));
        assert_eq!(drained(&router.requests), 1);
    }
}
