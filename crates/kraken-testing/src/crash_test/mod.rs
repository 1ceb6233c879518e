//! The crash test: runs a scenario of a few objects without faults, and then once for every call that the controller
//! made, with a fault at that call. Every violation that `recorder` reports is a bug.
//!
//! Every run has its own namespace, cloud and processes: the controller that is killed, which may be the hub, and a hub if
//! its objects have references. Runs can therefore execute in parallel on a shared control plane.

mod checks;
mod cloud;
mod desired;
mod fault;
mod kinds;
mod outage;
mod recorder;
mod recovery;
mod run;
mod sample;
mod scenario;
mod scenarios;
mod settled;
mod side;
mod stress;
mod user;
mod worker;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use kube::Client;
use tokio::task::JoinSet;

use crate::cluster::ControlPlane;
use crate::{paths, suite};

pub use fault::{Fault, Numbered, Point};
use outage::{ApiServer, KilledProgram};
pub use recorder::Entry;
pub use scenario::Scenario;
use scenario::Stress;
pub use scenarios::scenarios;

/// The selected scenarios and faults.
#[derive(Debug, Clone)]
pub struct Options {
    /// The scenarios, by name; all if empty.
    pub scenarios: Vec<String>,
    /// The faults.
    pub faults: Vec<Fault>,
    /// The step between selected points: 3 selects every third one.
    pub every: usize,
    /// The number of injection points, selected by the seed so that every pair of scenario and fault occurs once before
    /// any occurs twice. All if `None`.
    pub sample: Option<usize>,
    /// The seed of the sample.
    pub seed: u64,
    /// The number of concurrent runs.
    pub parallel: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            scenarios: Vec::new(),
            faults: Fault::ALL.to_vec(),
            every: 1,
            sample: None,
            seed: 0,
            parallel: 4,
        }
    }
}

/// The result of one run.
#[derive(Debug, Clone)]
pub struct RunResult {
    /// The scenario.
    pub scenario: &'static str,
    /// The fault; none in the baseline run that counts the calls.
    pub point: Option<Point>,
    /// Whether the call was made: runs differ in the number of polls.
    pub reached: bool,
    /// The violations; empty if the run passed.
    pub violations: Vec<String>,
    /// The recovery time: from the fault until the desired state was reached.
    pub recovery: Option<Duration>,
    /// The duration of the run.
    pub took: Duration,
    /// The calls while faults were armed.
    pub calls: Vec<Numbered>,
    /// All calls that the proxies recorded.
    pub journal: Vec<Entry>,
    /// The path and the end of the controller's log, if there are violations.
    pub log: Option<String>,
}

/// The resources that all runs share.
struct SharedEnvironment {
    client: Client,
    /// With all permissions: two replicas have their own lease in a separate namespace.
    admin: PathBuf,
    /// By the program's name.
    accounts: BTreeMap<&'static str, Account>,
    /// The control plane's.
    folder: PathBuf,
    api: Arc<ApiServer>,
    /// Programs of the control plane that were killed and started again; they must keep running.
    killed: Vec<KilledProgram>,
}

/// A controller's binary and permissions.
struct Account {
    program: PathBuf,
    kubeconfig: PathBuf,
}

impl SharedEnvironment {
    async fn set(control_plane: &ControlPlane, scenarios: &[Scenario]) -> Result<Self> {
        suite::install(control_plane).await?;
        let hub = scenarios.iter().any(|scenario| scenario.references).then_some(scenario::HUB);
        let mut accounts = BTreeMap::new();
        for name in scenarios.iter().map(|scenario| scenario.program).chain(hub) {
            if accounts.contains_key(name) {
                continue;
            }
            let program = paths::bin_dir()?.join(name);
            if !program.is_file() {
                bail!("{} is not built; run `cargo build --workspace --bins`", program.display());
            }
            let kubeconfig = control_plane.kubeconfig_for_service_account(suite::NAMESPACE, name).await?;
            accounts.insert(name, Account { program, kubeconfig });
        }
        let (client, folder) = (control_plane.client().await?, control_plane.folder().to_owned());
        let (admin, api) = (control_plane.admin_kubeconfig(), Arc::new(ApiServer::of(&folder)));
        Ok(Self { client, admin, accounts, folder, api, killed: vec![] })
    }

    fn account(&self, name: &str) -> Result<&Account> {
        self.accounts.get(name).with_context(|| format!("{name} was not set up"))
    }
}

/// Runs the crash test, and reports every result immediately; returns all of them.
///
/// # Errors
/// If the environment cannot be started. Violations are in the results.
pub async fn run_crash_test(
    control_plane: &ControlPlane,
    options: &Options,
    report: impl Fn(&RunResult),
) -> Result<Vec<RunResult>> {
    let all = scenarios();
    if let Some(unknown) = options.scenarios.iter().find(|name| all.iter().all(|one| one.name != **name)) {
        let names: Vec<&str> = all.iter().map(|one| one.name).collect();
        bail!("there is no scenario `{unknown}`; there are: {}", names.join(", "));
    }
    let chosen: Vec<Scenario> = all
        .into_iter()
        .filter(|one| options.scenarios.is_empty() || options.scenarios.iter().any(|name| name == one.name))
        .collect();
    let (stress_tests, chosen): (Vec<Scenario>, Vec<Scenario>) =
        chosen.into_iter().partition(|one| one.stress.is_some());
    let mut stage =
        Arc::new(SharedEnvironment::set(control_plane, &[&chosen[..], &stress_tests].concat()).await?);
    let baselines = chosen.iter().map(|scenario| (scenario.clone(), None)).collect();
    let mut results = run_all(&stage, baselines, options.parallel, &report).await?;
    let points = chosen.iter().flat_map(|scenario| {
        let baseline = results.iter().find(|run_result| run_result.scenario == scenario.name);
        let calls = baseline.map(|baseline| &*baseline.calls).unwrap_or_default();
        sample::points(scenario.name, calls, &options.faults)
    });
    let points: Vec<Point> = points.step_by(options.every.max(1)).collect();
    let points = sample::sample(points, options.sample.unwrap_or(usize::MAX), options.seed);
    // A restart of kube-apiserver affects all active runs, so these runs are last.
    let (restarts, points): (Vec<Point>, Vec<Point>) =
        points.into_iter().partition(|point| point.fault == Fault::Restart);
    // These runs begin together, so that one restart meets all of them.
    let together = options.parallel.max(1);
    for points in [&points[..]].into_iter().chain(restarts.chunks(together)) {
        let job = |point: &Point| {
            let scenario = chosen.iter().find(|scenario| scenario.name == point.scenario);
            scenario.map(|scenario| (scenario.clone(), Some(point.clone())))
        };
        let jobs = points.iter().filter_map(job).collect();
        results.extend(run_all(&stage, jobs, options.parallel, &report).await?);
    }
    if options.sample.is_some() {
        return Ok(results);
    }
    let stage = Arc::get_mut(&mut stage).context("a run of the crash test has not ended")?;
    for scenario in &stress_tests {
        let run_result = match &scenario.stress {
            Some(Stress::Throttle(resources)) => stress::throttle(stage, scenario, *resources).await?,
            Some(Stress::Outage) => stress::outage(stage, scenario).await?,
            None => continue,
        };
        report(&run_result);
        results.push(run_result);
    }
    Ok(results)
}

async fn run_all(
    stage: &Arc<SharedEnvironment>,
    jobs: Vec<(Scenario, Option<Point>)>,
    parallel: usize,
    report: impl Fn(&RunResult),
) -> Result<Vec<RunResult>> {
    let (mut running, mut jobs, mut results) = (JoinSet::new(), jobs.into_iter(), Vec::new());
    loop {
        while running.len() < parallel.max(1) {
            let Some((scenario, point)) = jobs.next() else { break };
            let stage = Arc::clone(stage);
            running.spawn(async move { run::run(&stage, &scenario, point).await });
        }
        let Some(ended) = running.join_next().await else { return Ok(results) };
        let run_result = ended.context("a run of the crash test ended early")??;
        report(&run_result);
        results.push(run_result);
    }
}
