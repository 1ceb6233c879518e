//! Openings: short sequences of steps to a state from which much can go wrong, such as a plan that waits for approval or a
//! replacement of which one half exists. Random steps alone reach such a state rarely; after an opening, they continue from it.

use std::time::Duration;

use serde_json::{Value, json};

use super::AWS;
use super::operations::{People, forged_state, missing_id};
use super::rng::Rng;
use super::stack::name_of;
use crate::schedule::{Action, Controller, Fault, Lost, ObjectName, Operation, Propagation, Remote, Tamper};

/// Actions, each with the time since the one before.
type Opening = Vec<(Duration, Action)>;

/// A random opening. Objects that it needs and that the stack does not have are added to the stack.
pub(crate) fn opening(rng: &mut Rng, people: &mut People) -> Opening {
    match rng.below(11) {
        0 | 1 => adoption(rng, people),
        2 | 3 => approval(rng, people),
        4 => replacement(rng, people),
        5 => lost_record(rng, people),
        6 => other_place(rng, people),
        7 => burst(rng, people),
        8 => loss_of_a_kind(rng, people),
        9 => drift(rng, people),
        _ => forged_state_and_owner(rng, people),
    }
}

fn seconds(rng: &mut Rng, least: u64, most: u64) -> Duration {
    rng.time(Duration::from_secs(least), Duration::from_secs(most))
}

fn millis(rng: &mut Rng, most: u64) -> Duration {
    rng.time(Duration::from_millis(1), Duration::from_millis(most))
}

fn edit(object: &ObjectName, path: &str, value: Value) -> Action {
    Operation::Edit { object: object.clone(), path: path.to_owned(), value: Some(value) }.into()
}

fn delete(object: &ObjectName) -> Action {
    Operation::Delete { object: object.clone(), propagation: Propagation::Background }.into()
}

fn approve(object: &ObjectName, stale: bool) -> Action {
    Operation::Approve { object: object.clone(), stale }.into()
}

/// Adds a manifest to the stack, so that later steps are about it too, and applies it.
fn added(people: &mut People, kind: &str, name: &str, spec: &Value) -> (ObjectName, Action) {
    let object = json!({
        "apiVersion": AWS, "kind": kind,
        "metadata": {"name": name, "namespace": people.stack.namespace},
        "spec": spec,
    });
    people.stack.objects.push(object.clone());
    (name_of(&object), Operation::Apply { object }.into())
}

/// A spec that fits an object that [`Operation::CreateRemote`] creates, or asks for one more than that.
fn of_outside(rng: &mut Rng, kind: &str) -> Value {
    match kind {
        "VPC" => json!({"cidrBlock": {"value": "10.50.0.0/16"}}),
        "Volume" => json!({"availabilityZone": {"value": "us-east-1a"}, "sizeGiB": {"value": 8}}),
        "EC2Instance" => json!({
            "imageID": {"value": "ami-12c6146b"}, "instanceType": {"value": "t3.micro"},
            "minCount": {"value": 1}, "maxCount": {"value": rng.one([1, 2, 3])},
        }),
        _ => json!({}),
    }
}

/// An object is adopted, perhaps by two resources at once; then the resource is scaled, replaced or deleted.
fn adoption(rng: &mut Rng, people: &mut People) -> Opening {
    let kind = rng.one(["EC2Instance", "EC2Instance", "VPC", "Volume", "ElasticIP"]);
    let remote = people.remote_name(kind);
    let create = Operation::CreateRemote { kind: kind.to_owned(), name: remote.clone(), tags_of: None };
    let mut spec = of_outside(rng, kind);
    spec["lifecycle"] = json!({"adopt": {"tags": {"Name": remote}}});
    if rng.chance(30) {
        spec["lifecycle"]["approval"] = json!("Manual");
    }
    let (adopter, apply) = added(people, kind, "adopter", &spec);
    // The object is old enough that nobody confuses it with a launch.
    let mut steps: Opening = vec![(millis(rng, 100), create.into()), (seconds(rng, 15, 30), apply)];
    if rng.chance(40) {
        let (rival, apply) = added(people, kind, "rival", &spec);
        steps.push((millis(rng, 100), apply));
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

/// A plan is approved and carried out, and another one is shown while the approval of the first is still there.
fn approval(rng: &mut Rng, people: &mut People) -> Opening {
    let object = people.spoke_object(rng);
    let team = |value: &str| edit(&object, "/spec/tags/Team", json!(value));
    let mut steps: Opening = vec![
        (millis(rng, 500), edit(&object, "/spec/lifecycle/approval", json!("Manual"))),
        (seconds(rng, 2, 10), team("first")),
        (seconds(rng, 4, 20), approve(&object, false)),
        (seconds(rng, 4, 30), team("second")),
    ];
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

/// Several instances are replaced, and each launch gets only one.
fn replacement(rng: &mut Rng, people: &mut People) -> Opening {
    let mut spec = of_outside(rng, "EC2Instance");
    spec["maxCount"] = json!({"value": rng.one([2, 3])});
    spec["lifecycle"] = json!({"replace": rng.one(["DeleteFirst", "CreateFirst"])});
    let (object, apply) = added(people, "EC2Instance", "replaced", &spec);
    let fewer = Fault::PartialLaunches { most: 1, lasts: seconds(rng, 20, 60) };
    let image = edit(&object, "/spec/imageID", json!({"value": "ami-0b301ce3ce3475b4f"}));
    let mut steps: Opening = vec![
        (millis(rng, 500), apply),
        (seconds(rng, 10, 40), fewer.into()),
        (millis(rng, 500), image),
        (seconds(rng, 1, 20), edit(&object, "/spec/tags/Team", json!("web"))),
    ];
    if rng.chance(30) {
        steps.push((
            millis(rng, 3000),
            Fault::Kill { controller: Controller::Ec2Instance, down: millis(rng, 5000) }.into(),
        ));
    }
    steps
}

/// The record of a resource is lost, or names an object that does not exist, while its controller is down.
fn lost_record(rng: &mut Rng, people: &mut People) -> Opening {
    let object = people.spoke_object(rng);
    let strip = |lost: Lost| Action::from(Operation::Strip { object: object.clone(), lost });
    let down = Fault::Kill { controller: Controller::of(&object.kind), down: seconds(rng, 5, 30) };
    let mut steps: Opening = vec![(seconds(rng, 10, 60), down.into())];
    if rng.chance(50) {
        steps.extend(
            [Lost::Finalizers, Lost::Annotations, Lost::Status].map(|lost| (millis(rng, 500), strip(lost))),
        );
    } else {
        let status = json!({"externalIds": [missing_id(&object.kind)]});
        let forge = Operation::ForgeStatus { object: object.clone(), status };
        steps.push((millis(rng, 500), forge.into()));
        if rng.chance(50) {
            steps.push((millis(rng, 500), strip(Lost::Intent)));
        }
    }
    if rng.chance(30) {
        steps.push((seconds(rng, 10, 60), delete(&object)));
    }
    steps
}

/// A controller works in another region or account for a while.
fn other_place(rng: &mut Rng, people: &mut People) -> Opening {
    let object = people.spoke_object(rng);
    let controller = Controller::of(&object.kind);
    let is_region = rng.chance(50);
    let restart = |region: &str, account: &str| {
        let region = is_region.then(|| region.to_owned());
        let account = (!is_region).then(|| account.to_owned());
        Action::from(Operation::Restart { controller, region, account })
    };
    let edited = edit(&object, "/spec/tags/Team", json!("elsewhere"));
    let mut steps: Opening = vec![
        (seconds(rng, 5, 40), restart("eu-west-1", "222222222222")),
        (seconds(rng, 1, 20), if rng.chance(50) { edited } else { delete(&object) }),
    ];
    if rng.chance(80) {
        steps.push((seconds(rng, 20, 90), restart("us-east-1", "123456789012")));
    }
    steps
}

/// Edits of one object in quick succession, as by a tool that applies a rollout, without a resync that would repair a missed
/// one.
fn burst(rng: &mut Rng, people: &mut People) -> Opening {
    let object = people.spoke_object(rng);
    let keys = people.stack.sources.keys();
    let mut steps: Opening = vec![
        (millis(rng, 500), edit(&object, "/spec/lifecycle/resyncInterval", json!("0"))),
        (seconds(rng, 5, 20), edit(&object, "/spec/tags/Team", json!("burst-0"))),
    ];
    for number in 1..rng.between(3, 7) {
        let team = edit(&object, "/spec/tags/Team", json!(format!("burst-{number}")));
        steps.push((millis(rng, 400), team));
    }
    if let Some((kind, name, key, text)) = rng.pick(&keys).cloned() {
        let target = ObjectName::new(&people.stack.namespace, kind, &name);
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

/// Every remote object of one kind is deleted at once, often of enough resources that nothing is recreated until a person
/// confirms the loss, perhaps only for some of them.
fn loss_of_a_kind(rng: &mut Rng, people: &mut People) -> Opening {
    let are_many = rng.chance(70);
    let kind = if are_many {
        rng.one(["ElasticIP", "Volume", "EC2Instance", "VPC"]).to_owned()
    } else {
        people.spoke_object(rng).kind
    };
    let mut steps: Opening = vec![];
    for number in 0..if are_many { 5 } else { 0 } {
        let mut spec = of_outside(rng, &kind);
        if kind == "VPC" {
            spec["cidrBlock"] = json!({"value": format!("10.{}.0.0/16", 60 + number)});
        }
        let (_, apply) = added(people, &kind, &format!("many-{number}"), &spec);
        steps.push((millis(rng, 100), apply));
    }
    let names: Vec<ObjectName> = people.stack.names().into_iter().filter(|name| name.kind == kind).collect();
    // Long enough that all are in place.
    let mut pause = seconds(rng, 15, 90);
    for name in &names {
        let lost = Operation::TamperRemote { remote: Remote::Of(name.clone(), 0), tamper: Tamper::Delete };
        steps.push((std::mem::replace(&mut pause, Duration::from_millis(1)), lost.into()));
    }
    if are_many {
        pause = seconds(rng, 40, 180);
        for name in names.into_iter().take(rng.one([1, 3, 9])) {
            let annotation = "creation-confirmed-at".to_owned();
            steps.push((
                std::mem::replace(&mut pause, Duration::from_millis(500)),
                Operation::Annotate { object: name, annotation }.into(),
            ));
        }
    }
    steps
}

/// A property that cannot be changed back drifts, of a resource that may be replaced.
fn drift(rng: &mut Rng, people: &mut People) -> Opening {
    let mut spec = of_outside(rng, "Volume");
    spec["lifecycle"] = json!({"replace": rng.one(["DeleteFirst", "CreateFirst"])});
    let (object, apply) = added(people, "Volume", "drifting", &spec);
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

/// A state is edited while its controller is down, and a ConfigMap of a user gets an export as its owner.
fn forged_state_and_owner(rng: &mut Rng, people: &mut People) -> Opening {
    let object = people.spoke_object(rng);
    let state = format!("{}.aws.{}", object.kind.to_lowercase(), object.name);
    let state = ObjectName::new(&object.namespace, "StateDeclaration", &state);
    let (data, id) = forged_state(&object.kind);
    let down = Fault::Kill { controller: Controller::of(&object.kind), down: seconds(rng, 2, 20) };
    let namespace = people.stack.namespace.clone();
    let mine = |kind: &str, name: &str| ObjectName::new(&namespace, kind, name);
    let own = Operation::Own {
        object: mine("ConfigMap", rng.one(["settings", "extra"])),
        owner: mine("ConfigExport", "export-0"),
    };
    vec![
        (seconds(rng, 5, 30), down.into()),
        (millis(rng, 500), edit(&state, "/spec/data", data)),
        (millis(rng, 500), edit(&state, "/spec/id", id)),
        (seconds(rng, 1, 20), own.into()),
        (seconds(rng, 1, 20), edit(&mine("ConfigExport", "export-0"), "/spec/whileWaiting", json!("Keep"))),
    ]
}
