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
        scene.created_object("vpc-1");
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
    scene.created_object("vpc-1");
    scene.checks.converged(scene.now);
    scene.has_violation(Class::Wrong);
    scene.cloud.lock().0.clear();
    scene.checks.violations.clear();
    scene.checks.converged(scene.now);
    scene.has_violation(Class::Wrong);
}

#[test]
fn an_orphan_is_detected_at_the_end() {
    let mut scene = scene_with(json!({}));
    let mut bare = vpc(json!({}));
    bare["metadata"]["finalizers"] = json!([]);
    scene.set(bare);
    scene.after_out_of_band();
    scene.advance(60);
    scene.remove("u-1");
    scene.after_out_of_band();
    scene.checks.converged(scene.now);
    scene.has_violation(Class::Orphan);
    scene.checks.emptied(scene.now);
    assert_eq!(scene.classes(), [Class::Orphan, Class::LeftBehind]);
}

/// The VPC with its deletion begun, which waits for its dependents.
fn waiting_vpc(finalizers: &[&str]) -> Value {
    let mut waiting = deleting_vpc();
    waiting["metadata"]["finalizers"] = json!(finalizers);
    waiting
}

#[test]
fn a_finalizer_that_a_user_removed_just_before_a_deletion_that_takes_long_cannot_be_restored() {
    for (seconds, is_fine) in [(1, true), (60, false)] {
        let mut scene = scene_with(json!({}));
        let mut bare = vpc(json!({}));
        bare["metadata"]["finalizers"] = json!([]);
        scene.set(bare);
        scene.after_out_of_band();
        scene.advance(seconds);
        scene.set(waiting_vpc(&["foregroundDeletion"]));
        scene.after_out_of_band();
        scene.advance(60);
        scene.remove("u-1");
        scene.checks.after_collection(scene.now);
        scene.checks.converged(scene.now);
        scene.has_violation_unless(is_fine, Class::Orphan);
    }
}

#[test]
fn a_finalizer_that_a_user_removed_during_a_deletion_that_takes_long_cannot_be_restored() {
    for (by_user, expected) in [(true, &[][..]), (false, &[Class::FinalizerEarly, Class::Orphan][..])] {
        let mut scene = scene_with(json!({}));
        scene.set(waiting_vpc(&["kraken-iac.eoinfennessy.com/external", "foregroundDeletion"]));
        scene.after_out_of_band();
        scene.advance(60);
        scene.set(waiting_vpc(&["foregroundDeletion"]));
        if by_user {
            scene.after_out_of_band();
        } else {
            scene.checks.after_api(scene.now, &vpc_caller(), &patch("a", &json!({})), &ok());
        }
        scene.advance(60);
        scene.remove("u-1");
        scene.checks.after_collection(scene.now);
        scene.checks.converged(scene.now);
        assert_eq!(scene.classes(), expected);
    }
}

#[test]
fn an_object_is_gone_since_kubernetes_deleted_it() {
    let mut scene = scene_with(json!({}));
    let mut bare = vpc(json!({}));
    bare["metadata"]["finalizers"] = json!([]);
    scene.set(bare);
    scene.after_out_of_band();
    scene.advance(1);
    scene.remove("u-1"); // with its owner
    scene.checks.after_collection(scene.now);
    scene.advance(60);
    scene.checks.converged(scene.now);
    scene.has_no_violation();
}

#[test]
fn a_write_in_steady_state_is_detected() {
    let mut scene = scene_with(json!({}));
    scene.advance(300);
    scene.checks.rested(scene.now, Duration::from_mins(1));
    scene.has_no_violation();
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
fn calls_of_resources_that_were_deleted_recently_are_expected() {
    for (seconds, is_fine) in [(300, true), (900, false)] {
        let mut scene = scene_with(json!({}));
        for uid in ["u-2", "u-3"] {
            let mut other = vpc(json!({}));
            other["metadata"]["uid"] = json!(uid);
            scene.set(other);
        }
        scene.after_out_of_band();
        scene.remove("u-2");
        scene.remove("u-3");
        scene.after_out_of_band();
        scene.advance(seconds);
        (0..70).for_each(|_| scene.modify());
        scene.advance(120);
        scene.checks.rested(scene.now, Duration::from_mins(1));
        scene.has_violation_unless(is_fine, Class::Busy);
    }
}

#[test]
fn a_remaining_object_is_detected_after_all_are_deleted() {
    let mut scene = scene_with(json!({}));
    scene.checks.emptied(scene.now);
    assert_eq!(scene.classes(), [Class::LeftBehind], "the object itself");
}

/// The VPC is being deleted with this message, and an object exists that Kraken did not create.
fn vpc_that_names(message: &str, kind: Kind, id: &str, tags: &[(&str, &str)]) -> Scene {
    let mut deleting = deleting_vpc();
    status(&mut deleting, "False", "Deleting", message);
    let mut scene = Scene::of(vpc(json!({})));
    scene.created_object("vpc-1");
    scene.object_of(kind, id, tags);
    scene.after_out_of_band();
    scene.set(deleting);
    scene
}

#[test]
fn a_remaining_resource_must_name_an_unmanaged_object() {
    for (message, is_explained) in [("it is used by vpc-9", true), ("vpc-1 has dependencies", false)] {
        let mut scene = vpc_that_names(message, Kind::Vpc, "vpc-9", &[]);
        scene.checks.emptied(scene.now);
        assert_eq!(scene.classes().is_empty(), is_explained, "{message}");
    }
}

#[test]
fn a_request_that_lost_its_owner_remains_only_with_its_resource() {
    for (name, is_explained) in [("vpc.aws.a", true), ("vpc.aws.b", false), ("subnet.aws.a", false)] {
        let mut scene = vpc_that_names("it is used by vpc-9", Kind::Vpc, "vpc-9", &[]);
        scene.set(json!({
            "apiVersion": "core.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "DependencyRequest",
            "metadata": {"namespace": NS, "name": name, "uid": "r-1"},
        }));
        scene.checks.emptied(scene.now);
        assert_eq!(scene.classes().is_empty(), is_explained, "{name}: {:?}", scene.checks.violations());
    }
}

#[test]
fn a_remaining_subnet_must_name_the_object_in_it() {
    let refusal = "failed to delete the subnet: The subnet 'subnet-1' has dependencies and cannot be deleted";
    for (used, is_explained) in
        [("; it is used by eni-1 (Interface for NAT Gateway nat-9)", true), (".", false)]
    {
        let mut subnet = deleting_vpc();
        subnet["kind"] = json!("Subnet");
        status(&mut subnet, "False", "Deleting", &format!("{refusal}{used} (DependencyViolation)"));
        let mut scene = Scene::of(subnet);
        scene.object_of(Kind::NatGateway, "nat-9", &[]);
        scene.after_out_of_band();
        scene.checks.emptied(scene.now);
        assert_eq!(scene.classes().is_empty(), is_explained, "{used}");
    }
}

#[test]
fn a_load_balancer_is_named_by_its_interfaces() {
    let arn = "arn:aws:elasticloadbalancing:us-east-1:1:loadbalancer/app/web/1";
    let mut scene = vpc_that_names("it is used by eni-1 (ELB app/web/1)", Kind::LoadBalancer, arn, &[]);
    scene.checks.emptied(scene.now);
    assert_eq!(scene.classes(), []);
}

#[test]
fn an_object_of_another_kind_with_the_owner_tags_explains_what_it_blocks() {
    for (kind, is_fine) in [(Kind::Subnet, true), (Kind::Vpc, false)] {
        let owner = [("uid", "u-1"), ("cluster", "c")];
        let mut scene = vpc_that_names("it is used by copy-9", kind, "copy-9", &owner);
        scene.checks.emptied(scene.now);
        assert_eq!(scene.classes().is_empty(), is_fine);
    }
}

#[test]
fn a_released_object_without_tags_explains_what_it_blocks() {
    let mut scene = vpc_that_names("it is used by sg-9", Kind::SecurityGroup, "sg-9", &[]);
    scene.checks.launched.insert("sg-9".into(), "gone".into());
    scene.checks.emptied(scene.now);
    assert_eq!(scene.classes(), []);
}

#[test]
fn an_object_of_a_user_without_tags_explains_what_it_blocks() {
    for is_implicit in [false, true] {
        let mut scene = vpc_that_names("it is used by sg-9", Kind::SecurityGroup, "sg-9", &[]);
        scene.cloud.lock().0.get_mut("sg-9").unwrap().is_implicit = is_implicit;
        scene.checks.emptied(scene.now);
        // The default security group is deleted with its VPC.
        assert_eq!(scene.classes().is_empty(), !is_implicit);
    }
}

#[test]
fn a_full_subnet_is_a_cause_if_the_launch_was_rejected_since_faults_ended() {
    for is_rejected in [true, false] {
        let mut object = vpc(json!({}));
        let message =
            "failed to launch instances: there are not enough addresses (InsufficientFreeAddressesInSubnet)";
        status(&mut object, "False", "CloudUnavailable", message);
        let mut scene = Scene::of(object);
        scene.created_object("vpc-1");
        if is_rejected {
            let rejection = Answer { status: 400, body: "".into() };
            scene.checks.after_cloud(scene.now, &vpc_caller(), &call("RunInstances", TAGS), &rejection);
        }
        scene.checks.converged(scene.now);
        scene.has_violation_unless(is_rejected, Class::NotConverged);
    }
}
