//! Openings with launches: adoptions, replacements and losses.

use std::time::Duration;

use serde_json::json;

use super::{Opening, added, adoptable_spec, approve, delete, edit, millis, seconds};
use crate::generate::users::Users;
use crate::random::Random;
use crate::schedule::{CallMatch, Controller, Fault, Moment, ObjectName, Operation, Remote, Side, Tamper};

/// An object is adopted, perhaps by two resources at once; then the resource is scaled, replaced or deleted.
pub(super) fn adoption(rng: &mut Random, users: &mut Users) -> Opening {
    let kind = rng.one(["EC2Instance", "EC2Instance", "VPC", "Volume", "ElasticIP"]);
    let remote = users.remote_name(kind);
    let create = Operation::CreateRemote { kind: kind.to_owned(), name: remote.clone(), tags_of: None };
    let mut spec = adoptable_spec(rng, kind);
    spec["lifecycle"] = json!({"adopt": {"tags": {"Name": remote}}});
    let has_rival = rng.chance(50);
    // Two that wait for an approval do not adopt it at once.
    if rng.chance(if has_rival { 10 } else { 30 }) {
        spec["lifecycle"]["approval"] = json!("Manual");
    }
    let (adopter, apply) = added(users, kind, "adopter", &spec);
    // The object is old enough that nobody confuses it with a launch.
    let mut steps: Opening = vec![(millis(rng, 100), create.into()), (seconds(rng, 15, 30), apply)];
    if has_rival {
        let (rival, apply) = added(users, kind, "rival", &spec);
        // At once, or while changed tags may not be visible.
        let most = rng.one([60, 60, 3000]);
        steps.push((millis(rng, most), apply));
        steps.push((seconds(rng, 2, 10), approve(&rival, false)));
    }
    steps.push((seconds(rng, 2, 15), approve(&adopter, false)));
    let settled = seconds(rng, 10, 60);
    match rng.below(4) {
        0 if kind == "EC2Instance" => {
            let scale = Operation::Scale { object: adopter.clone(), replicas: rng.one([0, 1, 3]) };
            steps.push((settled, scale.into()));
        }
        1 => steps.push((settled, edit(&adopter, "/spec/lifecycle/replace", json!("CreateFirst")))),
        _ => steps.push((settled, delete(&adopter))),
    }
    steps
}

/// Several instances are replaced, and each launch gets only one. Perhaps a user copies the owner tags to another instance
/// meanwhile, so that there are more than the spec and the replacement account for.
pub(super) fn replacement(rng: &mut Random, users: &mut Users) -> Opening {
    let mut spec = adoptable_spec(rng, "EC2Instance");
    spec["maxCount"] = json!({"value": rng.one([2, 3])});
    spec["lifecycle"] = json!({"replace": rng.one(["DeleteFirst", "CreateFirst"])});
    let (object, apply) = added(users, "EC2Instance", "replaced", &spec);
    let fewer = Fault::PartialLaunches { most: 1, lasts: seconds(rng, 20, 60) };
    let image = edit(&object, "/spec/imageID", json!({"value": "ami-0b301ce3ce3475b4f"}));
    let mut steps: Opening = vec![
        (millis(rng, 500), apply),
        (seconds(rng, 10, 40), fewer.into()),
        (millis(rng, 500), image),
        (seconds(rng, 1, 20), edit(&object, "/spec/tags/Team", json!("web"))),
    ];
    if rng.chance(40) {
        let (kind, name) = (object.kind.clone(), users.remote_name(&object.kind));
        let copy = Operation::CreateRemote { kind, name, tags_of: Some(object) };
        steps.insert(3, (millis(rng, 2000), copy.into()));
    }
    if rng.chance(30) {
        steps.push((
            millis(rng, 3000),
            Fault::Kill { controller: Controller::Ec2Instance, down: millis(rng, 5000) }.into(),
        ));
    }
    steps
}

/// Every remote object of one kind is deleted at once, often of enough resources that nothing is recreated until a person
/// confirms the loss, perhaps only for some of them.
pub(super) fn loss_of_a_kind(rng: &mut Random, users: &mut Users) -> Opening {
    let are_many = rng.chance(70);
    let kind = if are_many {
        rng.one(["ElasticIP", "Volume", "EC2Instance", "VPC"]).to_owned()
    } else {
        users.spoke_object(rng).kind
    };
    let mut steps: Opening = vec![];
    for number in 0..if are_many { 5 } else { 0 } {
        let mut spec = adoptable_spec(rng, &kind);
        if kind == "VPC" {
            spec["cidrBlock"] = json!({"value": format!("10.{}.0.0/16", 60 + number)});
        }
        let (_, apply) = added(users, &kind, &format!("many-{number}"), &spec);
        steps.push((millis(rng, 100), apply));
    }
    let names: Vec<ObjectName> = users.stack.names().into_iter().filter(|name| name.kind == kind).collect();
    // Long enough that all are in place.
    let mut pause = seconds(rng, 15, 90);
    for name in &names {
        let lost = Operation::TamperRemote { remote: Remote::Of(name.clone(), 0), tamper: Tamper::Delete };
        steps.push((std::mem::replace(&mut pause, Duration::from_millis(1)), lost.into()));
    }
    if are_many {
        pause = seconds(rng, 40, 180);
        for name in names.into_iter().take(rng.one([1, 3, 5])) {
            let annotation = "creation-confirmed-at".to_owned();
            steps.push((
                std::mem::replace(&mut pause, Duration::from_millis(500)),
                Operation::Annotate { object: name, annotation }.into(),
            ));
        }
    }
    steps
}

/// An instance is terminated again whenever it was recreated, as by a tool that enforces a budget.
pub(super) fn repeated_deletion(rng: &mut Random, users: &mut Users) -> Opening {
    let mut spec = adoptable_spec(rng, "EC2Instance");
    spec["lifecycle"] = json!({"resyncInterval": "5s"});
    let (object, apply) = added(users, "EC2Instance", "unwanted", &spec);
    let mut steps: Opening = vec![(millis(rng, 500), apply)];
    for _ in 0..rng.between(3, 7) {
        let lost = Operation::TamperRemote { remote: Remote::Of(object.clone(), 0), tamper: Tamper::Delete };
        steps.push((seconds(rng, 12, 40), lost.into()));
    }
    steps
}

/// The controller crashes before it gets the response to a launch, and the instance is terminated before it starts again.
pub(super) fn forgotten_launch(rng: &mut Random, users: &mut Users) -> Opening {
    let (object, apply) = added(users, "EC2Instance", "forgotten", &adoptable_spec(rng, "EC2Instance"));
    let call = CallMatch { side: Side::Cloud, action: "RunInstances".to_owned(), nth: 1 };
    let down = seconds(rng, 15, 60);
    let crash = Fault::Crash { controller: Controller::Ec2Instance, call, moment: Moment::After, down };
    let lost = Operation::TamperRemote { remote: Remote::Of(object, 0), tamper: Tamper::Delete };
    vec![(seconds(rng, 10, 30), crash.into()), (millis(rng, 500), apply), (seconds(rng, 1, 4), lost.into())]
}

/// The responses to the calls that create objects of kinds without idempotency tokens are lost. Where new objects are not
/// visible at once, only the time shows whether they were created.
pub(super) fn lost_responses(rng: &mut Random, users: &mut Users) -> Opening {
    let mut steps: Opening = vec![];
    for (kind, action) in [("VPC", "CreateVpc"), ("ElasticIP", "AllocateAddress")] {
        let (_, apply) = added(users, kind, "unanswered", &adoptable_spec(rng, kind));
        let call = CallMatch { side: Side::Cloud, action: action.to_owned(), nth: 1 };
        let times = rng.one([1, 1, 2]);
        let lose = Fault::Lose { controller: Controller::Vpc, call, moment: Moment::After, times };
        steps.push((seconds(rng, 1, 20), lose.into()));
        steps.push((millis(rng, 100), apply));
    }
    steps
}
