//! Checks of resources that were restored from backups.

use super::*;

/// The VPC is lost, and there is one of its name with another UID, which has `vpc-2`. A user may have restored it from its manifest,
/// perhaps with its status.
fn again(is_restored: bool, with_status: bool) -> Scene {
    let mut scene = scene_with(json!({}));
    scene.remove("u-1");
    scene.after_out_of_band();
    let mut again = vpc(json!({}));
    again["metadata"]["uid"] = json!("u-2");
    again["metadata"]["finalizers"] = json!([]);
    let status_of_former = std::mem::take(&mut again["status"]);
    scene.set(again.clone());
    if is_restored {
        scene.checks.restores(scene.now, ObjectName::new(NS, "VPC", "a"));
    }
    scene.after_out_of_band();
    if with_status {
        again["status"] = status_of_former;
        scene.set(again.clone());
        scene.checks.after_collection(scene.now);
    }
    again["metadata"]["finalizers"] = json!(["kraken-iac.eoinfennessy.com/external"]);
    again["status"] = json!({"observedGeneration": 1, "externalIds": ["vpc-2"]});
    status(&mut again, "True", "Available", "");
    scene.set(again);
    scene.write(&vpc_caller(), &json!({}));
    scene.object("vpc-2", &[("uid", "u-2"), ("cluster", "c")]);
    scene.checks.launched.insert("vpc-2".to_owned(), "u-2".to_owned());
    scene
}

#[test]
fn a_second_object_beside_that_of_a_former_resource_is_detected() {
    for (is_restored, with_status) in [(true, false), (true, true), (false, false)] {
        let mut scene = again(is_restored, with_status);
        scene.checks.converged(scene.now);
        scene.has_violation_unless(!is_restored, Class::TooMany);
    }
}

#[test]
fn what_is_created_in_a_restored_namespace_is_restored() {
    let mut scene = scene_with(json!({}));
    let is_restored = |scene: &Scene| scene.checks.is_being_restored(scene.now, &vpc(json!({})));
    assert!(!is_restored(&scene));
    scene.checks.restores(scene.now, ObjectName::new("", "Namespace", "other"));
    assert!(!is_restored(&scene));
    scene.checks.restores(scene.now, ObjectName::new("", "Namespace", NS));
    assert!(is_restored(&scene));
    scene.advance(60);
    assert!(!is_restored(&scene));
}

#[test]
fn a_former_object_that_is_gone_or_was_changed_by_users_is_no_second_one() {
    for is_gone in [true, false] {
        let mut scene = again(true, false);
        if is_gone {
            scene.cloud.lock().0.remove("vpc-1");
        } else {
            scene.checks.tampered.insert("vpc-1".to_owned(), scene.now);
        }
        scene.checks.converged(scene.now);
        scene.has_no_violation();
    }
}
