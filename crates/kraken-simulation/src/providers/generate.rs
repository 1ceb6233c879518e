//! The schedule of a seed: resources of a provider, what a team does with them, and what fails meanwhile.

use std::time::Duration;

use serde_json::{Value, json};

use super::{KINDS, NAMESPACE};
use crate::provider_types::{NAME, SIZE, ZONE};
use crate::random::Random;
use crate::schedule::{
    CallMatch, Controller, Fault, Moment, ObjectName, Operation, Propagation, Remote, Schedule, Settings,
    Side, Step, Suite, Tamper,
};

/// The API of the kinds.
const API: &str = "tofu.kraken-iac.eoinfennessy.com/v1alpha1";
/// The resources of a kind.
const NAMES: [&str; 3] = ["a", "b", "c"];
/// How many operations and faults there are.
const STEPS: (usize, usize) = (20, 50);
/// How many of a hundred seeds delete the namespace.
const NAMESPACE_DELETIONS: usize = 20;
/// How many of a hundred seeds lose the namespace, and restore it from a backup.
const RESTORES: usize = 25;

/// What the controller calls, and what is called most while something is created.
const KUBE: [&str; 9] = [
    "writes",
    "PATCH secrets",
    "POST secrets",
    "GET secrets",
    "PATCH ktestfiles",
    "PATCH ktestfiles/status",
    "PATCH ktestnotes",
    "PATCH ktestnotes/status",
    "PATCH statedeclarations",
];
const HOST: [&str; 8] = [
    "*",
    "host operate",
    "host operate",
    "host reserve",
    "host recall",
    "host acknowledge",
    "host call PlanResourceChange",
    "host call ReadResource",
];
const SERVICE: [&str; 6] =
    ["service create", "service create", "service delete", "service update", "service find", "*"];

/// The schedule of a seed.
pub fn generate(seed: u64) -> Schedule {
    let mut rng = Random::new(seed);
    let settings = settings(&mut rng);
    let pace = Duration::from_millis(rng.one([200, 1000, 5000]));
    let mut now = Duration::ZERO;
    let mut steps =
        vec![Step { at: now, action: Operation::CreateNamespace { name: NAMESPACE.to_owned() }.into() }];
    let number = rng.between(STEPS.0, STEPS.1);
    let restored_after = rng.chance(RESTORES).then(|| rng.below(number));
    for step in 0..number {
        if restored_after == Some(step) {
            now = restored(&mut rng, now, &mut steps);
        }
        let most = if rng.chance(10) { pace * 20 } else { pace };
        now += rng.time(Duration::from_millis(1), most);
        let action = if rng.chance(60) { operation(&mut rng).into() } else { fault(&mut rng).into() };
        steps.push(Step { at: now, action });
    }
    if rng.chance(NAMESPACE_DELETIONS) {
        now += rng.time(Duration::from_millis(1), pace);
        steps
            .push(Step { at: now, action: Operation::DeleteNamespace { name: NAMESPACE.to_owned() }.into() });
    }
    Schedule { seed, settings, opening: None, steps }
}

/// A backup of the namespace is made, the namespace is lost with all finalizers, and restored with its Secrets. When that is over.
fn restored(rng: &mut Random, mut now: Duration, steps: &mut Vec<Step>) -> Duration {
    let seconds = Duration::from_secs;
    let object = ObjectName::new("", "Namespace", NAMESPACE);
    let save = Operation::SaveManifests { object: object.clone() };
    let (finalizers, status) = (rng.chance(60), rng.chance(40));
    let restore = Operation::RestoreManifests { object: object.clone(), finalizers, status };
    let create = Operation::CreateNamespace { name: NAMESPACE.to_owned() };
    let lose = Operation::Vanish { object };
    let waits = [(save, 20), (lose, 10), (create, 40), (restore, 1)];
    for (operation, most) in waits {
        // The namespace is gone when its controller has looked at it.
        let least =
            if matches!(operation, Operation::CreateNamespace { .. }) { seconds(20) } else { Duration::ZERO };
        now += least + rng.time(Duration::from_millis(1), seconds(most));
        steps.push(Step { at: now, action: operation.into() });
    }
    now + seconds(1)
}

fn settings(rng: &mut Random) -> Settings {
    let seconds = Duration::from_secs;
    let is_late = rng.chance(40);
    Settings {
        suite: Suite::Provider,
        resync_interval: seconds(rng.one([15, 30, 60])),
        launch_limit: 1000,
        replace_timeout: seconds(rng.one([10, 30])),
        concurrency: u32::try_from(rng.one([1_usize, 4, 32])).unwrap_or(32),
        kube_latency: Duration::from_millis(rng.one([1, 5, 30])),
        cloud_latency: Duration::from_millis(rng.one([5, 50, 300])),
        // How long a request may be on its way to the service.
        change_lag: if is_late { rng.time(Duration::from_millis(10), seconds(10)) } else { Duration::ZERO },
        ..Settings::default()
    }
}

fn object(rng: &mut Random) -> ObjectName {
    let (kind, _) = rng.one(KINDS);
    ObjectName::new(NAMESPACE, kind, rng.one(NAMES))
}

fn operation(rng: &mut Random) -> Operation {
    let object = object(rng);
    let set = |path: &str, value: Value| Operation::Edit {
        object: object.clone(),
        path: path.to_owned(),
        value: Some(value),
    };
    let text = |rng: &mut Random| json!({"value": format!("{}", rng.below(5))});
    match rng.below(20) {
        0..8 => Operation::Apply { object: manifest(rng, &object) },
        8..11 => set(&format!("/spec/{SIZE}"), text(rng)),
        11..13 => set(&format!("/spec/{ZONE}"), text(rng)),
        13..16 => Operation::Delete {
            object,
            propagation: rng.one([Propagation::Background, Propagation::Foreground]),
        },
        16 => Operation::Recreate { object: manifest(rng, &object) },
        17 => Operation::TamperRemote { remote: Remote::Of(object, 0), tamper: Tamper::Delete },
        _ => {
            let tamper = Tamper::Change { number: rng.below(9) };
            Operation::TamperRemote { remote: Remote::Of(object, 0), tamper }
        }
    }
}

fn manifest(rng: &mut Random, name: &ObjectName) -> Value {
    let mut spec = json!({
        NAME: {"value": name.name},
        "lifecycle": {"replace": rng.one(["CreateFirst", "CreateFirst", "DeleteFirst"])},
    });
    spec[SIZE] = if name.name != "a" && rng.chance(30) {
        json!({"valueFrom": {"ref": "KtestFile/a/address"}})
    } else {
        json!({"value": format!("{}", rng.below(5))})
    };
    if rng.chance(50) {
        spec[ZONE] = json!({"value": format!("{}", rng.below(3))});
    }
    json!({
        "apiVersion": API, "kind": name.kind,
        "metadata": {"namespace": name.namespace, "name": name.name}, "spec": spec,
    })
}

fn fault(rng: &mut Random) -> Fault {
    let short = |rng: &mut Random| rng.time(Duration::from_millis(10), Duration::from_secs(30));
    let (controller, call) = call(rng);
    let times = u32::try_from(rng.one([1_usize, 1, 1, 2, 5])).unwrap_or(1);
    match rng.below(20) {
        0..6 => {
            let moment = rng.one([Moment::Before, Moment::After]);
            Fault::Crash { controller, call, moment, down: short(rng) }
        }
        6..9 => Fault::Kill { controller, down: short(rng) },
        9..12 => Fault::Lose { controller, call, moment: rng.one([Moment::Before, Moment::After]), times },
        12 => Fault::Delay {
            controller,
            call,
            by: rng.time(Duration::from_millis(100), Duration::from_secs(40)),
            times,
        },
        13 => {
            let call = CallMatch { side: Side::Kube, ..call };
            Fault::Refuse { controller: Controller::Tofu, call, status: rng.one([409, 429, 500, 503]), times }
        }
        14 => Fault::Replica {
            controller: Controller::Tofu,
            lasts: rng.time(Duration::from_secs(5), Duration::from_mins(2)),
        },
        15 => Fault::Suspend { controller, lasts: rng.time(Duration::from_secs(1), Duration::from_mins(1)) },
        16 => Fault::ApiOutage { controller: rng.chance(50).then_some(controller), lasts: short(rng) },
        17 => Fault::CloudOutage { controller: Some(controller), lasts: short(rng) },
        18 => Fault::CutWatches { controller: Controller::Tofu },
        _ => Fault::DelayWatches {
            controller: Controller::Tofu,
            plural: None,
            by: rng.time(Duration::from_millis(50), Duration::from_secs(20)),
            lasts: short(rng),
        },
    }
}

/// A process, and one of its calls.
fn call(rng: &mut Random) -> (Controller, CallMatch) {
    let (controller, side, action) = match rng.below(3) {
        0 => (Controller::Tofu, Side::Kube, rng.one(KUBE)),
        1 => (Controller::Tofu, Side::Cloud, rng.one(HOST)),
        _ => (Controller::TofuHost, Side::Cloud, rng.one(SERVICE)),
    };
    let nth = u32::try_from(rng.one([1_usize, 1, 1, 2, 3])).unwrap_or(1);
    (controller, CallMatch { side, action: action.to_owned(), nth })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::Action;

    #[test]
    fn a_seed_always_gives_the_same_schedule_and_survives_json() {
        for seed in 0..50 {
            let schedule = generate(seed);
            assert_eq!(schedule, generate(seed));
            let text = serde_json::to_string(&schedule).unwrap();
            assert_eq!(serde_json::from_str::<Schedule>(&text).unwrap(), schedule);
            assert!(schedule.steps.windows(2).all(|two| two[0].at <= two[1].at));
            assert!(
                schedule.steps.iter().all(|step| !matches!(&step.action, Action::Fault(Fault::Fail { .. })))
            );
        }
    }
}
