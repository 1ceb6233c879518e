//! Checks of approvals and of drift.

use super::*;

#[test]
fn an_approval_is_not_valid_for_a_plan_that_a_client_stored_under_its_hash() {
    let planned = |target: &str| {
        let mut object = vpc(json!({"approval": "Manual"}));
        object["status"]["plan"] = json!({"hash": "h", "action": "Change", "target": target});
        object["metadata"]["annotations"]["kraken-iac.eoinfennessy.com/approved-plan"] = json!("h");
        object
    };
    for (stored, is_fine) in [("t", true), ("other", false)] {
        let mut scene = scene_with(json!({}));
        scene.set(planned("t"));
        scene.write(&vpc_caller(), &json!({"metadata": {"resourceVersion": "1"}}));
        scene.set(planned(stored));
        scene.after_out_of_band();
        scene.advance(60);
        scene.modify();
        scene.has_violation_unless(is_fine, Class::Unapproved);
    }
}

#[test]
fn drift_that_is_only_reported_must_not_be_reverted() {
    let placed = |generation: i64| {
        let mut object = vpc(json!({"drift": "Report"}));
        object["status"]["inPlace"] = json!({"generation": generation, "spec": "x", "inputs": ""});
        object
    };
    let mut scene = Scene::of(placed(1));
    scene.created_object("vpc-1");
    scene.checks.violations.clear(); // it was made before
    scene.modify();
    scene.has_violation(Class::Reported);
    // An edit is carried out.
    let mut scene = Scene::of(placed(0));
    scene.created_object("vpc-1");
    scene.modify();
    scene.has_no_violation();
}

#[test]
fn an_edit_that_a_restored_backup_undid_is_reverted() {
    let placed = |generation: i64, in_place: i64| {
        let mut object = vpc(json!({"drift": "Report"}));
        object["metadata"]["generation"] = json!(generation);
        object["status"]["inPlace"] = json!({"generation": in_place, "spec": "x", "inputs": ""});
        object
    };
    for (edited, is_fine) in [(2, true), (1, false)] {
        let mut scene = Scene::of(placed(1, 1));
        scene.created_object("vpc-1");
        scene.checks.violations.clear(); // it was made before
        for version in [placed(edited, 0), placed(1, 1)] {
            scene.set(version);
            scene.after_out_of_band();
            scene.advance(60);
        }
        scene.modify();
        scene.has_violation_unless(is_fine, Class::Reported);
    }
}

#[test]
fn former_inputs_that_a_slow_reconcile_records_again_are_not_the_current_ones() {
    let placed = |generation: i64, inputs: &str| {
        let mut object = vpc(json!({"drift": "Report"}));
        object["metadata"]["generation"] = json!(2);
        object["status"]["inPlace"] = json!({"generation": generation, "spec": "x", "inputs": inputs});
        object
    };
    let request = |value: &str| {
        json!({
            "kind": "DependencyRequest",
            "metadata": {"namespace": NS, "name": "vpc.aws.a", "uid": "r-1", "ownerReferences": [{"uid": "u-1"}]},
            "status": {"dependentValues": {"fromConfigMaps": {"settings": {"cidr": value}}}},
        })
    };
    // The value that is edited while the reconcile waits, and the inputs that it records.
    for (value, inputs, is_fine) in [("b", "of a", true), ("a", "of a", false), ("b", "of b", false)] {
        let mut scene = Scene::of(vpc(json!({"drift": "Report"})));
        scene.set(request("a"));
        scene.created_object("vpc-1");
        scene.set(placed(1, "of a"));
        scene.write(&vpc_caller(), &json!({}));
        scene.checks.violations.clear(); // only the last call is judged
        scene.advance(60);
        scene.set(request(value));
        scene.write_of("dependencyrequests", &hub_caller(), &json!({}));
        scene.advance(20);
        scene.set(placed(2, inputs));
        scene.write(&vpc_caller(), &json!({}));
        scene.advance(60);
        scene.modify();
        assert_eq!(scene.classes().is_empty(), is_fine, "{value} {inputs}: {:?}", scene.checks.violations());
        assert!(is_fine || scene.classes() == [Class::Reported], "{:?}", scene.checks.violations());
    }
}

#[test]
fn values_that_a_suspended_process_records_as_in_place_may_be_former_ones() {
    let mut placed = vpc(json!({"drift": "Report"}));
    placed["status"]["inPlace"] = json!({"generation": 1, "spec": "x", "inputs": "of a"});
    let request = |value: &str| {
        json!({
            "kind": "DependencyRequest",
            "metadata": {"namespace": NS, "name": "vpc.aws.a", "uid": "r-1", "ownerReferences": [{"uid": "u-1"}]},
            "status": {"dependentValues": {"fromConfigMaps": {"settings": {"cidr": value}}}},
        })
    };
    for (value, suspended, is_fine) in [("b", 30, true), ("b", 0, false), ("a", 30, false)] {
        let mut scene = Scene::of(vpc(json!({"drift": "Report"})));
        scene.set(request("a"));
        scene.created_object("vpc-1");
        scene.checks.violations.clear(); // only the last call is judged
        scene.checks.extend_faults(scene.now, scene.now + Duration::from_secs(suspended));
        scene.advance(5);
        scene.set(request(value));
        scene.write_of("dependencyrequests", &hub_caller(), &json!({}));
        scene.advance(25);
        scene.set(placed.clone());
        scene.write(&vpc_caller(), &json!({"metadata": {"resourceVersion": "1"}}));
        scene.advance(60);
        scene.modify();
        assert_eq!(
            scene.classes().is_empty(),
            is_fine,
            "{value} {suspended}: {:?}",
            scene.checks.violations()
        );
        assert!(is_fine || scene.classes() == [Class::Reported], "{:?}", scene.checks.violations());
    }
}

#[test]
fn a_manual_plan_is_carried_out_only_after_its_approval() {
    let manual = |approved: &str| {
        let mut object = vpc(json!({"approval": "Manual"}));
        object["status"]["plan"] = json!({"hash": "h", "action": "Change"});
        object["metadata"]["annotations"]["kraken-iac.eoinfennessy.com/approved-plan"] = json!(approved);
        object
    };
    for (approved, is_fine) in [("h", true), ("other", false)] {
        let mut scene = Scene::of(vpc(json!({})));
        scene.created_object("vpc-1");
        scene.set(manual(approved));
        scene.write(&vpc_caller(), &json!({"metadata": {"resourceVersion": "1"}}));
        scene.advance(60);
        scene.modify();
        assert_eq!(scene.classes().is_empty(), is_fine, "{approved}");
        // What was approved was a change and no creation.
        scene.cloud.lock().0.remove("vpc-1");
        scene.after_out_of_band();
        scene.created_object("vpc-2");
        assert!(scene.classes().contains(&Class::Unapproved));
    }
}

#[test]
fn the_mark_of_a_disruption_is_removed_again_if_the_reads_lag() {
    let mut placed = vpc(json!({"drift": "Report"}));
    placed["status"]["inPlace"] = json!({"generation": 1, "spec": "x", "inputs": ""});
    for (key, is_fine) in [("kraken-iac.eoinfennessy.com%2Fdisruption", true), ("Team", false)] {
        let mut scene = Scene::of(placed.clone());
        scene.created_object("vpc-1");
        scene.checks.violations.clear(); // it was made before
        scene.cloud_call("DeleteTags", &format!("ResourceId.1=vpc-1&Tag.1.Key={key}"));
        scene.has_violation_unless(is_fine, Class::Reported);
    }
}

#[test]
fn another_version_of_a_secret_with_the_same_value_is_not_an_edit() {
    let secret = |value: &str| {
        json!({
            "kind": "Secret", "metadata": {"namespace": NS, "name": "db", "uid": "s-1"}, "data": {"k": value},
        })
    };
    let request = |version: u64| {
        let version = json!({"uid": "s-1", "resourceVersion": version.to_string()});
        json!({
            "kind": "DependencyRequest",
            "metadata": {"namespace": NS, "name": "vpc.aws.a", "uid": "r-1", "ownerReferences": [{"uid": "u-1"}]},
            "status": {"dependentValues": {"fromSecrets": {"db": {"k": version}}}},
        })
    };
    for (value, is_fine) in [("first", false), ("second", true)] {
        let mut placed = vpc(json!({"drift": "Report"}));
        placed["status"]["inPlace"] = json!({"generation": 1, "spec": "x", "inputs": "of the first version"});
        let mut scene = Scene::of(placed);
        scene.set(secret("first"));
        scene.set(request(scene.version));
        scene.created_object("vpc-1");
        scene.checks.violations.clear(); // only the last call is judged
        scene.advance(60);
        scene.set(secret(value));
        scene.after_out_of_band();
        scene.set(request(scene.version));
        scene.write_of("dependencyrequests", &hub_caller(), &json!({}));
        scene.advance(60);
        scene.modify();
        scene.has_violation_unless(is_fine, Class::Reported);
    }
}
