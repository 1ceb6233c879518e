//! Checks of calls that change, claim or delete remote objects.

use super::*;

#[test]
fn a_second_object_of_a_uid_is_detected() {
    let mut scene = scene_with(json!({}));
    scene.created_object("vpc-2");
    scene.has_violation(Class::TooMany);
}

#[test]
fn a_replacement_explains_a_second_object() {
    let mut scene = scene_with(json!({"replace": "CreateFirst"}));
    let mut replacing = vpc(json!({"replace": "CreateFirst"}));
    replacing["status"]["ledger"] =
        json!({"uid": "u-1", "epoch": 1, "replacedBefore": 2, "outgoing": ["vpc-1"]});
    scene.set(replacing);
    scene.created_object("vpc-2");
    scene.has_no_violation();
    scene.created_object("vpc-3");
    scene.has_violation(Class::TooMany);
}

#[test]
fn a_copy_with_owner_tags_does_not_count() {
    let mut scene = scene_with(json!({}));
    scene.owned_object("vpc-copy");
    scene.after_out_of_band();
    scene.modify();
    scene.has_no_violation();
}

/// A key pair with the owner tags of the resource.
fn key_pair(scene: &Scene, id: &str, name: &str) {
    scene.owned_object(id);
    let mut cloud = scene.cloud.lock();
    let remote = cloud.0.get_mut(id).unwrap();
    (remote.kind, remote.name) = (Kind::KeyPair, Some(name.to_owned()));
}

#[test]
fn a_copy_of_a_key_pair_counts_if_its_name_is_on_record() {
    for (name, is_fine) in [("copy", true), ("pair", false)] {
        let mut resource = vpc(json!({}));
        resource["kind"] = json!("KeyPair");
        resource["status"]["externalIds"] = json!(["pair"]);
        let mut scene = Scene::of(resource);
        key_pair(&scene, "key-1", name);
        scene.after_out_of_band();
        key_pair(&scene, "key-2", "new");
        scene.cloud_call("ImportKeyPair", TAGS);
        scene.has_violation_unless(is_fine, Class::TooMany);
    }
}

#[test]
fn an_object_without_owner_tags_must_not_be_deleted() {
    let mut scene = scene_with(json!({}));
    scene.object("vpc-9", &[]);
    scene.after_out_of_band();
    scene.advance(60);
    scene.cloud_call("DeleteVpc", "VpcId=vpc-9");
    scene.has_violation(Class::NotOurs);
}

#[test]
fn an_object_of_another_owner_must_not_be_claimed() {
    let mut scene = scene_with(json!({}));
    scene.object("vpc-8", &[("uid", "u-1"), ("cluster", "other")]);
    scene.object("vpc-9", &[("uid", "u-2"), ("cluster", "c")]);
    scene.after_out_of_band();
    scene.advance(60);
    scene.cloud_call("DeleteVpc", "VpcId=vpc-8");
    let tag = "Tag.1.Key=kraken-iac.eoinfennessy.com/uid&Tag.1.Value=u-1";
    scene.cloud_call("CreateTags", &format!("ResourceId.1=vpc-9&{tag}"));
    assert_eq!(scene.classes(), [Class::NotOurs, Class::NotOurs]);
}

#[test]
fn only_adopted_or_recorded_objects_may_be_claimed() {
    let tag = "Tag.1.Key=kraken-iac.eoinfennessy.com/uid&Tag.1.Value=u-1";
    for (adopt, is_fine) in [(json!({"id": "vpc-9"}), true), (json!({"id": "vpc-8"}), false)] {
        let mut scene = Scene::of(vpc(json!({"adopt": adopt})));
        scene.object("vpc-9", &[]);
        scene.after_out_of_band();
        scene.cloud_call("CreateTags", &format!("ResourceId.1=vpc-9&{tag}"));
        assert_eq!(scene.classes().is_empty(), is_fine);
    }
}

#[test]
fn a_protected_object_must_not_be_deleted() {
    let mut scene = scene_with(json!({"protect": true}));
    scene.delete();
    scene.has_violation(Class::Protected);
}

#[test]
fn a_protected_resource_may_be_scaled_after_a_replacement() {
    for (max, id, is_fine) in [(0, "i-2", true), (1, "i-2", false), (0, "i-1", false)] {
        let mut scene = replaced(max);
        scene.cloud.lock().0.get_mut(id).unwrap().alive = false;
        // A new process knows only the protected version.
        let call = call("TerminateInstances", &format!("InstanceId.1={id}"));
        scene.checks.after_cloud(scene.now, &instance_caller(2), &call, &ok());
        scene.has_violation_unless(is_fine, Class::Protected);
    }
}

/// An EC2Instance of which i-2 replaces i-1. It was protected since then, and has this maxCount.
fn replaced(max: u64) -> Scene {
    let instance = |spec: Value, ledger: &Value| {
        let mut object = vpc(json!({}));
        object["kind"] = json!("EC2Instance");
        object["spec"] = spec;
        object["status"]["ledger"].clone_from(ledger);
        object
    };
    let launch = |scene: &mut Scene, id: &str| {
        scene.owned_object(id);
        scene.cloud.lock().0.get_mut(id).unwrap().kind = Kind::Instance;
        scene.checks.after_cloud(scene.now, &instance_caller(1), &call("RunInstances", TAGS), &ok());
    };
    let one = || json!({"maxCount": {"value": 1}});
    let mut scene = Scene::of(instance(one(), &json!({"uid": "u-1", "epoch": 1})));
    launch(&mut scene, "i-1");
    let replacing = json!({"uid": "u-1", "epoch": 1, "replacedBefore": 2, "outgoing": ["i-1"]});
    scene.set(instance(one(), &replacing));
    launch(&mut scene, "i-2");
    let scaled = json!({"maxCount": {"value": max}, "lifecycle": {"protect": true}});
    scene.set(instance(scaled, &replacing));
    scene.after_out_of_band();
    scene.advance(1);
    scene.has_no_violation();
    scene
}

#[test]
fn a_policy_applies_only_to_processes_that_can_know_it() {
    let mut scene = scene_with(json!({}));
    scene.set(vpc(json!({"protect": true})));
    scene.after_out_of_band();
    scene.advance(1);
    scene.modify();
    scene.delete();
    scene.has_no_violation();
    // The same when the controller has shown that it knows.
    let mut scene = scene_with(json!({}));
    scene.set(vpc(json!({"protect": true})));
    scene.after_out_of_band();
    scene.set(vpc(json!({"protect": true})));
    scene.write(&vpc_caller(), &json!({"metadata": {"resourceVersion": "2"}}));
    scene.delete();
    scene.has_violation(Class::Protected);
    // Or when it is long ago, and nothing failed since.
    let mut scene = scene_with(json!({}));
    scene.set(vpc(json!({"protect": true})));
    scene.after_out_of_band();
    scene.checks.extend_disturbance(scene.now, scene.now + Duration::from_mins(1));
    scene.advance(60);
    scene.modify();
    scene.advance(30);
    scene.delete();
    scene.has_violation(Class::Protected);
}

#[test]
fn a_retained_or_adopted_object_must_not_be_deleted() {
    let mut scene = scene_with(json!({"deletion": "Retain"}));
    scene.delete();
    scene.has_violation(Class::Retained);
    let mut adopted = vpc(json!({}));
    adopted["status"]["adopted"] = json!(["vpc-1"]);
    let mut scene = Scene::of(adopted);
    scene.created_object("vpc-1");
    scene.delete();
    scene.has_violation(Class::Retained);
}

#[test]
fn an_observed_adoption_counts_without_a_record() {
    let mut scene = adopting();
    scene.advance(60);
    scene.cloud.lock().0.get_mut("vpc-9").unwrap().alive = false;
    scene.cloud_call("DeleteVpc", "VpcId=vpc-9");
    scene.has_violation(Class::Retained);
}

/// A VPC that adopts an object of a user 20 s after its creation.
fn adopting() -> Scene {
    let mut scene = Scene::of(vpc(json!({"adopt": {"id": "vpc-9"}})));
    scene.object("vpc-9", &[]);
    scene.after_out_of_band();
    scene.advance(20);
    scene.owned_object("vpc-9");
    let owner = "ResourceId.1=vpc-9&Tag.1.Key=kraken-iac.eoinfennessy.com/uid&Tag.1.Value=u-1";
    scene.cloud_call("CreateTags", owner);
    scene.has_no_violation();
    scene
}

#[test]
fn an_adopted_object_is_judged_immediately_after_an_operation() {
    for (is_changed, classes) in [(false, vec![Class::Retained]), (true, vec![])] {
        let mut scene = adopting();
        scene.advance(20);
        if is_changed {
            // A user changed its tags after the adoption: another resource may still act on the former ones.
            let mut cloud = scene.cloud.lock();
            cloud.0.get_mut("vpc-9").unwrap().tags.insert("Team".into(), "web".into());
            drop(cloud);
        }
        scene.after_out_of_band();
        scene.checks.extend_disturbance(scene.now, scene.now);
        scene.advance(1);
        scene.cloud.lock().0.get_mut("vpc-9").unwrap().alive = false;
        scene.cloud_call("DeleteVpc", "VpcId=vpc-9");
        assert_eq!(scene.classes(), classes);
    }
}

#[test]
fn an_adopted_object_must_not_be_taken_from_its_resource() {
    let claim = "ResourceId.1=vpc-9&Tag.1.Key=kraken-iac.eoinfennessy.com/uid&Tag.1.Value=u-2";
    for (incarnation, is_fine) in [(1, false), (2, true)] {
        let mut scene = adopting();
        scene.checks.extend_disturbance(scene.now, scene.now);
        scene.advance(1);
        // A new process may not have observed the adoption yet.
        let by = CallingProcess { incarnation, ..vpc_caller() };
        scene.object("vpc-9", &[("uid", "u-2"), ("cluster", "c")]);
        scene.checks.after_cloud(scene.now, &by, &call("CreateTags", claim), &ok());
        scene.has_violation_unless(is_fine, Class::NotOurs);
    }
}

#[test]
fn a_created_object_must_not_be_released_unless_it_is_retained() {
    for (lifecycle, is_fine) in [(json!({}), false), (json!({"deletion": "Retain"}), true)] {
        let mut scene = scene_with(lifecycle);
        scene.object("vpc-1", &[]);
        scene.cloud_call("DeleteTags", "ResourceId.1=vpc-1&Tag.1.Key=kraken-iac.eoinfennessy.com/uid");
        scene.has_violation_unless(is_fine, Class::Released);
    }
}

#[test]
fn a_paused_resource_must_not_be_changed_or_created() {
    let mut scene = Scene::of(vpc(json!({"paused": true})));
    scene.created_object("vpc-1");
    scene.has_violation(Class::Paused);
    scene.modify();
    assert_eq!(scene.classes().len(), 2);
}

#[test]
fn a_new_process_does_not_know_older_versions() {
    let mut scene = scene_with(json!({}));
    scene.set(vpc(json!({"protect": true})));
    scene.after_out_of_band();
    scene.advance(1);
    let by = CallingProcess { incarnation: 2, ..vpc_caller() };
    scene.cloud.lock().0.get_mut("vpc-1").unwrap().alive = false;
    scene.checks.after_cloud(scene.now, &by, &call("DeleteVpc", "VpcId=vpc-1"), &ok());
    scene.has_violation(Class::Protected);
}

#[test]
fn an_orphan_is_detached_before_its_deletion_whatever_its_former_owner_required() {
    for removes_orphans in [true, false] {
        let mut scene = Scene::of(vpc(json!({"approval": "Manual"})));
        scene.created_object("igw-1");
        scene.checks.violations.clear(); // it was made before
        scene.checks.removes_orphans = removes_orphans;
        scene.remove("u-1");
        scene.after_out_of_band();
        scene.cloud_call("DetachInternetGateway", "InternetGatewayId=igw-1&VpcId=vpc-9");
        scene.has_violation_unless(removes_orphans, Class::Unapproved);
    }
}

#[test]
fn an_object_with_the_owner_tags_of_another_resource_is_respected_when_reads_show_them() {
    for (seconds, is_fine) in [(30, true), (200, false)] {
        let mut scene = scene_with(json!({}));
        scene.checks.tag_lag = Duration::from_mins(1);
        scene.checks.extend_disturbance(scene.now, scene.now);
        let mut other = vpc(json!({}));
        (other["kind"], other["metadata"]["name"], other["metadata"]["uid"]) =
            (json!("TargetGroup"), json!("b"), json!("u-2"));
        scene.set(other);
        scene.object("vpc-1", &[("uid", "u-2"), ("cluster", "c")]);
        scene.after_out_of_band();
        scene.advance(seconds);
        scene.modify();
        scene.has_violation_unless(is_fine, Class::NotOurs);
    }
}
