//! The checks at each event of a simulation.

use std::time::Duration;

use kraken_simulator::hook::{Answer, Call};

use super::{FullCheck, teardown};
use crate::check::remote::suffix;
use crate::check::{CallingProcess, Checks};
use crate::engine::{self, Checker, Event, EventKind, FAULTS_END, View, Violation};
use crate::oracle::Oracle;
use crate::schedule::{Operation, Remote, Side, Tamper};

/// The time for which a fault may have effects after its end: by then every watch is reconnected and every retry was
/// made.
const AFTERMATH: Duration = Duration::from_mins(1);

fn caller(caller: &engine::Caller) -> CallingProcess {
    let process = caller.process;
    CallingProcess {
        controller: process.controller,
        incarnation: u64::from(process.replica) << 32 | u64::from(process.incarnation),
        identity: caller.identity.clone(),
        location: caller.place.as_ref().map(|place| (place.account.clone(), place.region.clone())),
        place: caller.place.as_ref().map(suffix).unwrap_or_default(),
    }
}

impl Checker for FullCheck {
    fn event(&mut self, view: &View<'_>, event: &Event) -> Vec<Violation> {
        let now = view.now;
        match &event.what {
            EventKind::Operation(text) => {
                self.take_snapshot(view, true);
                let restored = self.restores.get(text).cloned();
                let checks = self.checks();
                if let Some(object) = restored {
                    checks.restores(now, object);
                }
                // What it changes is judged by what was the case until now.
                checks.after_out_of_band(now);
                // A restored backup and a deleted namespace have subsequent effects too.
                if text.contains("backup") {
                    checks.extend_faults(now, now + AFTERMATH);
                } else if text.starts_with("delete namespace ") || text.starts_with("lose /Namespace/") {
                    checks.extend_disturbance(now, now + AFTERMATH);
                } else {
                    checks.extend_disturbance(now, now);
                }
            }
            EventKind::Fault(text) => {
                let same = self.faults.iter().filter(|(words, _)| words == text);
                let lasts = same.filter_map(|(_, lasts)| *lasts).max();
                let checks = self.checks();
                if let Some(lasts) = lasts {
                    checks.extend_faults(now, now + lasts + AFTERMATH);
                }
            }
            EventKind::Call(call) => {
                self.unreported.called(call, now);
                let until = now + AFTERMATH;
                let is_affected = call.effect.is_some();
                let checks = self.checks();
                if is_affected {
                    checks.extend_faults(now, until);
                }
            }
            EventKind::Phase(text) if text == FAULTS_END => self.checks().end_faults(now, now + AFTERMATH),
            EventKind::Process(_) | EventKind::Phase(_) => {
                self.checks();
            }
        }
        self.found(now)
    }

    fn called(
        &mut self,
        view: &View<'_>,
        by: &engine::Caller,
        side: Side,
        call: &Call,
        answer: &Answer,
    ) -> Vec<Violation> {
        let by = caller(by);
        match side {
            Side::Kube => {
                if call.writes {
                    let may_release = call.body.windows(10).any(|part| part == b"finalizers");
                    self.take_snapshot(view, may_release);
                }
                self.checks().after_api(view.now, &by, call, answer);
            }
            Side::Cloud => {
                if call.writes {
                    self.take_snapshot(view, true);
                }
                self.checks().after_cloud(view.now, &by, call, answer);
            }
        }
        self.found(view.now)
    }

    fn collected(&mut self, view: &View<'_>) -> Vec<Violation> {
        self.take_snapshot(view, false);
        self.checks().after_collection(view.now);
        self.found(view.now)
    }

    fn pending(&mut self, view: &View<'_>) -> Vec<String> {
        let revision = view.api.revision();
        if self.is_ending {
            self.take_snapshot(view, true);
            return self.checks().left();
        }
        // It depends only on objects, and is called every second.
        if self.pending.0 != revision {
            self.take_snapshot(view, false);
            let objects = self.now.lock().objects.clone();
            let mut pending = self.checks().unsettled();
            let oracle = Oracle::of(&objects);
            pending.extend(objects.iter().flat_map(|object| oracle.wrong(object)));
            // After a long fault, the hub writes its answer only after its backoff, of up to five minutes.
            pending.extend(objects.iter().flat_map(|object| oracle.outdated(object)));
            self.pending = (revision, pending);
        }
        let mut pending = self.pending.1.clone();
        pending.extend(self.unreported.pending(view.now));
        pending
    }

    fn settled(&mut self, view: &View<'_>) -> Vec<Violation> {
        self.take_snapshot(view, true);
        let quiet = view.settings.resync_interval;
        let checks = self.checks();
        checks.converged(view.now);
        checks.rested(view.now, quiet);
        checks.expect_in_place(view.now);
        self.found(view.now)
    }

    fn teardown(&mut self, view: &View<'_>) -> Vec<Operation> {
        self.is_ending = true;
        self.checks().expect_nothing();
        let mut operations = teardown::teardown(view);
        // Objects that were created out of band, the newest first.
        operations.extend(self.remotes.iter().rev().map(|name| Operation::TamperRemote {
            remote: Remote::Named(name.clone()),
            tamper: Tamper::Delete,
        }));
        operations
    }

    fn emptied(&mut self, view: &View<'_>) -> Vec<Violation> {
        self.take_snapshot(view, true);
        metrics(self.checks(), view);
        self.checks().emptied(view.now);
        self.found(view.now)
    }
}

/// Searches the metrics of all processes for Secret values. Once, at the end, because nothing is ever removed from metrics.
fn metrics(checks: &mut Checks, view: &View<'_>) {
    for (process, metrics) in view.metrics {
        let place = format!("a metric of {process}");
        metrics.encode().lines().for_each(|line| checks.text(view.now, &place, line));
    }
}
