//! The check of the order of deletion: dependents are deleted first.

use super::*;

/// The request `id` of an owner, by its kind, name and UID, that refers to an object, by its kind and name.
fn reference(id: &str, owner: [&str; 3], to: [&str; 2]) -> Value {
    let [kind, name, uid] = owner;
    json!({
        "kind": "DependencyRequest",
        "metadata": {"namespace": NS, "name": id, "uid": id,
            "ownerReferences": [{"kind": kind, "name": name, "uid": uid, "controller": true}]},
        "spec": {"krakenResourceDependencies": [{"kind": to[0], "name": to[1]}]},
    })
}

/// The Subnet `s`.
fn subnet(is_deleting: bool) -> Value {
    let mut subnet = json!({
        "apiVersion": "aws.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "Subnet",
        "metadata": {"namespace": NS, "name": "s", "uid": "u-2"}, "spec": {},
    });
    if is_deleting {
        subnet["metadata"]["deletionTimestamp"] = json!("now");
    }
    subnet
}

impl Scene {
    /// The object of the Subnet `s` was created before.
    fn has_subnet(&mut self) {
        self.object("subnet-1", &[("uid", "u-2"), ("cluster", "c")]);
        self.cloud_call("CreateSubnet", &TAGS.replace("u-1", "u-2"));
        self.checks.violations.clear();
    }

    /// A user deletes the VPC, and a minute later its object is deleted: a violation unless `is_fine`.
    fn judge_deletion(&mut self, is_fine: bool) {
        self.set(deleting_vpc());
        self.after_out_of_band();
        self.advance(60);
        self.delete();
        self.has_violation_unless(is_fine, Class::OutOfOrder);
    }
}

#[test]
fn a_deletion_out_of_order_is_detected() {
    for (to, is_fine) in [("a", false), ("b", true)] {
        let mut scene = scene_with(json!({}));
        scene.set(reference("r-1", ["Subnet", "s", "u-2"], ["vpc", to]));
        scene.after_out_of_band();
        scene.judge_deletion(is_fine);
    }
}

#[test]
fn the_order_of_deletion_is_judged_during_operations_and_not_during_faults() {
    let request = reference("r-1", ["Subnet", "s", "u-2"], ["vpc", "a"]);
    for (is_fault, is_fine) in [(false, false), (true, true)] {
        let mut scene = scene_with(json!({}));
        scene.set(request.clone());
        scene.after_out_of_band();
        scene.advance(60);
        scene.set(deleting_vpc());
        scene.after_out_of_band();
        let until = scene.now + Duration::from_mins(1);
        if is_fault {
            scene.checks.extend_faults(scene.now, until);
        } else {
            scene.checks.extend_disturbance(scene.now, until);
        }
        scene.advance(1);
        scene.delete();
        scene.has_violation_unless(is_fine, Class::OutOfOrder);
    }
}

#[test]
fn a_request_that_is_deleted_before_its_owner_still_blocks() {
    let request = reference("r-1", ["Subnet", "s", "u-2"], ["vpc", "a"]);
    for (lives, is_fine) in [(true, false), (false, true)] {
        let mut scene = scene_with(json!({}));
        scene.set(subnet(true));
        scene.set(request.clone());
        if lives {
            scene.has_subnet();
        }
        scene.advance(30);
        scene.remove("r-1");
        scene.judge_deletion(is_fine);
    }
}

#[test]
fn a_request_that_was_released_before_the_deletion_of_its_owner_does_not_block() {
    for (is_deleting, is_fine) in [(true, false), (false, true)] {
        let mut scene = scene_with(json!({}));
        scene.set(subnet(is_deleting));
        let released = reference("r-1", ["Subnet", "s", "u-2"], ["vpc", "a"]);
        let mut held = released.clone();
        held["metadata"]["finalizers"] = json!(["kraken-iac.eoinfennessy.com/references"]);
        scene.set(held);
        scene.has_subnet();
        scene.advance(30);
        scene.set(released);
        scene.after_out_of_band();
        scene.checks.history.records.get_mut("r-1").unwrap().disturbed = None; // by its spoke
        scene.advance(1);
        scene.set(subnet(true));
        scene.remove("r-1");
        scene.judge_deletion(is_fine);
    }
}

#[test]
fn a_deleted_request_whose_finalizer_users_removed_does_not_block() {
    let mut request = reference("r-1", ["Subnet", "s", "u-2"], ["vpc", "a"]);
    request["metadata"]["finalizers"] = json!(["kraken-iac.eoinfennessy.com/references"]);
    request["metadata"]["deletionTimestamp"] = json!("now");
    for is_by_users in [true, false] {
        let mut scene = scene_with(json!({}));
        scene.set(subnet(true));
        scene.set(request.clone());
        scene.has_subnet();
        scene.advance(30);
        scene.remove("r-1");
        if is_by_users {
            scene.after_out_of_band();
        } else {
            scene.write_of("dependencyrequests", &vpc_caller(), &json!({}));
        }
        scene.judge_deletion(is_by_users);
    }
}

#[test]
fn a_cycle_with_a_request_that_was_deleted_recently_does_not_block() {
    for (seconds, is_fine) in [(1, true), (60, false)] {
        let mut scene = scene_with(json!({}));
        scene.set(reference("r-1", ["Subnet", "s", "u-2"], ["vpc", "a"]));
        scene.set(reference("r-2", ["VPC", "a", "u-1"], ["subnet", "t"]));
        scene.set(reference("r-3", ["Subnet", "t", "u-3"], ["subnet", "s"]));
        scene.after_out_of_band();
        scene.advance(120);
        scene.set(deleting_vpc());
        scene.remove("r-3");
        scene.after_out_of_band();
        scene.advance(seconds);
        scene.delete();
        scene.has_violation_unless(is_fine, Class::OutOfOrder);
    }
}

#[test]
fn a_request_belongs_to_the_owner_that_it_had_first() {
    let other = json!([{"kind": "VPC", "name": "b", "uid": "u-9", "controller": true}]);
    for (edited, is_cycle) in
        [(json!(null), false), (json!(null), true), (other.clone(), false), (other, true)]
    {
        let mut scene = scene_with(json!({}));
        let mut requests = vec![reference("r-1", ["Subnet", "s", "u-2"], ["vpc", "a"])];
        if is_cycle {
            requests.push(reference("r-2", ["VPC", "a", "u-1"], ["subnet", "s"]));
        }
        for mut request in requests {
            scene.set(request.clone());
            scene.after_out_of_band();
            request["metadata"]["ownerReferences"] = edited.clone();
            scene.set(request);
        }
        scene.judge_deletion(is_cycle);
    }
}
