//! Runs one scenario in its own namespace, with at most one fault, including its cleanup.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use kube::Api;
use kube::api::DynamicObject;
use serde_json::{Value, json};

use super::desired::Desired;
use super::fault::Point;
use super::kinds::resource;
use super::recorder::Recorder;
use super::scenario::{Bound, HUB, OutOfBand, Scenario, Step};
use super::side::Side;
use super::worker::{self, Settings, Worker};
use super::{RunResult, SharedEnvironment};
use crate::fault_proxy::FaultProxy;
use crate::namespace::{TestNamespace, namespace};
use crate::scratch::Scratch;

/// Sufficient if only the event of the last change must have been written.
const BRIEF: Duration = Duration::from_millis(400);
const SETUP_WITHIN: Duration = Duration::from_mins(1);
const LEADS_AFTER: Duration = Duration::from_millis(500);
pub(super) const POLL: Duration = Duration::from_millis(50);
/// The maximum time after the last fault until the desired state is reached.
pub(super) const CONVERGED_WITHIN: Duration = Duration::from_secs(30);
/// The time without writes after which a resource counts as settled: longer than the loop's delays of 1 s.
pub(super) const QUIET: Duration = Duration::from_millis(2500);
/// The maximum outage of the API server for the test itself.
const OUTAGE_WITHIN: Duration = Duration::from_secs(30);

/// One run.
pub(super) struct Run {
    pub(super) recorder: Arc<Recorder>,
    pub(super) worker: Worker,
    /// The other replica, if there are two.
    pub(super) standby: Option<Worker>,
    /// A hub without faults.
    _hub: Option<Worker>,
    pub(super) namespace: TestNamespace,
    /// The applied objects, as returned by the API server.
    pub(super) known: BTreeMap<String, Value>,
    // Dropped after the worker, which would otherwise log connection errors.
    _proxies: (FaultProxy, FaultProxy),
    scratch: Scratch,
}

/// Runs it.
pub(super) async fn run(
    stage: &SharedEnvironment,
    scenario: &Scenario,
    point: Option<Point>,
) -> Result<RunResult> {
    let started = Instant::now();
    let mut run = Run::start(stage, scenario, point.clone()).await?;
    let result = run.execute(scenario).await.map(|recovery| recovery.filter(|_| point.is_some()));
    run_result(&mut run, scenario, point, result, started).await
}

/// Runs it, and returns its result.
pub(super) async fn run_result(
    run: &mut Run,
    scenario: &Scenario,
    point: Option<Point>,
    result: Result<Option<Duration>>,
    started: Instant,
) -> Result<RunResult> {
    let recorder = &run.recorder;
    let mut recovery = None;
    match result {
        Ok(took) => recovery = took,
        Err(problem) => recorder.violated(format!("{problem:#}")),
    }
    let violations = recorder.violations();
    let mut log = None;
    if !violations.is_empty() {
        run.scratch.keep();
        log = Some(format!("{}\n{}", run.scratch.path().display(), run.worker.log_tail()));
    }
    let _ = run.namespace.delete().await; // the control plane is discarded anyway
    Ok(RunResult {
        scenario: scenario.name,
        reached: point.is_none() || recorder.has_met_fault(),
        point,
        violations,
        recovery,
        took: started.elapsed(),
        calls: recorder.calls(),
        journal: recorder.journal(),
        log,
    })
}

impl Run {
    pub(super) async fn start(
        stage: &SharedEnvironment,
        scenario: &Scenario,
        point: Option<Point>,
    ) -> Result<Self> {
        let begun = Instant::now();
        let namespace = loop {
            stage.api.restart_killed()?;
            match namespace(&stage.client).await {
                Err(problem) if is_temporary(&problem, begun) => tokio::time::sleep(POLL).await,
                result => break result?,
            }
        };
        let recorder = Arc::new(Recorder::new(scenario, point, Arc::clone(&stage.api))?);
        let side = |cloud| Arc::new(Side { recorder: Arc::clone(&recorder), cloud });
        let replicas = recorder.point.as_ref().is_some_and(|point| point.fault.needs_replicas());
        let account = stage.account(scenario.program)?;
        let rights = if replicas { &stage.admin } else { &account.kubeconfig };
        let kube = FaultProxy::start(rights, side(false)).await?;
        let cloud = FaultProxy::before_cloud(recorder.cloud.endpoint(), side(true)).await?;
        recorder.set_connections(vec![kube.connection_control(), cloud.connection_control()]);
        let scratch = Scratch::new("crash")?;
        let kubeconfig = scratch.path().join("kubeconfig");
        worker::kubeconfig(&kubeconfig, kube.endpoint())?;
        let settings = |kubeconfig, replicas| Settings {
            kubeconfig,
            cloud: cloud.endpoint(),
            namespace: &namespace.name,
            replicas,
            lag: scenario.lag,
        };
        let mut hub = None;
        if scenario.references {
            let account = stage.account(HUB)?;
            let env = settings(&account.kubeconfig, false).environment();
            hub = Some(Worker::start("hub", &account.program, scratch.path(), env)?);
        }
        let env = settings(&kubeconfig, replicas).environment();
        let mut worker = Worker::start("controller", &account.program, scratch.path(), env.clone())?;
        worker.ready().await?;
        let mut standby = None;
        if replicas {
            tokio::time::sleep(LEADS_AFTER).await;
            standby = Some(Worker::start("standby", &account.program, scratch.path(), env)?);
        }
        if let Some(hub) = &mut hub {
            hub.ready().await?;
        }
        let known = BTreeMap::new();
        let run =
            Self { recorder, worker, standby, _hub: hub, namespace, known, _proxies: (kube, cloud), scratch };
        run.record_pids();
        Ok(run)
    }

    pub(super) fn api(&self, kind: &str) -> Api<DynamicObject> {
        Api::namespaced_with(self.namespace.client.clone(), &self.namespace.name, &resource(kind))
    }

    /// An object by `Kind/name`; null if there is none.
    pub(super) async fn read(&self, key: &str) -> Result<Value> {
        let (kind, name) = key.split_once('/').with_context(|| format!("`{key}` is not a key"))?;
        let object = self.api(kind).get_opt(name).await.with_context(|| format!("cannot read {key}"))?;
        Ok(object.map_or(Value::Null, |object| json!(object)))
    }

    /// Runs the steps; returns the recovery time.
    async fn execute(&mut self, scenario: &Scenario) -> Result<Option<Duration>> {
        let mut last = Desired::nothing();
        if let Some(first) = &scenario.first {
            self.recorder.bound(most(scenario));
            last = first.clone();
            self.apply(first).await?;
            self.settle_for(first, SETUP_WITHIN, BRIEF).await.context("before any fault")?;
        }
        match scenario.out_of_band {
            OutOfBand::Nothing => {}
            OutOfBand::Adoptable => self.recorder.cloud.put_adoptable(self.recorder.kinds)?,
            OutOfBand::Stop => {
                for instance in self.recorder.cloud.simulator.instances() {
                    let is_ours = instance.instance.tags.contains_key(super::checks::UID);
                    if is_ours && instance.instance.is_alive() {
                        self.recorder.cloud.simulator.stop_out_of_band(&instance.instance.id)?;
                    }
                }
            }
        }
        self.recorder.bound(scenario.bounds.clone());
        self.recorder.arm();
        let mut recovery = None;
        for (index, step) in scenario.steps.iter().enumerate() {
            match step {
                Step::Apply(desired) => {
                    self.apply(desired).await?;
                    last = desired.clone();
                }
                Step::Await(call) => self.called(call).await?,
                Step::Settle => {
                    // The full time without writes is required at the end only.
                    let quiet = if index + 1 == scenario.steps.len() { QUIET } else { BRIEF };
                    recovery = self.settle_for(&last, CONVERGED_WITHIN, quiet).await?.max(recovery);
                }
            }
        }
        self.recorder.disarm();
        if !last.manifests.is_empty() {
            self.recorder.bound(most(scenario));
            let nothing = Desired::nothing();
            self.apply(&nothing).await?;
            self.settle_for(&nothing, CONVERGED_WITHIN, BRIEF)
                .await
                .context("when it was deleted in the end")?;
        }
        if let Some(change) = self.recorder.cloud.changed_foreign_object() {
            bail!("{change}");
        }
        if scenario.program == HUB
            && let Some(leak) = self.leak().await?
        {
            bail!("{leak}");
        }
        Ok(recovery)
    }

    pub(super) fn record_pids(&self) {
        let standby = self.standby.as_ref().map(Worker::pid);
        self.recorder.set_pids([self.worker.pid()].into_iter().chain(standby).collect());
    }
}

/// The bounds of a scenario without those that only apply during its steps.
fn most(scenario: &Scenario) -> Vec<Bound> {
    scenario.bounds.iter().map(|bound| Bound { least: 0, ..*bound }).collect()
}

/// Whether an error may be temporary: no response, or a server error.
pub(super) fn is_temporary(problem: &anyhow::Error, begun: Instant) -> bool {
    if begun.elapsed() > OUTAGE_WITHIN {
        return false;
    }
    match problem.chain().find_map(|cause| cause.downcast_ref::<kube::Error>()) {
        Some(kube::Error::Api(status)) => status.code >= 500 || status.code == 429,
        Some(_) => true,
        None => false,
    }
}
