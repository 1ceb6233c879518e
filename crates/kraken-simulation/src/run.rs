//! One schedule from its beginning to its end, with all checks.

use kraken_mutants::Mutant;
use kraken_runtime::coverage::Reached;
use kraken_simulator::hook::{Answer, Call};

use crate::check::FullCheck;
use crate::engine::{Caller, Checker, Event, EventKind, Report, Simulation, View, Violation};
use crate::providers::ProviderCheck;
use crate::schedule::{Operation, Schedule, Side, Suite};
use crate::shrink::{Shrunk, shrink};

/// How many runs making a schedule short may take.
pub const SHRINKING: usize = 400;

/// Runs a schedule with every check.
pub fn run(schedule: &Schedule) -> (Report, Reached) {
    if schedule.settings.suite == Suite::Provider {
        return (run_with(schedule, None), Reached::default());
    }
    let check = FullCheck::new(schedule);
    let reached = check.reached();
    let report = Simulation::run(schedule, Box::new(check));
    let reached = std::mem::take(&mut *reached.lock());
    (report, reached)
}

/// As [`run`], with a seeded bug in the controllers. Without effect in a build without the patches.
pub fn run_with(schedule: &Schedule, mutant: Option<Mutant>) -> Report {
    let check: Box<dyn Checker> = match schedule.settings.suite {
        Suite::Aws => Box::new(FullCheck::new(schedule)),
        Suite::Provider => Box::new(ProviderCheck::default()),
    };
    Simulation::run_with(schedule, check, mutant)
}

/// As [`run`]; prints the request and response bodies of each write.
pub fn with_bodies(schedule: &Schedule) -> (Report, Reached) {
    if schedule.settings.suite == Suite::Provider {
        let check = Box::new(Bodies(ProviderCheck::default()));
        return (Simulation::run(schedule, check), Reached::default());
    }
    let check = FullCheck::new(schedule);
    let reached = check.reached();
    let report = Simulation::run(schedule, Box::new(Bodies(check)));
    let reached = std::mem::take(&mut *reached.lock());
    (report, reached)
}

/// The checks, with output of the checked calls on stdout.
struct Bodies<C>(C);

impl<C: Checker> Checker for Bodies<C> {
    fn event(&mut self, view: &View<'_>, event: &Event) -> Vec<Violation> {
        if let EventKind::Operation(text)
        | EventKind::Fault(text)
        | EventKind::Process(text)
        | EventKind::Phase(text) = &event.what
        {
            println!("{:>9.3} {text}", view.now.as_secs_f64());
        }
        self.0.event(view, event)
    }

    fn called(
        &mut self,
        view: &View<'_>,
        caller: &Caller,
        side: Side,
        call: &Call,
        answer: &Answer,
    ) -> Vec<Violation> {
        if call.writes && !call.name.contains("leases") {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            println!(
                "{:>9.3} {} {} {}/{}\n    {}\n    {} {}",
                view.now.as_secs_f64(),
                caller.process,
                call.name,
                call.namespace,
                call.object,
                text(&call.body),
                answer.status,
                text(&answer.body),
            );
        }
        self.0.called(view, caller, side, call, answer)
    }

    fn collected(&mut self, view: &View<'_>) -> Vec<Violation> {
        self.0.collected(view)
    }

    fn pending(&mut self, view: &View<'_>) -> Vec<String> {
        self.0.pending(view)
    }

    fn settled(&mut self, view: &View<'_>) -> Vec<Violation> {
        self.0.settled(view)
    }

    fn teardown(&mut self, view: &View<'_>) -> Vec<Operation> {
        self.0.teardown(view)
    }

    fn emptied(&mut self, view: &View<'_>) -> Vec<Violation> {
        self.0.emptied(view)
    }
}

/// What failed first: the name of the invariant. Schedules of one class fail in the same way.
pub fn class(report: &Report) -> Option<&str> {
    report.violations.first().map(|violation| violation.invariant.as_str())
}

/// The shortest schedule that is found and fails in the same way.
pub fn shortened(schedule: &Schedule, class: &str, budget: usize) -> Shrunk {
    shrink(schedule, budget, |candidate| self::class(&run(candidate).0) == Some(class))
}
