//! From events of watches to askers that look again: each event wakes exactly those it concerns. No client.

use std::sync::Arc;

use kraken_runtime::hash::HashMap;

use kraken_api::{ConfigExport, DependencyRequest};
use kraken_runtime::{
    mutants::{self, Mutant},
    queue::{Lane, Queue},
    watch::{Change, ObjectKey},
};
use kube::{Resource, ResourceExt, core::PartialObjectMeta};
use parking_lot::{Mutex, RwLock};
use tracing::warn;

use crate::{
    exports::{self, Parsed},
    facts::Cache,
    hold::Holds,
    index::{Asker, Asks, Class, Effect, Index, Named},
    owned::{Owned, maker},
    requests,
    secrets::SecretDigests,
    undecodable::Undecodable,
    written::Written,
};

/// What the events of all watches are noted in.
#[derive(Debug)]
pub struct Wake {
    /// Who names what.
    pub index: RwLock<Index>,
    /// Which export made what.
    pub owned: Mutex<Owned>,
    /// Bodies that were read.
    pub cache: Cache,
    /// Digests of the Secrets that somebody refers to.
    digests: Arc<SecretDigests>,
    /// Statuses that were written.
    pub written: Written,
    /// Exports that are in place.
    pub settled: exports::Settled,
    /// What each export refers to, found once for each of its specs.
    pub parsed: Mutex<HashMap<ObjectKey, Arc<Parsed>>>,
    /// Exports that do not decode.
    pub undecodable: Undecodable,
    /// Who waits for values, and since when.
    pub holds: Holds,
    /// DependencyRequests to answer.
    pub requests: Queue<ObjectKey>,
    /// ConfigExports to carry out.
    pub exports: Queue<ObjectKey>,
}

impl Wake {
    /// Nothing known yet; at most this many of each kind are reconciled at once.
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
            holds: Holds::default(),
            requests: Queue::new(concurrency),
            exports: Queue::new(concurrency),
        }
    }

    /// A DependencyRequest changed.
    pub fn request(&self, change: &Change<DependencyRequest>) {
        let asker = Asker::Request(ObjectKey::of(change.meta()));
        match change {
            Change::Applied(request, before) => {
                let is_own = is_only_status(&**request, before.as_deref())
                    && request.status.as_ref().is_some_and(|status| self.written.is_own(&asker, status));
                if !is_own {
                    self.asks(&asker, &requests::asks(request));
                }
            }
            Change::Deleted(_) => self.gone(&asker),
            Change::Invalid(..) => invalid(requests::KIND, change),
        }
    }

    /// A ConfigExport changed.
    pub fn export(&self, change: &Change<ConfigExport>) {
        let key = ObjectKey::of(change.meta());
        let asker = Asker::Export(key.clone());
        match change {
            Change::Applied(export, before) => {
                self.undecodable.forget(&key);
                let is_own = is_only_status(&**export, before.as_deref())
                    && export.status.as_ref().is_some_and(|status| self.written.is_own(&asker, status));
                if !is_own {
                    let asks = self.parsed(export).asks.clone();
                    self.asks(&asker, &asks);
                }
            }
            Change::Deleted(export) => {
                self.settled.forget(&export.uid().unwrap_or_default());
                self.parsed.lock().remove(&key);
                self.undecodable.forget(&key);
                self.gone(&asker);
            }
            Change::Invalid(meta, error) => {
                invalid(exports::KIND, change);
                self.undecodable.note(key.clone(), meta, error);
                self.exports.add(key, Lane::Edit);
            }
        }
    }

    /// What an export refers to: its templates are parsed once for each spec.
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

    /// An object that may be named changed.
    pub fn object<K>(&self, class: Class, change: &Change<PartialObjectMeta<K>>)
    where
        K: Resource<DynamicType = ()>,
    {
        if mutants::active(Mutant::HubMissesChanges) && matches!(change, Change::Applied(_, Some(_))) {
            return;
        }
        let meta = change.meta();
        let named = Named { class, key: ObjectKey::of(meta) };
        let is_gone = matches!(change, Change::Deleted(_));
        if class == Class::State && (is_gone || matches!(change, Change::Applied(_, None))) {
            self.index.write().publish(&named, !is_gone);
        }
        if is_gone {
            self.forget(&named);
        }
        for asker in self.index.read().namers(&named) {
            self.add(&asker);
        }
        if class != Class::State {
            let now = if is_gone { None } else { maker(meta) };
            let before = self.owned.lock().set(&named, now.clone());
            for maker in [now, before].into_iter().flatten() {
                self.exports.add(ObjectKey::new(&named.key.namespace, &maker.name), Lane::Edit);
            }
        }
    }

    /// Forgets what was read of an object that is gone, or that nobody names.
    pub fn forget(&self, named: &Named) {
        self.cache.forget(named);
        if named.class == Class::Secret {
            self.digests.forget(named);
        }
    }

    fn asks(&self, asker: &Asker, asks: &Asks) {
        let effect = self.index.write().set(asker, asks);
        self.follow(&effect);
        self.add(asker);
    }

    fn gone(&self, asker: &Asker) {
        let effect = self.index.write().remove(asker);
        self.follow(&effect);
        self.written.forget(asker);
        self.holds.clear(asker);
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
        for asker in &effect.affected {
            self.add(asker);
        }
    }

    fn add(&self, asker: &Asker) {
        match asker {
            Asker::Request(key) => self.requests.add(key.clone(), Lane::Edit),
            Asker::Export(key) => self.exports.add(key.clone(), Lane::Edit),
        }
    }
}

/// Whether nothing but the status, or what others note in the metadata, is another than before.
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
        warn!(kind, namespace, name, "the object does not decode and is passed over: {error}");
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

    fn wake() -> Wake {
        Wake::new(Arc::default(), DEPENDENTS)
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

    /// Runs all that waits, and counts it.
    fn drained(queue: &Queue<ObjectKey>) -> usize {
        let mut runs = 0;
        while let Some((key, _)) = queue.next().now_or_never() {
            queue.done(&key, Requeue::Never);
            runs += 1;
        }
        runs
    }

    #[test]
    fn one_config_map_runs_each_of_ten_thousand_dependents_once() {
        let wake = wake();
        let requests: Vec<_> = (0..DEPENDENTS).map(request).collect();
        for request in &requests {
            wake.request(&Change::Applied(Arc::new(request.clone()), None));
        }
        assert_eq!(drained(&wake.requests), DEPENDENTS);
        wake.object(Class::ConfigMap, &sizes());
        assert_eq!(drained(&wake.requests), DEPENDENTS);
        for request in &requests {
            let answered = answered(request, "t2.nano");
            let asker = Asker::Request(ObjectKey::of(request.meta()));
            wake.written.sending(&asker, &answered.status);
            wake.request(&Change::Applied(Arc::new(answered), Some(Arc::new(request.clone()))));
        }
        assert_eq!(drained(&wake.requests), 0, "our own writes wake nobody");
    }

    #[test]
    fn a_status_that_somebody_else_wrote_is_looked_at() {
        let wake = wake();
        let asked = request(1);
        wake.request(&Change::Applied(Arc::new(asked.clone()), None));
        drained(&wake.requests);
        let ours = answered(&asked, "t2.nano");
        let by = Asker::Request(ObjectKey::of(asked.meta()));
        wake.written.sending(&by, ours.status.as_ref().unwrap());
        let theirs = answered(&asked, "x1e.32xlarge");
        wake.request(&Change::Applied(Arc::new(theirs), Some(Arc::new(ours))));
        assert_eq!(drained(&wake.requests), 1);
    }
}
