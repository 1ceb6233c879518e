//! Checks of objects that are deleted because a spec with a reference explains fewer.

use super::*;

/// A protected EC2Instance with i-1 and i-2, whose count has this source, and of which the hub answered with these values.
fn counted(source: &Value, answers: &[Value]) -> Scene {
    let mut instance = vpc(json!({"protect": true}));
    instance["kind"] = json!("EC2Instance");
    instance["spec"]["maxCount"] = json!({"valueFrom": source});
    let mut scene = Scene::of(instance);
    scene.set(map("extra", json!({}), json!({"k": "2"})));
    scene.after_out_of_band();
    for id in ["i-1", "i-2"] {
        scene.owned_object(id);
        scene.cloud.lock().0.get_mut(id).unwrap().kind = Kind::Instance;
        scene.checks.after_cloud(scene.now, &instance_caller(1), &call("RunInstances", TAGS), &ok());
    }
    for values in answers {
        scene.set(json!({
            "kind": "DependencyRequest",
            "metadata": {"namespace": NS, "name": "ec2instance.aws.a", "uid": "r-1",
                "ownerReferences": [{"kind": "EC2Instance", "name": "a", "uid": "u-1", "controller": true}]},
            "status": {"dependentValues": values},
        }));
        scene.after_out_of_band();
    }
    scene.advance(1);
    scene.has_no_violation();
    scene
}

#[test]
fn a_protected_resource_may_be_scaled_by_a_reference() {
    let in_map = |count: &str| json!({"fromConfigMaps": {"extra": {"k": count}}});
    let in_state = |count: u64| json!({"fromKrakenResources": {"static": {"facts": {"k": count}}}});
    let of_map = json!({"configMap": {"name": "extra", "key": "k"}});
    let of_template = json!({"templateString": "{{ .ConfigMap.extra.k }}"});
    let of_state = json!({"krakenResource": {"kind": "static", "name": "facts", "path": "k"}});
    let short = json!({"ref": "static/facts/k"});
    for (source, answers, is_fine) in [
        (&of_map, vec![in_map("2"), in_map("1")], true),
        (&of_map, vec![in_map("2")], false),
        // A new process knows only the last answer.
        (&of_map, vec![in_map("1"), in_map("2")], false),
        (&of_template, vec![in_map("1")], true),
        (&of_template, vec![in_map("2")], false),
        (&of_state, vec![in_state(1)], true),
        (&of_state, vec![in_state(2)], false),
        (&short, vec![in_state(1)], true),
        (&short, vec![in_state(2)], false),
    ] {
        let mut scene = counted(source, &answers);
        scene.cloud.lock().0.get_mut("i-2").unwrap().alive = false;
        let call = call("TerminateInstances", "InstanceId.1=i-2");
        scene.checks.after_cloud(scene.now, &instance_caller(2), &call, &ok());
        scene.has_violation_unless(is_fine, Class::Protected);
    }
}

#[test]
fn an_object_that_was_deleted_out_of_band_just_before_a_deletion_counts() {
    let spec = |count: u64| {
        let mut instance = vpc(json!({"protect": true}));
        instance["kind"] = json!("EC2Instance");
        instance["spec"]["maxCount"] = json!({"value": count});
        instance
    };
    for (seconds, count, is_fine) in [(0, 1, true), (60, 1, false), (0, 2, false)] {
        let mut scene = Scene::of(spec(count));
        for id in ["i-1", "i-2"] {
            scene.owned_object(id);
            scene.cloud.lock().0.get_mut(id).unwrap().kind = Kind::Instance;
            scene.checks.after_cloud(scene.now, &instance_caller(1), &call("RunInstances", TAGS), &ok());
        }
        scene.checks.violations.clear(); // only the last call is judged
        scene.cloud.lock().0.get_mut("i-1").unwrap().alive = false;
        scene.after_out_of_band();
        scene.advance(seconds);
        scene.cloud.lock().0.get_mut("i-2").unwrap().alive = false;
        let call = call("TerminateInstances", "InstanceId.1=i-2");
        scene.checks.after_cloud(scene.now, &instance_caller(1), &call, &ok());
        scene.has_violation_unless(is_fine, Class::Protected);
    }
}
