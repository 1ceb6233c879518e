//! The whole suite in virtual time, deterministic for a seed.
#![allow(clippy::unwrap_used)] // a panic fails the test

use std::time::Duration;

use kraken_simulation::engine::{Checker, Event, Simulation, Unchecked, View, Violation};
use kraken_simulation::schedule::{
    CallMatch, Controller, Fault, Moment, Operation, Propagation, Schedule, Settings, Side, Step,
};
use serde_json::{Value, json};

const AWS: &str = "aws.kraken-iac.eoinfennessy.com";

fn manifest(kind: &str, name: &str, spec: &Value) -> Value {
    let group = if kind == "ConfigExport" { "configexport.kraken-iac.eoinfennessy.com" } else { AWS };
    json!({
        "apiVersion": format!("{group}/v1alpha1"),
        "kind": kind,
        "metadata": {"namespace": "default", "name": name},
        "spec": spec,
    })
}

fn stack() -> Vec<Value> {
    vec![
        manifest("VPC", "main", &json!({"cidrBlock": {"value": "10.0.0.0/16"}})),
        manifest(
            "Subnet",
            "a",
            &json!({"vpcID": {"valueFrom": {"ref": "vpc/main"}}, "cidrBlock": {"value": "10.0.1.0/24"}}),
        ),
        manifest(
            "EC2Instance",
            "web",
            &json!({
                "imageID": {"value": "ami-0123456789abcdef0"},
                "instanceType": {"value": "t3.micro"},
                "minCount": {"value": 1},
                "maxCount": {"value": 2},
                "subnetID": {"valueFrom": {"ref": "Subnet/a"}},
            }),
        ),
        manifest(
            "ConfigExport",
            "ids",
            &json!({
                "configType": "ConfigMap",
                "configMetadata": {"name": "ids"},
                "entries": [{"key": "subnet", "valueFrom": {"ref": "Subnet/a"}}],
            }),
        ),
    ]
}

fn at(millis: u64, action: impl Into<kraken_simulation::schedule::Action>) -> Step {
    Step { at: Duration::from_millis(millis), action: action.into() }
}

fn applied() -> Vec<Step> {
    let apply = |(number, object): (usize, Value)| at(100 * number as u64, Operation::Apply { object });
    stack().into_iter().enumerate().map(apply).collect()
}

/// Everything is Ready in the end, and afterwards nothing is left.
struct Ready;

fn wrong(view: &View<'_>, message: String) -> Violation {
    Violation { at: view.now, invariant: "ready".to_owned(), message }
}

impl Ready {
    fn objects(view: &View<'_>) -> Vec<std::sync::Arc<Value>> {
        let is_ours = |object: &std::sync::Arc<Value>| {
            let kind = object["kind"].as_str().unwrap_or_default();
            ["VPC", "Subnet", "EC2Instance", "ConfigExport"].contains(&kind)
        };
        view.api.all_objects().into_iter().filter(is_ours).collect()
    }
}

impl Checker for Ready {
    fn event(&mut self, _: &View<'_>, _: &Event) -> Vec<Violation> {
        vec![]
    }

    fn settled(&mut self, view: &View<'_>) -> Vec<Violation> {
        let objects = Self::objects(view);
        let mut found = vec![];
        if objects.len() != 4 {
            found.push(wrong(view, format!("{} objects", objects.len())));
        }
        for object in objects {
            let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
            let ready = conditions.iter().find(|condition| condition["type"] == "Ready");
            if ready.is_none_or(|ready| ready["status"] != "True") {
                found.push(wrong(view, format!("{}: {}", object["kind"], object["status"])));
            }
        }
        found
    }

    fn teardown(&mut self, _: &View<'_>) -> Vec<Operation> {
        let delete = |object: Value| {
            let text =
                |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
            let name = format!("default/{}/{}", text("/kind"), text("/metadata/name"));
            Operation::Delete { object: name.parse().unwrap(), propagation: Propagation::Background }
        };
        stack().into_iter().map(delete).collect()
    }

    fn emptied(&mut self, view: &View<'_>) -> Vec<Violation> {
        Self::objects(view).into_iter().map(|object| wrong(view, format!("left: {object}"))).collect()
    }
}

fn schedule(seed: u64, faults: Vec<Step>) -> Schedule {
    Schedule { seed, settings: Settings::default(), opening: None, steps: [applied(), faults].concat() }
}

#[test]
fn stack_becomes_ready_and_is_deleted_in_virtual_time() {
    let report = Simulation::run(&schedule(1, vec![]), Box::new(Ready));
    assert!(report.is_passed(), "{}\n{:#?}", report.trace, report.violations);
    assert!(report.statistics.requests > 100, "{:?}", report.statistics);
    eprintln!("{:?}", report.statistics);
}

/// Something is left in the end, although there was nothing to delete.
struct Left;

impl Checker for Left {
    fn event(&mut self, _: &View<'_>, _: &Event) -> Vec<Violation> {
        vec![]
    }

    fn emptied(&mut self, view: &View<'_>) -> Vec<Violation> {
        vec![wrong(view, "left".to_owned())]
    }
}

#[test]
fn what_is_left_is_a_violation_if_there_is_nothing_to_delete() {
    let empty = Schedule { seed: 1, settings: Settings::default(), opening: None, steps: vec![] };
    let report = Simulation::run(&empty, Box::new(Left));
    assert_eq!(report.violations.len(), 1, "{}", report.trace);
}

fn crashes() -> Vec<Step> {
    let call = |side, action: &str, nth| CallMatch { side, action: action.to_owned(), nth };
    let down = Duration::from_secs(2);
    let crash = |controller, call, moment| Fault::Crash { controller, call, moment, down };
    vec![
        at(50, crash(Controller::Vpc, call(Side::Cloud, "CreateVpc", 1), Moment::After)),
        at(50, crash(Controller::Ec2Instance, call(Side::Cloud, "RunInstances", 1), Moment::Before)),
        at(50, crash(Controller::Hub, call(Side::Kube, "writes", 3), Moment::After)),
        at(60, Fault::Replica { controller: Controller::Vpc, lasts: Duration::from_mins(2) }),
        at(70, Fault::Suspend { controller: Controller::Ec2Instance, lasts: Duration::from_secs(20) }),
        at(30_000, Fault::CutWatches { controller: Controller::Hub }),
        at(31_000, Fault::Compact),
    ]
}

#[test]
fn same_seed_gives_the_same_trace_byte_for_byte() {
    for seed in 1..=2 {
        let run = || Simulation::run(&schedule(seed, crashes()), Box::new(Ready));
        let (one, other) = (run(), run());
        assert!(one.is_passed(), "seed {seed}\n{}\n{:#?}", one.trace, one.violations);
        let (one, other) = (one.trace.to_string(), other.trace.to_string());
        let differs = one.lines().zip(other.lines()).enumerate().find(|(_, (one, other))| one != other);
        assert!(one == other, "seed {seed} differs at line {differs:?}");
        assert!(one.lines().count() > 300, "{one}");
    }
}

#[test]
fn other_seeds_give_other_traces() {
    let run = |seed| Simulation::run(&schedule(seed, vec![]), Box::new(Ready)).trace.to_string();
    assert_ne!(run(1), run(2));
}

/// `KRAKEN_SEEDS=1..100`; unset a few.
fn seeds() -> std::ops::RangeInclusive<u64> {
    let text = std::env::var("KRAKEN_SEEDS").unwrap_or_else(|_| "1..2".to_owned());
    let (first, last) = text.split_once("..").unwrap();
    first.parse().unwrap()..=last.parse().unwrap()
}

#[test]
fn generated_schedules_give_the_same_trace_twice() {
    for seed in seeds() {
        let schedule = kraken_simulation::generate::generate(seed);
        let run = || Simulation::run(&schedule, Box::new(Unchecked));
        let begin = std::time::Instant::now();
        let (one, other) = (run(), run());
        eprintln!("seed {seed}: {:?}, {:?}", begin.elapsed() / 2, one.statistics);
        assert_eq!(one.violations, other.violations);
        let (one, other) = (one.trace.to_string(), other.trace.to_string());
        let lines = || one.lines().zip(other.lines()).enumerate();
        if let Some((number, (one, other))) = lines().find(|(_, (one, other))| one != other) {
            let before: Vec<_> = lines().take(number).map(|(_, (line, _))| line).collect();
            let before = before[before.len().saturating_sub(20)..].join("\n");
            panic!("seed {seed} differs at line {number} after\n{before}\none:   {one}\nother: {other}");
        }
        assert_eq!(one.len(), other.len(), "seed {seed}");
    }
}
