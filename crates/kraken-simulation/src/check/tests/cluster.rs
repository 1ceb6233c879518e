//! Checks of writes to the API server, and of public content.

use super::*;

#[test]
fn an_early_finalizer_removal_is_detected() {
    for (alive, is_fine) in [(true, false), (false, true)] {
        let mut scene = scene_with(json!({}));
        if !alive {
            scene.cloud.lock().0.clear();
        }
        scene.remove("u-1");
        scene.write(&vpc_caller(), &json!({}));
        scene.has_violation_unless(is_fine, Class::FinalizerEarly);
    }
}

#[test]
fn a_deletion_out_of_order_is_detected() {
    let request = |name: &str, to: &str| {
        json!({
            "kind": "DependencyRequest",
            "metadata": {"namespace": NS, "name": name, "uid": format!("r-{name}"),
                "ownerReferences": [{"kind": "Subnet", "name": "s", "uid": "u-2", "controller": true}]},
            "spec": {"krakenResourceDependencies": [{"kind": "vpc", "name": to}]},
        })
    };
    for (to, is_fine) in [("a", false), ("b", true)] {
        let mut scene = scene_with(json!({}));
        scene.set(request("subnet.aws.s", to));
        scene.after_out_of_band();
        scene.set(deleting_vpc());
        scene.after_out_of_band();
        scene.advance(60);
        scene.delete();
        scene.has_violation_unless(is_fine, Class::OutOfOrder);
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
    let subnet = json!({
        "apiVersion": "aws.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "Subnet",
        "metadata": {"namespace": NS, "name": "s", "uid": "u-2", "deletionTimestamp": "now"}, "spec": {},
    });
    for (lives, is_fine) in [(true, false), (false, true)] {
        let mut scene = scene_with(json!({}));
        scene.set(subnet.clone());
        scene.set(request.clone());
        let form = TAGS.replace("u-1", "u-2");
        if lives {
            scene.object("subnet-1", &[("uid", "u-2"), ("cluster", "c")]);
            scene.cloud_call("CreateSubnet", &form);
            scene.checks.violations.clear(); // it was made before
        }
        scene.advance(30);
        scene.remove("r-1");
        scene.set(deleting_vpc());
        scene.after_out_of_band();
        scene.advance(60);
        scene.delete();
        scene.has_violation_unless(is_fine, Class::OutOfOrder);
    }
}

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

#[test]
fn a_request_that_was_released_before_the_deletion_of_its_owner_does_not_block() {
    let subnet = |is_deleting: bool| {
        let mut subnet = json!({
            "apiVersion": "aws.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "Subnet",
            "metadata": {"namespace": NS, "name": "s", "uid": "u-2"}, "spec": {},
        });
        if is_deleting {
            subnet["metadata"]["deletionTimestamp"] = json!("now");
        }
        subnet
    };
    for (is_deleting, is_fine) in [(true, false), (false, true)] {
        let mut scene = scene_with(json!({}));
        scene.set(subnet(is_deleting));
        let released = reference("r-1", ["Subnet", "s", "u-2"], ["vpc", "a"]);
        let mut held = released.clone();
        held["metadata"]["finalizers"] = json!(["kraken-iac.eoinfennessy.com/references"]);
        scene.set(held);
        scene.object("subnet-1", &[("uid", "u-2"), ("cluster", "c")]);
        scene.cloud_call("CreateSubnet", &TAGS.replace("u-1", "u-2"));
        scene.checks.violations.clear(); // it was made before
        scene.advance(30);
        scene.set(released);
        scene.after_out_of_band();
        scene.checks.history.records.get_mut("r-1").unwrap().disturbed = None; // by its spoke
        scene.advance(1);
        scene.set(subnet(true));
        scene.remove("r-1");
        scene.set(deleting_vpc());
        scene.after_out_of_band();
        scene.advance(60);
        scene.delete();
        scene.has_violation_unless(is_fine, Class::OutOfOrder);
    }
}

#[test]
fn a_deleted_request_whose_finalizer_users_removed_does_not_block() {
    let subnet = json!({
        "apiVersion": "aws.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "Subnet",
        "metadata": {"namespace": NS, "name": "s", "uid": "u-2", "deletionTimestamp": "now"}, "spec": {},
    });
    let mut request = reference("r-1", ["Subnet", "s", "u-2"], ["vpc", "a"]);
    request["metadata"]["finalizers"] = json!(["kraken-iac.eoinfennessy.com/references"]);
    request["metadata"]["deletionTimestamp"] = json!("now");
    for is_by_users in [true, false] {
        let mut scene = scene_with(json!({}));
        scene.set(subnet.clone());
        scene.set(request.clone());
        scene.object("subnet-1", &[("uid", "u-2"), ("cluster", "c")]);
        scene.cloud_call("CreateSubnet", &TAGS.replace("u-1", "u-2"));
        scene.checks.violations.clear(); // it was made before
        scene.advance(30);
        scene.remove("r-1");
        if is_by_users {
            scene.after_out_of_band();
        } else {
            scene.write(&vpc_caller(), &json!({}));
        }
        scene.set(deleting_vpc());
        scene.after_out_of_band();
        scene.advance(60);
        scene.delete();
        scene.has_violation_unless(is_by_users, Class::OutOfOrder);
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
        scene.set(deleting_vpc());
        scene.after_out_of_band();
        scene.advance(60);
        scene.delete();
        scene.has_violation_unless(is_cycle, Class::OutOfOrder);
    }
}

#[test]
fn the_hub_changes_only_targets_of_exports() {
    let export = json!({"kind": "ConfigExport", "metadata": {"namespace": NS, "name": "e", "uid": "e-1"}});
    for (maker, is_fine) in [("e-1", true), ("e-2", false)] {
        let mut scene = Scene::of(export.clone());
        let marks = json!({"kraken-iac.eoinfennessy.com/exported-by": maker});
        scene.set(map("x", marks, json!({"k": "v"})));
        scene.after_out_of_band();
        scene.remove("m-x");
        scene.write(&hub_caller(), &json!({}));
        assert_eq!(scene.classes().is_empty(), is_fine, "{maker}");
    }
}

#[test]
fn a_forged_value_in_an_export_is_detected() {
    let mut scene = scene_with(json!({}));
    scene.set(map("x", json!({}), json!({"k": "vpc-0forged"})));
    scene.write(&hub_caller(), &json!({}));
    scene.has_violation(Class::Forged);
}

#[test]
fn a_write_without_the_lease_is_detected() {
    let lease = json!({"kind": "Lease", "metadata": {"name": "kraken-aws-vpc", "uid": "l"}, "spec": {"holderIdentity": "one"}});
    for (identity, is_fine) in [("one", true), ("two", false)] {
        let mut scene = scene_with(json!({}));
        scene.set(lease.clone());
        scene.after_out_of_band();
        let by = CallingProcess { identity: identity.to_owned(), ..vpc_caller() };
        scene.write(&by, &json!({}));
        assert_eq!(scene.classes().is_empty(), is_fine);
    }
}

#[test]
fn a_secret_value_in_a_later_version_is_detected() {
    let with = |status: Value| {
        let metadata = json!({"namespace": NS, "name": "a", "uid": "e", "labels": {"a": "b"}});
        json!({"kind": "ConfigExport", "metadata": metadata, "status": status})
    };
    for (status, is_fine) in [
        (json!({"a": {"b": "c"}, "d": [1, 2]}), true),
        (json!({"a": {"b": "canary"}}), false),
        (json!({"a": {"b": "c", "canary": true}}), false),
        (json!({"a": {"b": "c"}, "d": [99, 97, 110, 97, 114, 121]}), false),
        (json!("Y2FuYXJ5"), false),
    ] {
        let mut scene = scene_with(json!({}));
        scene.set(with(json!({"a": {"b": "c"}, "d": [1]})));
        scene.after_out_of_band();
        scene.set(with(status));
        scene.after_out_of_band();
        scene.has_violation_unless(is_fine, Class::Secret);
    }
}

#[test]
fn a_secret_value_outside_of_secrets_is_detected() {
    let mut scene = scene_with(json!({}));
    scene.set(json!({"kind": "Secret", "metadata": {"uid": "s"}, "data": {"a": "Y2FuYXJ5"}}));
    scene.after_out_of_band();
    scene.has_no_violation();
    scene.set(json!({"kind": "Event", "metadata": {"uid": "ev"}, "note": "refused canary-password"}));
    scene.after_out_of_band();
    scene.has_violation(Class::Secret);
    scene.checks.text(scene.now, "log", "userData=Y2FuYXJ5LWJvb3Q=");
    scene.object("vpc-1", &[("uid", "u-1"), ("cluster", "c"), ("x", "y")]);
    scene.cloud_call("CreateTags", "ResourceId.1=vpc-1&Tag.1.Key=Name&Tag.1.Value=canary");
    assert_eq!(scene.classes(), [Class::Secret; 3]);
}

#[test]
fn a_status_about_values_requires_an_answer_to_its_references() {
    let request = |keys: Value, generation: i64, answered: i64| {
        json!({
            "kind": "DependencyRequest",
            "metadata": {"namespace": NS, "name": "vpc.aws.a", "uid": "r-1", "generation": generation,
                "ownerReferences": [{"kind": "VPC", "name": "a", "uid": "u-1", "controller": true}]},
            "spec": {"configMapDependencies": keys},
            "status": {"observedGeneration": answered},
        })
    };
    let keys = json!([{"name": "settings", "key": "block"}]);
    for (answered, reason, is_fine) in [
        (1, "DependenciesNotReady", false),
        (1, "Available", false),
        (1, "WaitingForHub", true),
        (2, "DependenciesNotReady", true),
    ] {
        let mut scene = scene_with(json!({}));
        scene.set(request(json!([]), 1, 1));
        scene.after_out_of_band();
        let mut edited = vpc(json!({}));
        edited["metadata"]["generation"] = json!(2);
        edited["spec"]["cidrBlock"] =
            json!({"valueFrom": {"configMap": {"name": "settings", "key": "block"}}});
        scene.set(edited.clone());
        scene.set(request(keys.clone(), 2, answered));
        scene.after_out_of_band();
        status(&mut edited, "False", reason, "ConfigMap settings does not exist");
        edited["status"]["conditions"][0]["observedGeneration"] = json!(2);
        scene.set(edited);
        scene.write(&vpc_caller(), &json!({}));
        scene.has_violation_unless(is_fine, Class::Unanswered);
    }
}

#[test]
fn an_unexpected_end_of_a_controller_is_detected() {
    let mut scene = scene_with(json!({}));
    scene.checks.panicked(scene.now, "kraken-hub panicked");
    scene.has_violation(Class::Panicked);
}
