//! The cluster state for all reconciles of the hub: the stores, and lookups of referenced objects.

use std::{collections::BTreeMap, sync::Arc};

use kraken_runtime::hash::{HashMap, HashSet};

use futures::future::join_all;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kraken_api::{ConfigExport, DependencyRequest, ReferenceGrant, StateDeclaration};
use kraken_runtime::{Manager, watch::Store};
use kube::{ResourceExt, api::ObjectMeta, core::PartialObjectMeta, runtime::watcher};

use crate::{
    store::cycle::CycleSearch,
    store::dependents::export,
    store::grants,
    store::index::{Class, Dependent, Edges, ObjectRef, StateName},
    store::kinds::{Kinds, Presence},
    store::lookup::{Lookup, Lookups},
    store::read::Reader,
    store::secrets::SecretDigests,
    store::version::Version,
    watch::event_router::EventRouter,
    watch::owned::controlling_export,
};

/// The names of the watches.
const WATCHED: [&str; 6] =
    ["ConfigMap", "Secret", "StateDeclaration", "DependencyRequest", "ConfigExport", "ReferenceGrant"];

/// Helm stores each release of each chart as a Secret. These are not referenced, and may outnumber all others.
const NO_RELEASES: &str = "type!=helm.sh/release.v1";

/// The stores and the router.
#[derive(Debug)]
pub(crate) struct ClusterState {
    /// The process.
    pub(crate) manager: Manager,
    /// The router of events.
    pub(crate) router: Arc<EventRouter>,
    /// Reads bodies.
    pub(crate) reader: Reader,
    /// The served kinds, and the existence of resources.
    pub(crate) kinds: Kinds,
    /// DependencyRequests.
    pub(crate) requests: Store<DependencyRequest>,
    /// ConfigExports.
    pub(crate) exports: Store<ConfigExport>,
    config_maps: Store<PartialObjectMeta<ConfigMap>>,
    secrets: Store<PartialObjectMeta<Secret>>,
    states: Store<PartialObjectMeta<StateDeclaration>>,
    grants: Store<ReferenceGrant>,
}

impl ClusterState {
    /// Starts the watches.
    pub(crate) fn watch(manager: Manager) -> Self {
        let digests = Arc::new(SecretDigests::default());
        let namespace = manager.args.lease_namespace_or(std::env::var("POD_NAMESPACE").ok());
        let reader = Reader::new(manager.client.clone(), digests.clone(), &namespace);
        let kinds = Kinds::new(manager.client.clone());
        let router = Arc::new(EventRouter::new(digests, manager.args.concurrency));
        let watches = manager.watches();
        let config = watcher::Config::default();
        let referable = watcher::Config::default().fields(NO_RELEASES);
        let [config_map, secret, state, request, export, grant] = WATCHED;
        let [maps, secrets, states, requests, exports, grants] = std::array::from_fn(|_| router.clone());
        Self {
            config_maps: watches
                .metadata(config_map, &config, move |change| maps.object(Class::ConfigMap, &change)),
            secrets: watches
                .metadata(secret, &referable, move |change| secrets.object(Class::Secret, &change)),
            states: watches.metadata(state, &config, move |change| states.object(Class::State, &change)),
            requests: watches.objects(request, &config, move |change| requests.request(&change)),
            exports: watches.objects(export, &config, move |change| exports.export(&change)),
            // A hub that is newer than the CRDs works as before: without the kind, nothing is granted.
            grants: watches.optional_objects(grant, false, move |change| grants.grant(&change)).0,
            manager,
            router,
            reader,
            kinds,
        }
    }

    /// Waits until all stores are synced; false if the process is stopped first. Otherwise, objects that are not listed
    /// yet would count as deleted, and targets would be deleted.
    pub(crate) async fn synced(&self) -> bool {
        self.manager.shutdown.run_until_cancelled(self.manager.health.ready()).await.is_some()
    }

    /// Whether all stores are synced. Before that, every object would seem to be missing.
    pub(crate) fn is_synced(&self) -> bool {
        self.manager.health.missing().is_empty()
    }

    /// Registers the ConfigExports in the metrics. Resources that wait for a reference are counted by their spokes.
    pub(crate) fn count_exports(&self) {
        let exports = self.exports.clone();
        self.manager.metrics.count_resources(export::KIND, move |tally| {
            for export in exports.all() {
                tally.add(
                    export.metadata.namespace.as_deref(),
                    export.status.as_ref().map_or(&[], |status| &status.conditions),
                );
            }
        });
    }

    /// The metadata of an object, if it exists.
    pub(crate) fn meta<T>(&self, named: &ObjectRef, read: impl FnOnce(&ObjectMeta) -> T) -> Option<T> {
        let ObjectRef { class, key } = named;
        match class {
            Class::ConfigMap => self.config_maps.get(key).map(|object| read(&object.metadata)),
            Class::Secret => self.secrets.get(key).map(|object| read(&object.metadata)),
            Class::State => self.states.get(key).map(|object| read(&object.metadata)),
        }
    }

    /// The version of an object.
    pub(crate) fn version(&self, named: &ObjectRef) -> Option<Version> {
        self.meta(named, |meta| Version {
            uid: meta.uid.clone().unwrap_or_default(),
            resource_version: meta.resource_version.clone().unwrap_or_default(),
        })
    }

    /// The versions of all dependencies of an object in `namespace`; for a reference without a group, of all candidates. One that is
    /// not permitted has none.
    pub(crate) fn versions(&self, namespace: &str, edges: &Edges) -> BTreeMap<ObjectRef, Option<Version>> {
        let index = self.router.index.read();
        let each = edges.needs.iter().flat_map(|named| {
            let is_any = named.is_of_any_group();
            let of = if is_any { index.candidates(named) } else { vec![named.clone()] };
            let is_permitted = self.refusal(namespace, named).is_none();
            of.into_iter().map(move |named| (named, is_permitted))
        });
        each.map(|(named, is_permitted)| {
            let version = if is_permitted { self.version(&named) } else { None };
            (named, version)
        })
        .collect()
    }

    /// Why an object in `namespace` may not refer to this one, if it may not.
    pub(crate) fn refusal(&self, namespace: &str, named: &ObjectRef) -> Option<String> {
        grants::refusal(namespace, named, &self.manager.args.namespaces, || self.grants.all())
    }

    /// What an object refers to and may refer to. It is in the namespace of what it provides.
    fn permitted(&self, provided: &ObjectRef, mut sources: Vec<ObjectRef>) -> Vec<ObjectRef> {
        sources.retain(|named| self.refusal(&provided.key.namespace, named).is_none());
        sources
    }

    /// Looks up the dependencies of a dependent; bodies that are not cached are read.
    pub(crate) async fn lookups(&self, dependent: &Dependent, edges: &Edges) -> Lookups {
        let lookup =
            edges.needs.iter().map(|named| async { (named.clone(), self.lookup(dependent, named).await) });
        // The cycles last, so that they include the newest references.
        let lookup = join_all(lookup).await.into_iter().collect();
        let (cycles, mutual) = self.cycles(dependent, edges);
        Lookups { lookup, cycles, mutual }
    }

    async fn lookup(&self, dependent: &Dependent, named: &ObjectRef) -> Lookup {
        if let Some(why) = self.refusal(dependent.namespace(), named) {
            return Lookup::NotPermitted(why.into());
        }
        if !named.is_of_any_group() {
            return self.lookup_uncached(dependent, named).await;
        }
        let candidates = self.router.index.read().candidates(named);
        match candidates.as_slice() {
            [] => self.missing(dependent, named).await,
            [one] => self.lookup_uncached(dependent, one).await,
            several => {
                let shown = several.iter().filter_map(ObjectRef::state_name);
                let shown: Vec<_> =
                    shown.map(|StateName { kind, group, name }| format!("{kind}.{group} {name}")).collect();
                Lookup::Ambiguous(shown.join(", ").into())
            }
        }
    }

    async fn lookup_uncached(&self, dependent: &Dependent, named: &ObjectRef) -> Lookup {
        let Some(Version { resource_version, .. }) = self.version(named) else {
            return self.missing(dependent, named).await;
        };
        let read = || self.reader.clone().body(named.clone());
        let reading = self.router.cache.get(named, &resource_version, read).await;
        if !self.router.index.read().is_named(named) {
            self.router.unnamed(named);
        }
        match reading {
            Ok(read) => read.lookup.clone(),
            Err(error) => Lookup::Failed(error),
        }
    }

    /// The lookup result of a missing object.
    async fn missing(&self, dependent: &Dependent, named: &ObjectRef) -> Lookup {
        if self.router.index.read().has_other_producer(named, dependent) {
            return Lookup::Expected;
        }
        match self.kinds.presence(named).await {
            Presence::Exists => Lookup::Expected,
            Presence::Absent => Lookup::Missing,
            Presence::UnknownKind(why) => Lookup::UnknownKind(why),
        }
    }

    /// The dependencies that directly or indirectly depend on the object that the dependent provides, each with the message about
    /// the cycle; and those that only follow, and wait for the dependent in turn: they are no error.
    pub(crate) fn cycles(
        &self,
        dependent: &Dependent,
        edges: &Edges,
    ) -> (HashMap<ObjectRef, String>, HashSet<ObjectRef>) {
        let Some(provided) = &edges.provides else { return Default::default() };
        if !self.router.index.read().may_be_cyclic(dependent) {
            return Default::default();
        }
        let walk = |counts: &dyn Fn(&Dependent, &ObjectRef) -> bool| {
            let index = self.router.index.read();
            let sources = |named: &ObjectRef| index.sources(named, |dependent| counts(dependent, named));
            let mut search = CycleSearch::new(provided.clone(), sources);
            let found = edges.needs.iter().filter(|named| search.from(named).is_some());
            found.cloned().collect::<HashSet<_>>()
        };
        if walk(&|_, _| true).is_empty() {
            // It was broken elsewhere. An edge that closes it again is reported.
            self.router.index.write().acyclic(dependent);
            return Default::default();
        }
        // References that are not permitted count above: a grant that permits them changes no edge.
        let mut mutual = walk(&|dependent, named| self.provides(dependent, named));
        mutual.retain(|named| edges.follows.contains(named));
        (self.cycles_closed_by(edges), mutual)
    }

    /// The dependencies that directly or indirectly depend on the object that the dependent would provide: the cycles that
    /// storing it would close. References that follow close none.
    pub(crate) fn cycles_closed_by(&self, edges: &Edges) -> HashMap<ObjectRef, String> {
        let Some(provided) = &edges.provides else { return HashMap::default() };
        let index = self.router.index.read();
        let sources = |named: &ObjectRef| {
            self.permitted(named, index.ordering(named, |dependent| self.provides(dependent, named)))
        };
        let mut search = CycleSearch::new(provided.clone(), sources);
        let ordering =
            edges.ordering().filter(|named| self.refusal(&provided.key.namespace, named).is_none());
        ordering.filter_map(|named| Some((named.clone(), search.cycle(named)?))).collect()
    }

    /// Whether this dependent really provides the object: an export whose target is owned by another does not.
    fn provides(&self, dependent: &Dependent, named: &ObjectRef) -> bool {
        match dependent {
            Dependent::Request(_) => true,
            Dependent::Export(key) => match self.meta(named, controlling_export) {
                None => true,
                Some(controlling_export) => self.exports.get(key).is_some_and(|export| {
                    controlling_export.map(|controlling_export| controlling_export.uid) == export.uid()
                }),
            },
        }
    }
}
