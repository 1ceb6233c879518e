//! Where the objects of resources are.

use super::*;

const ELSEWHERE: &str = "222222222222";
const USUAL: &str = "123456789012";

/// The VPC with a last launch in this account.
fn launched(account: &str) -> Value {
    let mut object = vpc(json!({}));
    object["status"]["ledger"]["location"] = json!({"account": account, "region": "us-east-1"});
    object
}

/// The VPC of which users removed the ids, and not the place.
fn without_ids() -> Value {
    let mut object = launched(USUAL);
    object["status"]["externalIds"] = json!([]);
    object
}

/// The VPC without a last launch.
fn without_a_record() -> Value {
    let mut object = vpc(json!({}));
    object["status"]["ledger"] = json!(null);
    object
}

fn caller_elsewhere() -> CallingProcess {
    CallingProcess { place: format!("{PLACE}{ELSEWHERE}/us-east-1"), ..vpc_caller() }
}

/// The VPC is at the usual place, according to its record.
fn scene_at_the_usual_place() -> Scene {
    let mut scene = scene_with(json!({}));
    scene.set(launched(USUAL));
    scene.write(&vpc_caller(), &json!({}));
    scene.has_no_violation();
    scene.advance(1);
    scene
}

impl Scene {
    /// The VPC disappears with a call of this process: a violation unless `is_fine`.
    fn judge_removal(&mut self, by: &CallingProcess, is_fine: bool) {
        self.remove("u-1");
        self.write(by, &json!({}));
        self.has_violation_unless(is_fine, Class::FinalizerEarly);
    }
}

#[test]
fn a_finalizer_goes_if_its_process_recorded_another_place_after_users_removed_the_record() {
    for (edited, account, is_fine) in [
        (Some(without_a_record()), ELSEWHERE, true),
        (Some(without_a_record()), USUAL, false),
        (Some(without_ids()), ELSEWHERE, false),
        (None, ELSEWHERE, false),
    ] {
        let mut scene = scene_at_the_usual_place();
        if let Some(edited) = edited {
            scene.set(edited);
            scene.after_out_of_band();
            scene.advance(1);
        }
        scene.set(launched(account));
        scene.write(&vpc_caller(), &json!({}));
        scene.judge_removal(&vpc_caller(), is_fine);
    }
}

#[test]
fn a_finalizer_goes_if_its_process_works_elsewhere_after_users_removed_the_record() {
    for (is_removed, by, account, is_fine) in [
        (true, caller_elsewhere(), json!(null), true),
        (true, vpc_caller(), json!(null), false),
        (false, caller_elsewhere(), json!(null), false),
        // The Account says where its objects are, wherever the process works.
        (true, caller_elsewhere(), json!({"name": "main"}), false),
    ] {
        let mut scene = scene_at_the_usual_place();
        let mut object = if is_removed { without_a_record() } else { launched(USUAL) };
        object["spec"]["account"] = account;
        scene.set(object);
        scene.after_out_of_band();
        scene.judge_removal(&by, is_fine);
    }
}

#[test]
fn a_finalizer_goes_if_a_backup_brought_its_resource_back_without_the_record() {
    for (restored, account, is_fine) in [
        (without_a_record(), ELSEWHERE, true),
        (without_a_record(), USUAL, false),
        // The backup has the record, and the controller replaced it.
        (launched(USUAL), ELSEWHERE, false),
    ] {
        let mut scene = scene_at_the_usual_place();
        // Users removed its finalizer while it was being deleted.
        scene.remove("u-1");
        scene.after_out_of_band();
        scene.advance(1);
        scene.set(restored);
        scene.after_out_of_band();
        scene.advance(1);
        scene.set(launched(account));
        scene.write(&vpc_caller(), &json!({}));
        scene.judge_removal(&vpc_caller(), is_fine);
    }
}

#[test]
fn a_removed_record_does_not_excuse_an_object_where_the_process_searches() {
    for (place, is_fine) in [(caller_elsewhere().place, false), (String::new(), true)] {
        let mut scene = scene_at_the_usual_place();
        scene.set(without_a_record());
        scene.after_out_of_band();
        scene.advance(1);
        // It was not created for the resource.
        scene.owned_object(&format!("vpc-2{place}"));
        scene.judge_removal(&caller_elsewhere(), is_fine);
    }
}

/// An EC2Instance of this last launch, scaled to none, which is ready.
fn scaled_to_none(record: &Value) -> Value {
    let mut object = record.clone();
    object["kind"] = json!("EC2Instance");
    object["spec"]["maxCount"] = json!({"value": 0});
    status(&mut object, "True", "Available", "");
    object
}

#[test]
fn an_object_elsewhere_does_not_count_at_the_end_after_users_removed_the_record() {
    let elsewhere = CallingProcess { place: caller_elsewhere().place, ..instance_caller(2) };
    for (edited, by, is_fine) in [
        (without_a_record(), elsewhere.clone(), true),
        (without_a_record(), instance_caller(2), false),
        (launched(USUAL), elsewhere, false),
    ] {
        let mut scene = Scene::of(scaled_to_none(&launched(USUAL)));
        scene.owned_object("i-1");
        scene.cloud.lock().0.get_mut("i-1").unwrap().kind = Kind::Instance;
        scene.checks.after_cloud(scene.now, &instance_caller(1), &call("RunInstances", TAGS), &ok());
        scene.advance(1);
        scene.set(scaled_to_none(&edited));
        scene.after_out_of_band();
        scene.advance(1);
        scene.write_of("ec2instances", &by, &json!({}));
        scene.checks.violations.clear();
        scene.checks.converged(scene.now);
        scene.has_violation_unless(is_fine, Class::Wrong);
    }
}
