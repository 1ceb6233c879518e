//! The controller of one kind.

pub(crate) mod isolate;
mod triggers;
mod undecodable;

use std::sync::{Arc, OnceLock};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kraken_api::{DependencyRequest, OWNER_KIND_LABEL, StateDeclaration};
use kraken_runtime::{
    manager::Manager,
    queue::{Lane, Queue},
    watch::{Change, ObjectKey, RawObject},
    work,
};
use kube::runtime::watcher;
use serde::Deserialize;

use crate::{
    External,
    args::LoopArgs,
    context::{Context, Shared, Undecodable},
    dynamic::{DynExternal, DynKind, Object, calls_of, kind_of},
    model::{breaker::Breaker, fields::Fields},
    orphans,
    shared::{
        batch::{Batchers, MAX_OBSERVE_REQUESTS},
        blockers::References,
        claims::Claims,
        connections::{Connections, Link},
        hub::Hub,
        hub_lease::HubLease,
        memories::Memories,
        published::Published,
        secrets::Secrets,
        unselected::Unselected,
        vanished::Vanished,
    },
};
use isolate::guarded;
use triggers::{dependents, enqueue_owner, enqueue_users, is_trigger};

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
}

/// Runs the controller of one kind until shutdown.
///
/// # Errors
/// None at present; failures are reported as conditions of resources.
pub async fn run<E: External>(manager: Manager, external: E, args: LoopArgs) -> anyhow::Result<()> {
    run_among(manager, (kind_of::<E>(), calls_of(external)), args, Common::default()).await
}

/// Runs the controller of one kind, among others of the same process, until shutdown.
///
/// # Errors
/// None at present; failures are reported as conditions of resources.
pub async fn run_among(
    manager: Manager,
    (of, external): (Arc<dyn DynKind>, Arc<dyn DynExternal>),
    args: LoopArgs,
    common: Common,
) -> anyhow::Result<()> {
    let (kind, kind_key) = (of.info().name, &of.info().key);
    let queue: Queue<ObjectKey> = Queue::new(IN_FLIGHT);
    let watches = manager.watches();

    let owned = watcher::Config::default().labels(&format!("{OWNER_KIND_LABEL}={kind_key}"));
    let hub = Arc::new(Hub::default());
    let unselected = Unselected::default();
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
            if published.is_disturbed(&change) {
                enqueue(change);
            }
        }
    });
    let unreadable = Undecodable::default();
    let on_change = {
        let (queue, unreadable) = (queue.clone(), unreadable.clone());
        move |change: Change<Object>| {
            let key = ObjectKey::of(change.meta());
            let is_due = match &change {
                Change::Invalid(_, error) => {
                    unreadable.lock().insert(key.clone(), error.clone());
                    true
                }
                // An object that decodes again was edited.
                change => unreadable.lock().remove(&key).is_some() || is_trigger(change),
            };
            if is_due {
                queue.add(key, Lane::Edit);
            }
        }
    };
    let decode = {
        let of = of.clone();
        move |object: &RawObject| of.decode(object)
    };
    let objects = watches.decoded(kind, &of.info().resource, on_change, decode);

    let vanished = Arc::new(Vanished::new(args.vanished_share, args.vanished_minimum));
    let link = Link { batchers: Batchers::start(&external), external, vanished };
    let shared = Shared {
        fields: Fields::of(of.info()),
        kind: of,
        connections: Connections::default(),
        queue: queue.clone(),
        objects,
        requests,
        unselected,
        hub,
        hub_lease: common.hub_lease,
        states,
        published,
        undecodable: unreadable,
        references: common.references,
        secrets: Secrets::default(),
        memories: Memories::default(),
        digest_key: kraken_runtime::random::number(),
        claims: Claims::default(),
        visibility_window: args.visibility_window,
        deep_interval: args.deep_resync_interval,
        began: OnceLock::new(),
        breaker: Breaker { limit: args.launch_limit, window: args.launch_window },
        manager: manager.clone(),
    };
    let context = Arc::new(Context::of(shared, link));
    context.external.on_account_change(enqueue_users(&context, queue.clone()));
    // With an incomplete store, a decision would treat objects that are not listed yet as missing.
    let synced = manager.shutdown.run_until_cancelled(manager.health.ready()).await.is_some();
    if !synced || !manager.leading().await {
        return Ok(());
    }
    let _ = context.began.set(kraken_runtime::clock::now());
    // Registered only now: of several replicas, only the leader reports the count.
    let resources = context.objects.clone();
    manager.metrics.count_resources(kind, move |tally| {
        // An object at rest is stored as text; a count decodes only its conditions.
        resources.visit_raw(|resource| tally.add(&conditions_of(resource)));
    });
    context.hub_lease.add(dependents(&context, queue.clone()));
    let reader = kraken_runtime::task::spawn(context.hub_lease.clone().read(manager.clone()));
    let sweeper = kraken_runtime::task::spawn({
        let (context, manager) = (context.clone(), manager.clone());
        async move { orphans::run(manager, args.orphans, &*context.kind, &*context.external).await }
    });
    let (metrics, shutdown) = (manager.metrics.clone(), manager.shutdown.clone());
    work::run(queue, manager.args.concurrency, kind, metrics, shutdown, move |key, slot| {
        guarded(context.clone(), kind, key, slot)
    })
    .await;
    sweeper.abort();
    reader.abort();
    Ok(())
}

fn conditions_of(resource: &RawObject) -> Vec<Condition> {
    #[derive(Default, Deserialize)]
    struct Conditions {
        conditions: Vec<Condition>,
    }
    RawObject::decode::<Option<Conditions>>(resource.status.as_deref())
        .ok()
        .flatten()
        .unwrap_or_default()
        .conditions
}
