//! The loop of one kind: what wakes it, and one reconcile from gathered values to the report.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Instant};

use futures::FutureExt;
use kraken_api::{
    DependencyRequest, HasLifecycle, INTENT_ANNOTATION, OWNER_KIND_LABEL, StateDeclaration, names::owned_name,
};
use kraken_options::kind_key;
use kraken_runtime::{
    queue::{Lane, Queue, Requeue},
    shell::Shell,
    watch::{Change, ObjectKey, Store},
    work,
};
use kube::{
    Resource, ResourceExt,
    core::{
        PartialObjectMeta,
        object::{HasSpec, HasStatus},
    },
    runtime::watcher,
};
use serde_json::{Value, json};
use tracing::{debug, warn};

use crate::{
    External, Identity,
    batch::Batcher,
    decide::{Decision, decide},
    intent::Intent,
    memory::{Memories, Memory},
    orphans::{self, OrphanArgs},
    outcome::{Learned, Outcome, was_in_place},
    steps::{
        act,
        blocked::References,
        declare,
        gather::{Gathered, gather},
        observe::{Known, observe},
        remove,
        replace::{self, Parts},
        report, resolve,
    },
};

/// What every run of one kind shares.
pub struct Context<E: External> {
    pub(crate) shell: Shell,
    pub(crate) external: Arc<E>,
    pub(crate) batcher: Batcher<E::Observed>,
    /// The kind as references name it.
    pub(crate) kind_key: String,
    pub(crate) objects: Store<E::Kind>,
    pub(crate) requests: Store<DependencyRequest>,
    pub(crate) states: Store<PartialObjectMeta<StateDeclaration>>,
    /// Who refers to whom, where something is being deleted.
    pub(crate) references: References,
    memories: Memories<E::Kind>,
}

impl<E: External> std::fmt::Debug for Context<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context").field("kind", &self.kind_key).finish_non_exhaustive()
    }
}

impl<E: External> Context<E> {
    /// Namespace and name.
    pub(crate) fn place(&self, object: &E::Kind) -> (String, String) {
        (object.namespace().unwrap_or_default(), object.name_any())
    }

    /// The name of the DependencyRequest and the StateDeclaration of the resource of this name.
    pub(crate) fn owned_name(&self, name: &str) -> String {
        owned_name(&self.kind_key, name)
    }

    /// Makes an object the resource's own: it is collected with it.
    pub(crate) fn owner_reference(&self, object: &E::Kind) -> Value {
        json!({
            "apiVersion": E::Kind::api_version(&()),
            "kind": E::Kind::kind(&()),
            "name": object.name_any(),
            "uid": object.meta().uid,
            "controller": true,
        })
    }
}

/// Who the things of this resource belong to.
pub(crate) fn identity_of<E: External>(context: &Context<E>, object: &E::Kind) -> Identity {
    let (namespace, name) = context.place(object);
    Identity {
        cluster: context.shell.cluster_id.clone(),
        uid: object.uid().unwrap_or_default(),
        owner: format!("{}/{namespace}/{name}", E::Kind::kind(&())),
    }
}

/// What one run sees: the desired, the observed and whose they are.
pub(crate) struct Sight<'a, E: External> {
    pub identity: Identity,
    pub known: Known,
    pub desired: &'a E::Desired,
    /// What counts: all there is, or only what is new while it replaces the old.
    pub observed: E::Observed,
    pub replacing: bool,
}

/// Runs the controller of one kind until shutdown.
///
/// # Errors
/// None today; failures are conditions of resources.
pub async fn run<E: External>(shell: Shell, external: E, orphan_args: OrphanArgs) -> anyhow::Result<()> {
    let kind: &'static str = static_kind::<E>();
    let kind_key = kind_key(kind);
    let queue: Queue<ObjectKey> = Queue::new(shell.args.concurrency);
    let watches = shell.watches();
    let external = Arc::new(external);
    let batcher = Batcher::start(external.clone());

    let owned = watcher::Config::default().labels(&format!("{OWNER_KIND_LABEL}={kind_key}"));
    let requests =
        watches.objects::<DependencyRequest>("DependencyRequest", &owned, wakes_owner(queue.clone()));
    let states = watches.metadata::<StateDeclaration>("StateDeclaration", &owned, {
        let wake = wakes_owner(queue.clone());
        // Our own writes need no second look; a deletion by somebody else does.
        move |change| {
            if matches!(change, Change::Deleted(_)) {
                wake(change)
            }
        }
    });
    let (undecodable, mut told) = tokio::sync::mpsc::channel(64);
    let objects = watches.objects::<E::Kind>(kind, &watcher::Config::default(), {
        let queue = queue.clone();
        move |change| match change {
            Change::Invalid(meta, error) => {
                // A full channel means that many are told already; the watch must not block.
                if undecodable.try_send((meta, error)).is_err() {
                    warn!(kind, "too many objects do not decode to report on each");
                }
            }
            change if concerns_us(&change) => queue.add(ObjectKey::of(change.meta()), Lane::Edit),
            _ => {}
        }
    });

    let context = Arc::new(Context {
        external,
        batcher,
        kind_key,
        objects,
        requests,
        states,
        references: References::default(),
        memories: Memories::default(),
        shell: shell.clone(),
    });
    // A decision on a store that is still filling would take what is not listed yet for missing.
    let synced = shell.shutdown.run_until_cancelled(shell.health.ready()).await.is_some();
    if !synced || !shell.leading().await {
        return Ok(());
    }
    let teller = tokio::spawn({
        let context = context.clone();
        async move {
            while let Some((meta, error)) = told.recv().await {
                report::report_undecodable(&context, &meta, &error).await;
            }
        }
    });
    let sweeper = tokio::spawn({
        let (context, shell) = (context.clone(), shell.clone());
        async move { orphans::run(shell, orphan_args, &*context.external, kind).await }
    });
    let (metrics, shutdown) = (shell.metrics.clone(), shell.shutdown.clone());
    work::run(queue, shell.args.concurrency, kind, metrics, shutdown, move |key| {
        guarded(context.clone(), kind, key)
    })
    .await;
    teller.abort();
    sweeper.abort();
    Ok(())
}

/// A kind's name lives as long as the process; each is leaked once, as a label of metrics.
fn static_kind<E: External>() -> &'static str {
    match E::Kind::kind(&()) {
        std::borrow::Cow::Borrowed(kind) => kind,
        std::borrow::Cow::Owned(kind) => kind.leak(),
    }
}

fn wakes_owner<K: Resource>(queue: Queue<ObjectKey>) -> impl Fn(Change<K>) + Send + Sync + Clone + 'static {
    move |change| {
        let meta = change.meta();
        let owner =
            meta.owner_references.iter().flatten().find(|reference| reference.controller == Some(true));
        if let Some(owner) = owner {
            queue.add(ObjectKey::new(meta.namespace.as_deref().unwrap_or_default(), &owner.name), Lane::Edit);
        }
    }
}

/// Our own writes of status, finalizer and intent wake nobody; everything a person can change does.
fn concerns_us<K: Resource>(change: &Change<K>) -> bool {
    let Change::Applied(now, Some(before)) = change else { return true };
    let (now, before) = (now.meta(), before.meta());
    let annotations = |meta: &kube::api::ObjectMeta| {
        let mut annotations = meta.annotations.clone().unwrap_or_default();
        annotations.remove(INTENT_ANNOTATION);
        annotations
    };
    now.uid != before.uid
        || now.generation != before.generation
        || now.deletion_timestamp != before.deletion_timestamp
        || annotations(now) != annotations(before)
}

/// One run that cannot take anything else down: a panic in it becomes a condition of its own resource.
async fn guarded<E: External>(context: Arc<Context<E>>, kind: &'static str, key: ObjectKey) -> Requeue {
    let Some(watched) = context.objects.get(&key) else {
        context.memories.forget(&key);
        return Requeue::Never;
    };
    let started = Instant::now();
    let uid = watched.uid().unwrap_or_default();
    let mut memory = context.memories.take(&key, &uid);
    let object = memory.newest(watched);
    let metrics = &context.shell.metrics;

    let run = AssertUnwindSafe(reconcile(&context, &object, &mut memory)).catch_unwind().await;
    let (outcome, learned) = run.unwrap_or_else(|_| {
        metrics.reconcile_panicked(kind);
        memory = Memory::default();
        let message = "a fault of the controller, tried again; its log has the place".to_owned();
        (Outcome::Internal(message), Learned::default())
    });
    if let Outcome::Failed(failure) = &outcome {
        metrics.reconcile_failed(kind, failure.class.as_str());
    }
    metrics.reconciled(kind, outcome.label(), started.elapsed());
    debug!(outcome = outcome.label(), "reconciled");

    // The newest form may be the answer to the intent's patch.
    let object = memory.newest(object);
    let reported = report::report(&context, &object, &mut memory, &outcome, &learned).await;
    let requeue = match reported {
        Ok(()) => outcome.requeue(resync_of(&context, &object)),
        Err(error) => {
            warn!(namespace = &*key.namespace, name = &*key.name, %error, "failed to report; the run is repeated");
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

fn resync_of<E: External>(context: &Context<E>, object: &E::Kind) -> Option<std::time::Duration> {
    match object.spec().lifecycle().resync_interval.as_ref().map(kraken_api::Interval::duration) {
        Some(Ok(own)) => own,
        // An unreadable one is a problem of the spec and told there.
        Some(Err(_)) | None => context.shell.args.resync(),
    }
}

/// One reconcile: the steps of this folder in their order.
async fn reconcile<E: External>(
    context: &Context<E>,
    object: &E::Kind,
    memory: &mut Memory<E::Kind>,
) -> (Outcome, Learned) {
    let mut learned = Learned::default();
    let outcome = match steps(context, object, memory, &mut learned).await {
        Ok(outcome) | Err(outcome) => outcome,
    };
    (outcome, learned)
}

async fn steps<E: External>(
    context: &Context<E>,
    object: &E::Kind,
    memory: &mut Memory<E::Kind>,
    learned: &mut Learned,
) -> Result<Outcome, Outcome> {
    if object.meta().deletion_timestamp.is_some() {
        return Ok(remove::remove(context, object, memory).await);
    }
    let lifecycle = object.spec().lifecycle();
    if lifecycle.paused {
        return Ok(Outcome::Paused);
    }
    let dependencies = resolve::dependencies::<E>(object.spec());
    let Gathered { values, version } = gather(context, object, &dependencies).await?;
    learned.inputs = version;
    let (desired, scrubber) = resolve::desired::<E>(object.spec(), &values)?;

    let identity = identity_of(context, object);
    let known = Known::of(object, memory, Intent::of(object).as_ref());
    let has_finalizer = object.finalizers().iter().any(|finalizer| finalizer == kraken_api::FINALIZER);
    let drifted = was_in_place(object.status(), object.meta().generation, learned.inputs.as_deref());
    let deep = !drifted && E::needs_deep_look(&desired);
    let observed = observe(context, &identity, &known, has_finalizer, false, deep)
        .await
        .map_err(|failure| Outcome::Failed(scrubbed(failure, &scrubber)))?;
    learned.ids = Some(E::ids(&observed));
    let epoch = E::epoch(&observed).max(known.epoch);
    learned.epoch = (epoch > 0).then_some(epoch);

    let Parts { outgoing, current } = replace::parts::<E>(object, observed);
    let decision = decide(E::compare(&desired, &current), lifecycle, !drifted);
    let sight =
        Sight { identity, known, desired: &desired, observed: current, replacing: outgoing.is_some() };
    if !matches!(decision, Decision::Settle(_) | Decision::Create(_)) {
        declare::declare(context, object, &sight, &scrubber).await.map_err(Outcome::Kubernetes)?;
    }
    if let Some(outgoing) = &outgoing {
        let is_up = matches!(decision, Decision::InPlace);
        if let Some(outcome) =
            replace::retire(context, &sight.identity, lifecycle.replace, outgoing, is_up).await
        {
            return Ok(outcome);
        }
    }
    if !matches!(decision, Decision::Change(..)) {
        memory.changed = None;
    }
    Ok(match act::act(context, object, memory, &sight, decision, drifted).await {
        Outcome::Failed(failure) => Outcome::Failed(scrubbed(failure, &scrubber)),
        outcome => outcome,
    })
}

/// A cloud may quote what it was sent.
fn scrubbed(failure: crate::Failure, scrubber: &kraken_options::Scrubber) -> crate::Failure {
    crate::Failure { message: scrubber.scrub(&failure.message), ..failure }
}
