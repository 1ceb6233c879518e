//! Openings with lost or wrong records, tags and places.

use serde_json::json;

use super::{Opening, added, adoptable_spec, delete, edit, millis, seconds};
use crate::generate::CANARY;
use crate::generate::tampering::forged_state;
use crate::generate::users::Users;
use crate::random::Random;
use crate::schedule::{
    Action, CallMatch, Controller, Fault, Lost, ObjectName, Operation, Remote, Side, Tamper,
};

/// The record of a resource is lost while its controller is down.
pub(super) fn lost_record(rng: &mut Random, users: &mut Users) -> Opening {
    let object = users.spoke_object(rng);
    let strip = |lost: Lost| Action::from(Operation::Strip { object: object.clone(), lost });
    let down = Fault::Kill { controller: Controller::of(&object.kind), down: seconds(rng, 5, 30) };
    let mut steps: Opening = vec![(seconds(rng, 10, 60), down.into())];
    steps.extend([Lost::Finalizers, Lost::Status].map(|lost| (millis(rng, 500), strip(lost))));
    if rng.chance(30) {
        steps.push((seconds(rng, 10, 60), delete(&object)));
    }
    steps
}

/// A controller works in another region or account for a while.
pub(super) fn other_place(rng: &mut Random, users: &mut Users) -> Opening {
    let object = users.spoke_object(rng);
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

/// A state is edited while its controller is down, and a ConfigMap of a user gets an export as its owner.
pub(super) fn forged_state_and_owner(rng: &mut Random, users: &mut Users) -> Opening {
    let object = users.spoke_object(rng);
    let state = format!("{}.aws.{}", object.kind.to_lowercase(), object.name);
    let state = ObjectName::new(&object.namespace, "StateDeclaration", &state);
    let (data, id) = forged_state(&object.kind);
    let down = Fault::Kill { controller: Controller::of(&object.kind), down: seconds(rng, 2, 20) };
    let namespace = users.stack.namespace.clone();
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

/// The owner tags of an instance are removed, and the call that restores them reaches a replica that does not know the
/// instance yet.
pub(super) fn lost_tags(rng: &mut Random, users: &mut Users) -> Opening {
    let (object, apply) = added(users, "EC2Instance", "untagged", &adoptable_spec(rng, "EC2Instance"));
    let call = CallMatch { side: Side::Cloud, action: "CreateTags".to_owned(), nth: 1 };
    let late = Fault::Fail {
        controller: Controller::Ec2Instance,
        call,
        code: "InvalidInstanceID.NotFound".to_owned(),
        times: rng.one([1, 3, 6]),
    };
    let remote = Remote::Of(object, 0);
    let strip = Operation::TamperRemote { remote, tamper: Tamper::StripOwnerTags };
    vec![(millis(rng, 500), apply), (seconds(rng, 15, 60), late.into()), (millis(rng, 500), strip.into())]
}

/// The Account of a VPC is edited to another region, and perhaps back; meanwhile the VPC is edited or deleted.
pub(super) fn moved_account(rng: &mut Random, users: &mut Users) -> Opening {
    let (account, apply_account) = added(users, "Account", "moved", &json!({}));
    let mut spec = adoptable_spec(rng, "VPC");
    spec["account"] = json!({"name": "moved"});
    let (object, apply) = added(users, "VPC", "traveller", &spec);
    let to = |region: &str| edit(&account, "/spec/region", json!(region));
    let team = edit(&object, "/spec/tags/Team", json!("elsewhere"));
    let mut steps: Opening = vec![
        (millis(rng, 500), apply_account),
        (millis(rng, 500), apply),
        (seconds(rng, 5, 40), to("eu-west-1")),
        (seconds(rng, 1, 20), if rng.chance(50) { team } else { delete(&object) }),
    ];
    if rng.chance(70) {
        steps.push((seconds(rng, 10, 90), to("us-east-1")));
    }
    steps
}

/// A namespace is deleted with its Account, or the Account and its Secret are deleted before what uses them; perhaps controllers are
/// restarted meanwhile.
pub(super) fn account_of_a_namespace(rng: &mut Random, users: &mut Users) -> Opening {
    let part = |key: &str| json!({"valueFrom": {"secret": {"name": "keys", "key": key}}});
    let keys = users.stack.sources.secrets.entry("keys".to_owned()).or_default();
    keys.insert("id".to_owned(), format!("AKIA{CANARY}-222222222222"));
    keys.insert("key".to_owned(), format!("{CANARY}-key"));
    let keys = keys.clone();
    let spec = json!({"credentials": {"accessKeyID": part("id"), "secretAccessKey": part("key")}});
    let (account, apply_account) = added(users, "Account", "other", &spec);
    let secret = ObjectName::new(&account.namespace, "Secret", "keys");
    let mut steps: Opening = vec![];
    for (key, value) in keys {
        let set = Operation::SetData { object: secret.clone(), key, value: Some(value) };
        steps.push((millis(rng, 100), set.into()));
    }
    steps.push((millis(rng, 500), apply_account));
    let mut objects = vec![];
    for kind in ["VPC", "Volume"] {
        let mut spec = adoptable_spec(rng, kind);
        spec["account"] = json!({"name": "other"});
        let (object, apply) = added(users, kind, "elsewhere", &spec);
        steps.push((millis(rng, 500), apply));
        objects.push(object);
    }
    if rng.chance(50) {
        let controller = rng.one([Controller::Hub, Controller::Vpc]);
        steps.push((seconds(rng, 5, 40), Fault::Kill { controller, down: seconds(rng, 2, 20) }.into()));
    }
    if rng.chance(50) {
        let name = account.namespace.clone();
        steps.push((seconds(rng, 5, 40), Operation::DeleteNamespace { name }.into()));
    } else {
        steps.push((seconds(rng, 5, 40), delete(&secret)));
        steps.push((millis(rng, 500), delete(&account)));
        for object in &objects {
            steps.push((millis(rng, 500), delete(object)));
        }
    }
    steps
}

/// The record of a resource is lost while its controller is down. The provider would accept a second object, and only a search by tag
/// finds the first one.
pub(super) fn wrong_record(rng: &mut Random, users: &mut Users) -> Opening {
    let kind = rng.one(["VPC", "ElasticIP"]);
    let (object, apply) = added(users, kind, "misrecorded", &adoptable_spec(rng, kind));
    let down = Fault::Kill { controller: Controller::of(kind), down: seconds(rng, 5, 20) };
    let strip = |lost: Lost| Action::from(Operation::Strip { object: object.clone(), lost });
    let mut steps: Opening = vec![(millis(rng, 500), apply), (seconds(rng, 20, 60), down.into())];
    steps.extend([Lost::Finalizers, Lost::Status].map(|lost| (millis(rng, 500), strip(lost))));
    steps
}

/// The finalizer of a resource is removed whose reconciles end before its objects are observed, and the resource is deleted
/// when its controller had enough time to notice.
pub(super) fn lost_finalizer(rng: &mut Random, users: &mut Users) -> Opening {
    let kind = rng.one(["VPC", "ElasticIP", "Volume", "EC2Instance"]);
    let (object, apply) = added(users, kind, "unheld", &adoptable_spec(rng, kind));
    let end = if rng.chance(50) {
        edit(&object, "/spec/lifecycle/paused", json!(true))
    } else {
        let absent = json!({"valueFrom": {"configMap": {"name": "absent", "key": "k"}}});
        edit(&object, "/spec/tags/Team", absent)
    };
    let strip = Operation::Strip { object: object.clone(), lost: Lost::Finalizers };
    vec![
        (millis(rng, 500), apply),
        (seconds(rng, 15, 40), end),
        (seconds(rng, 1, 5), strip.into()),
        (seconds(rng, 12, 30), delete(&object)),
    ]
}
