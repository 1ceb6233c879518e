//! Routes watch events to dependents: each event triggers exactly the affected reconciles. No client.

use std::sync::Arc;

use kraken_runtime::hash::HashMap;

use kraken_api::{ConfigExport, DependencyRequest, ReferenceGrant};
use kraken_runtime::{
    queue::{Lane, Queue},
    watch::{Change, ObjectKey, version},
};
use kube::{
    Resource, ResourceExt,
    core::{PartialObjectMeta, object::HasSpec},
};
use parking_lot::{Mutex, RwLock};
use tracing::warn;

use crate::{
    resolve::debounce::Debounce,
    store::dependents::{
        export::{self, Parsed},
        request,
    },
    store::index::{Class, Dependent, Edges, Effect, Index, ObjectRef},
    store::lookup::Cache,
    store::secrets::SecretDigests,
    store::settled::Settled,
    watch::kept,
    watch::owned::{Owned, controlling_export},
    watch::undecodable::Undecodable,
    watch::written::Written,
};

/// The state that the events of all watches update.
#[derive(Debug)]
pub(crate) struct EventRouter {
    /// The index of references.
    pub(crate) index: RwLock<Index>,
    /// The targets of exports.
    pub(crate) owned: Mutex<Owned>,
    /// The cached bodies.
    pub(crate) cache: Cache,
    /// The digests of referenced Secrets.
    digests: Arc<SecretDigests>,
    /// The last status writes.
    pub(crate) written: Written,
    /// The exports that are in place.
    pub(crate) settled: Settled,
    /// The parsed references of each export, once per spec.
    pub(crate) parsed: Mutex<HashMap<ObjectKey, Arc<Parsed>>>,
    /// The exports that cannot be decoded.
    pub(crate) undecodable: Undecodable,
    /// The debouncing of missing values.
    pub(crate) debounce: Debounce,
    /// The queue of DependencyRequests.
    pub(crate) requests: Queue<ObjectKey>,
    /// The queue of ConfigExports.
    pub(crate) exports: Queue<ObjectKey>,
    /// The queue of the Secrets of accounts.
    pub(crate) kept: Queue<ObjectKey>,
}

impl EventRouter {
    /// An empty router; at most this number of each kind is reconciled concurrently.
    pub(crate) fn new(digests: Arc<SecretDigests>, concurrency: usize) -> Self {
        Self {
            index: RwLock::default(),
            owned: Mutex::default(),
            cache: Cache::default(),
            digests,
            written: Written::default(),
            settled: Settled::default(),
            parsed: Mutex::default(),
            undecodable: Undecodable::default(),
            debounce: Debounce::default(),
            requests: Queue::new(concurrency),
            exports: Queue::new(concurrency),
            kept: Queue::new(concurrency),
        }
    }

    /// A DependencyRequest changed.
    pub(crate) fn request(&self, change: &Change<DependencyRequest>) {
        let dependent = Dependent::Request(ObjectKey::of(change.meta()));
        self.answer(change, &dependent);
        // After the index is updated.
        for secret in kept::named(change) {
            self.kept.add(secret, Lane::Edit);
        }
    }

    fn answer(&self, change: &Change<DependencyRequest>, dependent: &Dependent) {
        match change {
            Change::Applied(request, before) => {
                if is_restored(&**request, before.as_deref()) {
                    self.written.forget(dependent);
                }
                let is_own = is_only_status(&**request, before.as_deref())
                    && request.status.as_ref().is_some_and(|status| self.written.is_own(dependent, status));
                if !is_own {
                    self.edges(dependent, &request::edges(request));
                }
            }
            Change::Listed(request) => {
                if self.written.is_lost(dependent, request.meta().resource_version.as_deref()) {
                    self.written.forget(dependent);
                    self.add(dependent);
                }
            }
            Change::Deleted(_) => self.gone(dependent),
            Change::Invalid(..) => invalid(request::KIND, change),
        }
    }

    /// A ConfigExport changed.
    pub(crate) fn export(&self, change: &Change<ConfigExport>) {
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
            Change::Listed(export) => {
                // A restored backup may have set it back to the last version that was valid.
                self.undecodable.forget(&key);
                if self.written.is_lost(&dependent, export.meta().resource_version.as_deref()) {
                    self.written.forget(&dependent);
                }
                // Its target may be lost too. An export that is in place causes no call.
                self.exports.add(key, Lane::Resync);
            }
            Change::Deleted(export) => {
                self.settled.forget(&export.uid().unwrap_or_default());
                self.parsed.lock().remove(&key);
                self.undecodable.forget(&key);
                self.gone(&dependent);
            }
            Change::Invalid(meta, error) => {
                invalid(export::KIND, change);
                self.undecodable.note(key.clone(), meta, error);
                self.exports.add(key, Lane::Edit);
            }
        }
    }

    /// The references of an export: its templates are parsed once per spec.
    pub(crate) fn parsed(&self, export: &ConfigExport) -> Arc<Parsed> {
        let mut parsed = self.parsed.lock();
        let key = ObjectKey::of(export.meta());
        if let Some(parsed) = parsed.get(&key).filter(|parsed| parsed.is_of(export)) {
            return parsed.clone();
        }
        let found = Arc::new(Parsed::of(export));
        parsed.insert(key, found.clone());
        found
    }

    /// A grant changed: the references from other namespaces to the namespace that it is in are answered again.
    pub(crate) fn grant(&self, change: &Change<ReferenceGrant>) {
        match change {
            Change::Applied(now, Some(before)) if now.spec == before.spec => return,
            Change::Listed(_) => return,
            Change::Invalid(..) => invalid("ReferenceGrant", change),
            Change::Applied(..) | Change::Deleted(_) => {}
        }
        let namespace = change.meta().namespace.as_deref().unwrap_or_default();
        for dependent in self.index.read().dependents_in_others(namespace) {
            self.add(&dependent);
        }
    }

    /// An object that may be referenced changed.
    pub(crate) fn object<K>(&self, class: Class, change: &Change<PartialObjectMeta<K>>)
    where
        K: Resource<DynamicType = ()>,
    {
        let meta = change.meta();
        if matches!(change, Change::Listed(_)) {
            // If it is a target, the last write of its content may be lost.
            if let Some(export) = controlling_export(meta).filter(|_| class != Class::State) {
                let namespace = meta.namespace.as_deref().unwrap_or_default();
                self.exports.add(ObjectKey::new(namespace, &export.name), Lane::Resync);
            }
            return;
        }
        let named = ObjectRef { class, key: ObjectKey::of(meta) };
        if class == Class::Secret && (kept::is_kept(meta) || self.index.read().is_named(&named)) {
            self.kept.add(named.key.clone(), Lane::Edit);
        }
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

    /// After a read of an object that nothing stored refers to: the dependent is being reviewed, or it changed or was deleted during
    /// the read. Of a Secret, nothing is kept.
    pub(crate) fn unnamed(&self, named: &ObjectRef) {
        let replaced =
            if named.class == Class::Secret { Some(named.clone()) } else { self.cache.keep(named) };
        if let Some(replaced) = replaced.filter(|replaced| !self.index.read().is_named(replaced)) {
            self.forget(&replaced);
        }
    }

    /// Removes cached data of an object that is deleted or no longer referenced.
    pub(crate) fn forget(&self, named: &ObjectRef) {
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
        self.ended(dependent);
    }

    /// Removes what a reconcile noted about a dependent that was deleted meanwhile: the event of the deletion came before the notes.
    pub(crate) fn ended(&self, dependent: &Dependent) {
        self.written.forget(dependent);
        self.debounce.clear(dependent);
    }

    /// The same for the export with this UID.
    pub(crate) fn ended_export(&self, key: &ObjectKey, uid: &str) {
        self.settled.forget(uid);
        self.parsed.lock().remove(key);
        self.ended(&Dependent::Export(key.clone()));
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

/// Whether only the status, or metadata of others, changed. After a restored backup, another spec can have the same generation.
fn is_only_status<K>(now: &K, before: Option<&K>) -> bool
where
    K: Resource + HasSpec<Spec: PartialEq>,
{
    let of = |object: &K| {
        let meta = object.meta().clone();
        (meta.uid, meta.generation, meta.deletion_timestamp, meta.owner_references)
    };
    before.is_some_and(|before| of(before) == of(now) && before.spec() == now.spec())
}

fn invalid<K: Resource>(kind: &'static str, change: &Change<K>) {
    if let Change::Invalid(meta, error) = change {
        let (namespace, name) = (meta.namespace.as_deref(), meta.name.as_deref());
        warn!(kind, namespace, name, "failed to decode the object; skipping it: {error}");
    }
}

#[cfg(test)]
mod tests;
