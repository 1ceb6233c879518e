//! The controller of one kind: its triggers, and the isolation of each reconcile.

use std::{
    panic::AssertUnwindSafe,
    sync::{Arc, OnceLock},
};

use futures::FutureExt;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kraken_api::{
    DependencyRequest, INTENT_ANNOTATION, OWNER_KIND_LABEL, StateDeclaration, conditions, names::owner_name,
};
use kraken_runtime::{
    clock::Instant,
    coverage,
    manager::Manager,
    queue::{Lane, Queue, Requeue},
    watch::{Change, ObjectKey, RawObject},
    work::{self, Slot},
};
use kube::{Resource, ResourceExt, api::ObjectMeta, core::object::HasStatus, runtime::watcher};
use serde::Deserialize;
use tracing::{debug, warn};

use crate::{
    External,
    account::{Connections, DEFAULT_ACCOUNT, Link, OnChange},
    args::LoopArgs,
    batch::{Batchers, MAX_OBSERVE_REQUESTS},
    breaker::Breaker,
    claims::Claims,
    context::{Context, Shared, Undecodable},
    coverage as names,
    dynamic::{DynExternal, DynKind, Object, account_of, calls_of, kind_of},
    fields::Fields,
    hub::Hub,
    hub_lease::{Dependents, HubLease},
    memory::{Memories, Memory},
    orphans,
    outcome::{AT_ONCE, Outcome},
    reconcile::reconcile,
    secrets::Secrets,
    status::{ReconcileFacts, said_unfollowed},
    steps::{
        blocked::References, declare::Published, observe::has_finalizer, references, report, undecodable,
    },
    vanished::Vanished,
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
    let unselected = references::Unselected::default();
    let requests = watches.objects::<DependencyRequest>("DependencyRequest", &owned, {
        let (hub, unselected, wake) = (hub.clone(), unselected.clone(), wakes_owner(queue.clone()));
        move |change| {
            hub.note(&change);
            unselected.note(&change);
            wake(change);
        }
    });
    let published = Published::default();
    let states = watches.metadata::<StateDeclaration>("StateDeclaration", &owned, {
        let (wake, published) = (wakes_owner(queue.clone()), published.clone());
        // The controller's own writes trigger no reconcile; an edit of a state by another client is reverted at once.
        move |change| {
            if published.is_disturbed(&change) {
                wake(change);
            }
        }
    });
    let unreadable = Undecodable::default();
    let seen = {
        let (queue, unreadable) = (queue.clone(), unreadable.clone());
        move |change: Change<Object>| {
            let key = ObjectKey::of(change.meta());
            let concerns_us = match &change {
                Change::Invalid(_, error) => {
                    unreadable.lock().insert(key.clone(), error.clone());
                    true
                }
                // An object that decodes again was edited.
                change => unreadable.lock().remove(&key).is_some() || concerns_us(change),
            };
            if concerns_us {
                queue.add(key, Lane::Edit);
            }
        }
    };
    let decode = {
        let of = of.clone();
        move |object: &RawObject| of.decode(object)
    };
    let objects = watches.decoded(kind, &of.info().resource, seen, decode);

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
    context.external.on_account_change(wakes_users(&context, queue.clone()));
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

/// Enqueues the resources that use an account when the account changes.
fn wakes_users(context: &Arc<Context>, queue: Queue<ObjectKey>) -> OnChange {
    // Weak, as in `dependents`: the provider keeps this as long as the process lives.
    let context = Arc::downgrade(context);
    Arc::new(move |account: &ObjectKey| {
        let Some(context) = context.upgrade() else { return };
        // Every Account is a change at the start: only the text of the resources of its namespace is read.
        context.objects.visit_raw(|object| {
            let is_in_namespace = object.metadata.namespace.as_deref() == Some(&*account.namespace);
            let used = || account_of(object.spec.as_deref()).ok().flatten();
            if is_in_namespace && used().as_deref().unwrap_or(DEFAULT_ACCOUNT) == &*account.name {
                queue.add(ObjectKey::of(&object.metadata), Lane::Edit);
            }
        });
    })
}

/// The resources of this kind that have references: each has a DependencyRequest.
fn dependents(context: &Arc<Context>, queue: Queue<ObjectKey>) -> Dependents {
    // Weak references: the context owns the lease, and a reference cycle would never be freed, which matters if
    // controllers start and stop in one process.
    let (any, all) = (Arc::downgrade(context), Arc::downgrade(context));
    let wake = move |is_silent: bool| {
        let Some(all) = all.upgrade() else { return };
        for request in all.requests.all() {
            let Some(owner) = owner_of(request.meta()) else { continue };
            let says_so = all.objects.get(&owner).is_some_and(|object| {
                object.status().is_some_and(|status| said_unfollowed(status).is_some())
            });
            if says_so != is_silent {
                queue.add(owner, Lane::Resync);
            }
        }
    };
    let exist = move || any.upgrade().is_some_and(|context| !context.requests.is_empty());
    Dependents { exist: Box::new(exist), wake: Box::new(wake) }
}

/// The resource that owns a DependencyRequest or a StateDeclaration.
fn owner_of(meta: &ObjectMeta) -> Option<ObjectKey> {
    let owners = meta.owner_references.iter().flatten();
    let controller = owners.into_iter().find(|reference| reference.controller == Some(true));
    // After `kubectl delete --cascade=orphan` only the name identifies the owner.
    let by_name = || {
        let kind = meta.labels.as_ref()?.get(OWNER_KIND_LABEL)?;
        owner_name(kind, meta.name.as_deref()?)
    };
    let name = controller.map(|reference| reference.name.as_str()).or_else(by_name)?;
    Some(ObjectKey::new(meta.namespace.as_deref().unwrap_or_default(), name))
}

fn wakes_owner<K: Resource>(queue: Queue<ObjectKey>) -> impl Fn(Change<K>) + Send + Sync + Clone + 'static {
    move |change| {
        // If a client removed the owner reference, the previous owner is enqueued.
        let before = match &change {
            Change::Applied(_, Some(before)) => Some(before.meta()),
            _ => None,
        };
        if let Some(owner) = owner_of(change.meta()).or_else(|| before.and_then(owner_of)) {
            queue.add(owner, Lane::Edit);
        }
    }
}

/// Whether a change triggers a reconcile. The controller's own writes of status, finalizer and intent do not; every
/// other change does. This controller never removes finalizer or intent before its work is complete, and every status
/// that it writes has a condition.
fn concerns_us(change: &Change<Object>) -> bool {
    let Change::Applied(now, Some(before)) = change else { return true };
    let has_intent = |object: &Object| object.annotations().contains_key(INTENT_ANNOTATION);
    if (has_finalizer(&**before) && !has_finalizer(&**now)) || (has_intent(before) && !has_intent(now)) {
        return true;
    }
    if says_nothing(now) && !says_nothing(before) {
        return true;
    }
    let (now, before) = (now.meta(), before.meta());
    let annotations = |meta: &ObjectMeta| {
        let mut annotations = meta.annotations.clone().unwrap_or_default();
        annotations.remove(INTENT_ANNOTATION);
        annotations
    };
    now.uid != before.uid
        || now.generation != before.generation
        || now.deletion_timestamp != before.deletion_timestamp
        || annotations(now) != annotations(before)
}

/// Whether a status was not written by this controller: it has no Ready condition, or is about a generation that has
/// not existed.
fn says_nothing(object: &Object) -> bool {
    let Some(status) = object.status() else { return true };
    conditions::get(&status.conditions, conditions::READY).is_none()
        || status.observed_generation.is_none()
        || status.observed_generation > object.meta().generation
}

/// One reconcile, isolated from all others: a panic becomes a condition of its own resource.
async fn guarded(context: Arc<Context>, kind: &'static str, key: ObjectKey, mut slot: Slot) -> Requeue {
    let unreadable = context.undecodable.lock().get(&key).cloned();
    if let Some(error) = unreadable {
        return Box::pin(undecodable::run(&context, &key, &error, &mut slot)).await;
    }
    let Some(watched) = context.objects.get(&key) else {
        context.memories.forget(&key);
        context.vanished.forget(&key);
        context.connections.forget(&key);
        return released(&context, &key).await;
    };
    let started = Instant::now();
    let uid = watched.uid().unwrap_or_default();
    let mut memory = context.memories.take(&key, &uid);
    memory.caught_up(&watched);
    let object = memory.newest(watched);
    let metrics = &context.manager.metrics;

    let run = AssertUnwindSafe(reconcile(&context, &object, &mut memory, &mut slot)).catch_unwind().await;
    let (outcome, facts) = run.unwrap_or_else(|_| {
        metrics.reconcile_panicked(kind);
        memory = Memory::default();
        let message = "internal error; retrying, see the controller log".to_owned();
        (Outcome::Internal(message), ReconcileFacts::default())
    });
    coverage::note(names::OUTCOME, names::outcome(&outcome));
    if let Outcome::Failed(failure) = &outcome {
        coverage::note(names::FAILURE, names::failure(failure.class));
        metrics.reconcile_failed(kind, failure.class.as_str());
    }
    if let Some(reason) = outcome.withheld() {
        metrics.launch_withheld(kind, reason);
    }
    metrics.reconciled(kind, outcome.label(), started.elapsed());
    debug!(outcome = outcome.label(), "reconciled");

    // The latest copy may be the response to the patch of the intent.
    let object = memory.newest(object);
    let refusals = memory.count_refusals(&outcome);
    let reported = Box::pin(report::report(&context, &object, &mut memory, &outcome, &facts)).await;
    let requeue = match reported {
        Ok(()) => outcome.requeue(resync_of(&context, &object), refusals),
        // Another client wrote meanwhile, or the object was recreated: the next reconcile observes it.
        Err(error) if error.is_conflict() => Requeue::Soon(AT_ONCE),
        Err(error) => {
            warn!(namespace = &*key.namespace, name = &*key.name, %error, "failed to write the status; retrying");
            Requeue::Backoff
        }
    };
    if matches!(outcome, Outcome::Removed) {
        context.memories.forget(&key);
    } else {
        context.memories.put(key, uid, memory);
    }
    requeue
}

/// Releases what a deleted resource has left: needed only after a crash between its deletion and the release of its
/// request.
async fn released(context: &Context, key: &ObjectKey) -> Requeue {
    context.published.forget(&ObjectKey::new(&key.namespace, &context.owned_name(&key.name)));
    match references::release_of(context, key, references::Expected::IfUnselected).await {
        Ok(()) => Requeue::Never,
        Err(error) => {
            warn!(namespace = &*key.namespace, name = &*key.name, %error, "failed to release the DependencyRequest");
            Requeue::Backoff
        }
    }
}

fn resync_of(context: &Context, object: &Object) -> Option<std::time::Duration> {
    match object.lifecycle().resync_interval.as_ref().map(kraken_api::Interval::duration) {
        Some(Ok(own)) => own,
        // An invalid interval is reported as a problem of the spec.
        Some(Err(_)) | None => context.manager.args.resync(),
    }
}
