//! Shrinks a failing schedule: the fewest steps that still fail in the same way, then the simplest ones.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;

use crate::schedule::{Action, Fault, Operation, Schedule, Settings, Step};

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Shrunk {
    /// The short schedule, which fails in the same way.
    pub schedule: Schedule,
    /// How many runs it took.
    pub runs: usize,
}

/// Shrinks a failing schedule; `fails` runs one and returns whether it fails in the same way. At most `budget` runs.
pub fn shrink(schedule: &Schedule, budget: usize, fails: impl FnMut(&Schedule) -> bool) -> Shrunk {
    let mut search = Search { best: schedule.clone(), runs: 0, budget, fails };
    let suite = schedule.settings.suite;
    search.settings(&Settings { suite, ..Settings::default() });
    loop {
        let before = search.best.clone();
        search.steps();
        search.simpler();
        search.times();
        if search.best == before || search.runs >= search.budget {
            break;
        }
    }
    Shrunk { schedule: search.best, runs: search.runs }
}

struct Search<F> {
    best: Schedule,
    runs: usize,
    budget: usize,
    fails: F,
}

impl<F: FnMut(&Schedule) -> bool> Search<F> {
    /// Keeps a candidate that still fails.
    fn take(&mut self, candidate: Schedule) -> bool {
        let is_possible = candidate.settings.is_visible_in_time();
        if self.runs >= self.budget || candidate == self.best || !is_possible {
            return false;
        }
        self.runs += 1;
        let fails = (self.fails)(&candidate);
        if fails {
            self.best = candidate;
        }
        fails
    }

    /// Delta debugging: leaves out ever smaller parts.
    fn steps(&mut self) {
        let mut size = self.best.steps.len().div_ceil(2);
        while size > 0 && self.runs < self.budget {
            // From the end, because the last steps are least often relevant.
            let mut end = self.best.steps.len();
            while end > 0 {
                let start = end.saturating_sub(size);
                let mut steps = self.best.steps.clone();
                steps.drain(start..end);
                self.take(self.best.with(steps));
                end = start;
            }
            size = if size == 1 { 0 } else { size.div_ceil(2) };
        }
    }

    /// The defaults, all at once or one by one.
    fn settings(&mut self, default: &Settings) {
        let plain = Schedule { settings: default.clone(), ..self.best.clone() };
        if self.take(plain) {
            return;
        }
        let Ok(Value::Object(defaults)) = serde_json::to_value(default) else { return };
        for (key, value) in defaults {
            let Ok(mut settings) = serde_json::to_value(&self.best.settings) else { return };
            settings[key.as_str()] = value;
            if let Ok(settings) = serde_json::from_value(settings) {
                self.take(Schedule { settings, ..self.best.clone() });
            }
        }
    }

    /// Manifests with fewer fields, and faults that happen once.
    fn simpler(&mut self) {
        for index in 0..self.best.steps.len() {
            let mut tried = BTreeSet::new();
            while let Some(step) = self.best.steps.get(index) {
                let simpler = simpler(&step.action);
                let next = simpler.into_iter().find(|action| tried.insert(action.to_string()));
                let Some(action) = next else { break };
                let mut steps = self.best.steps.clone();
                steps[index].action = action;
                self.take(self.best.with(steps));
            }
        }
    }

    /// Simplifies times, first all of them together, then one at a time.
    fn times(&mut self) {
        let spaced = |gap: u32| {
            move |(step, index): (&Step, u32)| Step {
                at: Duration::from_secs(1) * index * gap,
                ..step.clone()
            }
        };
        for gap in [1, 10] {
            let spaced = self.best.with(self.best.steps.iter().zip(0..).map(spaced(gap)).collect());
            if spaced == self.best || self.take(spaced) {
                return;
            }
        }
        for index in 0..self.best.steps.len() {
            let mut steps = self.best.steps.clone();
            let rounded = Duration::from_secs(steps[index].at.as_secs());
            if rounded != steps[index].at && steps[..index].last().is_none_or(|before| before.at <= rounded) {
                steps[index].at = rounded;
                self.take(self.best.with(steps));
            }
        }
    }
}

/// Simpler actions of the same sort, the simplest first.
fn simpler(action: &Action) -> Vec<Action> {
    match action {
        Action::Operation(Operation::Apply { object }) => {
            without_one_field(object).into_iter().map(|object| Operation::Apply { object }.into()).collect()
        }
        Action::Operation(Operation::Recreate { object }) => {
            vec![Operation::Apply { object: object.clone() }.into()]
        }
        Action::Operation(Operation::Replace { object }) => {
            vec![Operation::Apply { object: object.clone() }.into()]
        }
        Action::Fault(fault) => once(fault).map(Action::Fault).into_iter().collect(),
        Action::Operation(_) => vec![],
    }
}

/// The same fault of one call instead of several.
fn once(fault: &Fault) -> Option<Fault> {
    let mut simpler = fault.clone();
    match &mut simpler {
        Fault::Lose { times, .. }
        | Fault::Delay { times, .. }
        | Fault::Refuse { times, .. }
        | Fault::Fail { times, .. } => *times = 1,
        _ => {}
    }
    (simpler != *fault).then_some(simpler)
}

/// The manifest without one of its fields.
fn without_one_field(object: &Value) -> Vec<Value> {
    let mut all = Vec::new();
    for parent in ["/spec/lifecycle", "/spec/tags", "/data", "/stringData", "/spec/data", "/spec"] {
        let Some(fields) = object.pointer(parent).and_then(Value::as_object) else { continue };
        for key in fields.keys() {
            let mut without = object.clone();
            if let Some(fields) = without.pointer_mut(parent).and_then(Value::as_object_mut) {
                fields.remove(key);
            }
            all.push(without);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::generate;
    use crate::schedule::Propagation;

    /// Fails for a deletion after a scale operation.
    fn fails(schedule: &Schedule) -> bool {
        let place = |wanted: fn(&Action) -> bool| schedule.steps.iter().position(|step| wanted(&step.action));
        let scaled = place(|action| matches!(action, Action::Operation(Operation::Scale { .. })));
        let deleted = schedule
            .steps
            .iter()
            .rposition(|step| matches!(step.action, Action::Operation(Operation::Delete { .. })));
        scaled.zip(deleted).is_some_and(|(scaled, deleted)| scaled < deleted)
    }

    #[test]
    fn only_the_necessary_steps_remain() {
        let failing: Vec<Schedule> = (0..600).map(generate).filter(fails).take(20).collect();
        assert_eq!(failing.len(), 20);
        for schedule in failing {
            let shrunk = shrink(&schedule, 500, fails);
            assert_eq!(shrunk.schedule.steps.len(), 2, "{:?}", shrunk.schedule.steps);
            assert_eq!(shrunk.schedule.settings, Settings::default());
            assert_eq!(shrunk.schedule.end(), Duration::from_secs(1));
            assert!(shrunk.runs < 200, "{}", shrunk.runs);
        }
    }

    #[test]
    fn unnecessary_fields_are_removed_from_manifests() {
        let object = serde_json::json!({
            "kind": "VPC", "metadata": {"name": "a", "namespace": "prod"},
            "spec": {"cidrBlock": {"value": "10.0.0.0/16"}, "tags": {"a": "b"}, "lifecycle": {"protect": true, "paused": true}},
        });
        let schedule = Schedule {
            seed: 1,
            settings: Settings::default(),
            opening: None,
            steps: vec![Step { at: Duration::ZERO, action: Operation::Apply { object }.into() }],
        };
        let protects = |schedule: &Schedule| {
            matches!(&schedule.steps[..], [Step { action: Action::Operation(Operation::Apply { object }), .. }]
                if object["spec"]["lifecycle"]["protect"] == true)
        };
        let shrunk = shrink(&schedule, 100, protects).schedule;
        let Action::Operation(Operation::Apply { object }) = &shrunk.steps[0].action else { unreachable!() };
        assert_eq!(object["spec"], serde_json::json!({"lifecycle": {"protect": true}}));
    }

    #[test]
    fn the_visibility_window_stays_longer_than_the_lag() {
        let settings = Settings {
            visibility_window: Duration::from_mins(1),
            describe_lag: Duration::from_secs(30),
            ..Settings::default()
        };
        let schedule = Schedule { seed: 1, settings: settings.clone(), opening: None, steps: vec![] };
        let lags = |schedule: &Schedule| schedule.settings.describe_lag > Duration::ZERO;
        assert_eq!(shrink(&schedule, 100, lags).schedule.settings, settings);
        assert_eq!(shrink(&schedule, 100, |_| true).schedule.settings, Settings::default());
    }

    #[test]
    fn the_budget_is_respected() {
        let object = "prod/VPC/a".parse().unwrap();
        let delete = Operation::Delete { object, propagation: Propagation::Background };
        let steps = vec![Step { at: Duration::ZERO, action: delete.into() }; 50];
        let schedule = Schedule { seed: 1, settings: Settings::default(), opening: None, steps };
        let mut runs = 0;
        let shrunk = shrink(&schedule, 7, |_| {
            runs += 1;
            false
        });
        assert_eq!((shrunk.runs, runs, shrunk.schedule), (7, 7, schedule));
    }
}
