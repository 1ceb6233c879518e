//! Checks of calls that change, claim or delete remote objects.

use super::*;

#[test]
fn a_second_object_of_a_uid_is_detected() {
    let mut scene = up(json!({}));
    scene.made("vpc-2");
    scene.is(Class::TooMany);
}

#[test]
fn a_replacement_explains_a_second_object() {
    let mut scene = up(json!({"replace": "CreateFirst"}));
    let mut replacing = vpc(json!({"replace": "CreateFirst"}));
    let intent = json!({"epoch": 1, "replacedBefore": 2, "outgoing": ["vpc-1"]});
    replacing["metadata"]["annotations"]["kraken-iac.eoinfennessy.com/intent"] = json!(intent.to_string());
    scene.set(replacing);
    scene.made("vpc-2");
    scene.is_clean();
    scene.made("vpc-3");
    scene.is(Class::TooMany);
}

#[test]
fn a_copy_with_owner_tags_does_not_count() {
    let mut scene = up(json!({}));
    scene.ours("vpc-copy");
    scene.outside();
    scene.modify();
    scene.is_clean();
}

#[test]
fn an_object_without_owner_tags_must_not_be_deleted() {
    let mut scene = up(json!({}));
    scene.object("vpc-9", &[]);
    scene.outside();
    scene.pass(60);
    scene.cloud_call("DeleteVpc", "VpcId=vpc-9");
    scene.is(Class::NotOurs);
}

#[test]
fn an_object_of_another_owner_must_not_be_claimed() {
    let mut scene = up(json!({}));
    scene.object("vpc-8", &[("uid", "u-1"), ("cluster", "other")]);
    scene.object("vpc-9", &[("uid", "u-2"), ("cluster", "c")]);
    scene.outside();
    scene.pass(60);
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
        scene.outside();
        scene.cloud_call("CreateTags", &format!("ResourceId.1=vpc-9&{tag}"));
        assert_eq!(scene.classes().is_empty(), is_fine);
    }
}

#[test]
fn a_protected_object_must_not_be_deleted() {
    let mut scene = up(json!({"protect": true}));
    scene.delete();
    scene.is(Class::Protected);
}

#[test]
fn a_policy_applies_only_to_processes_that_can_know_it() {
    let mut scene = up(json!({}));
    scene.set(vpc(json!({"protect": true})));
    scene.outside();
    scene.pass(1);
    scene.modify();
    scene.delete();
    scene.is_clean();
    // The same when the controller has shown that it knows.
    let mut scene = up(json!({}));
    scene.set(vpc(json!({"protect": true})));
    scene.outside();
    scene.set(vpc(json!({"protect": true})));
    scene.write(&vpc_caller(), &json!({"metadata": {"resourceVersion": "2"}}));
    scene.delete();
    scene.is(Class::Protected);
    // Or when it is long ago, and nothing failed since.
    let mut scene = up(json!({}));
    scene.set(vpc(json!({"protect": true})));
    scene.outside();
    scene.checks.fails(scene.now, scene.now + Duration::from_mins(1));
    scene.pass(60);
    scene.modify();
    scene.pass(30);
    scene.delete();
    scene.is(Class::Protected);
}

#[test]
fn a_retained_or_adopted_object_must_not_be_deleted() {
    let mut scene = up(json!({"deletion": "Retain"}));
    scene.delete();
    scene.is(Class::Retained);
    let mut adopted = vpc(json!({}));
    adopted["status"]["adopted"] = json!(["vpc-1"]);
    let mut scene = Scene::of(adopted);
    scene.made("vpc-1");
    scene.delete();
    scene.is(Class::Retained);
}

#[test]
fn an_observed_adoption_counts_without_a_record() {
    let mut scene = Scene::of(vpc(json!({"adopt": {"id": "vpc-9"}})));
    scene.object("vpc-9", &[]);
    scene.outside();
    scene.pass(60);
    scene.ours("vpc-9");
    let owner = "ResourceId.1=vpc-9&Tag.1.Key=kraken-iac.eoinfennessy.com/uid&Tag.1.Value=u-1";
    scene.cloud_call("CreateTags", owner);
    scene.is_clean();
    scene.pass(60);
    scene.cloud.lock().0.get_mut("vpc-9").unwrap().alive = false;
    scene.cloud_call("DeleteVpc", "VpcId=vpc-9");
    scene.is(Class::Retained);
}

#[test]
fn a_created_object_must_not_be_released_unless_it_is_retained() {
    for (lifecycle, is_fine) in [(json!({}), false), (json!({"deletion": "Retain"}), true)] {
        let mut scene = up(lifecycle);
        scene.object("vpc-1", &[]);
        scene.cloud_call("DeleteTags", "ResourceId.1=vpc-1&Tag.1.Key=kraken-iac.eoinfennessy.com/uid");
        assert_eq!(scene.classes().is_empty(), is_fine);
        assert!(is_fine || scene.classes() == [Class::Released]);
    }
}

#[test]
fn a_paused_resource_must_not_be_changed_or_created() {
    let mut scene = Scene::of(vpc(json!({"paused": true})));
    scene.made("vpc-1");
    scene.is(Class::Paused);
    scene.modify();
    assert_eq!(scene.classes().len(), 2);
}

#[test]
fn a_new_process_does_not_know_older_versions() {
    let mut scene = up(json!({}));
    scene.set(vpc(json!({"protect": true})));
    scene.outside();
    scene.pass(1);
    let by = CallingProcess { incarnation: 2, ..vpc_caller() };
    scene.cloud.lock().0.get_mut("vpc-1").unwrap().alive = false;
    scene.checks.after_cloud(scene.now, &by, &call("DeleteVpc", "VpcId=vpc-1"), &ok());
    scene.is(Class::Protected);
}
