//! The controllers of the kinds of one process.

pub(crate) mod isolate;
mod kinds;
pub(crate) mod triggers;
mod undecodable;
mod unlabelled;
mod watch;

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kraken_runtime::{manager::Manager, task, watch::RawObject, work};
use serde::Deserialize;
use tokio::task::JoinSet;
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::AbortOnDropHandle,
};

pub use crate::preview::Preview;
use crate::{
    External,
    account::{AccountKind, KnownAccounts},
    args::LoopArgs,
    context::{Context, Shared},
    dynamic::{DynExternal, DynKind, calls_of, kind_of},
    import::Imports,
    orphans::Sweeper,
    preview::Previews,
    shared::{batch::Batchers, connections::Link, uses::Uses, vanished::Vanished},
};
use isolate::guarded;
pub use kinds::Kinds;
use triggers::{dependents, enqueue_users, search_unrecorded};
pub(crate) use unlabelled::Unlabelled;
pub use watch::Common;
pub(crate) use watch::{Owned, watch};

/// Runs the controller of one kind until shutdown.
///
/// # Errors
/// If it panics outside of a reconcile; failures are reported as conditions of resources.
pub async fn run<E: External>(manager: Manager, external: E, args: LoopArgs) -> anyhow::Result<()> {
    run_all(manager, vec![(kind_of::<E>(), calls_of(external))], args, Common::default()).await
}

/// Runs the controllers of all kinds of a process until shutdown.
///
/// # Errors
/// If one of them panics outside of a reconcile; failures are reported as conditions of resources.
pub async fn run_all(
    manager: Manager,
    kinds: Vec<(Arc<dyn DynKind>, Arc<dyn DynExternal>)>,
    args: LoopArgs,
    common: Common,
) -> anyhow::Result<()> {
    let member = |served| {
        let ended = CancellationToken::new().drop_guard();
        Member { manager: manager.clone(), served, ended }
    };
    let accounts = kinds.iter().find_map(|(kind, _)| kind.info().accounts);
    let common = with_uses(&manager, accounts, common);
    let releasing = common.uses.clone().map(|uses| {
        AbortOnDropHandle::new(task::spawn(task::inherit(release_unused(manager.clone(), uses))))
    });
    let members = kinds.into_iter().map(member).collect();
    run_set(manager, members, args, common).await?;
    if let Some(releasing) = releasing {
        releasing.await?;
    }
    Ok(())
}

/// A kind and its calls.
pub type Served = (Arc<dyn DynKind>, Arc<dyn DynExternal>);

/// One of the kinds whose controllers start at once.
pub(crate) struct Member {
    /// Its controller runs until this manager stops.
    manager: Manager,
    served: Served,
    /// Dropped when its controller has ended.
    ended: DropGuard,
}

/// Runs the controllers of these kinds, which share the watches of what they write, until the manager of each has stopped.
async fn run_set(manager: Manager, kinds: Vec<Member>, args: LoopArgs, common: Common) -> anyhow::Result<()> {
    let imports = Imports::watch(&manager, kinds.iter().map(|kind| kind.served.clone()).collect());
    let mut owned = Owned::default();
    let (mut unlabelled, mut watched) = (Unlabelled::default(), Vec::new());
    for Member { manager, served: (kind, external), ended } in kinds {
        let shared = watch(&manager, kind, &args, common.clone(), &mut owned);
        unlabelled.add(&shared);
        watched.push((shared, external, ended));
    }
    // Before any controller waits for the stores, and after the selectors are known.
    owned.watch(&manager.watches());
    let (mut controllers, mut of_all) = (JoinSet::new(), JoinSet::new());
    of_all.spawn(task::inherit(unlabelled.run(manager.clone())));
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

/// The accounts that resources of this process use, if it has any, and what releases them.
fn with_uses(manager: &Manager, kind: Option<AccountKind>, common: Common) -> Common {
    let uses = kind.zip(common.accounts.clone());
    let uses = uses.map(|(kind, accounts)| Uses::new(manager.clone(), kind, accounts));
    Common { uses, ..common }
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
    external: Arc<dyn DynExternal>,
    args: LoopArgs,
    accounts: Option<Arc<dyn KnownAccounts>>,
    previews: Previews,
) {
    let (manager, kind) = (shared.manager.clone(), shared.kind.info().name);
    let accounts = accounts.filter(|_| shared.kind.info().accounts.is_some());
    let vanished = Arc::new(Vanished::new(args.vanished_share, args.vanished_minimum));
    let link = Link { batchers: Batchers::start(&external), external, vanished };
    let context = Arc::new(Context::of(shared, link));
    context.external.on_account_change(enqueue_users(&context));
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
        own: context.external.clone(),
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
