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
        let mut scene = up(json!({}));
        scene.set(planned("t"));
        scene.write(&vpc_caller(), &json!({"metadata": {"resourceVersion": "1"}}));
        scene.set(planned(stored));
        scene.outside();
        scene.pass(60);
        scene.modify();
        assert_eq!(scene.classes().is_empty(), is_fine, "{stored}");
        assert!(is_fine || scene.classes() == [Class::Unapproved]);
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
    scene.made("vpc-1");
    scene.checks.violations.clear(); // it was made before
    scene.modify();
    scene.is(Class::Reported);
    // An edit is carried out.
    let mut scene = Scene::of(placed(0));
    scene.made("vpc-1");
    scene.modify();
    scene.is_clean();
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
        scene.made("vpc-1");
        scene.set(manual(approved));
        scene.write(&vpc_caller(), &json!({"metadata": {"resourceVersion": "1"}}));
        scene.pass(60);
        scene.modify();
        assert_eq!(scene.classes().is_empty(), is_fine, "{approved}");
        // What was approved was a change and no creation.
        scene.cloud.lock().0.remove("vpc-1");
        scene.outside();
        scene.made("vpc-2");
        assert!(scene.classes().contains(&Class::Unapproved));
    }
}
