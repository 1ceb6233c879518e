//! Runs one scenario in a namespace of its own, with at most one fault, to the end and away again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use nix::sys::signal::Signal;
use serde_json::json;

use super::cloud::Cloud;
use super::fault::{Fault, Point};
use super::scenario::{Act, CONFIG_MAP, NAME, Scenario, Wish};
use super::trial::{Side, Trial};
use super::worker::{self, Worker};
use super::{Stage, Verdict};
use crate::kube_proxy::KubeProxy;
use crate::namespace::{TestNamespace, namespace};
use crate::scratch::Scratch;

/// How long after the last fault everything may take to be as wanted.
const CONVERGED_WITHIN: Duration = Duration::from_secs(30);
/// How long nothing may be written for a resource to be at rest: longer than the loop's own pauses of 1 s.
const QUIET: Duration = Duration::from_millis(2500);
/// Enough where rest is no question, only that the event of the last change has been written.
const BRIEF: Duration = Duration::from_millis(400);
/// How long a resource that is as wanted may go on being written.
const QUIET_WITHIN: Duration = Duration::from_secs(20);
const SETUP_WITHIN: Duration = Duration::from_mins(1);
/// A lease of 3 s is over by then, and the other replica at work.
const STOPPED_FOR: Duration = Duration::from_secs(7);
const LEADS_AFTER: Duration = Duration::from_millis(500);
const POLL: Duration = Duration::from_millis(50);

/// One run.
pub(super) struct Lane {
    pub(super) trial: Arc<Trial>,
    worker: Worker,
    /// The other replica, if there are two.
    standby: Option<Worker>,
    namespace: TestNamespace,
    pub(super) objects: Api<DynamicObject>,
    pub(super) states: Api<DynamicObject>,
    // Dropped after the worker, which would only complain.
    _proxies: (KubeProxy, KubeProxy),
    scratch: Scratch,
}

/// Runs it.
pub(super) async fn run(stage: &Stage, scenario: &Scenario, point: Option<Point>) -> Result<Verdict> {
    let started = Instant::now();
    let mut lane = Lane::start(stage, scenario, point.clone()).await?;
    let told = lane.tell(scenario, point.as_ref()).await;
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
        reached: point.is_none() || trial.fired().is_some(),
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
        let namespace = namespace(&stage.client).await?;
        let trial = Arc::new(Trial::new(Cloud::start(scenario.lag, scenario.per_launch)?, point));
        let side = |cloud| Arc::new(Side { trial: Arc::clone(&trial), cloud });
        let replicas = trial.point.as_ref().is_some_and(|point| point.fault == Fault::Stop);
        let rights = if replicas { &stage.admin } else { &stage.kubeconfig };
        let kube = KubeProxy::start(rights, side(false)).await?;
        let cloud = KubeProxy::before_cloud(trial.cloud.endpoint(), side(true)).await?;
        trial.set_scissors(kube.scissors());
        let scratch = Scratch::new("crash")?;
        let kubeconfig = scratch.path().join("kubeconfig");
        worker::kubeconfig(&kubeconfig, kube.endpoint())?;
        let env = worker::environment(&kubeconfig, cloud.endpoint(), &namespace.name, replicas);
        let mut worker = Worker::start("controller", &stage.program, scratch.path(), env.clone())?;
        trial.set_pid(worker.pid());
        worker.ready().await?;
        let mut standby = None;
        if replicas {
            tokio::time::sleep(LEADS_AFTER).await;
            standby = Some(Worker::start("standby", &stage.program, scratch.path(), env)?);
        }
        let api = |group: &str, kind: &str| {
            let gvk =
                GroupVersionKind::gvk(&format!("{group}.kraken-iac.eoinfennessy.com"), "v1alpha1", kind);
            Api::namespaced_with(namespace.client.clone(), &namespace.name, &ApiResource::from_gvk(&gvk))
        };
        let (objects, states) = (api("aws", "EC2Instance"), api("core", "StateDeclaration"));
        Ok(Self { trial, worker, standby, namespace, objects, states, _proxies: (kube, cloud), scratch })
    }

    /// The story; how long it took from the fault until everything was as wanted.
    async fn tell(&mut self, scenario: &Scenario, point: Option<&Point>) -> Result<Option<Duration>> {
        if let Some(first) = &scenario.first {
            self.trial.bound(0, first.count);
            self.apply(first).await?;
            self.settle_for(Some(first), SETUP_WITHIN, BRIEF).await.context("before any fault")?;
        }
        if scenario.outside {
            self.trial.cloud.put_adoptable()?;
        }
        if scenario.stopped {
            for instance in self.trial.cloud.instances().iter().filter(|one| one.is_alive()) {
                self.trial.cloud.simulator.stop_outside(&instance.id)?;
            }
        }
        let before = scenario.first.as_ref().map_or(0, |first| first.count);
        self.trial.arm();
        let within = CONVERGED_WITHIN;
        let recovery = match &scenario.act {
            Act::Throttle(..) | Act::Outage(_) => None, // drills
            Act::Apply(wish) => {
                self.trial.bound(before.min(wish.count), before.max(wish.count));
                self.apply(wish).await?;
                self.settle(Some(wish), within).await?
            }
            Act::Replace { wish, least, most } => {
                self.trial.bound(*least, *most);
                self.apply(wish).await?;
                self.settle(Some(wish), within).await?
            }
            Act::Delete => {
                self.trial.bound(0, before);
                self.delete().await?;
                self.settle(None, within).await?
            }
            Act::Recreate(wish) => {
                self.trial.bound(0, before.max(wish.count));
                self.delete().await?;
                let gone = self.settle(None, within).await?;
                self.apply(wish).await?;
                self.settle(Some(wish), within).await?.max(gone)
            }
            Act::Abandon(wish) => {
                self.trial.bound(0, wish.count);
                self.apply(wish).await?;
                self.launched().await?;
                self.delete().await?;
                self.settle(None, within).await?
            }
            Act::Hurry(wish, then) => {
                self.trial.bound(0, wish.count.max(then.count));
                self.apply(wish).await?;
                self.launched().await?;
                self.apply(then).await?;
                self.settle(Some(then), within).await?
            }
        };
        self.trial.disarm();
        if !matches!(scenario.act, Act::Delete | Act::Abandon(_)) {
            self.trial.bound(0, usize::MAX);
            self.delete().await?;
            self.settle_for(None, CONVERGED_WITHIN, BRIEF).await.context("when it was deleted in the end")?;
        }
        if !self.trial.cloud.decoy_lives() {
            bail!("an instance that was never ours is gone");
        }
        Ok(recovery.filter(|_| point.is_some()))
    }

    /// Waits until everything is as wanted and at rest, and starts the controller again whenever it was killed.
    pub(super) async fn settle(&mut self, wish: Option<&Wish>, within: Duration) -> Result<Option<Duration>> {
        self.settle_for(wish, within, QUIET).await
    }

    async fn settle_for(
        &mut self,
        wish: Option<&Wish>,
        within: Duration,
        quiet: Duration,
    ) -> Result<Option<Duration>> {
        let begun = Instant::now();
        let mut converged: Option<Instant> = None;
        loop {
            if self.revive().await? {
                converged = None;
            }
            let since = self.trial.fired().map_or(begun, |fired| fired.max(begun));
            if let Some(problem) = self.differs(wish).await? {
                if since.elapsed() > within {
                    bail!("not as wanted {} s after the last fault: {problem}", within.as_secs());
                }
                converged = None;
            } else {
                let at = *converged.get_or_insert_with(Instant::now);
                let fired = self.trial.fired();
                let stopped = self.standby.is_some() && fired.is_some() && !self.trial.goes_on();
                if self.trial.quiet_for() > quiet && at.elapsed() > quiet && !stopped {
                    return Ok(fired.map(|fired| at.saturating_duration_since(fired)));
                }
                if at.elapsed() > QUIET_WITHIN {
                    bail!("as wanted, but still writing after {} s", QUIET_WITHIN.as_secs());
                }
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// Waits until the launch was asked for, or the fault has come before it.
    pub(super) async fn launched(&self) -> Result<()> {
        let started = Instant::now();
        let asked = || self.trial.calls().iter().any(|call| call.name == "cloud RunInstances");
        while !asked() && self.trial.fired().is_none() {
            if started.elapsed() > CONVERGED_WITHIN {
                bail!("nothing is launched");
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(())
    }

    async fn revive(&mut self) -> Result<bool> {
        let stopped =
            self.standby.is_some() && self.trial.fired().is_some_and(|at| at.elapsed() > STOPPED_FOR);
        if stopped && !self.trial.goes_on() {
            self.trial.go_on();
            self.trial.note("the stopped leader goes on");
            self.worker.signal(Signal::SIGCONT)?;
            return Ok(true);
        }
        if self.worker.is_running() {
            return Ok(false);
        }
        if self.trial.fired().is_none() {
            bail!("the controller ended by itself");
        }
        self.worker.again()?;
        self.trial.set_pid(self.worker.pid());
        self.trial.note("the controller is started again");
        self.worker.ready().await?;
        Ok(true)
    }

    pub(super) async fn apply(&self, wish: &Wish) -> Result<()> {
        let params = PatchParams::apply("crash-explorer").force();
        if wish.referenced {
            let sizes = json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": CONFIG_MAP},
                "data": {"size": wish.instance_type},
            });
            self.namespace.api::<ConfigMap>().patch(CONFIG_MAP, &params, &Patch::Apply(sizes)).await?;
        }
        self.trial.note(format!("somebody applies {wish:?}"));
        self.objects
            .patch(NAME, &params, &Patch::Apply(wish.object()))
            .await
            .context("cannot apply the EC2Instance")?;
        Ok(())
    }

    pub(super) async fn delete(&self) -> Result<()> {
        self.trial.note("somebody deletes it");
        self.objects.delete(NAME, &DeleteParams::default()).await.context("cannot delete the EC2Instance")?;
        Ok(())
    }
}
