//! Faults that are not about one call: they begin at once and end by themselves, or when faults end.

use std::sync::Arc;
use std::time::Duration;

use kraken_simulator::Limit;
use tokio::time::Instant;

use super::Simulation;
use super::trace::EventKind;
use crate::kinds::{crds, provider_crds};
use crate::schedule::{Controller, Fault, Operation, Side};

/// How soon another client follows a call of a controller.
const CONTENDS: Duration = Duration::from_millis(200);

impl Simulation {
    /// Activates a fault.
    pub fn fail(&self, fault: &Fault) {
        self.0.note(EventKind::Fault(fault.to_string()));
        if self.0.state.lock().armed.arm(fault) {
            return;
        }
        match fault {
            Fault::Kill { controller, down } => self.kill(*controller, *down),
            Fault::Replica { controller, lasts } => self.replica(*controller, *lasts),
            Fault::Suspend { controller, lasts } => self.suspend(*controller, *lasts),
            Fault::CutWatches { controller } => self.cut_watches(*controller),
            Fault::Compact => self.0.api.compact(),
            Fault::DelayWatches { controller, plural, by, lasts } => {
                self.delay_watches(*controller, plural.as_deref(), *by, *lasts);
            }
            Fault::ApiOutage { controller, lasts } => self.unreachable(Side::Kube, *controller, *lasts),
            Fault::CloudOutage { controller, lasts } => self.unreachable(Side::Cloud, *controller, *lasts),
            Fault::Throttle { burst, lasts } => {
                let limit = Limit { burst: f64::from(*burst), per_second: 1.0 };
                self.configure(*lasts, move |options| {
                    options.limits.insert("*".to_owned(), limit);
                });
            }
            Fault::Capacity { instances, lasts } => {
                let instances = *instances;
                self.configure(*lasts, move |options| options.capacity = Some(instances));
            }
            Fault::PartialLaunches { most, lasts } => {
                let most = *most;
                self.configure(*lasts, move |options| options.per_launch = Some(most));
            }
            Fault::Stale { remote, lasts } => crate::apply::stale(self, remote, *lasts),
            Fault::Hide { remote, lasts } => crate::apply::hide(self, remote, *lasts),
            Fault::Contend { remote, tamper, lasts } => {
                self.contend(
                    Operation::TamperRemote { remote: remote.clone(), tamper: tamper.clone() },
                    *lasts,
                );
            }
            Fault::Crash { .. }
            | Fault::Lose { .. }
            | Fault::Delay { .. }
            | Fault::Refuse { .. }
            | Fault::Fail { .. } => {}
        }
    }

    /// Ends all faults: from here on calls get there and processes run, once each.
    pub fn end_faults(&self) {
        let clouds = {
            let mut state = self.0.state.lock();
            state.armed.clear();
            state.unreachable.clear();
            state.contended_until = None;
            state.replicas.retain(|(_, replica)| *replica == 0);
            state.processes.values().for_each(|process| process.group.resume());
            state.clouds.values().cloned().collect::<Vec<_>>()
        };
        for cloud in clouds {
            cloud.clear_failures();
            cloud.configure(|options| {
                options.limits.clear();
                (options.capacity, options.per_launch) = (None, None);
            });
        }
        let controllers = self.0.settings.suite.controllers();
        for process in controllers.iter().flat_map(|controller| self.0.processes(*controller)) {
            if process.id.replica > 0 {
                self.0.end(process.id, Duration::ZERO);
            }
        }
        for &controller in controllers {
            self.0.start(controller, 0);
        }
    }

    fn kill(&self, controller: Controller, down: Duration) {
        if let Some(process) = self.0.leader(controller) {
            self.0.end(process.id, down);
        }
    }

    fn replica(&self, controller: Controller, lasts: Duration) {
        self.0.state.lock().replicas.insert((controller, 1));
        self.0.start(controller, 1);
        let shared = Arc::clone(&self.0);
        tokio::spawn(async move {
            tokio::time::sleep(lasts).await;
            shared.state.lock().replicas.remove(&(controller, 1));
            for process in shared.processes(controller) {
                if process.id.replica == 1 {
                    process.shutdown.cancel();
                }
            }
        });
    }

    fn suspend(&self, controller: Controller, lasts: Duration) {
        if let Some(process) = self.0.leader(controller) {
            process.group.suspend();
            tokio::spawn(async move {
                tokio::time::sleep(lasts).await;
                process.group.resume();
            });
        }
    }

    /// Delays watch events of one kind, or of all, for the running processes.
    fn delay_watches(&self, controller: Controller, plural: Option<&str>, by: Duration, lasts: Duration) {
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let spec =
            |crd: &serde_json::Value| (text(&crd["spec"]["group"]), text(&crd["spec"]["names"]["plural"]));
        let kinds = crds().iter().chain(provider_crds()).map(spec);
        let core = ["configmaps", "secrets"].map(|plural| (String::new(), plural.to_owned()));
        let is_meant = |kind: &(String, String)| plural.is_none_or(|plural| plural == kind.1);
        let kinds: Vec<_> = kinds.chain(core).filter(is_meant).collect();
        let processes = self.0.processes(controller);
        let delay = move |by| {
            for process in &processes {
                for (group, plural) in &kinds {
                    process.connection.delay_watches(group, plural, by);
                }
            }
        };
        delay(by);
        tokio::spawn(async move {
            tokio::time::sleep(lasts).await;
            delay(Duration::ZERO);
        });
    }

    fn cut_watches(&self, controller: Controller) {
        self.0.processes(controller).iter().for_each(|process| process.connection.cut_watches());
    }

    fn unreachable(&self, side: Side, controller: Option<Controller>, lasts: Duration) {
        self.0.state.lock().unreachable.insert((side, controller), Instant::now() + lasts);
        match (side, controller) {
            (Side::Cloud, _) => {}
            (Side::Kube, Some(controller)) => self.cut_watches(controller),
            (Side::Kube, None) => self.0.api.cut_watches(),
        }
    }

    /// Repeats a change out of band after the calls of controllers, as another client that disagrees with them.
    fn contend(&self, change: Operation, lasts: Duration) {
        let until = Instant::now() + lasts;
        let shared = Arc::clone(&self.0);
        {
            let latest = &mut shared.state.lock().contended_until;
            *latest = (*latest).max(Some(until));
        }
        tokio::spawn(async move {
            let simulation = Self(shared);
            let mut seen = None;
            loop {
                tokio::time::sleep(CONTENDS).await;
                let (now, calls, ends) = {
                    let state = simulation.0.state.lock();
                    (Instant::now(), state.cloud_writes, state.contended_until)
                };
                if now >= until || ends.is_none() {
                    return;
                }
                if seen.replace(calls) != Some(calls) && simulation.carry_out(&change).is_none() {
                    simulation.0.note(EventKind::Operation(change.to_string()));
                }
            }
        });
    }

    /// Changes the behaviour of every cloud for a while.
    fn configure(
        &self,
        lasts: Duration,
        change: impl Fn(&mut kraken_simulator::SimulatorOptions) + Send + 'static,
    ) {
        let clouds: Vec<_> = self.0.state.lock().clouds.values().cloned().collect();
        for cloud in &clouds {
            cloud.configure(&change);
        }
        tokio::spawn(async move {
            tokio::time::sleep(lasts).await;
            for cloud in &clouds {
                cloud.configure(|options| {
                    options.limits.clear();
                    (options.capacity, options.per_launch) = (None, None);
                });
            }
        });
    }
}
