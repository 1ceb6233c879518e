//! The watches of the kinds of one process, and what the reconciles of each kind share.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use kraken_api::{
    DependencyRequest, OWNER_KIND_LABEL, StateDeclaration,
    names::{kind_of, owned_name},
};
use kraken_kind::{
    account::KnownAccounts,
    dynamic::{Kind, Object},
};
use kraken_model::{
    policy::{launch_limit::Breaker, undecoded},
    trigger::{is_known, is_restored, is_trigger},
};
use kraken_runtime::{
    manager::Manager,
    queue::{Lane, Queue},
    watch::{Change, ObjectKey, RawObject, Routes, Watches},
};
use kube::core::PartialObjectMeta;

use crate::{
    args::LoopArgs,
    context::Shared,
    controller::triggers::enqueue_owner,
    preview::Previews,
    shared::{
        batch::MAX_OBSERVE_REQUESTS, blockers::References, claims::Claims, connections::Connections,
        disruptions::Disruptions, hub::Hub, hub_lease::HubLease, in_use::InUse, memories::Memories,
        published::Published, secrets::Secrets, uses::Uses,
    },
};

/// The in-flight limit. Most reconciles in progress wait for a batched read: three quarters, which resyncs may use,
/// fill one batch.
const IN_FLIGHT: usize = MAX_OBSERVE_REQUESTS + MAX_OBSERVE_REQUESTS / 3;

/// What the kinds of one process share in addition to the manager.
#[derive(Clone, Debug, Default)]
pub(crate) struct Common {
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

/// The objects that the process writes for resources, by the kind of the resource. All kinds share one watch of each.
#[derive(Debug)]
pub(crate) struct Owned {
    requests: Routes<DependencyRequest>,
    states: Routes<PartialObjectMeta<StateDeclaration>>,
}

impl Owned {
    /// The objects of this spoke. No client can change the field and the name of a request.
    pub(crate) fn of(spoke: &str) -> Self {
        let requests = Routes::by_name(format!("spec.spoke={spoke}"), kind_of);
        Self { requests, states: Routes::by_label(OWNER_KIND_LABEL) }
    }

    /// Starts the watches, after [`watch`] has added every kind: the selector of states names the kinds.
    pub(crate) fn watch(self, watches: &Watches) {
        watches.routed_objects("DependencyRequest", &self.requests);
        watches.routed_metadata("StateDeclaration", &self.states);
    }
}

/// Starts the watch of a kind, and adds the kind to the watches of owned objects.
pub(crate) fn watch(
    manager: &Manager,
    kind: Arc<dyn Kind>,
    args: &LoopArgs,
    common: Common,
    owned: &mut Owned,
) -> Shared {
    let queue = Queue::new(IN_FLIGHT);
    let published = Published::default();
    let memories = Arc::<Memories>::default();
    let on_change = on_change(kind.info().key.clone(), queue.clone(), memories.clone(), published.clone());
    let decode = {
        let kind = kind.clone();
        move |object: &RawObject| undecoded::read(&*kind, object)
    };
    let objects = manager.watches().decoded(kind.info().name, &kind.info().resource, on_change, decode);
    let uses = common.uses.zip(kind.info().accounts).map(|(uses, accounts)| {
        uses.add(&kind.info().key, accounts, objects.clone());
        uses
    });
    let hub = Arc::new(Hub::default());
    let requests = owned.requests.add(&kind.info().key, {
        let (hub, enqueue) = (hub.clone(), enqueue_owner(queue.clone()));
        let objects = objects.clone();
        move |change: Change<DependencyRequest>| {
            hub.note(&change);
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
        kind,
        connections: Connections::default(),
        queue,
        objects,
        requests,
        hub,
        hub_lease: common.hub_lease,
        states,
        published,
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
        if is_restored || is_trigger(&change) {
            queue.add(key, Lane::Edit);
        }
    }
}
