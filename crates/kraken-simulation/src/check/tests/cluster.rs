//! Checks of writes to the API server, and of public content.

use super::*;

#[test]
fn an_early_finalizer_removal_is_detected() {
    for (alive, is_fine) in [(true, false), (false, true)] {
        let mut scene = up(json!({}));
        if !alive {
            scene.cloud.lock().0.clear();
        }
        scene.remove("u-1");
        scene.write(&vpc_caller(), &json!({}));
        assert_eq!(scene.classes().is_empty(), is_fine);
        assert!(is_fine || scene.classes() == [Class::FinalizerEarly]);
    }
}

#[test]
fn a_deletion_out_of_order_is_detected() {
    let request = |name: &str, to: &str| {
        json!({
            "kind": "DependencyRequest",
            "metadata": {"namespace": NS, "name": name, "uid": format!("r-{name}"),
                "ownerReferences": [{"kind": "Subnet", "name": "s", "uid": "u-2", "controller": true}]},
            "spec": {"krakenResourceDependencies": [{"kind": "vpc", "name": to}]},
        })
    };
    for (to, is_fine) in [("a", false), ("b", true)] {
        let mut scene = up(json!({}));
        scene.set(request("subnet.aws.s", to));
        scene.outside();
        let mut deleting = vpc(json!({}));
        deleting["metadata"]["deletionTimestamp"] = json!("now");
        scene.set(deleting);
        scene.outside();
        scene.pass(60);
        scene.delete();
        assert_eq!(scene.classes().is_empty(), is_fine);
        assert!(is_fine || scene.classes() == [Class::OutOfOrder]);
    }
}

#[test]
fn a_request_that_is_deleted_before_its_owner_still_blocks() {
    let request = json!({
        "kind": "DependencyRequest",
        "metadata": {"namespace": NS, "name": "subnet.aws.s", "uid": "r-1",
            "ownerReferences": [{"kind": "Subnet", "name": "s", "uid": "u-2", "controller": true}]},
        "spec": {"krakenResourceDependencies": [{"kind": "vpc", "name": "a"}]},
    });
    let subnet = json!({
        "apiVersion": "aws.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "Subnet",
        "metadata": {"namespace": NS, "name": "s", "uid": "u-2", "deletionTimestamp": "now"}, "spec": {},
    });
    for (lives, is_fine) in [(true, false), (false, true)] {
        let mut scene = up(json!({}));
        scene.set(subnet.clone());
        scene.set(request.clone());
        let form = TAGS.replace("u-1", "u-2");
        if lives {
            scene.object("subnet-1", &[("uid", "u-2"), ("cluster", "c")]);
            scene.cloud_call("CreateSubnet", &form);
            scene.checks.violations.clear(); // it was made before
        }
        scene.pass(30);
        scene.remove("r-1");
        let mut deleting = vpc(json!({}));
        deleting["metadata"]["deletionTimestamp"] = json!("now");
        scene.set(deleting);
        scene.outside();
        scene.pass(60);
        scene.delete();
        assert_eq!(scene.classes().is_empty(), is_fine);
        assert!(is_fine || scene.classes() == [Class::OutOfOrder]);
    }
}

#[test]
fn the_hub_changes_only_targets_of_exports() {
    let export = json!({"kind": "ConfigExport", "metadata": {"namespace": NS, "name": "e", "uid": "e-1"}});
    for (maker, is_fine) in [("e-1", true), ("e-2", false)] {
        let mut scene = Scene::of(export.clone());
        let marks = json!({"kraken-iac.eoinfennessy.com/exported-by": maker});
        scene.set(map("x", marks, json!({"k": "v"})));
        scene.outside();
        scene.remove("m-x");
        scene.write(&hub_caller(), &json!({}));
        assert_eq!(scene.classes().is_empty(), is_fine, "{maker}");
    }
}

#[test]
fn a_forged_value_in_an_export_is_detected() {
    let mut scene = up(json!({}));
    scene.set(map("x", json!({}), json!({"k": "vpc-0forged"})));
    scene.write(&hub_caller(), &json!({}));
    scene.is(Class::Forged);
}

#[test]
fn a_write_without_the_lease_is_detected() {
    let lease = json!({"kind": "Lease", "metadata": {"name": "kraken-aws-vpc", "uid": "l"}, "spec": {"holderIdentity": "one"}});
    for (identity, is_fine) in [("one", true), ("two", false)] {
        let mut scene = up(json!({}));
        scene.set(lease.clone());
        scene.outside();
        let by = CallingProcess { identity: identity.to_owned(), ..vpc_caller() };
        scene.write(&by, &json!({}));
        assert_eq!(scene.classes().is_empty(), is_fine);
    }
}

#[test]
fn a_secret_value_outside_of_secrets_is_detected() {
    let mut scene = up(json!({}));
    scene.set(json!({"kind": "Secret", "metadata": {"uid": "s"}, "data": {"a": "Y2FuYXJ5"}}));
    scene.outside();
    scene.is_clean();
    scene.set(json!({"kind": "Event", "metadata": {"uid": "ev"}, "note": "refused canary-password"}));
    scene.outside();
    scene.is(Class::Secret);
    scene.checks.text(scene.now, "log", "userData=Y2FuYXJ5LWJvb3Q=");
    scene.object("vpc-1", &[("uid", "u-1"), ("cluster", "c"), ("x", "y")]);
    scene.cloud_call("CreateTags", "ResourceId.1=vpc-1&Tag.1.Key=Name&Tag.1.Value=canary");
    assert_eq!(scene.classes(), [Class::Secret; 3]);
}

#[test]
fn a_status_about_values_requires_an_answer_to_its_references() {
    let request = |keys: Value, generation: i64, answered: i64| {
        json!({
            "kind": "DependencyRequest",
            "metadata": {"namespace": NS, "name": "vpc.aws.a", "uid": "r-1", "generation": generation,
                "ownerReferences": [{"kind": "VPC", "name": "a", "uid": "u-1", "controller": true}]},
            "spec": {"configMapDependencies": keys},
            "status": {"observedGeneration": answered},
        })
    };
    let keys = json!([{"name": "settings", "key": "block"}]);
    for (answered, reason, is_fine) in [
        (1, "DependenciesNotReady", false),
        (1, "Available", false),
        (1, "WaitingForHub", true),
        (2, "DependenciesNotReady", true),
    ] {
        let mut scene = up(json!({}));
        scene.set(request(json!([]), 1, 1));
        scene.outside();
        let mut edited = vpc(json!({}));
        edited["metadata"]["generation"] = json!(2);
        edited["spec"]["cidrBlock"] =
            json!({"valueFrom": {"configMap": {"name": "settings", "key": "block"}}});
        scene.set(edited.clone());
        scene.set(request(keys.clone(), 2, answered));
        scene.outside();
        status(&mut edited, "False", reason, "ConfigMap settings does not exist");
        edited["status"]["conditions"][0]["observedGeneration"] = json!(2);
        scene.set(edited);
        scene.write(&vpc_caller(), &json!({}));
        assert_eq!(scene.classes().is_empty(), is_fine, "{answered} {reason}");
        assert!(is_fine || scene.classes() == [Class::Unanswered]);
    }
}

#[test]
fn an_unexpected_end_of_a_controller_is_detected() {
    let mut scene = up(json!({}));
    scene.checks.panicked(scene.now, "kraken-hub panicked");
    scene.is(Class::Panicked);
}
