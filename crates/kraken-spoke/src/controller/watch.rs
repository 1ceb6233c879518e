//! The watches of the kinds of one process, and what the reconciles of each kind share.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use kraken_api::{DependencyRequest, OWNER_KIND_LABEL, StateDeclaration, names::owned_name};
use kraken_runtime::{
    manager::Manager,
    queue::{Lane, Queue},
    watch::{Change, ObjectKey, RawObject, Routes, Watches},
};
use kube::core::PartialObjectMeta;

use crate::{
    account::KnownAccounts,
    args::LoopArgs,
    context::{Shared, Undecodable},
    controller::triggers::{enqueue_owner, is_known, is_restored, is_trigger},
    dynamic::{DynKind, Object},
    model::fields::Fields,
    policy::launch_limit::Breaker,
    preview::Previews,
    shared::{
        batch::MAX_OBSERVE_REQUESTS, blockers::References, claims::Claims, connections::Connections,
        disruptions::Disruptions, hub::Hub, hub_lease::HubLease, in_use::InUse, memories::Memories,
        published::Published, secrets::Secrets, unselected::Unselected, uses::Uses,
    },
};

/// The in-flight limit. Most reconciles in progress wait for a batched read: three quarters, which resyncs may use,
/// fill one batch.
const IN_FLIGHT: usize = MAX_OBSERVE_REQUESTS + MAX_OBSERVE_REQUESTS / 3;

/// What the kinds of one process share in addition to the manager.
#[derive(Clone, Debug, Default)]
pub struct Common {
    /// The references of namespaces with deletions in progress.
    pub(crate) references: References,
    /// Whether the hub is running.
    pub(crate) hub_lease: HubLease,
    /// The accounts of the provider, if it has any.
    pub(crate) accounts: Option<Arc<dyn KnownAccounts>>,
    /// The accounts in use.
    pub(crate) uses: Option<Uses>,
    /// The kinds that can be compared with the cloud for a dry run.
    pub(crate) previews: Previews,
}

impl Common {
    /// What the kinds of a provider with these accounts share.
    pub(crate) fn with_accounts(accounts: Option<Arc<dyn KnownAccounts>>) -> Self {
        Self { accounts, ..Self::default() }
    }
}

/// The objects that the process writes for resources, by the kind of the resource. All kinds share one watch of each.
#[derive(Debug)]
pub(crate) struct Owned {
    requests: Routes<DependencyRequest>,
    states: Routes<PartialObjectMeta<StateDeclaration>>,
}

impl Default for Owned {
    fn default() -> Self {
        Self { requests: Routes::by(OWNER_KIND_LABEL), states: Routes::by(OWNER_KIND_LABEL) }
    }
}

impl Owned {
    /// Starts the watches, after [`watch`] has added every kind: their selectors name the kinds.
    pub(crate) fn watch(self, watches: &Watches) {
        watches.routed_objects("DependencyRequest", &self.requests);
        watches.routed_metadata("StateDeclaration", &self.states);
    }
}

/// Starts the watch of a kind, and adds the kind to the watches of owned objects.
pub(crate) fn watch(
    manager: &Manager,
    kind: Arc<dyn DynKind>,
    args: &LoopArgs,
    common: Common,
    owned: &mut Owned,
) -> Shared {
    let queue = Queue::new(IN_FLIGHT);
    let published = Published::default();
    let undecodable = Undecodable::default();
    let memories = Arc::<Memories>::default();
    let on_change = on_change(
        kind.info().key.clone(),
        queue.clone(),
        undecodable.clone(),
        memories.clone(),
        published.clone(),
    );
    let decode = {
        let kind = kind.clone();
        move |object: &RawObject| kind.decode(object)
    };
    let objects = manager.watches().decoded(kind.info().name, &kind.info().resource, on_change, decode);
    let uses = common.uses.zip(kind.info().accounts).map(|(uses, accounts)| {
        uses.add(&kind.info().key, accounts, objects.clone(), undecodable.clone());
        uses
    });
    let (hub, unselected) = (Arc::new(Hub::default()), Unselected::default());
    let requests = owned.requests.add(&kind.info().key, {
        let (hub, unselected, enqueue) = (hub.clone(), unselected.clone(), enqueue_owner(queue.clone()));
        let objects = objects.clone();
        move |change: Change<DependencyRequest>| {
            hub.note(&change);
            unselected.note(&change);
            if !is_known(&change, &objects) {
                enqueue(change);
            }
        }
    });
    let states = owned.states.add(&kind.info().key, {
        let (enqueue, published) = (enqueue_owner(queue.clone()), published.clone());
        // The controller's own writes trigger no reconcile; an edit of a state by another client is reverted at once.
        move |change: Change<PartialObjectMeta<StateDeclaration>>| {
            if published.needs_reconcile(&change) {
                enqueue(change);
            }
        }
    });
    let is_journaled = kind.info().journaled;
    Shared {
        fields: Fields::of(kind.info()),
        kind,
        connections: Connections::default(),
        queue,
        objects,
        requests,
        unselected,
        hub,
        hub_lease: common.hub_lease,
        states,
        published,
        undecodable,
        references: common.references,
        uses,
        secrets: Secrets::default(),
        memories,
        former: Arc::default(),
        digest_key: kraken_runtime::random::number(),
        claims: Claims::default(),
        in_use: InUse::default(),
        disruptions: Disruptions::default(),
        // A journal knows at once what exists.
        visibility_window: if is_journaled { Duration::ZERO } else { args.visibility_window },
        deep_interval: args.deep_resync_interval,
        replace_timeout: args.replace_timeout,
        began: OnceLock::new(),
        breaker: Breaker { limit: args.launch_limit, window: args.launch_window },
        manager: manager.clone(),
    }
}

/// Enqueues a resource when it changes, or when a restored backup lost what was written of it.
fn on_change(
    owner_kind: String,
    queue: Queue<ObjectKey>,
    undecodable: Undecodable,
    memories: Arc<Memories>,
    published: Published,
) -> impl Fn(Change<Object>) + Send + Sync + Clone + 'static {
    move |change: Change<Object>| {
        let key = ObjectKey::of(change.meta());
        match &change {
            Change::Deleted(last) => memories.deleted(&**last),
            Change::Applied(now, Some(_)) => memories.watched(&key, &**now),
            _ => {}
        }
        let is_restored = match &change {
            Change::Listed(listed) => memories.is_lost(&key, &**listed),
            Change::Applied(added, None) => memories.is_brought_back(&**added),
            change => is_restored(change),
        };
        if is_restored {
            memories.restored(key.clone());
            // Its state may be lost too, without an event if the watch had not returned it yet.
            published.forget(&ObjectKey::new(&key.namespace, &owned_name(&owner_kind, &key.name)));
        }
        let is_due = match &change {
            // Or a restored backup set it back to the last version that decoded.
            Change::Listed(_) => undecodable.lock().remove(&key).is_some() || is_restored,
            Change::Invalid(_, error) => {
                undecodable.lock().insert(key.clone(), error.clone());
                true
            }
            // An object that decodes again was edited.
            change => undecodable.lock().remove(&key).is_some() || is_trigger(change),
        };
        if is_due {
            queue.add(key, Lane::Edit);
        }
    }
}
