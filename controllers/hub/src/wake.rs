//! From events of watches to askers that look again: each event wakes exactly those it concerns. No client.

use std::sync::Arc;

use kraken_api::{ConfigExport, DependencyRequest};
use kraken_runtime::{
    queue::{Lane, Queue},
    watch::{Change, ObjectKey},
};
use kube::{Resource, ResourceExt, core::PartialObjectMeta};
use parking_lot::{Mutex, RwLock};
use tracing::warn;

use crate::{
    exports,
    facts::Cache,
    index::{Asker, Asks, Class, Effect, Index, Named},
    motion::Motion,
    owned::{Owned, maker},
    requests,
    trust::Owners,
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
    /// States whose owner was checked.
    pub owners: Arc<Owners>,
    /// Statuses that were written.
    pub written: Written,
    /// Exports that are in place.
    pub settled: exports::Settled,
    /// Which namespaces are in motion.
    pub motion: Motion,
    /// DependencyRequests to answer.
    pub requests: Queue<ObjectKey>,
    /// ConfigExports to carry out.
    pub exports: Queue<ObjectKey>,
}

impl Wake {
    /// Nothing known yet; at most this many of each kind are reconciled at once.
    pub fn new(owners: Arc<Owners>, concurrency: usize) -> Self {
        Self {
            index: RwLock::default(),
            owned: Mutex::default(),
            cache: Cache::default(),
            owners,
            written: Written::default(),
            settled: exports::Settled::default(),
            motion: Motion::default(),
            requests: Queue::new(concurrency),
            exports: Queue::new(concurrency),
        }
    }

    /// A DependencyRequest changed.
    pub fn request(&self, change: &Change<DependencyRequest>) {
        let asker = Asker::Request(ObjectKey::of(change.meta()));
        match change {
            Change::Applied(request, before) => {
                // Our own answers move nothing.
                let generation = |request: &DependencyRequest| request.metadata.generation;
                if before.as_deref().map(generation) != Some(generation(request)) {
                    self.motion.note(request.namespace().unwrap_or_default().as_str());
                }
                self.asks(&asker, &requests::asks(request));
            }
            Change::Deleted(_) => self.gone(&asker),
            Change::Invalid(..) => invalid(requests::KIND, change),
        }
    }

    /// A ConfigExport changed.
    pub fn export(&self, change: &Change<ConfigExport>) {
        let asker = Asker::Export(ObjectKey::of(change.meta()));
        match change {
            Change::Applied(export, before) => {
                if before.is_none() {
                    self.motion.note(export.namespace().unwrap_or_default().as_str());
                }
                self.asks(&asker, &exports::asks(export));
            }
            Change::Deleted(export) => {
                self.settled.forget(&export.uid().unwrap_or_default());
                self.gone(&asker);
            }
            Change::Invalid(..) => invalid(exports::KIND, change),
        }
    }

    /// An object that may be named changed.
    pub fn object<K>(&self, class: Class, change: &Change<PartialObjectMeta<K>>)
    where
        K: Resource<DynamicType = ()>,
    {
        let meta = change.meta();
        let named = Named { class, key: ObjectKey::of(meta) };
        let is_gone = matches!(change, Change::Deleted(_));
        if class == Class::State && matches!(change, Change::Applied(_, None)) {
            self.motion.note(&named.key.namespace);
        }
        if is_gone {
            self.cache.forget(&named);
            if class == Class::State {
                self.owners.forget(meta.uid.as_deref().unwrap_or_default());
            }
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

    fn asks(&self, asker: &Asker, asks: &Asks) {
        let effect = self.index.write().set(asker, asks);
        self.follow(&effect);
        self.add(asker);
    }

    fn gone(&self, asker: &Asker) {
        let effect = self.index.write().remove(asker);
        self.follow(&effect);
        self.written.forget(asker);
    }

    fn follow(&self, effect: &Effect) {
        for named in &effect.forgotten {
            self.cache.forget(named);
        }
        for asker in &effect.cyclic {
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

fn invalid<K: Resource>(kind: &'static str, change: &Change<K>) {
    if let Change::Invalid(meta, error) = change {
        let (namespace, name) = (meta.namespace.as_deref(), meta.name.as_deref());
        warn!(kind, namespace, name, "the object does not decode and is passed over: {error}");
    }
}
