//! Checks of writes to the API server, and of public content.

use super::*;

#[test]
fn an_early_finalizer_removal_is_detected() {
    for (alive, is_fine) in [(true, false), (false, true)] {
        let mut scene = scene_with(json!({}));
        if !alive {
            scene.cloud.lock().0.clear();
        }
        scene.remove("u-1");
        scene.write(&vpc_caller(), &json!({}));
        scene.has_violation_unless(is_fine, Class::FinalizerEarly);
    }
}

#[test]
fn the_hub_changes_only_targets_of_exports() {
    let export = json!({"kind": "ConfigExport", "metadata": {"namespace": NS, "name": "e", "uid": "e-1"}});
    for (maker, is_fine) in [("e-1", true), ("e-2", false)] {
        let mut scene = Scene::of(export.clone());
        let marks = json!({"kraken-iac.eoinfennessy.com/exported-by": maker});
        scene.set(map("x", marks, json!({"k": "v"})));
        scene.after_out_of_band();
        scene.remove("m-x");
        scene.write_of("configmaps", &hub_caller(), &json!({}));
        assert_eq!(scene.classes().is_empty(), is_fine, "{maker}");
    }
}

#[test]
fn a_forged_value_in_an_export_is_detected() {
    let mut scene = scene_with(json!({}));
    scene.set(map("x", json!({}), json!({"k": "vpc-0forged"})));
    scene.write_of("configmaps", &hub_caller(), &json!({}));
    scene.has_violation(Class::Forged);
}

#[test]
fn a_write_without_the_lease_is_detected() {
    let lease = json!({"kind": "Lease", "metadata": {"name": "kraken-aws-vpc", "uid": "l"}, "spec": {"holderIdentity": "one"}});
    for (identity, is_fine) in [("one", true), ("two", false)] {
        let mut scene = scene_with(json!({}));
        scene.set(lease.clone());
        scene.after_out_of_band();
        let by = CallingProcess { identity: identity.to_owned(), ..vpc_caller() };
        scene.write(&by, &json!({}));
        assert_eq!(scene.classes().is_empty(), is_fine);
    }
}

#[test]
fn a_secret_value_in_a_later_version_is_detected() {
    let with = |status: Value| {
        let metadata = json!({"namespace": NS, "name": "a", "uid": "e", "labels": {"a": "b"}});
        json!({"kind": "ConfigExport", "metadata": metadata, "status": status})
    };
    for (status, is_fine) in [
        (json!({"a": {"b": "c"}, "d": [1, 2]}), true),
        (json!({"a": {"b": "canary"}}), false),
        (json!({"a": {"b": "c", "canary": true}}), false),
        (json!({"a": {"b": "c"}, "d": [99, 97, 110, 97, 114, 121]}), false),
        (json!("Y2FuYXJ5"), false),
    ] {
        let mut scene = scene_with(json!({}));
        scene.set(with(json!({"a": {"b": "c"}, "d": [1]})));
        scene.after_out_of_band();
        scene.set(with(status));
        scene.after_out_of_band();
        scene.has_violation_unless(is_fine, Class::Secret);
    }
}

#[test]
fn a_secret_value_outside_of_secrets_is_detected() {
    let mut scene = scene_with(json!({}));
    scene.set(json!({"kind": "Secret", "metadata": {"uid": "s"}, "data": {"a": "Y2FuYXJ5"}}));
    scene.after_out_of_band();
    scene.has_no_violation();
    scene.set(json!({"kind": "Event", "metadata": {"uid": "ev"}, "note": "refused canary-password"}));
    scene.after_out_of_band();
    scene.has_violation(Class::Secret);
    scene.checks.text(scene.now, "log", "userData=Y2FuYXJ5LWJvb3Q=");
    scene.object("vpc-1", &[("uid", "u-1"), ("cluster", "c"), ("x", "y")]);
    scene.cloud_call("CreateTags", "ResourceId.1=vpc-1&Tag.1.Key=Name&Tag.1.Value=canary");
    assert_eq!(scene.classes(), [Class::Secret; 3]);
}

#[test]
fn a_state_may_contain_the_fields_of_an_object_whose_owner_tags_a_user_changed() {
    let owners = json!([{"kind": "VPC", "name": "b", "uid": "u-2", "controller": true}]);
    let state = json!({
        "kind": "StateDeclaration", "metadata": {"namespace": NS, "name": "vpc.aws.b", "uid": "st", "ownerReferences": owners},
        "spec": {"data": {"vpc": {"Description": "canary"}}},
    });
    for (owner, is_fine) in [("u-2", true), ("u-1", false)] {
        let mut scene = scene_with(json!({}));
        scene.created_object("vpc-1");
        scene.object("vpc-1", &[("uid", owner), ("cluster", "c")]);
        scene.after_out_of_band();
        scene.checks.violations.clear(); // only the state is judged
        scene.set(state.clone());
        scene.after_out_of_band();
        scene.has_violation_unless(is_fine, Class::Secret);
    }
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
        let mut scene = scene_with(json!({}));
        scene.set(request(json!([]), 1, 1));
        scene.after_out_of_band();
        let mut edited = vpc(json!({}));
        edited["metadata"]["generation"] = json!(2);
        edited["spec"]["cidrBlock"] =
            json!({"valueFrom": {"configMap": {"name": "settings", "key": "block"}}});
        scene.set(edited.clone());
        scene.set(request(keys.clone(), 2, answered));
        scene.after_out_of_band();
        status(&mut edited, "False", reason, "ConfigMap settings does not exist");
        edited["status"]["conditions"][0]["observedGeneration"] = json!(2);
        scene.set(edited);
        scene.write(&vpc_caller(), &json!({}));
        scene.has_violation_unless(is_fine, Class::Unanswered);
    }
}

#[test]
fn a_change_while_a_controller_writes_an_object_of_the_same_name_and_another_kind_is_not_its_own() {
    for (written, is_fine) in [("vpcs", false), ("subnets", true)] {
        let mut scene = scene_with(json!({}));
        let mut bare = vpc(json!({}));
        bare["metadata"]["finalizers"] = json!([]);
        scene.set(bare);
        let call = Call { name: format!("PATCH {written}/status"), ..patch("a", &json!({})) };
        scene.checks.after_api(scene.now, &vpc_caller(), &call, &ok());
        scene.has_violation_unless(is_fine, Class::FinalizerEarly);
    }
}

#[test]
fn an_unexpected_end_of_a_controller_is_detected() {
    let mut scene = scene_with(json!({}));
    scene.checks.panicked(scene.now, "kraken-hub panicked");
    scene.has_violation(Class::Panicked);
}

#[test]
fn a_target_that_is_deleted_before_its_successor_is_refused_is_detected() {
    for (deleted, status, is_fine) in [(true, 422, false), (true, 201, true), (false, 422, true)] {
        let mut scene = scene_with(json!({}));
        let call = |name: &str, body: &Value| {
            let object = if name.starts_with("POST") { "" } else { "login" };
            let mut call = patch("", body);
            call.name = format!("{name} secrets");
            call.object = object.to_owned();
            call.namespace = NS.to_owned();
            call
        };
        if deleted {
            scene.checks.after_api(scene.now, &hub_caller(), &call("DELETE", &json!({})), &ok());
        }
        let body = json!({"metadata": {"name": "login"}});
        let answer = Answer { status, body: "".into() };
        scene.checks.after_api(scene.now, &hub_caller(), &call("POST", &body), &answer);
        scene.has_violation_unless(is_fine, Class::Wrong);
    }
}
