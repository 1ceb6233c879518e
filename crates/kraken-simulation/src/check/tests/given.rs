//! Checks of remote objects to which users gave the owner tags of another resource.

use super::*;

impl Scene {
    /// The record no longer names an object.
    fn forget(&mut self) {
        let mut object = vpc(json!({}));
        object["status"]["externalIds"] = json!([]);
        self.set(object);
        self.write(&vpc_caller(), &json!({}));
    }
}

/// Some seconds after a user removed the owner tags of the VPC, which may have been those of another resource by then.
fn stripped(is_given: bool, seconds: u64) -> Scene {
    let mut scene = scene_with(json!({}));
    if is_given {
        scene.object("vpc-1", &[("uid", "u-2"), ("cluster", "c")]);
        scene.after_out_of_band();
        scene.advance(60);
    }
    scene.object("vpc-1", &[]);
    scene.after_out_of_band();
    scene.advance(seconds);
    scene
}

#[test]
fn an_object_may_be_forgotten_while_it_is_shown_with_the_tags_of_another_resource() {
    for (is_given, forgets, seconds, is_fine) in [
        (true, true, 1, true),
        (true, true, 60, false),
        (false, true, 1, false),
        (true, false, 1, true), // the resource is deleted at once
        (true, false, 60, false),
    ] {
        let mut scene = stripped(is_given, seconds);
        if forgets {
            scene.forget();
            scene.advance(60);
        }
        scene.remove("u-1");
        scene.write(&vpc_caller(), &json!({}));
        scene.checks.emptied(scene.now);
        scene.has_violation_unless(is_fine, Class::LeftBehind);
    }
}

#[test]
fn an_object_counts_again_when_responses_do_not_contain_the_tags_of_another_resource_any_more() {
    for (is_given, seconds, is_fine) in [(true, 1, true), (true, 60, false), (false, 1, false)] {
        let mut scene = stripped(is_given, seconds);
        scene.created_object("vpc-2");
        scene.has_violation_unless(is_fine, Class::TooMany);
    }
}

#[test]
fn an_object_may_remain_that_was_replaced_while_it_had_the_tags_of_another_resource() {
    for (is_replaced, is_fine) in [(true, true), (false, false)] {
        let mut scene = scene_with(json!({}));
        if is_replaced {
            scene.object("vpc-1", &[("uid", "u-2"), ("cluster", "c")]);
            scene.after_out_of_band();
            scene.created_object("vpc-2");
            scene.advance(60);
        }
        scene.object("vpc-1", &[]);
        scene.after_out_of_band();
        // The status still names it, because its writes were rejected.
        scene.advance(60);
        scene.cloud.lock().0.remove("vpc-2");
        scene.remove("u-1");
        scene.write(&vpc_caller(), &json!({}));
        scene.checks.emptied(scene.now);
        scene.has_violation_unless(is_fine, Class::LeftBehind);
    }
}

#[test]
fn an_object_that_is_not_replaced_although_another_resource_has_its_tags_must_be_deleted() {
    let mut two = vpc(json!({}));
    two["kind"] = json!("EC2Instance");
    two["spec"]["maxCount"] = json!({"value": 2});
    two["status"]["externalIds"] = json!(["i-1"]);
    let mut scene = Scene::of(two);
    let owner = [("uid", "u-1"), ("cluster", "c")];
    let launch = call("RunInstances", TAGS);
    scene.object_of(Kind::Instance, "i-1", &owner);
    scene.checks.after_cloud(scene.now, &instance_caller(1), &launch, &ok());
    scene.object_of(Kind::Instance, "i-1", &[("uid", "u-2"), ("cluster", "c")]);
    scene.after_out_of_band();
    scene.object_of(Kind::Instance, "i-2", &owner);
    scene.checks.after_cloud(scene.now, &instance_caller(1), &launch, &ok());
    scene.object_of(Kind::Instance, "i-1", &[]);
    scene.after_out_of_band();
    scene.advance(60);
    scene.cloud.lock().0.remove("i-2");
    scene.remove("u-1");
    scene.write_of("ec2instances", &instance_caller(1), &json!({}));
    scene.checks.emptied(scene.now);
    scene.has_violation(Class::LeftBehind);
}

#[test]
fn an_object_may_be_hidden_by_one_that_has_the_tags_of_its_resource() {
    for (has_copy, recorded, is_fine) in
        [(true, json!([]), true), (false, json!([]), false), (true, json!(["vpc-1"]), false)]
    {
        let mut launched = vpc(json!({}));
        launched["status"]["externalIds"] = recorded;
        let mut scene = Scene::of(launched);
        scene.created_object("vpc-1");
        if has_copy {
            scene.owned_object("vpc-2");
            scene.after_out_of_band();
        }
        scene.advance(1);
        scene.remove("u-1");
        scene.write(&vpc_caller(), &json!({}));
        scene.has_violation_unless(is_fine, Class::FinalizerEarly);
        scene.checks.emptied(scene.now);
        let expected: &[Class] = if is_fine { &[] } else { &[Class::FinalizerEarly, Class::LeftBehind] };
        assert_eq!(scene.classes(), expected);
    }
}
