//! Checks of resources that were restored from backups.

use kraken_api::INTENT_ANNOTATION;

use super::*;

/// The VPC is lost, and there is one of its name with another UID, which has `vpc-2`. It may have come with the record of the former
/// one.
fn restored(with_record: bool) -> Scene {
    let mut scene = scene_with(json!({}));
    scene.remove("u-1");
    scene.after_out_of_band();
    let mut again = vpc(json!({}));
    again["metadata"]["uid"] = json!("u-2");
    // A first record of its own is as old as itself.
    let at = if with_record { "2026-01-01T00:00:00Z" } else { "2026-01-01T00:01:00.5Z" };
    let intent = json!({"epoch": 1, "digest": "d", "at": at});
    again["metadata"]["annotations"] = json!({INTENT_ANNOTATION: intent.to_string()});
    again["metadata"]["creationTimestamp"] = json!("2026-01-01T00:01:00Z");
    status(&mut again, "True", "Available", "");
    scene.set(again);
    scene.object("vpc-2", &[("uid", "u-2"), ("cluster", "c")]);
    scene
}

#[test]
fn a_second_object_beside_that_of_a_former_resource_is_detected() {
    for with_record in [true, false] {
        let mut scene = restored(with_record);
        scene.checks.launched.insert("vpc-2".to_owned(), "u-2".to_owned());
        scene.checks.converged(scene.now);
        scene.has_violation_unless(!with_record, Class::TooMany);
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
