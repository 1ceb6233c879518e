//! The crash explorer: runs a story of one EC2Instance without faults, and then once more for every call that the
//! controller made in it, with a fault exactly there. Whatever is told in `trial` as a violation is a bug.
//!
//! Every run has its own namespace, its own cloud, and its own controller process, which sees nothing else; so several
//! can go on at once. They share the control plane and the hub.

mod checks;
mod cloud;
mod drill;
mod fault;
mod lane;
mod scenario;
mod trial;
mod wanted;
mod worker;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use kube::Client;
use tokio::task::JoinSet;

use crate::cluster::ControlPlane;
use crate::scratch::Scratch;
use crate::{paths, suite};

pub use fault::{Fault, Numbered, Point};
use scenario::Act;
pub use scenario::{Scenario, scenarios};
pub use trial::Entry;
use worker::Worker;

const CONTROLLER: &str = "kraken-aws-ec2-instance";
const HUB: &str = "kraken-hub";

/// What is explored.
#[derive(Debug, Clone)]
pub struct Options {
    /// The scenarios, by name; all if empty.
    pub scenarios: Vec<String>,
    /// The faults.
    pub faults: Vec<Fault>,
    /// Only every so many points.
    pub every: usize,
    /// Runs at once.
    pub lanes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { scenarios: Vec::new(), faults: Fault::ALL.to_vec(), every: 1, lanes: 4 }
    }
}

/// What came of one run.
#[derive(Debug, Clone)]
pub struct Verdict {
    /// The scenario.
    pub scenario: &'static str,
    /// The fault; none in the run that counts the calls.
    pub point: Option<Point>,
    /// Whether the call was made at all: a run takes fewer polls than another.
    pub reached: bool,
    /// What must not have happened. Empty is good.
    pub violations: Vec<String>,
    /// From the fault until everything was as wanted.
    pub recovery: Option<Duration>,
    /// All of it.
    pub took: Duration,
    /// The calls while faults were armed.
    pub calls: Vec<Numbered>,
    /// Everything that the proxies saw.
    pub journal: Vec<Entry>,
    /// Where the controller's log is and how it ends, if anything is wrong.
    pub log: Option<String>,
}

/// What all runs share.
struct Stage {
    client: Client,
    /// With the rights of the controller.
    kubeconfig: PathBuf,
    /// With every right: two replicas have a lease of their own in a namespace of their own.
    admin: PathBuf,
    program: PathBuf,
    /// The control plane's.
    folder: PathBuf,
    /// Programs of the control plane that were killed and started again; they have to live on.
    dead: Vec<drill::Dead>,
    _hub: Worker,
    _scratch: Scratch,
}

impl Stage {
    async fn set(control_plane: &ControlPlane) -> Result<Self> {
        suite::install(control_plane).await?;
        let program = |name: &str| -> Result<PathBuf> {
            let program = paths::bin_dir()?.join(name);
            if program.is_file() {
                return Ok(program);
            }
            bail!("{} is not built; run `cargo build --workspace --bins`", program.display())
        };
        let account = |name| control_plane.kubeconfig_for_service_account(suite::NAMESPACE, name);
        let scratch = Scratch::new("explorer")?;
        let env = worker::environment(&account(HUB).await?, "", "", false);
        let mut hub = Worker::start("hub", &program(HUB)?, scratch.path(), env)?;
        hub.ready().await?;
        let (client, kubeconfig) = (control_plane.client().await?, account(CONTROLLER).await?);
        let folder = control_plane.folder().to_owned();
        let (admin, program) = (control_plane.admin_kubeconfig(), program(CONTROLLER)?);
        Ok(Self { client, kubeconfig, admin, program, folder, dead: vec![], _hub: hub, _scratch: scratch })
    }
}

/// Explores, and tells every verdict as it comes; returns all of them.
///
/// # Errors
/// When the stage cannot be set. What the controller does wrong is in the verdicts.
pub async fn explore(
    control_plane: &ControlPlane,
    options: &Options,
    tell: impl Fn(&Verdict),
) -> Result<Vec<Verdict>> {
    let all = scenarios();
    if let Some(unknown) = options.scenarios.iter().find(|name| all.iter().all(|one| one.name != **name)) {
        let names: Vec<&str> = all.iter().map(|one| one.name).collect();
        bail!("there is no scenario `{unknown}`; there are: {}", names.join(", "));
    }
    let chosen: Vec<Scenario> = all
        .into_iter()
        .filter(|one| options.scenarios.is_empty() || options.scenarios.iter().any(|name| name == one.name))
        .collect();
    let (drills, chosen): (Vec<Scenario>, Vec<Scenario>) =
        chosen.into_iter().partition(|one| matches!(one.act, Act::Throttle(..) | Act::Outage(_)));
    let stage = Arc::new(Stage::set(control_plane).await?);
    let baselines = chosen.iter().map(|scenario| (scenario.clone(), None)).collect();
    let mut verdicts = run_all(&stage, baselines, options.lanes, &tell).await?;
    let points = chosen
        .iter()
        .flat_map(|scenario| {
            let baseline = verdicts.iter().find(|verdict| verdict.scenario == scenario.name);
            let points = baseline.map(|baseline| points(baseline, &options.faults)).unwrap_or_default();
            points.into_iter().map(|point| (scenario.clone(), Some(point)))
        })
        .step_by(options.every.max(1))
        .collect();
    verdicts.extend(run_all(&stage, points, options.lanes, &tell).await?);
    let mut stage = Arc::into_inner(stage).context("a run of the explorer has not ended")?;
    for scenario in &drills {
        let verdict = match &scenario.act {
            Act::Throttle(resources, wish) => drill::throttle(&stage, scenario, (*resources, wish)).await?,
            Act::Outage(wish) => drill::outage(&mut stage, scenario, wish).await?,
            _ => continue,
        };
        tell(&verdict);
        verdicts.push(verdict);
    }
    Ok(verdicts)
}

/// Every call of a run with every fault that makes sense there.
fn points(baseline: &Verdict, faults: &[Fault]) -> Vec<Point> {
    let mut points = Vec::new();
    for fault in faults {
        for call in &baseline.calls {
            points.extend(fault.moments(call).iter().map(|when| Point {
                scenario: baseline.scenario,
                call: call.clone(),
                when: *when,
                fault: *fault,
            }));
        }
    }
    points
}

async fn run_all(
    stage: &Arc<Stage>,
    jobs: Vec<(Scenario, Option<Point>)>,
    lanes: usize,
    tell: impl Fn(&Verdict),
) -> Result<Vec<Verdict>> {
    let (mut running, mut jobs, mut verdicts) = (JoinSet::new(), jobs.into_iter(), Vec::new());
    loop {
        while running.len() < lanes.max(1) {
            let Some((scenario, point)) = jobs.next() else { break };
            let stage = Arc::clone(stage);
            running.spawn(async move { lane::run(&stage, &scenario, point).await });
        }
        let Some(ended) = running.join_next().await else { return Ok(verdicts) };
        let verdict = ended.context("a run of the explorer ended early")??;
        tell(&verdict);
        verdicts.push(verdict);
    }
}
