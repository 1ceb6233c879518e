//! Checks after faults have ended, and after everything was deleted.

use super::*;

#[test]
fn at_the_end_every_resource_is_ready_or_reports_why_not() {
    for (reason, message, expected) in [
        ("Available", "in place", None),
        ("Creating", "", Some(Class::NotConverged)),
        (
            "Creating",
            "failed to create the subnet: there is no room (InsufficientFreeAddressesInSubnet)",
            None,
        ),
        ("KubernetesError", "", Some(Class::NotConverged)),
        ("Paused", "", Some(Class::Wrong)),
        ("DependenciesNotReady", "", Some(Class::Wrong)),
        ("InvalidSpec", "", None),
    ] {
        let mut object = vpc(json!({}));
        status(&mut object, if reason == "Available" { "True" } else { "False" }, reason, message);
        let mut scene = Scene::of(object);
        scene.made("vpc-1");
        scene.checks.converged(scene.now);
        assert_eq!(scene.classes(), Vec::from_iter(expected), "{reason}: {:?}", scene.checks.violations());
    }
}

#[test]
fn at_the_end_count_and_tags_match_the_spec() {
    let mut object = vpc(json!({}));
    object["spec"]["tags"] = json!({"Team": "web"});
    status(&mut object, "True", "Available", "");
    let mut scene = Scene::of(object);
    scene.made("vpc-1");
    scene.checks.converged(scene.now);
    scene.is(Class::Wrong);
    scene.cloud.lock().0.clear();
    scene.checks.violations.clear();
    scene.checks.converged(scene.now);
    scene.is(Class::Wrong);
}

#[test]
fn an_orphan_is_detected_at_the_end() {
    let mut scene = up(json!({}));
    let mut bare = vpc(json!({}));
    bare["metadata"]["finalizers"] = json!([]);
    scene.set(bare);
    scene.outside();
    scene.pass(60);
    scene.remove("u-1");
    scene.outside();
    scene.checks.converged(scene.now);
    scene.is(Class::Orphan);
    scene.checks.emptied(scene.now);
    assert_eq!(scene.classes(), [Class::Orphan, Class::LeftBehind]);
}

#[test]
fn a_write_in_steady_state_is_detected() {
    let mut scene = up(json!({}));
    scene.pass(300);
    scene.checks.rested(scene.now, Duration::from_mins(1));
    scene.is_clean();
    for _ in 0..100 {
        scene.modify();
    }
    let mut edited = vpc(json!({}));
    edited["status"]["epoch"] = json!(1);
    scene.set(edited);
    scene.write(&vpc_caller(), &json!({}));
    scene.checks.rested(scene.now, Duration::from_mins(1));
    assert_eq!(scene.classes(), [Class::Restless, Class::Restless, Class::Busy]);
}

#[test]
fn a_remaining_object_is_detected_after_all_are_deleted() {
    let mut scene = up(json!({}));
    scene.checks.emptied(scene.now);
    assert_eq!(scene.classes(), [Class::LeftBehind], "the object itself");
}

#[test]
fn a_remaining_resource_must_name_an_unmanaged_object() {
    for (message, is_explained) in [("it is used by vpc-9", true), ("vpc-1 has dependencies", false)] {
        let mut deleting = vpc(json!({}));
        deleting["metadata"]["deletionTimestamp"] = json!("now");
        status(&mut deleting, "False", "Deleting", message);
        let mut scene = Scene::of(vpc(json!({})));
        scene.made("vpc-1");
        scene.object("vpc-9", &[]);
        scene.outside();
        scene.set(deleting);
        scene.checks.emptied(scene.now);
        assert_eq!(scene.classes().is_empty(), is_explained, "{message}");
    }
}

#[test]
fn a_released_object_without_tags_explains_what_it_blocks() {
    let mut deleting = vpc(json!({}));
    deleting["metadata"]["deletionTimestamp"] = json!("now");
    status(&mut deleting, "False", "Deleting", "it is used by sg-9");
    let mut scene = Scene::of(vpc(json!({})));
    scene.made("vpc-1");
    scene.object("sg-9", &[]);
    scene.cloud.lock().0.get_mut("sg-9").unwrap().kind = Kind::SecurityGroup;
    scene.checks.launched.insert("sg-9".into(), "gone".into());
    scene.outside();
    scene.set(deleting);
    scene.checks.emptied(scene.now);
    assert_eq!(scene.classes(), []);
}
