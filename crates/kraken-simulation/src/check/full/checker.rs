//! The checks at each event of a simulation.

use std::time::Duration;

use kraken_simulator::hook::{Answer, Call};

use super::{FullCheck, suffix, teardown};
use crate::check::{CallingProcess, Checks};
use crate::engine::{self, Checker, Event, FAULTS_END, View, Violation, What};
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
            What::Operation(text) => {
                self.look(view, true);
                // A restored backup and a deleted namespace have subsequent effects too.
                let lasts = if text.contains("backup") || text.contains("namespace") {
                    AFTERMATH
                } else {
                    Duration::ZERO
                };
                let checks = self.checks();
                // What it changes is judged by what was the case until now.
                checks.outside(now);
                checks.fails(now, now + lasts);
            }
            What::Fault(text) => {
                let same = self.faults.iter().filter(|(words, _)| words == text);
                let lasts = same.filter_map(|(_, lasts)| *lasts).max();
                let checks = self.checks();
                if let Some(lasts) = lasts {
                    checks.fails(now, now + lasts + AFTERMATH);
                }
            }
            What::Call(call) => {
                let until = now + AFTERMATH;
                let is_struck = call.struck.is_some();
                let checks = self.checks();
                if is_struck {
                    checks.fails(now, until);
                }
            }
            What::Phase(text) if text == FAULTS_END => self.checks().heals(now, now + AFTERMATH),
            What::Process(_) | What::Phase(_) => {
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
                    self.look(view, may_release);
                }
                self.checks().after_api(view.now, &by, call, answer);
            }
            Side::Cloud => {
                if call.writes {
                    self.look(view, true);
                }
                self.checks().after_cloud(view.now, &by, call, answer);
            }
        }
        self.found(view.now)
    }

    fn pending(&mut self, view: &View<'_>) -> Vec<String> {
        let revision = view.api.revision();
        if self.is_ending {
            self.look(view, true);
            return self.checks().left();
        }
        // It depends only on objects, and is called every second.
        if self.pending.0 != revision {
            self.look(view, false);
            let objects = self.now.lock().objects.clone();
            let mut pending = self.checks().unsettled();
            let oracle = Oracle::of(&objects);
            pending.extend(objects.iter().flat_map(|object| oracle.wrong(object)));
            self.pending = (revision, pending);
        }
        self.pending.1.clone()
    }

    fn settled(&mut self, view: &View<'_>) -> Vec<Violation> {
        self.look(view, true);
        let quiet = view.settings.resync_interval;
        let checks = self.checks();
        metrics(checks, view);
        checks.converged(view.now);
        checks.rested(view.now, quiet);
        self.found(view.now)
    }

    fn teardown(&mut self, view: &View<'_>) -> Vec<Operation> {
        self.is_ending = true;
        let mut operations = teardown::teardown(view);
        // Objects that were created out of band, the newest first.
        operations.extend(self.remotes.iter().rev().map(|name| Operation::TamperRemote {
            remote: Remote::Named(name.clone()),
            tamper: Tamper::Delete,
        }));
        operations
    }

    fn emptied(&mut self, view: &View<'_>) -> Vec<Violation> {
        self.look(view, true);
        metrics(self.checks(), view);
        self.checks().emptied(view.now);
        self.found(view.now)
    }
}

/// Everything that the processes have counted is searched for Secret values: nothing is ever taken out of metrics again.
fn metrics(checks: &mut Checks, view: &View<'_>) {
    for (process, metrics) in view.metrics {
        let place = format!("a metric of {process}");
        metrics.encode().lines().for_each(|line| checks.text(view.now, &place, line));
    }
}
