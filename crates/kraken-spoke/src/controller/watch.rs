//! The watches of one kind, and what its reconciles share.

use std::sync::{Arc, OnceLock};

use kraken_api::{DependencyRequest, OWNER_KIND_LABEL, StateDeclaration};
use kraken_runtime::{
    manager::Manager,
    queue::{Lane, Queue},
    watch::{Change, ObjectKey, RawObject},
};
use kube::runtime::watcher;

use crate::{
    account::KnownAccounts,
    args::LoopArgs,
    context::{Shared, Undecodable},
    controller::triggers::{enqueue_owner, is_restored, is_trigger},
    dynamic::{DynKind, Object},
    model::{breaker::Breaker, fields::Fields},
    shared::{
        batch::MAX_OBSERVE_REQUESTS, blockers::References, claims::Claims, connections::Connections,
        hub::Hub, hub_lease::HubLease, memories::Memories, published::Published, secrets::Secrets,
        unselected::Unselected,
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
}

impl Common {
    /// What the kinds of a provider with these accounts share.
    pub(crate) fn among(accounts: Option<Arc<dyn KnownAccounts>>) -> Self {
        Self { accounts, ..Self::default() }
    }
}

/// Starts the watches of a kind.
pub(crate) fn watch(manager: &Manager, kind: Arc<dyn DynKind>, args: &LoopArgs, common: Common) -> Shared {
    let (queue, watches) = (Queue::new(IN_FLIGHT), manager.watches());
    let owned = watcher::Config::default().labels(&format!("{OWNER_KIND_LABEL}={}", kind.info().key));
    let (hub, unselected) = (Arc::new(Hub::default()), Unselected::default());
    let requests = watches.objects::<DependencyRequest>("DependencyRequest", &owned, {
        let (hub, unselected, enqueue) = (hub.clone(), unselected.clone(), enqueue_owner(queue.clone()));
        move |change| {
            hub.note(&change);
            unselected.note(&change);
            enqueue(change);
        }
    });
    let published = Published::default();
    let states = watches.metadata::<StateDeclaration>("StateDeclaration", &owned, {
        let (enqueue, published) = (enqueue_owner(queue.clone()), published.clone());
        // The controller's own writes trigger no reconcile; an edit of a state by another client is reverted at once.
        move |change| {
            if published.needs_reconcile(&change) {
                enqueue(change);
            }
        }
    });
    let undecodable = Undecodable::default();
    let memories = Arc::<Memories>::default();
    let on_change = on_change(queue.clone(), undecodable.clone(), memories.clone());
    let decode = {
        let kind = kind.clone();
        move |object: &RawObject| kind.decode(object)
    };
    let objects = watches.decoded(kind.info().name, &kind.info().resource, on_change, decode);
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
        secrets: Secrets::default(),
        memories,
        digest_key: kraken_runtime::random::number(),
        claims: Claims::default(),
        visibility_window: args.visibility_window,
        deep_interval: args.deep_resync_interval,
        began: OnceLock::new(),
        breaker: Breaker { limit: args.launch_limit, window: args.launch_window },
        manager: manager.clone(),
    }
}

/// Enqueues a resource when it changes.
fn on_change(
    queue: Queue<ObjectKey>,
    undecodable: Undecodable,
    memories: Arc<Memories>,
) -> impl Fn(Change<Object>) + Send + Sync + Clone + 'static {
    move |change: Change<Object>| {
        let key = ObjectKey::of(change.meta());
        if is_restored(&change) {
            memories.restored(key.clone());
        }
        let is_due = match &change {
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
