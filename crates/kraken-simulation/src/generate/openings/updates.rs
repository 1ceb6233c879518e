//! Openings with edits and drift.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Opening, added, adoptable_spec, approve, delete, edit, millis, seconds};
use crate::generate::users::Users;
use crate::random::Random;
use crate::schedule::{Action, CallMatch, Controller, Fault, ObjectName, Operation, Remote, Side, Tamper};

/// A plan is approved and carried out, and another one is shown while the approval of the first is still there.
pub(super) fn approval(rng: &mut Random, users: &mut Users) -> Opening {
    let object = users.spoke_object(rng);
    let team = |value: &str| edit(&object, "/spec/tags/Team", json!(value));
    let mut steps: Opening = vec![
        (millis(rng, 500), edit(&object, "/spec/lifecycle/approval", json!("Manual"))),
        (seconds(rng, 2, 10), team("first")),
        (seconds(rng, 4, 20), approve(&object, false)),
        (seconds(rng, 4, 30), team("second")),
    ];
    if rng.chance(30) {
        // The second plan replaces the first one shortly before the first one is approved. Then the edit is reverted.
        steps.insert(2, (seconds(rng, 4, 20), team("second")));
        steps[3].0 = Duration::from_millis(1);
        steps[4].1 = team("first");
        return steps;
    }
    let pause = seconds(rng, 2, 20);
    steps.push(match rng.below(4) {
        0 => (pause, Operation::ForgePlan { object: object.clone() }.into()),
        1 => (pause, approve(&object, true)),
        // It is edited between the plan and its approval.
        2 => (pause, team("third")),
        _ => (pause, delete(&object)),
    });
    if rng.chance(50) {
        steps.push((millis(rng, 3000), approve(&object, false)));
    }
    steps
}

/// Edits of one object in quick succession, as by a tool that applies a rollout, without a resync that would repair a missed
/// one.
pub(super) fn burst(rng: &mut Random, users: &mut Users) -> Opening {
    let object = users.spoke_object(rng);
    let keys = users.stack.sources.keys();
    let mut steps: Opening = vec![
        (millis(rng, 500), edit(&object, "/spec/lifecycle/resyncInterval", json!("0"))),
        (seconds(rng, 5, 20), edit(&object, "/spec/tags/Team", json!("burst-0"))),
    ];
    for number in 1..rng.between(3, 7) {
        let team = edit(&object, "/spec/tags/Team", json!(format!("burst-{number}")));
        steps.push((millis(rng, 400), team));
    }
    if let Some((kind, name, key, text)) = rng.pick(&keys).cloned() {
        let target = ObjectName::new(&users.stack.namespace, kind, &name);
        let set = |value: Option<String>| {
            Action::from(Operation::SetData { object: target.clone(), key: key.clone(), value })
        };
        steps.push((millis(rng, 500), set(None)));
        steps.push((millis(rng, 20), set(Some(text.clone()))));
        steps.push((millis(rng, 20), set(None)));
        steps.push((millis(rng, 20), set(Some(text))));
    }
    steps
}

/// A property that cannot be changed back drifts, of a resource that may be replaced.
pub(super) fn drift(rng: &mut Random, users: &mut Users) -> Opening {
    let mut spec = adoptable_spec(rng, "Volume");
    spec["lifecycle"] = json!({"replace": rng.one(["DeleteFirst", "CreateFirst"])});
    let (object, apply) = added(users, "Volume", "drifting", &spec);
    // The first change of a volume makes it larger.
    let grow = Operation::TamperRemote {
        remote: Remote::Of(object.clone(), 0),
        tamper: Tamper::Change { number: 0 },
    };
    let mut steps: Opening = vec![(millis(rng, 500), apply), (seconds(rng, 15, 60), grow.into())];
    if rng.chance(50) {
        steps.push((seconds(rng, 10, 60), edit(&object, "/spec/tags/Team", json!("web"))));
    }
    steps
}

/// An instance is stopped for a change. Then the change is reverted, paused or made impossible, or the controller is killed.
pub(super) fn disruption(rng: &mut Random, users: &mut Users) -> Opening {
    let mut spec = adoptable_spec(rng, "EC2Instance");
    spec["lifecycle"] = json!({"disruption": "Allow"});
    let (object, apply) = added(users, "EC2Instance", "resized", &spec);
    let resize = |to: &str| edit(&object, "/spec/instanceType", json!({"value": to}));
    let mut steps: Opening =
        vec![(millis(rng, 500), apply), (seconds(rng, 15, 40), resize(rng.one(["t3.small", "t2.nano"])))];
    let next = match rng.below(5) {
        0 => resize("t3.micro"),
        1 => edit(&object, "/spec/lifecycle/paused", json!(true)),
        2 => edit(&object, "/spec/keyName", json!({"valueFrom": {"ref": "KeyPair/absent"}})),
        3 => Fault::Kill { controller: Controller::Ec2Instance, down: seconds(rng, 1, 20) }.into(),
        _ => return steps,
    };
    steps.push((seconds(rng, 1, 15), next));
    steps
}

/// Instances of one disruption group are resized, and the calls that stop one of them fail before they stop anything: the others
/// need not wait for it.
pub(super) fn failed_disruption(rng: &mut Random, users: &mut Users) -> Opening {
    let mut steps: Opening = vec![];
    let mut objects = vec![];
    for name in ["first", "second", "third"].into_iter().take(rng.one([2, 3])) {
        let mut spec = adoptable_spec(rng, "EC2Instance");
        spec["lifecycle"] = json!({"disruption": "Allow"});
        if rng.chance(40) {
            spec["lifecycle"]["maxUnavailable"] = json!(rng.one([1, 2, 2]));
        }
        let (object, apply) = added(users, "EC2Instance", name, &spec);
        steps.push((millis(rng, 500), apply));
        objects.push(object);
    }
    let call = CallMatch { side: Side::Cloud, action: "StopInstances".to_owned(), nth: 1 };
    let fault = Fault::Fail {
        controller: Controller::Ec2Instance,
        call,
        code: rng.one(["UnsupportedOperation", "IncorrectInstanceState", "InternalError"]).to_owned(),
        times: rng.one([1, 1, 3, 20]),
    };
    steps.push((seconds(rng, 20, 60), fault.into()));
    for object in &objects {
        let resize = edit(object, "/spec/instanceType", json!({"value": "t3.small"}));
        steps.push((millis(rng, 1000), resize));
    }
    if rng.chance(40) {
        let revert = edit(&objects[0], "/spec/instanceType", json!({"value": "t3.micro"}));
        steps.push((seconds(rng, 1, 20), revert));
    }
    if rng.chance(30) {
        let down = seconds(rng, 1, 20);
        steps.push((millis(rng, 5000), Fault::Kill { controller: Controller::Ec2Instance, down }.into()));
    }
    steps
}

/// A change in place that reads do not show for longer than it is repeated.
pub(super) fn unseen_change(rng: &mut Random, users: &mut Users) -> Opening {
    let (kind, path, value) = rng.one([
        ("VPC", "/spec/enableDNSHostnames", "true"),
        ("EC2Instance", "/spec/monitoring", "true"),
        ("Volume", "/spec/sizeGiB", "20"),
    ]);
    let (object, apply) = added(users, kind, "unseen", &adoptable_spec(rng, kind));
    let value: Value = serde_json::from_str(value).unwrap_or_default();
    let stale = Fault::Stale { remote: Remote::Of(object.clone(), 0), lasts: seconds(rng, 20, 60) };
    vec![
        (millis(rng, 500), apply),
        (seconds(rng, 15, 60), stale.into()),
        (millis(rng, 500), edit(&object, path, json!({ "value": value }))),
        (seconds(rng, 18, 60), edit(&object, "/spec/tags/Team", json!("web"))),
    ]
}
