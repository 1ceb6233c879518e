//! A look-up under faults: what it finds changes, becomes ambiguous and is lost, while its controller crashes and calls fail. What it
//! publishes changes only when a person approves it, and nothing in the cloud is changed.
#![allow(clippy::unwrap_used)] // a panic fails the test

use std::time::Duration;

use kraken_simulation::engine::{Caller, Checker, Event, Simulation, View, Violation};
use kraken_simulation::schedule::{
    Action, CallMatch, Controller, Fault, Moment, ObjectName, Operation, Propagation, Remote, Schedule,
    Settings, Side, Step, Tamper,
};
use kraken_simulator::hook::{Answer, Call};
use serde_json::{Value, json};

/// When a person approves the plan.
const APPROVED_AT: Duration = Duration::from_mins(10);

fn name() -> ObjectName {
    ObjectName::new("default", "VPCLookup", "shared")
}

fn at(seconds: u64, action: impl Into<Action>) -> Step {
    Step { at: Duration::from_secs(seconds), action: action.into() }
}

fn made(name: &str) -> Operation {
    Operation::CreateRemote { kind: "VPC".to_owned(), name: name.to_owned(), tags_of: None }
}

fn tampered(name: &str, tamper: Tamper) -> Operation {
    Operation::TamperRemote { remote: Remote::Named(name.to_owned()), tamper }
}

/// The VPC `shared` is found; `other` is then found too, and is the only one left in the end.
fn operations() -> Vec<Step> {
    let object = json!({
        "apiVersion": "aws.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "VPCLookup",
        "metadata": {"namespace": "default", "name": "shared"},
        "spec": {"tags": {"Name": "shared"}},
    });
    let named = Tamper::Tag { key: "Name".to_owned(), value: Some("shared".to_owned()) };
    vec![
        at(0, Operation::Apply { object }),
        at(30, made("shared")),
        at(200, made("other")),
        at(210, tampered("other", named)),
        at(400, tampered("shared", Tamper::Delete)),
        at(APPROVED_AT.as_secs(), Operation::Approve { object: name(), stale: false }),
    ]
}

fn faults(seed: u32) -> Vec<Step> {
    let call = |side, action: &str, nth| CallMatch { side, action: action.to_owned(), nth };
    let controller = Controller::Vpc;
    let moment = if seed.is_multiple_of(2) { Moment::Before } else { Moment::After };
    let crash = |call| Fault::Crash { controller, call, moment, down: Duration::from_secs(2) };
    let lose =
        |action: &str, times| Fault::Lose { controller, call: call(Side::Cloud, action, 1), moment, times };
    vec![
        at(20, crash(call(Side::Kube, "writes", seed % 4 + 1))),
        at(180 + u64::from(seed), lose("DescribeVpcs", 3)),
        at(300, crash(call(Side::Cloud, "DescribeVpcs", 1))),
        at(420 + u64::from(seed), lose("DescribeVpcs", 1)),
        at(590 + u64::from(seed), crash(call(Side::Kube, "writes", seed % 3 + 1))),
        at(700, Fault::Kill { controller, down: Duration::from_secs(1) }),
    ]
}

/// What the look-up publishes, by time.
#[derive(Default)]
struct Kept {
    published: Option<String>,
}

fn violation(view: &View<'_>, message: String) -> Violation {
    Violation { at: view.now, invariant: "kept".to_owned(), message }
}

fn object(view: &View<'_>, kind: &str) -> Option<Value> {
    view.api.all_objects().into_iter().find(|object| object["kind"] == kind).map(|object| (*object).clone())
}

fn condition<'a>(lookup: &'a Value, kind: &str) -> &'a Value {
    let conditions = lookup["status"]["conditions"].as_array().into_iter().flatten();
    conditions.into_iter().find(|condition| condition["type"] == kind).unwrap_or(&Value::Null)
}

impl Checker for Kept {
    fn event(&mut self, view: &View<'_>, _: &Event) -> Vec<Violation> {
        let now = object(view, "StateDeclaration")
            .and_then(|state| state["spec"]["id"].as_str().map(str::to_owned));
        if now == self.published {
            return vec![];
        }
        let is_first = self.published.is_none();
        let before = std::mem::replace(&mut self.published, now.clone());
        // The state of a deleted look-up is deleted, too.
        if is_first || view.now >= APPROVED_AT || object(view, "VPCLookup").is_none() {
            return vec![];
        }
        vec![violation(view, format!("{before:?} became {now:?} without an approval"))]
    }

    fn called(&mut self, view: &View<'_>, _: &Caller, side: Side, call: &Call, _: &Answer) -> Vec<Violation> {
        if side == Side::Kube || !call.writes {
            return vec![];
        }
        vec![violation(view, format!("{} was called", call.name))]
    }

    fn settled(&mut self, view: &View<'_>) -> Vec<Violation> {
        let Some(lookup) = object(view, "VPCLookup") else { return vec![violation(view, "gone".to_owned())] };
        let is_wrong = condition(&lookup, "Ready")["status"] != "True"
            || !condition(&lookup, "UpdateAvailable").is_null()
            || lookup["status"]["answer"]["ids"][0].as_str() != self.published.as_deref()
            || !lookup["metadata"]["finalizers"].is_null();
        if is_wrong { vec![violation(view, lookup.to_string())] } else { vec![] }
    }

    fn teardown(&mut self, _: &View<'_>) -> Vec<Operation> {
        vec![Operation::Delete { object: name(), propagation: Propagation::Background }]
    }

    fn emptied(&mut self, view: &View<'_>) -> Vec<Violation> {
        object(view, "VPCLookup").map(|left| violation(view, left.to_string())).into_iter().collect()
    }
}

fn run(seed: u64, faults: Vec<Step>) -> kraken_simulation::engine::Report {
    let steps = [operations(), faults].concat();
    let schedule = Schedule { seed, settings: Settings::default(), opening: None, steps };
    Simulation::run(&schedule, Box::new(Kept::default()))
}

#[test]
fn a_lookup_keeps_its_answer_until_an_approval_whatever_fails() {
    for seed in 1..=8_u32 {
        let report = run(seed.into(), faults(seed));
        assert!(report.is_passed(), "seed {seed}\n{}\n{:#?}", report.trace, report.violations);
    }
}

#[test]
fn a_lookup_publishes_another_answer_only_because_of_the_approval() {
    let mut steps = operations();
    steps.pop();
    let schedule = Schedule { seed: 1, settings: Settings::default(), opening: None, steps };
    let report = Simulation::run(&schedule, Box::new(Kept::default()));
    // It is not ready in the end: its answer is lost.
    let lost =
        |violation: &Violation| violation.invariant == "kept" && violation.message.contains("AnswerLost");
    assert!(report.violations.iter().any(lost), "{}\n{:#?}", report.trace, report.violations);
    assert_eq!(report.violations.len(), 1, "{:#?}", report.violations);
}
