//! What every reconcile of the hub looks at: the stores, and what they say of the objects that somebody names.

use std::{collections::BTreeMap, sync::Arc};

use kraken_runtime::hash::HashMap;

use futures::future::join_all;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kraken_api::{ConfigExport, DependencyRequest, StateDeclaration};
use kraken_runtime::{Shell, watch::Store};
use kube::{ResourceExt, api::ObjectMeta, core::PartialObjectMeta, runtime::watcher};

use crate::{
    cycle::WaysBack,
    exports,
    facts::{Fact, Known},
    index::{Asker, Asks, Class, Named, StateName},
    kinds::{Kinds, Presence},
    owned::maker,
    read::Reader,
    secrets::{SecretDigests, SecretVersions},
    wake::Wake,
};

/// The kinds that are watched, as the watches are named.
const WATCHED: [&str; 5] = ["ConfigMap", "Secret", "StateDeclaration", "DependencyRequest", "ConfigExport"];

/// Helm keeps each release of each chart as a Secret. Nobody refers to those, and there may be more of them than of all others.
const NO_RELEASES: &str = "type!=helm.sh/release.v1";

/// The stores and what is noted beside them.
#[derive(Debug)]
pub struct World {
    /// The process.
    pub shell: Shell,
    /// What events are noted in.
    pub wake: Arc<Wake>,
    /// Reads bodies.
    pub reader: Reader,
    /// What kinds there are, and which resources.
    pub kinds: Kinds,
    /// DependencyRequests.
    pub requests: Store<DependencyRequest>,
    /// ConfigExports.
    pub exports: Store<ConfigExport>,
    config_maps: Store<PartialObjectMeta<ConfigMap>>,
    secrets: Store<PartialObjectMeta<Secret>>,
    states: Store<PartialObjectMeta<StateDeclaration>>,
}

impl World {
    /// Starts the watches.
    pub fn watch(shell: Shell) -> Self {
        let digests = Arc::new(SecretDigests::default());
        let reader = Reader::new(shell.client.clone(), digests.clone());
        let kinds = Kinds::new(shell.client.clone());
        let wake = Arc::new(Wake::new(digests, shell.args.concurrency));
        let watches = shell.watches();
        let config = watcher::Config::default();
        let referable = watcher::Config::default().fields(NO_RELEASES);
        let [config_map, secret, state, request, export] = WATCHED;
        let [maps, secrets, states, requests, exports] = std::array::from_fn(|_| wake.clone());
        Self {
            config_maps: watches
                .metadata(config_map, &config, move |change| maps.object(Class::ConfigMap, &change)),
            secrets: watches
                .metadata(secret, &referable, move |change| secrets.object(Class::Secret, &change)),
            states: watches.metadata(state, &config, move |change| states.object(Class::State, &change)),
            requests: watches.objects(request, &config, move |change| requests.request(&change)),
            exports: watches.objects(export, &config, move |change| exports.export(&change)),
            shell,
            wake,
            reader,
            kinds,
        }
    }

    /// Waits until every store holds what there is; false if the process is asked to stop first. Without this, whatever
    /// is not listed yet would look deleted, and what was made of it would be removed.
    pub async fn synced(&self) -> bool {
        self.shell.shutdown.run_until_cancelled(self.shell.health.ready()).await.is_some()
    }

    /// Counts the ConfigExports in the metrics, from now on. Resources that wait for a reference say so themselves.
    pub fn count_exports(&self) {
        let exports = self.exports.clone();
        self.shell.metrics.count_resources(exports::KIND, move |tally| {
            for export in exports.all() {
                tally.add(export.status.as_ref().map_or(&[], |status| &status.conditions));
            }
        });
    }

    /// The metadata of an object, if it exists.
    pub fn meta<T>(&self, named: &Named, look: impl FnOnce(&ObjectMeta) -> T) -> Option<T> {
        let Named { class, key } = named;
        match class {
            Class::ConfigMap => self.config_maps.get(key).map(|object| look(&object.metadata)),
            Class::Secret => self.secrets.get(key).map(|object| look(&object.metadata)),
            Class::State => self.states.get(key).map(|object| look(&object.metadata)),
        }
    }

    /// Which version of an object there is.
    pub fn version(&self, named: &Named) -> Option<Version> {
        self.meta(named, |meta| Version {
            uid: meta.uid.clone().unwrap_or_default(),
            resource_version: meta.resource_version.clone().unwrap_or_default(),
        })
    }

    /// The versions of all that an asker takes values from; of a reference without a group, of all that it may mean.
    pub fn versions(&self, asks: &Asks) -> BTreeMap<Named, Option<Version>> {
        let index = self.wake.index.read();
        let each = asks.needs.iter().flat_map(|named| {
            if named.is_of_any_group() { index.candidates(named) } else { vec![named.clone()] }
        });
        each.map(|named| (named.clone(), self.version(&named))).collect()
    }

    /// What is known of the objects that an asker needs; bodies that are not known yet are read.
    pub async fn known(&self, asker: &Asker, asks: &Asks) -> Known {
        let facts = asks.needs.iter().map(|named| async { (named.clone(), self.fact(asker, named).await) });
        // The circles last, so that they are of the newest references.
        Known { facts: join_all(facts).await.into_iter().collect(), circles: self.circles(asker, asks) }
    }

    async fn fact(&self, asker: &Asker, named: &Named) -> Fact {
        if !named.is_of_any_group() {
            return self.fact_of(asker, named).await;
        }
        let candidates = self.wake.index.read().candidates(named);
        match candidates.as_slice() {
            [] => self.missing(asker, named).await,
            [one] => self.fact_of(asker, one).await,
            several => {
                let shown = several.iter().filter_map(Named::state_name);
                let shown: Vec<_> =
                    shown.map(|StateName { kind, group, name }| format!("{kind}.{group} {name}")).collect();
                Fact::Ambiguous(shown.join(", ").into())
            }
        }
    }

    async fn fact_of(&self, asker: &Asker, named: &Named) -> Fact {
        let Some(Version { uid, resource_version }) = self.version(named) else {
            return self.missing(asker, named).await;
        };
        let read = || self.reader.clone().body(named.clone());
        let reading = self.wake.cache.get(named, &resource_version, read).await;
        if !self.wake.index.read().is_named(named) {
            // The asker changed or went while its old wish was read.
            self.wake.forget(named);
        }
        match reading {
            Ok(read) => read.fact.clone(),
            // Its version is known all the same; whether its values changed is not.
            Err(_) if named.class == Class::Secret => {
                Fact::Secret(Arc::new(SecretVersions::of_all(uid, resource_version)))
            }
            Err(error) => Fact::Failed(error),
        }
    }

    /// What is known of an object that does not exist.
    async fn missing(&self, asker: &Asker, named: &Named) -> Fact {
        if self.wake.index.read().is_promised(named, asker) {
            return Fact::Coming;
        }
        match self.kinds.presence(named).await {
            Presence::Exists => Fact::Coming,
            Presence::Absent => Fact::Missing,
            Presence::UnknownKind(why) => Fact::UnknownKind(why),
        }
    }

    /// The needs of an asker that are made, directly or not, from what comes of the asker itself.
    pub fn circles(&self, asker: &Asker, asks: &Asks) -> HashMap<Named, String> {
        let none = HashMap::default();
        let Some(provided) = &asks.provides else { return none };
        if !self.wake.index.read().may_be_cyclic(asker) {
            return none;
        }
        let walk = |counts: &dyn Fn(&Asker, &Named) -> bool| {
            let index = self.wake.index.read();
            let made_from = |named: &Named| index.made_from(named, |asker| counts(asker, named));
            let mut ways = WaysBack::new(provided.clone(), made_from);
            let found = asks.needs.iter().filter_map(|named| Some((named.clone(), ways.circle(named)?)));
            found.collect::<HashMap<_, _>>()
        };
        if walk(&|_, _| true).is_empty() {
            // It was broken elsewhere. An edge that closes it again says so.
            self.wake.index.write().acyclic(asker);
            return none;
        }
        walk(&|asker, named| self.makes(asker, named))
    }

    /// The needs among these that are made, directly or not, from what would come of the asker: the cycles that storing it would
    /// close.
    pub fn would_close(&self, asks: &Asks) -> HashMap<Named, String> {
        let Some(provided) = &asks.provides else { return HashMap::default() };
        let index = self.wake.index.read();
        let made_from = |named: &Named| index.made_from(named, |asker| self.makes(asker, named));
        let mut ways = WaysBack::new(provided.clone(), made_from);
        asks.needs.iter().filter_map(|named| Some((named.clone(), ways.circle(named)?))).collect()
    }

    /// Whether the object really comes of this asker: an export that only wants to write it, while it is another's, makes
    /// nothing.
    fn makes(&self, asker: &Asker, named: &Named) -> bool {
        match asker {
            Asker::Request(_) => true,
            Asker::Export(key) => match self.meta(named, maker) {
                None => true,
                Some(maker) => {
                    self.exports.get(key).is_some_and(|export| maker.map(|maker| maker.uid) == export.uid())
                }
            },
        }
    }
}

/// One version of one object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// Its UID.
    pub uid: String,
    /// Its resourceVersion.
    pub resource_version: String,
}
