//! The context of a reconcile: the handles that all reconciles of a kind share.

mod reconcile;

use std::{
    ops::Deref,
    sync::{Arc, OnceLock},
    time::Duration,
};

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kraken_api::{DependencyRequest, StateDeclaration, names::owned_name};
use kraken_kind::{
    Failure, Identity, ObserveRequest,
    account::Rules,
    dynamic::{KindInfo, Object, Observed, SharedKind},
};
use kraken_model::{followed::Followed, policy::launch_limit::Breaker};
use kraken_runtime::{
    manager::Manager,
    queue::{Lane, Queue},
    watch::{ObjectKey, RawObject, Store},
};
use kube::{Api, ResourceExt, core::PartialObjectMeta};

use crate::shared::{
    blockers::References,
    claims::{Claim, Claimant, Claims},
    connections::{Connections, Link},
    disruptions::Disruptions,
    former::Former,
    hub::Hub,
    hub_lease::{self, HubLease},
    in_use::InUse,
    memories::Memories,
    published::Published,
    secrets::Secrets,
    uses::Uses,
};

pub(crate) use reconcile::Reconcile;

/// The context of one reconcile: what all reconciles of the kind share, and the connection of its resource.
#[derive(Clone)]
pub(crate) struct Context {
    pub(crate) shared: Arc<Shared>,
    /// The kind in the form that the calls of this context have.
    pub(crate) kind: SharedKind,
    /// The connection: the controller's own, or that of an account.
    pub(crate) link: Link,
    /// The rules of the account that the resource uses.
    pub(crate) rules: Option<Arc<dyn Rules>>,
}

impl Deref for Context {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.shared
    }
}

/// The handles that all reconciles of one kind share.
pub(crate) struct Shared {
    pub(crate) manager: Manager,
    pub(crate) kind: SharedKind,
    /// The connections of accounts.
    pub(crate) connections: Connections,
    /// The work queue of the kind's resources.
    pub(crate) queue: Queue<ObjectKey>,
    pub(crate) objects: Store<Object>,
    pub(crate) requests: Store<DependencyRequest>,
    /// Whether the hub responds to them.
    pub(crate) hub: Arc<Hub>,
    /// Whether the hub is running, according to its lease.
    pub(crate) hub_lease: HubLease,
    pub(crate) states: Store<PartialObjectMeta<StateDeclaration>>,
    /// The states that this process wrote.
    pub(crate) published: Published,
    /// The references of namespaces with deletions in progress.
    pub(crate) references: References,
    /// The accounts in use, if the provider has accounts.
    pub(crate) uses: Option<Uses>,
    /// The Secrets that were read recently.
    pub(crate) secrets: Secrets,
    pub(crate) memories: Arc<Memories>,
    /// What former resources left in the cloud.
    pub(crate) former: Arc<Former>,
    /// The key of the digests of observations.
    pub(crate) digest_key: u64,
    /// The adoptions in progress.
    pub(crate) claims: Claims,
    /// The resources that wait for a value that another one has.
    pub(crate) in_use: InUse,
    /// Which resource of a group may be disrupted.
    pub(crate) disruptions: Disruptions,
    /// How long a new remote object may be missing from responses.
    pub(crate) visibility_window: Duration,
    /// How often attributes that need one call per object are read without an edit; zero: never.
    pub(crate) deep_interval: Duration,
    /// How long a replaced object is kept at most until its dependents use its successor.
    pub(crate) replace_timeout: Duration,
    /// When this process started to reconcile the kind: it knows every launch of younger resources.
    pub(crate) began: OnceLock<Timestamp>,
    /// The launch limit of one resource.
    pub(crate) breaker: Breaker,
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context").field("kind", &self.info().key).finish_non_exhaustive()
    }
}

impl Context {
    /// The context of the controller's own connection.
    pub(crate) fn new(shared: Shared, link: Link) -> Self {
        Self { kind: shared.kind.clone(), shared: Arc::new(shared), link, rules: None }
    }

    /// Observes remote objects through the batched reader. Without a request, which means that the resource cannot have remote
    /// objects, no call is made.
    ///
    /// # Errors
    /// The failure of the call.
    pub(crate) async fn observe(
        &self,
        lane: Lane,
        request: Option<ObserveRequest>,
    ) -> Result<Observed, Failure> {
        match request {
            Some(request) => self.link.batchers.of(lane).observe(request).await,
            None => Ok(Observed::default()),
        }
    }

    /// Claims a candidate for a resource, unless another one is adopting it: see [`Claims::take`].
    pub(crate) fn claim(&self, id: &str, key: ObjectKey, identity: &Identity) -> Option<Claim<'_>> {
        let exists = |other: &Claimant| {
            self.objects
                .get(&other.key)
                .is_some_and(|object| object.metadata.uid.as_ref() == Some(&other.uid))
        };
        self.claims.take(id, Claimant { key, uid: identity.uid.clone() }, self.visibility_window, exists)
    }

    /// The time from which on this process knows every launch: when it started to reconcile the kind, or when a restored backup
    /// last brought a resource back that it had forgotten.
    pub(crate) fn began(&self) -> Timestamp {
        let began = self.began.get().copied().unwrap_or(Timestamp::MAX);
        self.memories.restored_at().map_or(began, |since| began.max(since))
    }

    /// What is left of the first visibility window of this process.
    pub(crate) fn first_window(&self) -> Option<Duration> {
        let since = self.began().duration_until(kraken_runtime::clock::now());
        let since = Duration::try_from(since).unwrap_or_default();
        self.visibility_window.checked_sub(since).filter(|left| !left.is_zero())
    }

    /// The latest time at which a former process can have made a call, or this one without a record of it.
    pub(crate) fn predecessor_ended_at(&self) -> Timestamp {
        let former = self.manager.predecessor_ended_at().unwrap_or_else(|| self.began());
        self.memories.restored_at().map_or(former, |since| former.max(since))
    }

    /// Whether the hub keeps references up to date.
    pub(crate) fn followed(&self) -> Followed {
        Followed::by(self.hub_lease.holder(), &hub_lease::namespace(&self.manager))
    }

    /// The constants of the kind.
    pub(crate) fn info(&self) -> &KindInfo {
        self.kind.info()
    }

    /// The API of the resources of a namespace.
    pub(crate) fn api(&self, namespace: &str) -> Api<RawObject> {
        Api::namespaced_with(self.manager.client.clone(), namespace, &self.info().resource)
    }

    /// The identity of a resource of this kind.
    pub(crate) fn identity(&self, key: &ObjectKey, uid: String) -> Identity {
        let owner = format!("{}/{}/{}", self.info().name, key.namespace, key.name);
        Identity { cluster: self.manager.cluster_id.clone(), uid, owner }
    }

    /// The key of the DependencyRequest and the StateDeclaration of the resource of this key.
    pub(crate) fn owned_key(&self, owner: &ObjectKey) -> ObjectKey {
        ObjectKey::new(&owner.namespace, &owned_name(&self.info().key, &owner.name))
    }
}

/// Namespace and name.
pub(crate) fn place(object: &impl ResourceExt) -> (String, String) {
    (object.namespace().unwrap_or_default(), object.name_any())
}

/// An owner reference to the resource: its objects are garbage-collected with it.
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
