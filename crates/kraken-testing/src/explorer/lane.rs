//! Runs one scenario in a namespace of its own, with at most one fault, to the end and away again.

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
use super::scenario::{Bound, HUB, Outside, Scenario, Step};
use super::trial::{Side, Trial};
use super::worker::{self, Settings, Worker};
use super::{Stage, Verdict};
use crate::kube_proxy::KubeProxy;
use crate::namespace::{TestNamespace, namespace};
use crate::scratch::Scratch;

/// How long after the last fault everything may take to be as wanted.
pub(super) const CONVERGED_WITHIN: Duration = Duration::from_secs(30);
/// The same when kube-apiserver was away: watches are tried again after up to 30 s.
const RECONNECTED_WITHIN: Duration = Duration::from_mins(1);
/// How long nothing may be written for a resource to be at rest: longer than the loop's own pauses of 1 s.
pub(super) const QUIET: Duration = Duration::from_millis(2500);
/// Enough where rest is no question, only that the event of the last change has been written.
const BRIEF: Duration = Duration::from_millis(400);
/// How long a resource that is as wanted may go on being written.
const QUIET_WITHIN: Duration = Duration::from_secs(20);
const SETUP_WITHIN: Duration = Duration::from_mins(1);
/// How long the API server may be away from somebody who only looks on.
const PATIENCE: Duration = Duration::from_secs(30);
/// A lease of 3 s is over by then, and the other replica at work.
const STOPPED_FOR: Duration = Duration::from_secs(7);
const LEADS_AFTER: Duration = Duration::from_millis(500);
/// How a replica says that it ends because it leads no more.
const LOST: &str = "lost the lease";
const POLL: Duration = Duration::from_millis(50);

/// One run.
pub(super) struct Lane {
    pub(super) trial: Arc<Trial>,
    pub(super) worker: Worker,
    /// The other replica, if there are two.
    standby: Option<Worker>,
    /// A hub that is left in peace.
    _hub: Option<Worker>,
    pub(super) namespace: TestNamespace,
    /// What was applied, as the API server answered it.
    pub(super) known: BTreeMap<String, Value>,
    // Dropped after the worker, which would only complain.
    _proxies: (KubeProxy, KubeProxy),
    scratch: Scratch,
}

/// Runs it.
pub(super) async fn run(stage: &Stage, scenario: &Scenario, point: Option<Point>) -> Result<Verdict> {
    let started = Instant::now();
    let mut lane = Lane::start(stage, scenario, point.clone()).await?;
    let told = lane.tell(scenario).await.map(|recovery| recovery.filter(|_| point.is_some()));
    verdict(&mut lane, scenario, point, told, started).await
}

/// What came of it.
pub(super) async fn verdict(
    lane: &mut Lane,
    scenario: &Scenario,
    point: Option<Point>,
    told: Result<Option<Duration>>,
    started: Instant,
) -> Result<Verdict> {
    let trial = &lane.trial;
    let mut recovery = None;
    match told {
        Ok(took) => recovery = took,
        Err(problem) => trial.violated(format!("{problem:#}")),
    }
    let violations = trial.violations();
    let mut log = None;
    if !violations.is_empty() {
        lane.scratch.keep();
        log = Some(format!("{}\n{}", lane.scratch.path().display(), lane.worker.log_tail()));
    }
    let _ = lane.namespace.delete().await; // all of it goes with the control plane anyway
    Ok(Verdict {
        scenario: scenario.name,
        reached: point.is_none() || trial.has_met_fault(),
        point,
        violations,
        recovery,
        took: started.elapsed(),
        calls: trial.calls(),
        journal: trial.journal(),
        log,
    })
}

impl Lane {
    pub(super) async fn start(stage: &Stage, scenario: &Scenario, point: Option<Point>) -> Result<Self> {
        let begun = Instant::now();
        let namespace = loop {
            stage.api.revive()?;
            match namespace(&stage.client).await {
                Err(problem) if is_passing(&problem, begun) => tokio::time::sleep(POLL).await,
                result => break result?,
            }
        };
        let trial = Arc::new(Trial::new(scenario, point, Arc::clone(&stage.api))?);
        let side = |cloud| Arc::new(Side { trial: Arc::clone(&trial), cloud });
        let replicas = trial.point.as_ref().is_some_and(|point| point.fault.needs_replicas());
        let account = stage.account(scenario.program)?;
        let rights = if replicas { &stage.admin } else { &account.kubeconfig };
        let kube = KubeProxy::start(rights, side(false)).await?;
        let cloud = KubeProxy::before_cloud(trial.cloud.endpoint(), side(true)).await?;
        trial.set_scissors(vec![kube.scissors(), cloud.scissors()]);
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
        let lane =
            Self { trial, worker, standby, _hub: hub, namespace, known, _proxies: (kube, cloud), scratch };
        lane.tell_pids();
        Ok(lane)
    }

    pub(super) fn api(&self, kind: &str) -> Api<DynamicObject> {
        Api::namespaced_with(self.namespace.client.clone(), &self.namespace.name, &resource(kind))
    }

    /// An object by `Kind/name`; null if there is none.
    pub(super) async fn read(&self, key: &str) -> Result<Value> {
        let (kind, name) = key.split_once('/').with_context(|| format!("`{key}` is no key"))?;
        let object = self.api(kind).get_opt(name).await.with_context(|| format!("cannot read {key}"))?;
        Ok(object.map_or(Value::Null, |object| json!(object)))
    }

    /// The story; how long it took from the fault until everything was as wanted.
    async fn tell(&mut self, scenario: &Scenario) -> Result<Option<Duration>> {
        let mut last = Desired::nothing();
        if let Some(first) = &scenario.first {
            self.trial.bound(most(scenario));
            last = first.clone();
            self.apply(first).await?;
            self.settle_for(first, SETUP_WITHIN, BRIEF).await.context("before any fault")?;
        }
        match scenario.outside {
            Outside::Nothing => {}
            Outside::Adoptable => self.trial.cloud.put_adoptable(self.trial.kinds)?,
            Outside::Stop => {
                for instance in self.trial.cloud.simulator.instances() {
                    let is_ours = instance.instance.tags.contains_key(super::checks::UID);
                    if is_ours && instance.instance.is_alive() {
                        self.trial.cloud.simulator.stop_outside(&instance.instance.id)?;
                    }
                }
            }
        }
        self.trial.bound(scenario.bounds.clone());
        self.trial.arm();
        let mut recovery = None;
        for (index, step) in scenario.steps.iter().enumerate() {
            match step {
                Step::Apply(desired) => {
                    self.apply(desired).await?;
                    last = desired.clone();
                }
                Step::Await(call) => self.called(call).await?,
                Step::Settle => {
                    // Rest is waited for at the end only.
                    let quiet = if index + 1 == scenario.steps.len() { QUIET } else { BRIEF };
                    recovery = self.settle_for(&last, CONVERGED_WITHIN, quiet).await?.max(recovery);
                }
            }
        }
        self.trial.disarm();
        if !last.manifests.is_empty() {
            self.trial.bound(most(scenario));
            let nothing = Desired::nothing();
            self.apply(&nothing).await?;
            self.settle_for(&nothing, CONVERGED_WITHIN, BRIEF)
                .await
                .context("when it was deleted in the end")?;
        }
        if let Some(harm) = self.trial.cloud.harmed() {
            bail!("{harm}");
        }
        if scenario.program == HUB {
            if let Some(leak) = self.leak().await? {
                bail!("{leak}");
            }
        }
        Ok(recovery)
    }

    /// Waits until everything is as wanted and at rest, and starts the controller again whenever it was killed.
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
            let killed = self.trial.api.killed();
            let since = [self.trial.fired(), killed].into_iter().flatten().fold(begun, Instant::max);
            let within = killed.map_or(within, |_| within.max(RECONNECTED_WITHIN));
            // An API server that is away is one of the faults.
            let differs = self.differs(desired).await.unwrap_or_else(|problem| Some(format!("{problem:#}")));
            if let Some(problem) = differs {
                if since.elapsed() > within {
                    bail!("not as wanted {} s after the last fault: {problem}", within.as_secs());
                }
                converged = None;
            } else {
                let at = *converged.get_or_insert_with(Instant::now);
                let fired = self.trial.fired();
                if self.trial.quiet_for() > quiet && at.elapsed() > quiet && !self.is_stopped() {
                    return Ok(fired.map(|fired| at.saturating_duration_since(fired)));
                }
                if at.elapsed() > QUIET_WITHIN {
                    bail!("as wanted, but still writing after {} s", QUIET_WITHIN.as_secs());
                }
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// Whether the leader is stopped and does not go on yet.
    fn is_stopped(&self) -> bool {
        let stops = self.trial.point.as_ref().is_some_and(|point| point.fault == Fault::Stop);
        stops && self.trial.fired().is_some() && !self.trial.goes_on()
    }

    /// Waits until this call was made, or the fault has come before it.
    pub(super) async fn called(&self, name: &str) -> Result<()> {
        let started = Instant::now();
        while !self.trial.calls().iter().any(|call| call.name == name) && self.trial.fired().is_none() {
            if started.elapsed() > CONVERGED_WITHIN {
                bail!("{name} is not called");
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(())
    }

    fn tell_pids(&self) {
        let standby = self.standby.as_ref().map(Worker::pid);
        self.trial.set_pids([self.worker.pid()].into_iter().chain(standby).collect());
    }

    async fn revive(&mut self) -> Result<bool> {
        self.trial.api.revive()?;
        if self.is_stopped() && self.trial.fired().is_some_and(|at| at.elapsed() > STOPPED_FOR) {
            self.trial.go_on();
            self.trial.note("the stopped leader goes on");
            self.worker.signal(Signal::SIGCONT)?;
            return Ok(true);
        }
        if self.worker.is_running() {
            return Ok(false);
        }
        // Of two replicas, one that loses its lease ends: on a busy machine, too.
        let lost = self.standby.is_some() && self.worker.log()?.contains(LOST);
        if self.trial.fired().is_none() && self.trial.api.killed().is_none() && !lost {
            bail!("the controller ended by itself");
        }
        self.worker.again()?;
        if let Some(standby) = &mut self.standby {
            if !standby.is_running() {
                standby.again()?;
            }
        }
        self.tell_pids();
        self.trial.note("the controller is started again");
        self.worker.ready().await?;
        Ok(true)
    }

    /// Applies it as somebody would, and deletes what was applied before and is not part of it.
    pub(super) async fn apply(&mut self, desired: &Desired) -> Result<()> {
        let params = PatchParams::apply("crash-explorer").force();
        for manifest in &desired.manifests {
            let known = Known { site: &self.trial.cloud.site, objects: &self.known };
            let (key, manifest) = (key(manifest), resolve(manifest, &known));
            self.trial.note(format!("somebody applies {manifest}"));
            let (kind, name) = key.split_once('/').unwrap_or_default();
            let (api, patch, begun) = (self.api(kind), Patch::Apply(manifest), Instant::now());
            let applied = loop {
                self.trial.api.revive()?;
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
        self.trial.note(format!("somebody deletes {key}"));
        let (kind, name) = key.split_once('/').unwrap_or_default();
        let (api, begun) = (self.api(kind), Instant::now());
        loop {
            self.trial.api.revive()?;
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

/// The bounds of a scenario without those that only hold while it is told.
fn most(scenario: &Scenario) -> Vec<Bound> {
    scenario.bounds.iter().map(|bound| Bound { least: 0, ..*bound }).collect()
}

/// Whether it may go away by itself: no answer, or one that the server is to blame for, and not for long.
fn is_passing(problem: &anyhow::Error, begun: Instant) -> bool {
    if begun.elapsed() > PATIENCE {
        return false;
    }
    match problem.chain().find_map(|cause| cause.downcast_ref::<kube::Error>()) {
        Some(kube::Error::Api(status)) => status.code >= 500 || status.code == 429,
        Some(_) => true,
        None => false,
    }
}
