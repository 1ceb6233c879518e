//! `bench admission`: AdmissionReviews at a constant rate, sent to the webhooks of the hub and of EC2Instances at the same
//! time, as the API server does for each write. Measures the latency and the memory of the webhooks.

mod connection;
mod load;
mod reviews;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use k8s_openapi::api::core::v1::Secret;
use kraken_api::{StateDeclaration, StateDeclarationSpec};
use kraken_testing::suite::Controller;
use kraken_testing::{Environment, EnvironmentOptions, SuiteOptions};
use kube::Client;
use kube::api::{Api, PostParams};
use serde_json::json;

use super::report::number_of;
use super::{NAMESPACE, SETTLE, prepare_namespace, row};
use crate::{stage, ui};
use connection::Endpoint;
use load::{Load, Outcome};

/// The controllers, each with its webhook for EC2Instances.
const WEBHOOKS: [(&str, &str); 2] = [
    ("hub", "references.core.kraken-iac.eoinfennessy.com"),
    ("aws-ec2-instance", "ec2instances.aws.kraken-iac.eoinfennessy.com"),
];
const P99_LIMIT_MILLISECONDS: f64 = 10.0;
const MEMORY_LIMIT_MEBIBYTES: f64 = 30.0;
const MEBIBYTE: f64 = 1024.0 * 1024.0;
/// Until a restarted controller has synced its stores and its memory is constant.
const AT_REST: Duration = Duration::from_secs(10);
/// Until the hub has seen the objects that the reviews refer to.
const KNOWN_WITHIN: Duration = Duration::from_secs(30);
/// Between two readings of the memory.
const SAMPLE: Duration = Duration::from_millis(200);

#[derive(Args)]
pub(crate) struct Admission {
    /// How many reviews per second each webhook gets.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
    rate: u32,
    /// For how many seconds.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,
    /// The number of connections per webhook, which are kept alive.
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..))]
    connections: u16,
}

/// The resident memory of one controller, in bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Memory {
    without_webhooks: u64,
    at_rest: u64,
    greatest: u64,
}

impl Memory {
    /// How much more it takes with webhooks under load than without them.
    fn more(self) -> u64 {
        self.greatest.saturating_sub(self.without_webhooks)
    }
}

/// Measures, and reports missed targets.
pub(crate) async fn run(admission: Admission) -> Result<ExitCode> {
    let names = WEBHOOKS.map(|(controller, _)| controller.to_owned());
    let suite = SuiteOptions { only: Some(names.to_vec()), webhooks: true, ..SuiteOptions::default() };
    stage::prepare().await?;
    let environment = stage::start(EnvironmentOptions { suite, ..EnvironmentOptions::default() }).await?;
    let client = environment.control_plane.client().await?;
    prepare_namespace(&client).await?;
    prepare_references(&client).await?;

    let mut memory = [Memory::default(); 2];
    ui::step("measuring the memory without and with webhooks", at_rest(&environment, &mut memory)).await?;
    let endpoints = [endpoint(&client, 0).await?, endpoint(&client, 1).await?];
    ui::step("waiting until a wrong reference is rejected", known(&endpoints)).await?;

    let load = Load { rate: admission.rate, seconds: admission.seconds, connections: admission.connections };
    let warm_up = Load { seconds: 2, ..load };
    ui::step("warming up", both(&endpoints, warm_up)).await?;
    let what = format!("sending {} reviews per second to each webhook for {} s", load.rate, load.seconds);
    let outcomes = ui::step(&what, async {
        tokio::select! {
            outcomes = both(&endpoints, load) => outcomes,
            error = watch_memory(&environment, &mut memory) => Err(error),
        }
    })
    .await?;
    Ok(print(&load, &outcomes, memory))
}

/// What the reviewed resources refer to, besides the ConfigMap of all benchmarks.
async fn prepare_references(client: &Client) -> Result<()> {
    let secret = json!({"metadata": {"name": "db"}, "stringData": {"password": "not-a-real-password"}});
    let secret: Secret = serde_json::from_value(secret)?;
    let secrets = Api::<Secret>::namespaced(client.clone(), NAMESPACE);
    secrets.create(&PostParams::default(), &secret).await.context("cannot create the Secret")?;
    let data = json!({"subnet": "subnet-0abc1234", "groups": ["sg-0abc1234", "sg-0def5678"], "owner": "shop", "count": 3});
    let spec = StateDeclarationSpec { data, id: Some("facts".to_owned()), withheld: vec![] };
    let states = Api::<StateDeclaration>::namespaced(client.clone(), NAMESPACE);
    let state = StateDeclaration::new("static-network", spec);
    states.create(&PostParams::default(), &state).await.context("cannot create the StateDeclaration")?;
    Ok(())
}

/// Restarts each controller without and with its webhooks, and reads its memory.
async fn at_rest(environment: &Environment, memory: &mut [Memory; 2]) -> Result<()> {
    for ((name, _), memory) in WEBHOOKS.into_iter().zip(memory) {
        let controller = environment.suite.controller(name)?;
        controller.restart_with(&[("KRAKEN_WEBHOOK_LISTEN", "")]).await?;
        tokio::time::sleep(AT_REST).await;
        memory.without_webhooks = controller.rss_bytes()?;
        controller.restart().await?;
        tokio::time::sleep(AT_REST).await;
        memory.at_rest = controller.rss_bytes()?;
        memory.greatest = memory.at_rest;
    }
    Ok(())
}

async fn endpoint(client: &Client, index: usize) -> Result<Endpoint> {
    let (controller, webhook) = WEBHOOKS[index];
    Endpoint::of(client, &format!("kraken-{controller}"), webhook).await
}

/// Waits until both webhooks reject a resource with mistakes: before that, the hub has not seen the objects that it refers
/// to, and reviews less.
async fn known(endpoints: &[Endpoint; 2]) -> Result<()> {
    let deadline = Instant::now() + KNOWN_WITHIN;
    for endpoint in endpoints {
        // After the restart, the certificate may not be served yet.
        while !matches!(endpoint.rejects(&reviews::invalid()).await, Ok(true)) {
            ensure!(Instant::now() < deadline, "{} does not reject a wrong reference", endpoint.path);
            tokio::time::sleep(SAMPLE).await;
        }
    }
    tokio::time::sleep(SETTLE).await;
    Ok(())
}

async fn both(endpoints: &[Endpoint; 2], load: Load) -> Result<[Outcome; 2]> {
    let [hub, spoke] = endpoints;
    let (hub, spoke) = tokio::try_join!(load.run(hub), load.run(spoke))?;
    Ok([hub, spoke])
}

/// Reads the memory until it is cancelled; returns only the error.
async fn watch_memory(environment: &Environment, memory: &mut [Memory; 2]) -> anyhow::Error {
    loop {
        for ((name, _), memory) in WEBHOOKS.into_iter().zip(memory.iter_mut()) {
            match environment.suite.controller(name).and_then(Controller::rss_bytes) {
                Ok(bytes) => memory.greatest = memory.greatest.max(bytes),
                Err(error) => return error,
            }
        }
        tokio::time::sleep(SAMPLE).await;
    }
}

fn print(load: &Load, outcomes: &[Outcome; 2], memory: [Memory; 2]) -> ExitCode {
    ui::headline(&format!("{} reviews per second to each webhook for {} s", load.rate, load.seconds));
    let all = WEBHOOKS.into_iter().zip(outcomes).zip(memory);
    let mebibytes = |bytes: u64| number_of(bytes) / MEBIBYTE;
    let rows = all.clone().map(|(((name, _), outcome), memory)| {
        let latency = [50, 99, 100].map(|percent| format!("{:.2} ms", outcome.milliseconds(percent)));
        let [p50, p99, max] = latency;
        let counts = [outcome.sent(), outcome.rejected, outcome.failed].map(|count| count.to_string());
        let [sent, rejected, failed] = counts;
        let memory = [memory.without_webhooks, memory.at_rest, memory.greatest];
        let [without, rest, greatest] = memory.map(|bytes| format!("{:.1} MiB", mebibytes(bytes)));
        [name.to_owned(), sent, rejected, failed, p50, p99, max, without, rest, greatest]
    });
    let header = [
        "controller",
        "reviews",
        "rejected",
        "failed",
        "p50",
        "p99",
        "max",
        "no webhooks",
        "at rest",
        "under load",
    ];
    print!("{}", ui::table(&header, rows));
    let mut kept = true;
    let targets: Vec<_> = all
        .flat_map(|(((name, _), outcome), memory)| {
            let (p99, more) = (outcome.milliseconds(99), mebibytes(memory.more()));
            kept &= p99 <= P99_LIMIT_MILLISECONDS && more <= MEMORY_LIMIT_MEBIBYTES && outcome.failed == 0;
            [
                row(&format!("p99 of {name}, ms"), p99, P99_LIMIT_MILLISECONDS),
                row(&format!("more memory of {name}, MiB"), more, MEMORY_LIMIT_MEBIBYTES),
                row(&format!("failed reviews of {name}"), number_of(outcome.failed), 0.0),
            ]
        })
        .collect();
    print!("{}", ui::table(&["", "measured", "target", ""], targets));
    if kept { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
