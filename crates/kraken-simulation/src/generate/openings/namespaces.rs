//! Openings with namespaces that are deleted as something begins, and with orphans that come back.

use serde_json::json;

use super::{Opening, added, adoptable_spec, delete, edit, millis, seconds};
use crate::generate::users::Users;
use crate::random::Random;
use crate::schedule::{Controller, Fault, Operation};

/// A resource waits for its Account, which is applied just before or after its namespace is deleted. Or the Account is deleted and
/// applied again at that moment.
pub(super) fn late_account(rng: &mut Random, users: &mut Users) -> Opening {
    let (account, apply_account) = added(users, "Account", "late", &json!({}));
    let kind = rng.one(["VPC", "Volume"]);
    let mut spec = adoptable_spec(rng, kind);
    spec["account"] = json!({"name": "late"});
    let (object, apply) = added(users, kind, "early", &spec);
    let name = account.namespace.clone();
    let deleted = Operation::DeleteNamespace { name: name.clone() };
    let mut steps: Opening = vec![(millis(rng, 500), apply)];
    let was_there = rng.chance(50);
    if was_there {
        steps.push((millis(rng, 500), apply_account.clone()));
        steps.push((seconds(rng, 5, 40), delete(&account)));
    }
    let pause = if rng.chance(30) { seconds(rng, 1, 20) } else { millis(rng, 500) };
    if rng.chance(20) {
        let controller = Controller::of(kind);
        steps.push((pause, Fault::Kill { controller, down: seconds(rng, 1, 20) }.into()));
    }
    match rng.below(3) {
        0 => steps.extend([(pause, deleted.into()), (millis(rng, 50), apply_account)]),
        1 => steps.extend([(pause, apply_account), (millis(rng, 1000), deleted.into())]),
        _ => {
            steps.extend([
                (pause, apply_account),
                (millis(rng, 200), edit(&object, "/spec/tags/Team", json!("web"))),
            ]);
            steps.push((millis(rng, 50), deleted.into()));
        }
    }
    if rng.chance(50) {
        steps.push((seconds(rng, 20, 60), Operation::CreateNamespace { name }.into()));
    }
    steps
}

/// A resource is lost or released while controllers delete orphans, and is applied again about when they search for them.
pub(super) fn swept_orphan(rng: &mut Random, users: &mut Users) -> Opening {
    users.removes_orphans = true;
    let kind = rng.one(["VPC", "ElasticIP", "Volume", "EC2Instance"]);
    let (object, apply) = added(users, kind, "swept", &adoptable_spec(rng, kind));
    let mut steps: Opening = vec![(millis(rng, 500), apply.clone())];
    let saved = Operation::SaveManifests { object: object.clone() };
    steps.push((seconds(rng, 20, 40), saved.into()));
    let is_released = rng.chance(30);
    if is_released {
        steps.push((millis(rng, 500), edit(&object, "/spec/lifecycle/deletion", json!("Retain"))));
        steps.push((seconds(rng, 1, 10), delete(&object)));
    } else {
        steps.push((millis(rng, 500), Operation::Vanish { object: object.clone() }.into()));
    }
    // Two sweeps are a minute apart, and an orphan is deleted when the second one has found it.
    let pause = rng.time(std::time::Duration::from_secs(20), std::time::Duration::from_mins(2));
    let again = if rng.chance(50) {
        let (finalizers, status) = (rng.chance(30), rng.chance(30));
        Operation::RestoreManifests { object: object.clone(), finalizers, status }.into()
    } else {
        apply
    };
    steps.push((pause, again));
    if rng.chance(30) {
        steps.push((
            millis(rng, 3000),
            Fault::Kill { controller: Controller::of(kind), down: seconds(rng, 1, 20) }.into(),
        ));
    }
    steps
}
