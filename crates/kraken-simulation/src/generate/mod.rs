//! Generation of schedules from seeds: a stack, operations and faults.

mod edits;
mod faults;
mod mix;
mod names;
mod openings;
mod operations;
mod plausible;
mod source;
mod stack;
mod tampering;
mod users;

use std::time::Duration;

pub use openings::OPENINGS;
pub use source::CANARY;

use crate::random::Random;
use crate::schedule::{Action, Operation, Schedule, Settings, Step, Suite};
use mix::Mix;
use stack::Stack;
use users::Users;

/// How many operations and faults there are after the stack was applied.
const STEPS: (usize, usize) = (30, 70);

/// How many of a hundred seeds begin with an opening.
const OPENED: usize = 50;
/// How often orphans are searched for, if an opening is about them.
const SWEEPS: Duration = Duration::from_mins(1);
/// How many of a hundred seeds end with the deletion of the namespace, long after the last fault.
const NAMESPACE_DELETIONS: usize = 15;

/// The schedule of a seed.
pub fn generate(seed: u64) -> Schedule {
    let mut rng = Random::new(seed);
    let mix = Mix::of(&mut rng);
    let mut settings = settings(&mut rng);
    let stack = Stack::of(&mut rng, mix.policies);
    let mut clock = Clock { now: Duration::ZERO, pace: pace(&mut rng) };
    let mut steps = vec![];
    let mut step = |at: Duration, action: Action| steps.push(Step { at, action });
    step(clock.now, Operation::CreateNamespace { name: stack.namespace.clone() }.into());
    let mut users = Users::of(stack);
    for object in users.first(&mut rng) {
        clock.now += rng.time(Duration::from_millis(1), Duration::from_millis(500));
        step(clock.now, Operation::Apply { object }.into());
    }
    // Most steps occur after the stack is Ready, some before.
    if rng.chance(70) {
        clock.now += rng.time(Duration::from_secs(5), Duration::from_mins(1));
    }
    let opening = rng.chance(OPENED).then(|| openings::opening(&mut rng, &mut users));
    let (opening, first) = opening.flatten().unzip();
    for (pause, action) in first.unwrap_or_default() {
        clock.now += pause;
        step(clock.now, action);
    }
    if users.removes_orphans {
        settings.remove_orphans = true;
        settings.orphan_interval = SWEEPS;
    }
    for _ in 0..rng.between(STEPS.0, STEPS.1) {
        clock.advance(&mut rng);
        let class = mix.next(&mut rng);
        let action = match users.operation(&mut rng, class) {
            Some(operation) => operation.into(),
            None => faults::fault(&mut rng, class, &users).into(),
        };
        step(clock.now, action);
    }
    if rng.chance(NAMESPACE_DELETIONS) {
        clock.now += Duration::from_mins(3);
        step(clock.now, Operation::DeleteNamespace { name: users.stack.namespace.clone() }.into());
    }
    Schedule { seed, settings, opening: opening.map(ToOwned::to_owned), steps }
}

/// The time of the next step: usually soon, sometimes after everything has settled.
struct Clock {
    now: Duration,
    /// The usual time between two steps.
    pace: Duration,
}

impl Clock {
    fn advance(&mut self, rng: &mut Random) {
        let most = match rng.below(10) {
            0..5 => self.pace,
            5..9 => self.pace * 4,
            _ => self.pace * 20,
        };
        self.now += rng.time(Duration::from_millis(1), most);
    }
}

fn pace(rng: &mut Random) -> Duration {
    Duration::from_millis(rng.one([300, 1000, 3000, 10_000]))
}

fn settings(rng: &mut Random) -> Settings {
    let seconds = Duration::from_secs;
    let window = rng.one([10, 20, 30, 60]);
    // The cloud shows new objects within the visibility window, which is its definition.
    let lag = |rng: &mut Random, percent: usize| {
        if rng.chance(percent) {
            rng.time(Duration::from_millis(100), seconds(window / 2))
        } else {
            Duration::ZERO
        }
    };
    Settings {
        suite: Suite::Aws,
        resync_interval: seconds(rng.one([15, 30, 60, 120])),
        deep_resync_interval: seconds(rng.one([60, 180, 600])),
        visibility_window: seconds(window),
        launch_limit: u32::try_from(rng.one([3_usize, 5, 10, 10])).unwrap_or(10),
        launch_window: seconds(rng.one([120, 600])),
        vanished_minimum: u32::try_from(rng.one([3_usize, 5, 5])).unwrap_or(5),
        orphan_interval: seconds(rng.one([60, 300, 3600])),
        remove_orphans: rng.chance(15),
        // Shorter ones are mostly renewals, which took a fifth of the time of a run.
        lease_duration: seconds(rng.one([15, 30])),
        concurrency: u32::try_from(rng.one([1_usize, 4, 32])).unwrap_or(32),
        kube_latency: Duration::from_millis(rng.one([1, 5, 30])),
        cloud_latency: Duration::from_millis(rng.one([5, 50, 300])),
        describe_lag: lag(rng, 40),
        change_lag: lag(rng, 20),
        tag_lag: lag(rng, 20),
        transition: Duration::from_millis(rng.one([50, 500, 3000, 10_000])),
        terminated_visible: seconds(rng.one([5, 60, 600])),
        replace_timeout: seconds(rng.one([10, 30, 30])),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_seed_always_gives_the_same_schedule() {
        for seed in 0..20 {
            assert_eq!(generate(seed), generate(seed));
        }
        assert_ne!(generate(1).steps, generate(2).steps);
    }

    #[test]
    fn a_schedule_has_some_fifty_steps_in_the_order_of_time() {
        for seed in 0..200 {
            let schedule = generate(seed);
            assert!(
                schedule.steps.len() >= STEPS.0 && schedule.steps.len() < 130,
                "{}",
                schedule.steps.len()
            );
            assert!(schedule.steps.windows(2).all(|two| two[0].at <= two[1].at));
            assert!(schedule.end() < Duration::from_hours(1), "{:?}", schedule.end());
            let text = serde_json::to_string(&schedule).unwrap();
            assert_eq!(serde_json::from_str::<Schedule>(&text).unwrap(), schedule);
        }
    }

    #[test]
    fn generated_schedules_contain_every_step_and_kind() {
        let mut seen = BTreeSet::new();
        let mut kinds = BTreeSet::new();
        for seed in 0..400 {
            for step in generate(seed).steps {
                if let Action::Operation(Operation::Apply { object }) = &step.action {
                    kinds.insert(object["kind"].as_str().unwrap().to_owned());
                }
                let json = serde_json::to_value(&step.action).unwrap();
                let inner = json.as_object().unwrap().values().next().unwrap();
                let name = inner.as_str().map_or_else(
                    || inner.as_object().unwrap().keys().next().unwrap().clone(),
                    ToOwned::to_owned,
                );
                seen.insert(name);
            }
        }
        assert_eq!(seen.len(), 25 + 19, "{seen:?}");
        assert_eq!(kinds.len(), 14 + 5, "{kinds:?}");
    }
}
