//! The controllers of the kinds of one process.

pub(crate) mod isolate;
mod kinds;
pub(crate) mod triggers;
mod watch;

use std::{collections::BTreeMap, sync::Arc};

use isolate::guarded;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kraken_kind::{Calls, account::KnownAccounts};
use kraken_runtime::{manager::Manager, task, watch::RawObject, work};
use serde::Deserialize;
use tokio::task::JoinSet;
use tokio_util::sync::DropGuard;
use triggers::{dependents, enqueue_users, search_unrecorded};

use crate::{
    args::LoopArgs,
    context::{Context, Shared},
    imports::Imports,
    orphans::Sweeper,
    preview::Previews,
    shared::{connections::Link, uses::Uses, vanished::Vanished},
};

pub use crate::preview::Preview;
pub use kinds::Kinds;
pub use kraken_kind::dynamic::Served;
pub(crate) use watch::{Common, Owned, watch};

/// One of the kinds whose controllers start at once.
pub(crate) struct Member {
    /// Its controller runs until this manager stops.
    manager: Manager,
    served: Served,
    /// Dropped when its controller has ended.
    ended: DropGuard,
}

/// Runs the controllers of these kinds, which share the watches of what they write, until the manager of each has stopped. `on_watched` is
/// called when all watches are registered: from then on, the process is not ready until it has listed them.
async fn run_set(
    manager: Manager,
    kinds: Vec<Member>,
    args: LoopArgs,
    common: Common,
    on_watched: impl FnOnce(),
) -> anyhow::Result<()> {
    let imports = Imports::watch(&manager, kinds.iter().map(|kind| kind.served.clone()).collect());
    let mut owned = Owned::of(manager.name);
    let mut watched = Vec::new();
    for Member { manager, served: (kind, external), ended } in kinds {
        let shared = watch(&manager, kind, &args, common.clone(), &mut owned);
        watched.push((shared, external, ended));
    }
    // Before any controller waits for the stores, and after the selectors are known.
    owned.watch(&manager.watches());
    on_watched();
    let (mut controllers, mut of_all) = (JoinSet::new(), JoinSet::new());
    of_all.spawn(task::inherit(imports.run()));
    for (shared, external, ended) in watched {
        let controller =
            run_watched(shared, external, args.clone(), common.accounts.clone(), common.previews.clone());
        controllers.spawn(task::inherit(async move {
            let _ended = ended;
            controller.await;
        }));
    }
    while let Some(ended) = controllers.join_next().await {
        ended?;
    }
    manager.stop_part();
    while let Some(ended) = of_all.join_next().await {
        ended?;
    }
    Ok(())
}

/// Releases the accounts that no resource of the process uses any more, until shutdown.
async fn release_unused(manager: Manager, uses: Uses) {
    let synced = manager.shutdown.run_until_cancelled(manager.health.ready()).await.is_some();
    if synced && manager.leading().await {
        uses.run().await;
    }
}

/// Runs the controller of one kind, whose watches were started, until shutdown.
async fn run_watched(
    shared: Shared,
    external: Arc<dyn Calls>,
    args: LoopArgs,
    accounts: Option<Arc<dyn KnownAccounts>>,
    previews: Previews,
) {
    let (manager, kind) = (shared.manager.clone(), shared.kind.info().name);
    let accounts = accounts.filter(|_| shared.kind.info().accounts.is_some());
    let vanished = Arc::new(Vanished::new(args.vanished_share, args.vanished_minimum));
    let context = Arc::new(Context::new(shared, Link::new(external, vanished)));
    context.link.external.on_account_change(enqueue_users(&context));
    // A replica that waits for the lease answers reviews, too.
    let _previewed = previews.add(context.clone());
    // With an incomplete store, a decision would treat objects that are not listed yet as missing.
    let synced = manager.shutdown.run_until_cancelled(manager.health.ready()).await.is_some();
    if !synced || !manager.leading().await {
        return;
    }
    let _ = context.began.set(kraken_runtime::clock::now());
    // Registered only now: of several replicas, only the leader reports the count.
    let resources = context.objects.clone();
    manager.metrics.count_resources(kind, move |tally| {
        // An object at rest is stored as text; a count decodes only its conditions.
        resources.visit_raw(|resource| {
            tally.add(resource.metadata.namespace.as_deref(), &conditions_of(resource));
        });
    });
    context.hub_lease.add(dependents(&context));
    let reader = task::spawn(context.hub_lease.clone().read(manager.clone()));
    let sweeper = Sweeper {
        manager: manager.clone(),
        args: args.orphans,
        kind: context.kind.clone(),
        own: context.link.external.clone(),
        accounts,
        first_after: args.visibility_window,
        on_owned: search_unrecorded(&context),
        former: context.former.clone(),
        before: BTreeMap::new(),
    };
    // A look-up owns nothing, and a journal in the cluster is deleted with its resource.
    let has_orphans = !context.info().looks_up && !context.info().journaled;
    let sweeper = has_orphans.then(|| task::spawn(sweeper.run()));
    let (metrics, shutdown) = (manager.metrics.clone(), manager.shutdown.clone());
    work::run(context.queue.clone(), manager.args.concurrency, kind, metrics, shutdown, move |key, slot| {
        guarded(context.clone(), kind, key, slot)
    })
    .await;
    if let Some(sweeper) = sweeper {
        sweeper.abort();
    }
    reader.abort();
    manager.metrics.forget_resources(kind);
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
