//! `bench providers`: resources of an OpenTofu provider whose objects are files: creations per second, writes, and the memory of everything
//! that runs for them.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use futures::{StreamExt as _, TryStreamExt as _};
use kraken_testing::{SuiteOptions, manifests, process, providers};
use kube::api::{Api, DynamicObject, PostParams};
use kube::core::GroupVersionKind;
use serde_json::json;

use super::report::{MEBIBYTE, number_of};
use super::tally::Tally;
use super::{NAMESPACE, REST, SETTLE, prepare_namespace, row, with_audit};
use crate::board::{Board, View};
use crate::ui;

const KIND: &str = "KtestFile";
const TIMEOUT: Duration = Duration::from_mins(10);
/// Creations in a second, at least.
const RATE: f64 = 30.0;
/// Hub, controller, host and provider together, in MiB.
const MEMORY: f64 = 200.0;

#[derive(Args)]
pub(crate) struct Providers {
    /// How many resources.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u16).range(1..))]
    n: u16,
}

pub(crate) async fn run(options: Providers) -> Result<ExitCode> {
    let only = Some(vec!["hub".to_owned(), "tofu".to_owned()]);
    let suite = SuiteOptions { only, resync_interval: Some("1h".to_owned()), ..SuiteOptions::default() };
    let environment = with_audit(suite).await?;
    let client = environment.control_plane.client().await?;
    prepare_namespace(&client).await?;
    let files = tempfile::tempdir()?;
    let program = providers::ktest().await?;
    providers::install(&environment, "ktest", &program, &json!({"resources": ["ktest_*"]}), TIMEOUT).await?;
    let config = json!({
        "apiVersion": providers::API, "kind": "ProviderConfig", "metadata": {"name": "ktest"},
        "spec": {"provider": "ktest", "config": {"folder": {"value": files.path()}}},
    });
    let config = manifests::parse("the ProviderConfig", &config.to_string())?;
    manifests::apply(&client, &config, NAMESPACE).await?;
    let gvk = GroupVersionKind::gvk("tofu.kraken-iac.eoinfennessy.com", "v1alpha1", KIND);
    let mut board = Board::start(&client, Some(NAMESPACE), std::slice::from_ref(&gvk), |_| ());
    let object = |name: String| -> Result<DynamicObject> {
        let object = json!({
            "apiVersion": providers::KINDS, "kind": KIND, "metadata": {"name": name}, "spec": {"name": {"value": name}},
        });
        Ok(serde_json::from_value(object)?)
    };
    let first = manifests::parse("a resource", &serde_json::to_string(&object("warm-up".to_owned())?)?)?;
    let api: Api<DynamicObject> =
        manifests::api(&client, first.first().context("no document")?, NAMESPACE).await?;
    // The first one starts the provider.
    api.create(&PostParams::default(), &object("warm-up".to_owned())?).await?;
    board
        .wait("the first resource", Instant::now() + TIMEOUT, |views| views.iter().any(View::is_ready))
        .await?;
    // Its last event follows its status.
    tokio::time::sleep(SETTLE).await;
    let before = environment.control_plane.writes()?.len();

    let (started, wanted) = (Instant::now(), usize::from(options.n) + 1);
    let all =
        futures::stream::iter(0..options.n)
            .map(|number| {
                let (api, object) = (&api, object(format!("bench-{number:05}")));
                async move {
                    api.create(&PostParams::default(), &object?).await.context("cannot create a resource")
                }
            })
            .buffer_unordered(16)
            .try_for_each(|_| async { Ok(()) });
    ui::step(&format!("creating {} resources, 16 at a time", options.n), all).await?;
    let all_ready = |views: &[View]| views.iter().filter(|view| view.is_ready()).count() == wanted;
    ui::step("waiting until all are Ready", board.wait("all being Ready", started + TIMEOUT, all_ready))
        .await?;
    let rate = f64::from(options.n) / started.elapsed().as_secs_f64();
    let objects = std::fs::read_dir(files.path())?.count();
    ensure!(objects == wanted, "{wanted} resources are Ready, but there are {objects} objects");
    tokio::time::sleep(SETTLE).await;
    let writes = environment.control_plane.writes()?;
    let creation = Tally::of(writes.get(before..).unwrap_or_default());
    ui::step(&format!("resting for {} s", REST.as_secs()), async {
        tokio::time::sleep(REST).await;
        Ok(())
    })
    .await?;
    let at_rest = Tally::of(environment.control_plane.writes()?.get(writes.len()..).unwrap_or_default());
    let mut memory = 0.0;
    for controller in environment.suite.controllers() {
        let bytes = process::rss_bytes_with_children(controller.pid())?;
        println!("   {}: {:.0} MiB", controller.name(), number_of(bytes) / MEBIBYTE);
        memory += number_of(bytes) / MEBIBYTE;
    }
    for write in &creation.rows {
        println!("   {} {} of {}: {}", write.controller, write.verb, write.resource, write.number);
    }
    // As in the other benchmarks: each resource is created once, and that event is an audit trail.
    let counted = creation.total.saturating_sub(creation.events.min(u64::from(options.n)));
    let rows = [
        // The same form as the others: what is measured must not be more than its limit.
        row("milliseconds per creation", 1000.0 / rate, 1000.0 / RATE),
        row(
            "writes per resource, without the event of its creation",
            number_of(counted) / f64::from(options.n),
            6.0,
        ),
        row("writes at rest", number_of(at_rest.total), 0.0),
        row("memory of hub, controller and provider, MiB", memory, MEMORY),
    ];
    print!("{}", ui::table(&["", "measured", "target", ""], rows.clone()));
    let is_met = rows.iter().all(|row| row[3] == "ok");
    Ok(if is_met { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
