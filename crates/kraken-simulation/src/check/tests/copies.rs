//! Checks of resources whose owner tags a user copied to another remote object.

use super::*;

/// An EC2Instance with `deletion: Retain`.
fn retained_instance() -> Value {
    let mut object = vpc(json!({"deletion": "Retain"}));
    object["kind"] = json!("EC2Instance");
    object["spec"]["maxCount"] = json!({"value": 1});
    object
}

impl Scene {
    fn owned_instance(&self, id: &str) {
        self.owned_object(id);
        self.cloud.lock().0.get_mut(id).unwrap().kind = Kind::Instance;
    }

    fn owned_key_pair(&self, id: &str, name: &str) {
        self.owned_object(id);
        let mut cloud = self.cloud.lock();
        let remote = cloud.0.get_mut(id).unwrap();
        (remote.kind, remote.name) = (Kind::KeyPair, Some(name.to_owned()));
    }
}

#[test]
fn an_instance_may_be_one_too_many_because_of_a_copy() {
    for (has_copy, is_deleting, is_fine) in [(true, false, true), (false, false, false), (true, true, false)]
    {
        let mut scene = Scene::of(retained_instance());
        scene.owned_instance("i-1");
        scene.checks.after_cloud(scene.now, &instance_caller(1), &call("RunInstances", TAGS), &ok());
        if has_copy {
            scene.owned_instance("i-2");
        }
        if is_deleting {
            let mut deleting = retained_instance();
            deleting["metadata"]["deletionTimestamp"] = json!("now");
            scene.set(deleting);
        }
        scene.after_out_of_band();
        scene.advance(1);
        scene.cloud.lock().0.get_mut("i-1").unwrap().alive = false;
        // A new process knows only the current version.
        let terminate = call("TerminateInstances", "InstanceId.1=i-1");
        scene.checks.after_cloud(scene.now, &instance_caller(2), &terminate, &ok());
        scene.has_violation_unless(is_fine, Class::Retained);
    }
}

#[test]
fn a_copy_counts_only_if_its_name_is_on_record() {
    for (recorded, is_fine) in [(json!(["ops"]), true), (json!(["ops", "copy"]), false)] {
        let mut object = vpc(json!({}));
        object["kind"] = json!("KeyPair");
        object["status"]["externalIds"] = recorded;
        let mut scene = Scene::of(object);
        scene.owned_key_pair("key-2", "copy");
        scene.after_out_of_band();
        scene.owned_key_pair("key-1", "ops");
        scene.cloud_call("ImportKeyPair", TAGS);
        scene.has_violation_unless(is_fine, Class::TooMany);
    }
}
