//! Checks of launches.

use super::*;

#[test]
fn two_launches_must_not_have_the_same_token() {
    let mut scene = Scene::of(vpc(json!({})));
    scene.owned_object("vpc-1");
    scene.cloud_call("CreateVpc", &format!("{TAGS}&ClientToken=t"));
    scene.cloud_call("CreateVpc", &format!("{TAGS}&ClientToken=t"));
    scene.has_no_violation();
    scene.cloud_call("CreateVpc", &format!("{}&ClientToken=t", TAGS.replace("2.Value=1", "2.Value=2")));
    scene.has_violation(Class::SameToken);
}

#[test]
fn a_replacement_without_an_edit_is_detected() {
    let placed = |boundary: Value, generation: i64| {
        let mut object = vpc(json!({"replace": "CreateFirst"}));
        object["status"]["ledger"]["replacedBefore"] = boundary;
        object["status"]["inPlace"] = json!({"generation": generation, "spec": "x", "inputs": ""});
        object
    };
    for (generation, is_fine) in [(1, false), (0, true)] {
        let mut scene = Scene::of(placed(Value::Null, generation));
        scene.set(placed(json!(2), generation));
        scene.write(&vpc_caller(), &json!({"metadata": {"resourceVersion": "1"}}));
        assert_eq!(scene.classes().is_empty(), is_fine);
    }
}

#[test]
fn a_launch_without_a_ledger_is_detected() {
    let mut bare = vpc(json!({}));
    bare["status"]["ledger"] = json!(null);
    let mut scene = Scene::of(bare);
    scene.created_object("vpc-1");
    scene.has_violation(Class::NoLedger);
    let mut scene = Scene::of(vpc(json!({})));
    scene.object("vpc-1", &[]);
    scene.cloud_call("CreateVpc", "CidrBlock=10.0.0.0/16");
    scene.has_violation(Class::NoLedger);
}

#[test]
fn a_ledger_without_a_precondition_is_detected() {
    let mut scene = scene_with(json!({}));
    let test = |path: &str| json!({"op": "test", "path": path, "value": "1"});
    let status = || json!({"op": "add", "path": "/status", "value": {"ledger": {"epoch": 1}}});
    let (uid, version) = (test("/metadata/uid"), test("/metadata/resourceVersion"));
    scene.write(&vpc_caller(), &json!([uid, version, status()]));
    scene.has_no_violation();
    scene.write(&vpc_caller(), &json!([uid, status()]));
    scene.has_violation(Class::NoPrecondition);
}

#[test]
fn a_launch_for_a_deleted_object_is_detected() {
    let mut scene = scene_with(json!({}));
    scene.cloud.lock().0.clear();
    scene.remove("u-1");
    scene.after_out_of_band();
    scene.advance(60);
    scene.created_object("vpc-2");
    scene.has_violation(Class::CreatedForGone);
}

#[test]
fn a_launch_in_another_location_is_detected() {
    let mut object = vpc(json!({}));
    object["status"]["location"] = json!({"account": "1", "region": "eu-west-1"});
    let mut scene = Scene::of(object);
    scene.created_object("vpc-1");
    scene.has_violation(Class::Elsewhere);
}

#[test]
fn objects_that_disappeared_at_once_are_not_recreated_without_a_confirmation() {
    let resource = |number: usize| {
        let mut object = vpc(json!({}));
        object["metadata"]["uid"] = json!(format!("u-{number}"));
        object["status"]["ledger"]["uid"] = json!(format!("u-{number}"));
        object["metadata"]["name"] = json!(format!("a-{number}"));
        object["status"]["externalIds"] = json!([format!("vpc-{number}")]);
        status(&mut object, "True", "Available", "in place");
        object
    };
    let created = |scene: &mut Scene, id: &str, number: usize| {
        let uid = format!("u-{number}");
        scene.object(&format!("{id}-{number}"), &[("uid", &uid), ("cluster", "c")]);
        scene.cloud_call("CreateVpc", &TAGS.replace("u-1", &uid));
    };
    for (seconds_between, is_fine) in [(0, false), (6, true)] {
        let mut scene = Scene::of(resource(0));
        (1..5).for_each(|number| scene.set(resource(number)));
        scene.after_out_of_band();
        (0..5).for_each(|number| created(&mut scene, "vpc", number));
        scene.advance(60);
        scene.cloud.lock().0.clear();
        scene.after_out_of_band();
        scene.checks.extend_disturbance(scene.now, scene.now);
        for number in 0..5 {
            scene.advance(seconds_between);
            created(&mut scene, "new", number);
        }
        scene.has_violation_unless(is_fine, Class::Unconfirmed);
    }
}
