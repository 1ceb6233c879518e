//! Waits until the desired state is reached after a fault, and restarts what the fault ended.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use nix::sys::signal::Signal;

use super::desired::Desired;
use super::fault::Fault;
use super::run::{CONVERGED_WITHIN, POLL, QUIET, Run};
use crate::process::LOST_LEASE;

/// The maximum time after an outage of kube-apiserver: watches are retried after up to 30 s.
const RECONNECTED_WITHIN: Duration = Duration::from_mins(1);
/// The maximum time for which a resource in the desired state may still be written.
const QUIET_WITHIN: Duration = Duration::from_secs(20);
/// After this time a lease of 3 s has expired, and the other replica is active.
const STOPPED_FOR: Duration = Duration::from_secs(7);

impl Run {
    /// Waits until the desired state is reached and settled, and restarts the controller whenever it was killed.
    pub(super) async fn settle(&mut self, desired: &Desired, within: Duration) -> Result<Option<Duration>> {
        self.settle_for(desired, within, QUIET).await
    }

    pub(super) async fn settle_for(
        &mut self,
        desired: &Desired,
        within: Duration,
        quiet: Duration,
    ) -> Result<Option<Duration>> {
        let begun = Instant::now();
        let mut converged: Option<Instant> = None;
        loop {
            if self.restart_killed().await? {
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
        stops && self.recorder.fired().is_some() && !self.recorder.is_resumed()
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

    async fn restart_killed(&mut self) -> Result<bool> {
        self.recorder.api.restart_killed()?;
        if self.is_stopped() && self.recorder.fired().is_some_and(|at| at.elapsed() > STOPPED_FOR) {
            self.recorder.resume();
            self.recorder.note("the suspended leader is resumed");
            self.worker.signal(Signal::SIGCONT)?;
            return Ok(true);
        }
        if self.worker.is_running() {
            return Ok(false);
        }
        // A replica that loses its lease ends, which can also happen on a busy machine.
        let lost = self.standby.is_some() && self.worker.log()?.contains(LOST_LEASE);
        if self.recorder.fired().is_none() && self.recorder.api.killed().is_none() && !lost {
            bail!("the controller ended by itself");
        }
        self.worker.restart()?;
        if let Some(standby) = &mut self.standby
            && !standby.is_running()
        {
            standby.restart()?;
        }
        self.record_pids();
        self.recorder.note("the controller is restarted");
        self.worker.ready().await?;
        Ok(true)
    }
}
