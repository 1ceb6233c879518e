//! The controller of one kind.

pub(crate) mod isolate;
pub(crate) mod triggers;
mod undecodable;
mod watch;

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kraken_runtime::{manager::Manager, watch::RawObject, work};
use serde::Deserialize;

use crate::{
    External,
    args::LoopArgs,
    context::Context,
    dynamic::{DynExternal, DynKind, calls_of, kind_of},
    orphans::Sweeper,
    shared::{batch::Batchers, connections::Link, vanished::Vanished},
};
use isolate::guarded;
use triggers::{dependents, enqueue_users};
pub use watch::Common;
pub(crate) use watch::watch;

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
    let kind = of.info().name;
    let accounts = common.accounts.clone().filter(|_| of.info().accounts.is_some());
    let shared = watch(&manager, of, &args, common);
    let vanished = Arc::new(Vanished::new(args.vanished_share, args.vanished_minimum));
    let link = Link { batchers: Batchers::start(&external), external, vanished };
    let context = Arc::new(Context::of(shared, link));
    context.external.on_account_change(enqueue_users(&context));
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
    context.hub_lease.add(dependents(&context));
    let reader = kraken_runtime::task::spawn(context.hub_lease.clone().read(manager.clone()));
    let sweeper = Sweeper {
        manager: manager.clone(),
        args: args.orphans,
        kind: context.kind.clone(),
        own: context.external.clone(),
        accounts,
        before: BTreeMap::new(),
    };
    let sweeper = kraken_runtime::task::spawn(sweeper.run());
    let (metrics, shutdown) = (manager.metrics.clone(), manager.shutdown.clone());
    work::run(context.queue.clone(), manager.args.concurrency, kind, metrics, shutdown, move |key, slot| {
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
