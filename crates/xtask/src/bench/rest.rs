//! `bench rest` and `bench edit`: thousands of instances on the simulator, with the response times of AWS.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use clap::Args;
use kraken_simulator::Simulator;
use kraken_testing::Environment;
use kube::Client;
use kube::api::{Patch, PatchParams};
use kube::core::GroupVersionKind;
use serde_json::json;

use super::report::number_of;
use super::tally::Tally;
use super::{NAMESPACE, SETTLE, create_many, instances, prepare_namespace, row, with_simulator};
use crate::board::{Board, View};
use crate::ui;

/// How many resyncs are watched.
const RESYNCS: u32 = 3;
/// As many ids as one Describe takes.
const IDS_PER_CALL: u64 = 1000;
/// The delay between two edits, like those of users and pipelines.
const BETWEEN_EDITS: Duration = Duration::from_millis(400);
/// After this time, the first orphan sweep, which lists everything once, is over: it begins after the visibility window.
const SWEPT_AFTER: Duration = Duration::from_secs(100);
/// The maximum latency of 99 of 100 edits.
const EDIT_LIMIT: Duration = Duration::from_secs(1);

#[derive(Args)]
pub(crate) struct Rest {
    /// How many EC2Instances.
    #[arg(long, default_value_t = 5000, value_parser = clap::value_parser!(u16).range(1..))]
    n: u16,
    /// The resync interval.
    #[arg(long, default_value = "20s")]
    resync: String,
    /// How many edits, for `edit`.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..))]
    edits: u16,
}

struct Setting {
    environment: Environment,
    simulator: Simulator,
    client: Client,
    gvk: GroupVersionKind,
    /// When the controllers were started.
    since: Instant,
}

async fn setting(rest: &Rest) -> Result<Setting> {
    let (simulator, environment) = with_simulator(&rest.resync).await?;
    let since = Instant::now();
    let client = environment.control_plane.client().await?;
    prepare_namespace(&client).await?;
    let gvk = GroupVersionKind::gvk("aws.kraken-iac.eoinfennessy.com", "v1alpha1", "EC2Instance");
    let mut board = Board::start(&client, Some(NAMESPACE), std::slice::from_ref(&gvk), |_| ());
    let started = Instant::now();
    ui::step(&format!("creating {} EC2Instances", rest.n), create_many(&client, &gvk, rest.n, 16, true))
        .await?;
    let wanted = usize::from(rest.n);
    let all_ready = |views: &[View]| views.iter().filter(|view| view.is_ready()).count() == wanted;
    let deadline = started + Duration::from_mins(15);
    ui::step("waiting until all are Ready", board.wait("all being Ready", deadline, all_ready)).await?;
    println!("   {:.0} resources per second", f64::from(rest.n) / started.elapsed().as_secs_f64());
    tokio::time::sleep(SETTLE).await;
    Ok(Setting { environment, simulator, client, gvk, since })
}

/// Counts reads of the cloud and writes to Kubernetes while nothing changes.
pub(crate) async fn rest(rest: Rest) -> Result<ExitCode> {
    let setting = setting(&rest).await?;
    let interval = humantime::parse_duration(&rest.resync).context("--resync is not a duration")?;
    ui::step("waiting for the first orphan sweep", async {
        tokio::time::sleep(SWEPT_AFTER.saturating_sub(setting.since.elapsed())).await;
        Ok(())
    })
    .await?;
    // From the middle between two resyncs, so that whole ones are counted.
    ui::step("waiting for the first resync", idle_after_a_sweep(&setting, interval)).await?;
    let before = setting.environment.control_plane.writes()?.len();
    setting.simulator.clear_journal();
    ui::step(&format!("watching {RESYNCS} resyncs"), async {
        tokio::time::sleep(interval * RESYNCS).await;
        Ok(())
    })
    .await?;
    let reads = setting.simulator.journal().len() as u64;
    let writes = setting.environment.control_plane.writes()?;
    let tally = Tally::of(writes.get(before..).unwrap_or_default());
    let target = u64::from(rest.n).div_ceil(IDS_PER_CALL) * u64::from(RESYNCS);
    let mut rows = vec![
        row("calls to the cloud", number_of(reads), number_of(target)),
        row("writes to Kubernetes", number_of(tally.total), 0.0),
    ];
    for controller in setting.environment.suite.controllers() {
        let mebibytes = number_of(controller.rss_bytes()?) / (1024.0 * 1024.0);
        rows.push([
            format!("memory of {}, MiB", controller.name()),
            format!("{mebibytes:.1}"),
            String::new(),
            String::new(),
        ]);
    }
    ui::headline(&format!("{} EC2Instances at rest, {RESYNCS} resyncs", rest.n));
    print!("{}", ui::table(&["", "measured", "target", ""], rows));
    Ok(if reads <= target && tally.total == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Waits until a sweep is complete and no calls are made for some time.
async fn idle_after_a_sweep(setting: &Setting, interval: Duration) -> Result<()> {
    setting.simulator.clear_journal();
    setting.simulator.wait_for("DescribeInstances", 1, interval * 2).await?;
    tokio::time::sleep(interval / 2).await;
    Ok(())
}

/// Measures the latency from an edit to its first call, during continuous resyncs.
pub(crate) async fn edit(rest: Rest) -> Result<ExitCode> {
    let setting = setting(&rest).await?;
    let api = instances(&setting.client, &setting.gvk);
    let mut waited = vec![];
    for edit in 0..rest.edits {
        let name = format!("bench-{:05}", usize::from(edit) * 37 % usize::from(rest.n));
        let calls = setting.simulator.count("CreateTags");
        let started = Instant::now();
        let patch = json!({"spec": {"tags": {"Edit": edit.to_string()}}});
        api.patch(&name, &PatchParams::default(), &Patch::Merge(patch)).await.context("cannot edit")?;
        setting.simulator.wait_for("CreateTags", calls + 1, Duration::from_mins(1)).await?;
        waited.push(started.elapsed());
        tokio::time::sleep(BETWEEN_EDITS).await;
    }
    waited.sort();
    let at = |part: usize| {
        waited.get((waited.len() * part / 100).min(waited.len() - 1)).copied().unwrap_or_default()
    };
    let sweeps = setting.simulator.count("DescribeInstances");
    ui::headline(&format!(
        "{} edits among {} EC2Instances, {sweeps} Describes meanwhile",
        rest.edits, rest.n
    ));
    let seconds = |time: Duration| format!("{:.3} s", time.as_secs_f64());
    let rows = [("median", at(50)), ("p99", at(99))].map(|(name, time)| [name.to_owned(), seconds(time)]);
    print!("{}", ui::table(&["from edit to first call", "measured"], rows));
    Ok(if at(99) <= EDIT_LIMIT { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
