//! `cargo xtask bench`: Kraken's load on the API server and the cloud, measured outside Kraken.

mod admission;
mod idle;
mod providers;
mod report;
mod rest;
mod tally;
mod tiers;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use clap::{Args, Subcommand};
use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kraken_simulator::{Simulator, SimulatorOptions};
use kraken_testing::{ControlPlaneOptions, Environment, EnvironmentOptions, SuiteOptions};
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, PostParams};
use kube::{Client, core::GroupVersionKind};
use serde_json::json;

use crate::board::{Board, View};
use crate::{stage, ui};
use report::Report;
use tally::Tally;

const NAMESPACE: &str = "bench";
/// Between the last Ready and the count, so that writes that follow it are counted too.
const SETTLE: Duration = Duration::from_secs(2);
/// The time in steady state during which nothing may be written.
const REST: Duration = Duration::from_secs(20);

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Create EC2Instances, wait until all are Ready, and count writes, cloud calls and memory.
    Create(Create),
    /// Thousands of instances in steady state: counts reads per resync, and writes, which must be zero.
    Rest(rest::Rest),
    /// The latency from a user's edit to the first call to the cloud, during resyncs of thousands of resources.
    Edit(rest::Rest),
    /// Web tiers of 12 resources each, all at once: writes, calls, time against the longest chain, order of deletion.
    Tiers(tiers::Tiers),
    /// AdmissionReviews at a constant rate: latency and memory of the webhooks of the hub and of EC2Instances.
    Admission(admission::Admission),
    /// The memory of all controllers without resources, and of those of AWS in one process.
    Idle(idle::Idle),
    /// Resources of an OpenTofu provider: creations per second, writes, and memory with the provider's process.
    Providers(providers::Providers),
}

#[derive(Args)]
pub(crate) struct Create {
    /// How many EC2Instances.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u16).range(1..))]
    n: u16,
    /// How many are created at the same time.
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..))]
    concurrency: u16,
    /// Give image and type as values instead of references to a ConfigMap.
    #[arg(long)]
    no_references: bool,
    /// How long all may take to become Ready.
    #[arg(long, default_value = "10m", value_parser = humantime::parse_duration)]
    timeout: Duration,
    /// Also write the results to this file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(crate) async fn run(command: Command) -> Result<ExitCode> {
    let create = match command {
        Command::Create(create) => create,
        Command::Rest(rest) => return rest::rest(rest).await,
        Command::Edit(rest) => return rest::edit(rest).await,
        Command::Tiers(tiers) => return tiers::run(tiers).await,
        Command::Admission(admission) => return admission::run(admission).await,
        Command::Idle(options) => return idle::run(options).await,
        Command::Providers(options) => return providers::run(options).await,
    };
    // No resyncs while counting: steady state means that nothing is due.
    let suite = SuiteOptions { resync_interval: Some("1h".to_owned()), ..SuiteOptions::default() };
    let environment = with_audit(suite).await?;
    let report = measure(&environment, &create).await?;
    report.print();
    if let Some(file) = &create.json {
        let text = serde_json::to_string_pretty(&report).context("cannot encode the results")?;
        std::fs::write(file, text + "\n").with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(if report.passed() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// An environment with an audit log, and controllers with these options.
async fn with_audit(suite: SuiteOptions) -> Result<Environment> {
    stage::prepare().await?;
    let control_plane = ControlPlaneOptions { audit: true, ..ControlPlaneOptions::default() };
    stage::start(EnvironmentOptions { control_plane, suite }).await
}

/// The same with the simulator as the provider.
async fn with_simulator(resync_interval: &str) -> Result<(Simulator, Environment)> {
    let simulator = Simulator::start(SimulatorOptions::default())?;
    let suite = SuiteOptions {
        resync_interval: Some(resync_interval.to_owned()),
        cloud_endpoint: Some(simulator.endpoint().to_owned()),
        ..SuiteOptions::default()
    };
    let environment = with_audit(suite).await?;
    Ok((simulator, environment))
}

async fn measure(environment: &Environment, create: &Create) -> Result<Report> {
    let client = environment.control_plane.client().await?;
    prepare_namespace(&client).await?;
    let gvk = GroupVersionKind::gvk("aws.kraken-iac.eoinfennessy.com", "v1alpha1", "EC2Instance");
    let mut board = Board::start(&client, Some(NAMESPACE), std::slice::from_ref(&gvk), |_| ());
    ui::step("warming up with one resource", warm_up(&client, &gvk, create, &mut board)).await?;
    environment.proxy.clear();
    let before = environment.control_plane.writes()?.len();

    let references = if create.no_references { "no references" } else { "two references each" };
    let started = Instant::now();
    let what =
        format!("creating {} EC2Instances with {references}, {} at a time", create.n, create.concurrency);
    let all = create_many(&client, &gvk, create.n, create.concurrency, create.no_references);
    ui::step(&what, all).await?;
    let wanted = usize::from(create.n);
    let all_ready = |views: &[View]| views.iter().filter(|view| view.is_ready()).count() == wanted;
    ui::step(
        "waiting until all are Ready",
        board.wait("all being Ready", started + create.timeout, all_ready),
    )
    .await?;
    let took = started.elapsed();

    tokio::time::sleep(SETTLE).await;
    let calls = environment.proxy.calls();
    let writes = environment.control_plane.writes()?;
    let tally = Tally::of(writes.get(before..).unwrap_or_default());
    let alive = environment.moto.instances().await?.iter().filter(|instance| instance.is_alive()).count();
    ensure!(alive == wanted, "{wanted} resources are Ready, but the cloud holds {alive} instances");

    let counted = writes.len();
    ui::step(&format!("resting for {} s", REST.as_secs()), async {
        tokio::time::sleep(REST).await;
        Ok(())
    })
    .await?;
    let writes = environment.control_plane.writes()?;
    let at_rest = Tally::of(writes.get(counted..).unwrap_or_default());
    let mut memory = Vec::new();
    for controller in environment.suite.controllers() {
        memory.push((controller.name().to_owned(), controller.rss_bytes()?));
    }
    let calls_at_rest = environment.proxy.calls().values().sum::<u64>() - calls.values().sum::<u64>();
    Ok(Report::new(create.n, !create.no_references, took, tally, at_rest, calls, calls_at_rest, memory))
}

async fn prepare_namespace(client: &Client) -> Result<()> {
    let namespace: Namespace = serde_json::from_value(json!({"metadata": {"name": NAMESPACE}}))?;
    Api::all(client.clone())
        .create(&PostParams::default(), &namespace)
        .await
        .context("cannot create the namespace")?;
    let data = json!({"image": "ami-12c6146b", "type": "t3.micro"});
    let map: ConfigMap = serde_json::from_value(json!({"metadata": {"name": "sizes"}, "data": data}))?;
    Api::namespaced(client.clone(), NAMESPACE)
        .create(&PostParams::default(), &map)
        .await
        .context("cannot create the ConfigMap")?;
    Ok(())
}

/// The API server is busy for seconds after new CRDs, and moto's first launch creates its default VPC. Neither is
/// caused by Kraken, so one resource is created and deleted before the measurement.
async fn warm_up(client: &Client, gvk: &GroupVersionKind, create: &Create, board: &mut Board) -> Result<()> {
    let api = instances(client, gvk);
    let deadline = Instant::now() + create.timeout;
    let object = instance(gvk, "warm-up", create.no_references)?;
    api.create(&PostParams::default(), &object).await.context("cannot create an EC2Instance")?;
    board.wait("the first resource being Ready", deadline, |views| views.iter().any(View::is_ready)).await?;
    api.delete("warm-up", &DeleteParams::default()).await.context("cannot delete an EC2Instance")?;
    board.wait("the deletion of the first resource", deadline, <[View]>::is_empty).await?;
    tokio::time::sleep(SETTLE).await;
    Ok(())
}

fn instances(client: &Client, gvk: &GroupVersionKind) -> Api<DynamicObject> {
    Api::namespaced_with(client.clone(), NAMESPACE, &ApiResource::from_gvk(gvk))
}

fn instance(gvk: &GroupVersionKind, name: &str, no_references: bool) -> Result<DynamicObject> {
    let from = |key: &str, value: &str| {
        if no_references {
            json!({"value": value})
        } else {
            json!({"valueFrom": {"configMap": {"name": "sizes", "key": key}}})
        }
    };
    let object = json!({
        "apiVersion": gvk.api_version(),
        "kind": gvk.kind,
        "metadata": {"name": name},
        "spec": {
            "imageID": from("image", "ami-12c6146b"),
            "instanceType": from("type", "t3.micro"),
            "minCount": {"value": 1},
            "maxCount": {"value": 1},
        },
    });
    serde_json::from_value(object).context("cannot encode an object")
}

async fn create_many(
    client: &Client,
    gvk: &GroupVersionKind,
    n: u16,
    concurrency: u16,
    no_references: bool,
) -> Result<()> {
    let api = &instances(client, gvk);
    futures::stream::iter(0..n)
        .map(|number| async move {
            let object = instance(gvk, &format!("bench-{number:05}"), no_references)?;
            api.create(&PostParams::default(), &object).await.context("cannot create an EC2Instance")?;
            anyhow::Ok(())
        })
        .buffer_unordered(usize::from(concurrency))
        .try_collect()
        .await
}

/// One line of a table of targets.
fn row(name: &str, measured: f64, target: f64) -> [String; 4] {
    let verdict = if measured <= target { "ok" } else { "MISSED" };
    [name.to_owned(), rounded(measured), format!("at most {}", rounded(target)), verdict.to_owned()]
}

/// Integers unchanged, others with two digits.
fn rounded(number: f64) -> String {
    if number.fract() == 0.0 { format!("{number:.0}") } else { format!("{number:.2}") }
}
