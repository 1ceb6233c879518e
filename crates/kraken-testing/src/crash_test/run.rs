//! Runs one scenario in its own namespace, with at most one fault, including its cleanup.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use kube::Api;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::desired::{Desired, Known, resolve};
use super::fault::{Fault, Point};
use super::kinds::{key, resource};
use super::recorder::{Recorder, Side};
use super::scenario::{Bound, HUB, Outside, Scenario, Step};
use super::worker::{self, Settings, Worker};
use super::{Stage, Verdict};
use crate::fault_proxy::FaultProxy;
use crate::namespace::{TestNamespace, namespace};
use crate::scratch::Scratch;

/// The maximum time after the last fault until the desired state is reached.
pub(super) const CONVERGED_WITHIN: Duration = Duration::from_secs(30);
/// The maximum time after an outage of kube-apiserver: watches are retried after up to 30 s.
const RECONNECTED_WITHIN: Duration = Duration::from_mins(1);
/// The time without writes after which a resource counts as settled: longer than the loop's delays of 1 s.
pub(super) const QUIET: Duration = Duration::from_millis(2500);
/// Sufficient if only the event of the last change must have been written.
const BRIEF: Duration = Duration::from_millis(400);
/// The maximum time for which a resource in the desired state may still be written.
const QUIET_WITHIN: Duration = Duration::from_secs(20);
const SETUP_WITHIN: Duration = Duration::from_mins(1);
/// The maximum outage of the API server for the test itself.
const OUTAGE_WITHIN: Duration = Duration::from_secs(30);
/// After this time a lease of 3 s has expired, and the other replica is active.
const STOPPED_FOR: Duration = Duration::from_secs(7);
const LEADS_AFTER: Duration = Duration::from_millis(500);
/// The log message of a replica that ends because it lost the lease.
const LOST: &str = "lost the lease";
const POLL: Duration = Duration::from_millis(50);

/// One run.
pub(super) struct Run {
    pub(super) recorder: Arc<Recorder>,
    pub(super) worker: Worker,
    /// The other replica, if there are two.
    standby: Option<Worker>,
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
pub(super) async fn run(stage: &Stage, scenario: &Scenario, point: Option<Point>) -> Result<Verdict> {
    let started = Instant::now();
    let mut run = Run::start(stage, scenario, point.clone()).await?;
    let result = run.execute(scenario).await.map(|recovery| recovery.filter(|_| point.is_some()));
    verdict(&mut run, scenario, point, result, started).await
}

/// Runs it, and returns the verdict.
pub(super) async fn verdict(
    run: &mut Run,
    scenario: &Scenario,
    point: Option<Point>,
    result: Result<Option<Duration>>,
    started: Instant,
) -> Result<Verdict> {
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
    Ok(Verdict {
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
    pub(super) async fn start(stage: &Stage, scenario: &Scenario, point: Option<Point>) -> Result<Self> {
        let begun = Instant::now();
        let namespace = loop {
            stage.api.revive()?;
            match namespace(&stage.client).await {
                Err(problem) if is_passing(&problem, begun) => tokio::time::sleep(POLL).await,
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
        recorder.set_scissors(vec![kube.scissors(), cloud.scissors()]);
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
        run.tell_pids();
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
        match scenario.outside {
            Outside::Nothing => {}
            Outside::Adoptable => self.recorder.cloud.put_adoptable(self.recorder.kinds)?,
            Outside::Stop => {
                for instance in self.recorder.cloud.simulator.instances() {
                    let is_ours = instance.instance.tags.contains_key(super::checks::UID);
                    if is_ours && instance.instance.is_alive() {
                        self.recorder.cloud.simulator.stop_outside(&instance.instance.id)?;
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
        if let Some(harm) = self.recorder.cloud.harmed() {
            bail!("{harm}");
        }
        if scenario.program == HUB {
            if let Some(leak) = self.leak().await? {
                bail!("{leak}");
            }
        }
        Ok(recovery)
    }

    /// Waits until the desired state is reached and settled, and restarts the controller whenever it was killed.
    pub(super) async fn settle(&mut self, desired: &Desired, within: Duration) -> Result<Option<Duration>> {
        self.settle_for(desired, within, QUIET).await
    }

    async fn settle_for(
        &mut self,
        desired: &Desired,
        within: Duration,
        quiet: Duration,
    ) -> Result<Option<Duration>> {
        let begun = Instant::now();
        let mut converged: Option<Instant> = None;
        loop {
            if self.revive().await? {
                converged = None;
            }
            let killed = self.recorder.api.killed();
            let since = [self.recorder.fired(), killed].into_iter().flatten().fold(begun, Instant::max);
            let within = killed.map_or(within, |_| within.max(RECONNECTED_WITHIN));
            // An unavailable API server is one of the faults.
            let differs = self.differs(desired).await.unwrap_or_else(|problem| Some(format!("{problem:#}")));
            if let Some(problem) = differs {
                if since.elapsed() > within {
                    bail!("desired state not reached {} s after the last fault: {problem}", within.as_secs());
                }
                converged = None;
            } else {
                let at = *converged.get_or_insert_with(Instant::now);
                let fired = self.recorder.fired();
                if self.recorder.quiet_for() > quiet && at.elapsed() > quiet && !self.is_stopped() {
                    return Ok(fired.map(|fired| at.saturating_duration_since(fired)));
                }
                if at.elapsed() > QUIET_WITHIN {
                    bail!("desired state reached, but still writing after {} s", QUIET_WITHIN.as_secs());
                }
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// Whether the leader is still suspended.
    fn is_stopped(&self) -> bool {
        let stops = self.recorder.point.as_ref().is_some_and(|point| point.fault == Fault::Stop);
        stops && self.recorder.fired().is_some() && !self.recorder.goes_on()
    }

    /// Waits until this call was made, or the fault occurred before.
    pub(super) async fn called(&self, name: &str) -> Result<()> {
        let started = Instant::now();
        while !self.recorder.calls().iter().any(|call| call.name == name) && self.recorder.fired().is_none() {
            if started.elapsed() > CONVERGED_WITHIN {
                bail!("{name} is not called");
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(())
    }

    fn tell_pids(&self) {
        let standby = self.standby.as_ref().map(Worker::pid);
        self.recorder.set_pids([self.worker.pid()].into_iter().chain(standby).collect());
    }

    async fn revive(&mut self) -> Result<bool> {
        self.recorder.api.revive()?;
        if self.is_stopped() && self.recorder.fired().is_some_and(|at| at.elapsed() > STOPPED_FOR) {
            self.recorder.go_on();
            self.recorder.note("the suspended leader is resumed");
            self.worker.signal(Signal::SIGCONT)?;
            return Ok(true);
        }
        if self.worker.is_running() {
            return Ok(false);
        }
        // A replica that loses its lease ends, which can also happen on a busy machine.
        let lost = self.standby.is_some() && self.worker.log()?.contains(LOST);
        if self.recorder.fired().is_none() && self.recorder.api.killed().is_none() && !lost {
            bail!("the controller ended by itself");
        }
        self.worker.again()?;
        if let Some(standby) = &mut self.standby {
            if !standby.is_running() {
                standby.again()?;
            }
        }
        self.tell_pids();
        self.recorder.note("the controller is restarted");
        self.worker.ready().await?;
        Ok(true)
    }

    /// Applies it like a user, and deletes previously applied objects that are not part of it.
    pub(super) async fn apply(&mut self, desired: &Desired) -> Result<()> {
        let params = PatchParams::apply("crash-test").force();
        for manifest in &desired.manifests {
            let known = Known { site: &self.recorder.cloud.site, objects: &self.known };
            let (key, manifest) = (key(manifest), resolve(manifest, &known));
            self.recorder.note(format!("a user applies {manifest}"));
            let (kind, name) = key.split_once('/').unwrap_or_default();
            let (api, patch, begun) = (self.api(kind), Patch::Apply(manifest), Instant::now());
            let applied = loop {
                self.recorder.api.revive()?;
                match api.patch(name, &params, &patch).await.with_context(|| format!("cannot apply {key}")) {
                    Err(problem) if is_passing(&problem, begun) => tokio::time::sleep(POLL).await,
                    result => break result?,
                }
            };
            self.known.insert(key, json!(applied));
        }
        let wanted: Vec<String> = desired.manifests.iter().map(key).collect();
        let gone: Vec<String> = self.known.keys().filter(|key| !wanted.contains(key)).cloned().collect();
        for key in gone {
            self.delete(&key).await?;
        }
        Ok(())
    }

    async fn delete(&self, key: &str) -> Result<()> {
        self.recorder.note(format!("a user deletes {key}"));
        let (kind, name) = key.split_once('/').unwrap_or_default();
        let (api, begun) = (self.api(kind), Instant::now());
        loop {
            self.recorder.api.revive()?;
            let deleted = match api.delete(name, &DeleteParams::default()).await {
                Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
                result => result.map(drop).with_context(|| format!("cannot delete {key}")),
            };
            match deleted {
                Err(problem) if is_passing(&problem, begun) => tokio::time::sleep(POLL).await,
                result => return result,
            }
        }
    }
}

/// The bounds of a scenario without those that only apply during its steps.
fn most(scenario: &Scenario) -> Vec<Bound> {
    scenario.bounds.iter().map(|bound| Bound { least: 0, ..*bound }).collect()
}

/// Whether an error may be temporary: no response, or a server error.
fn is_passing(problem: &anyhow::Error, begun: Instant) -> bool {
    if begun.elapsed() > OUTAGE_WITHIN {
        return false;
    }
    match problem.chain().find_map(|cause| cause.downcast_ref::<kube::Error>()) {
        Some(kube::Error::Api(status)) => status.code >= 500 || status.code == 429,
        Some(_) => true,
        None => false,
    }
}
