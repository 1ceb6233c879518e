//! What a run has at hand: the handles that all runs of a kind share, and what one run sees.

use std::{
    ops::Deref,
    sync::{Arc, OnceLock},
    time::Duration,
};

use kraken_runtime::hash::HashMap;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kraken_api::{DependencyRequest, Location, StateDeclaration, names::owned_name};
use kraken_options::Values;
use kraken_runtime::{
    patch::ApiError,
    queue::Queue,
    shell::Shell,
    watch::{ObjectKey, Store},
};
use kube::{Api, ResourceExt, api::DynamicObject, core::PartialObjectMeta};
use parking_lot::Mutex;

use crate::{
    Identity,
    account::{Connections, Link, Rules},
    batch::Batchers,
    breaker::Breaker,
    claims::Claims,
    dynamic::{Desired, DynExternal, KindInfo, Object, Observed, SharedKind},
    fates::Fates,
    fields::Fields,
    hub::Hub,
    hub_lease::{self, Followed, HubLease},
    in_place,
    memory::Memories,
    secrets::Secrets,
    steps::{blocked::References, declare::Published, observe::Known, references::Unselected},
    vanished::Vanished,
};

/// The objects that do not decode as their kind, and why.
pub(crate) type Undecodable = Arc<Mutex<HashMap<ObjectKey, String>>>;

/// What a run of one kind works with: what all runs of the kind share, and the connection of its resource.
pub(crate) struct Context {
    shared: Arc<Shared>,
    pub(crate) external: Arc<dyn DynExternal>,
    pub(crate) batchers: Batchers,
    /// What vanished lately.
    pub(crate) vanished: Arc<Vanished>,
    /// The rules of the account that the resource uses.
    pub(crate) rules: Option<Arc<dyn Rules>>,
}

impl Deref for Context {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.shared
    }
}

/// What every run of one kind shares.
pub(crate) struct Shared {
    pub(crate) shell: Shell,
    pub(crate) kind: SharedKind,
    /// The connections of accounts.
    pub(crate) connections: Connections,
    /// Where its resources wait for their runs.
    pub(crate) queue: Queue<ObjectKey>,
    pub(crate) objects: Store<Object>,
    pub(crate) requests: Store<DependencyRequest>,
    /// The requests that may exist although the watch does not show them.
    pub(crate) unselected: Unselected,
    /// Whether somebody answers them.
    pub(crate) hub: Arc<Hub>,
    /// Whether the hub runs, by its lease.
    pub(crate) hub_lease: HubLease,
    pub(crate) states: Store<PartialObjectMeta<StateDeclaration>>,
    /// What this process wrote of the states.
    pub(crate) published: Published,
    /// The objects that do not decode as their kind, and why.
    pub(crate) undecodable: Undecodable,
    /// Who refers to whom, where something is being deleted.
    pub(crate) references: References,
    /// The Secrets that were read a moment ago.
    pub(crate) secrets: Secrets,
    pub(crate) memories: Memories,
    /// What digests of observations are keyed with.
    pub(crate) digest_key: u64,
    /// Which resource adopts what at the moment.
    pub(crate) claims: Claims,
    pub(crate) fields: Fields,
    /// How long the cloud may take to show what it has just created.
    pub(crate) visibility_window: Duration,
    /// How often what costs a call per object is read although nothing was edited; zero: never.
    pub(crate) deep_interval: Duration,
    /// When this process began to reconcile the kind: of what is younger, it knows every launch.
    pub(crate) began: OnceLock<Timestamp>,
    /// How many launches of one resource are too many.
    pub(crate) breaker: Breaker,
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context").field("kind", &self.info().key).finish_non_exhaustive()
    }
}

impl Context {
    /// The context of the controller's own connection.
    pub(crate) fn of(shared: Shared, link: Link) -> Self {
        let Link { external, batchers, vanished } = link;
        Self { shared: Arc::new(shared), external, batchers, vanished, rules: None }
    }

    /// The connection of this context.
    pub(crate) fn link(&self) -> Link {
        let (external, batchers) = (self.external.clone(), self.batchers.clone());
        Link { external, batchers, vanished: self.vanished.clone() }
    }

    /// The same with another connection, and the rules of an account.
    pub(crate) fn with(&self, link: Link, rules: Arc<dyn Rules>) -> Self {
        let Link { external, batchers, vanished } = link;
        Self { shared: self.shared.clone(), external, batchers, vanished, rules: Some(rules) }
    }

    /// A digest of the values of all references, and of what the account adds to the spec.
    pub(crate) fn inputs(&self, uid: &str, values: &Values) -> String {
        let added = self.rules.as_ref().map_or("", |rules| rules.digest());
        in_place::governed_digest(uid, in_place::inputs_digest(uid, values), added)
    }

    /// When this process began to reconcile the kind.
    pub(crate) fn began(&self) -> Timestamp {
        self.began.get().copied().unwrap_or(Timestamp::MAX)
    }

    /// Whether the hub follows references.
    pub(crate) fn followed(&self) -> Followed {
        Followed::by(self.hub_lease.holder(), &hub_lease::namespace(&self.shell))
    }

    /// What is the same for every object of the kind.
    pub(crate) fn info(&self) -> &KindInfo {
        self.kind.info()
    }

    /// Where the API server has the resources of a namespace.
    pub(crate) fn api(&self, namespace: &str) -> Api<DynamicObject> {
        Api::namespaced_with(self.shell.client.clone(), namespace, &self.info().resource)
    }

    /// What the API server answered a write of a resource with.
    ///
    /// # Errors
    /// If it does not decode: another version of the CRD may be installed.
    pub(crate) fn written(&self, verb: &'static str, answer: DynamicObject) -> Result<Arc<Object>, ApiError> {
        let invalid = |error| ApiError { verb, source: Box::new(kube::Error::SerdeError(error)) };
        let decoded = self.kind.decode(answer);
        decoded.map(Arc::new).map_err(|(_, error)| invalid(serde::de::Error::custom(error)))
    }

    /// The name of the DependencyRequest and the StateDeclaration of the resource of this name.
    pub(crate) fn owned_name(&self, name: &str) -> String {
        owned_name(&self.info().key, name)
    }
}

/// Namespace and name.
pub(crate) fn place(object: &impl ResourceExt) -> (String, String) {
    (object.namespace().unwrap_or_default(), object.name_any())
}

/// Makes an object the resource's own: it is collected with it.
pub(crate) fn owner_reference(context: &Context, object: &Object) -> OwnerReference {
    let resource = &context.info().resource;
    OwnerReference {
        api_version: resource.api_version.clone(),
        kind: resource.kind.clone(),
        name: object.name_any(),
        uid: object.uid().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: None,
    }
}

/// Who the things of this resource belong to.
pub(crate) fn identity_of(context: &Context, object: &Object) -> Identity {
    let (namespace, name) = place(object);
    Identity {
        cluster: context.shell.cluster_id.clone(),
        uid: object.uid().unwrap_or_default(),
        owner: format!("{}/{namespace}/{name}", context.info().name),
    }
}

/// What one run sees: the desired, the observed and whose they are.
pub(crate) struct Sight<'a> {
    pub identity: Identity,
    pub known: Known,
    /// Whether it was searched for by tag too, or cannot exist.
    pub is_searched: bool,
    pub desired: &'a Desired,
    /// The same with what is ignored as it is observed: for comparisons and changes, not for creation.
    pub effective: &'a Desired,
    /// What counts: all there is, or only what is new while it replaces the old.
    pub observed: Observed,
    pub replacing: bool,
    /// The ids of everything that exists under the identity, what is replaced included.
    pub live: Vec<String>,
    /// The ids that were recorded and may not be visible yet.
    pub unseen: Vec<String>,
    /// What becomes of what is replaced.
    pub fates: Fates<'a>,
    /// Where this controller works.
    pub location: Option<Location>,
}
