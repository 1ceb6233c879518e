//! Openings: short sequences of steps to a state from which much can go wrong, such as a plan that waits for approval or a
//! replacement of which one half exists. Random steps alone reach such a state rarely; after an opening, they continue from it.

mod exports;
mod git;
mod hand_over;
mod launches;
mod namespaces;
mod outside;
mod records;
mod references;
mod restores;
mod targets;
mod updates;

use std::time::Duration;

use serde_json::{Value, json};

use super::names::AWS;
use super::users::Users;
use crate::random::Random;
use crate::schedule::{Action, ObjectName, Operation, Propagation};

/// Actions, each with the time since the one before.
type Opening = Vec<(Duration, Action)>;

type Open = fn(&mut Random, &mut Users) -> Opening;

macro_rules! openings {
    ($($module:ident::$name:ident $weight:literal,)+) => {
        /// Every opening, with its frequency. Objects that it needs and that the stack does not have are added to the stack.
        const ALL: &[((&str, Open), usize)] = &[$(((stringify!($name), $module::$name), $weight),)+];
        /// The names of all openings.
        pub const OPENINGS: &[&str] = &[$(stringify!($name),)+];
    };
}

openings! {
    launches::adoption 3,
    launches::replacement 2,
    hand_over::used_instance 3,
    launches::loss_of_a_kind 2,
    launches::repeated_deletion 1,
    launches::forgotten_launch 1,
    updates::approval 3,
    updates::burst 1,
    updates::drift 1,
    updates::disruption 1,
    updates::unseen_change 1,
    records::lost_record 1,
    records::lost_tags 1,
    records::other_place 1,
    records::moved_account 1,
    records::forged_state_and_owner 1,
    exports::source_and_target 2,
    launches::lost_responses 2,
    records::wrong_record 2,
    records::lost_finalizer 1,
    references::late_answer 1,
    references::deleted_request 1,
    references::refused_secret 1,
    references::unfinished_edit 2,
    records::account_of_a_namespace 2,
    references::relabeled_secret 2,
    exports::removed_entry 1,
    restores::restored_resource 3,
    restores::restored_namespace 2,
    restores::restored_export 2,
    git::renamed_export 2,
    git::renamed_resource 2,
    git::turned_reference 2,
    git::peers 2,
    targets::immutable_target 2,
    targets::other_type 2,
    outside::contended_field 2,
    outside::revoked_rule 2,
    namespaces::late_account 2,
    namespaces::swept_orphan 2,
    updates::failed_disruption 2,
}

/// A random opening, with its name.
pub(crate) fn opening(rng: &mut Random, users: &mut Users) -> Option<(&'static str, Opening)> {
    rng.weighted(ALL).map(|(name, open)| (name, open(rng, users)))
}

fn seconds(rng: &mut Random, least: u64, most: u64) -> Duration {
    rng.time(Duration::from_secs(least), Duration::from_secs(most))
}

fn millis(rng: &mut Random, most: u64) -> Duration {
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
fn added(users: &mut Users, kind: &str, name: &str, spec: &Value) -> (ObjectName, Action) {
    let object = json!({
        "apiVersion": AWS, "kind": kind,
        "metadata": {"name": name, "namespace": users.stack.namespace},
        "spec": spec,
    });
    users.stack.objects.push(object.clone());
    (ObjectName::of(&object), Operation::Apply { object }.into())
}

/// A spec that fits an object that [`Operation::CreateRemote`] creates, or asks for one more than that.
fn adoptable_spec(rng: &mut Random, kind: &str) -> Value {
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
