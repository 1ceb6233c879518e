//! Checks of resources that were restored from backups.

use super::*;

/// The VPC is lost, and there is one of its name with another UID, which has `vpc-2`. It may have come with the finalizer of the former
/// one, as from a backup.
fn restored(with_finalizer: bool) -> Scene {
    let mut scene = scene_with(json!({}));
    scene.remove("u-1");
    scene.after_out_of_band();
    let mut again = vpc(json!({}));
    again["metadata"]["uid"] = json!("u-2");
    again["status"]["ledger"] = json!(null);
    if !with_finalizer {
        again["metadata"]["finalizers"] = json!([]);
        scene.set(again.clone());
        scene.after_out_of_band();
        again["metadata"]["finalizers"] = json!(["kraken-iac.eoinfennessy.com/external"]);
    }
    status(&mut again, "True", "Available", "");
    scene.set(again);
    scene.object("vpc-2", &[("uid", "u-2"), ("cluster", "c")]);
    scene
}

#[test]
fn a_second_object_beside_that_of_a_former_resource_is_detected() {
    for with_finalizer in [true, false] {
        let mut scene = restored(with_finalizer);
        scene.checks.launched.insert("vpc-2".to_owned(), "u-2".to_owned());
        scene.checks.converged(scene.now);
        scene.has_violation_unless(!with_finalizer, Class::TooMany);
    }
}

#[test]
fn a_former_object_that_is_gone_or_was_changed_by_users_is_no_second_one() {
    for is_gone in [true, false] {
        let mut scene = restored(true);
        if is_gone {
            scene.cloud.lock().0.remove("vpc-1");
        } else {
            scene.checks.tampered.insert("vpc-1".to_owned(), scene.now);
        }
        scene.checks.launched.insert("vpc-2".to_owned(), "u-2".to_owned());
        scene.checks.converged(scene.now);
        scene.has_no_violation();
    }
}
