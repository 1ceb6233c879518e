//! Checks of resources that remain because they wait for each other.

use super::*;

const WAITING: &str = "waiting until these dependents are deleted or no longer refer to this resource:";

/// A cluster without resources.
fn scene() -> Scene {
    Scene::of(map("settings", json!({}), json!({})))
}

impl Scene {
    /// A resource with the name `a` that is being deleted, and its remote object.
    fn deletion(&mut self, kind: &str, id: &str, spec: Value, reason: &str, message: &str) {
        let (mut object, uid) = (deleting_vpc(), format!("u-{kind}"));
        (object["kind"], object["metadata"]["uid"]) = (json!(kind), json!(uid));
        object["spec"] = spec;
        status(&mut object, "False", reason, message);
        self.object_of(remote_kind(kind).unwrap(), id, &[("uid", uid.as_str()), ("cluster", "c")]);
        self.checks.launched.insert(id.to_owned(), uid);
        self.set(object);
    }
}

fn reference(field: &str, to: &str) -> Value {
    json!({field: {"valueFrom": {"ref": to}}})
}

#[test]
fn resources_whose_objects_a_user_connected_may_wait_for_each_other() {
    for (spec, used, dependents, is_fine) in [
        (json!({}), "it is used by igw-1 (InternetGateway/prod/a)", "vpc a", true),
        (reference("vpcID", "VPC/other"), "it is used by igw-1", "vpc a", true),
        (reference("vpcID", "VPC/a"), "it is used by igw-1", "vpc a", false),
        (json!({}), "it is used by igw-2", "vpc a", false),
        (json!({}), "it is used by igw-1", "vpc ab", false),
    ] {
        let mut scene = scene();
        let waiting = format!("{WAITING} {dependents}");
        scene.deletion("VPC", "vpc-1", json!({}), "Deleting", used);
        scene.deletion("InternetGateway", "igw-1", spec.clone(), "DeletionBlocked", &waiting);
        scene.checks.emptied(scene.now);
        assert_eq!(scene.classes().is_empty(), is_fine, "{spec} {used} {dependents}");
    }
}

/// An EC2Instance waits for a VPC, which waits for these dependents, and the instance is in a subnet.
fn scene_with_instance(spec: Value, of_instance: &str, of_vpc: &str, in_subnet: &str) -> Scene {
    let mut scene = scene();
    let (instance, vpc) = (format!("{WAITING} {of_instance}"), format!("{WAITING} {of_vpc}"));
    let refusal = "The subnet 'subnet-1' has dependencies and cannot be deleted";
    let refusal = format!("{refusal}; it is used by eni-9 ({in_subnet}) (DependencyViolation)");
    let after = json!({"lifecycle": {"dependsOn": [{"kind": "EC2Instance", "name": "a"}]}});
    scene.deletion("EC2Instance", "i-1", spec, "DeletionBlocked", &instance);
    scene.deletion("VPC", "vpc-1", after, "DeletionBlocked", &vpc);
    scene.deletion("Subnet", "subnet-1", reference("vpcID", "VPC/a"), "Deleting", &refusal);
    scene
}

#[test]
fn three_resources_may_wait_for_each_other_if_each_condition_names_the_next() {
    for (spec, of_instance, of_vpc, in_subnet, is_fine) in [
        (json!({}), "vpc a", "subnet a", "i-1", true),
        (json!({}), "volume a, vpc a", "routetable a, subnet a", "i-1", true),
        // With the reference they would be a cycle.
        (reference("subnetID", "Subnet/a"), "vpc a", "subnet a", "i-1", false),
        // One condition names another resource.
        (json!({}), "volume a", "subnet a", "i-1", false),
        (json!({}), "vpc a", "subnet b", "i-1", false),
        (json!({}), "vpc a", "subnet a", "i-2", false),
    ] {
        let mut scene = scene_with_instance(spec.clone(), of_instance, of_vpc, in_subnet);
        scene.checks.emptied(scene.now);
        assert_eq!(scene.classes().is_empty(), is_fine, "{spec} {of_instance} {of_vpc} {in_subnet}");
    }
}

#[test]
fn a_resource_for_which_others_wait_must_wait_for_one_of_them_itself() {
    for (message, is_fine) in [
        ("it is used by subnet-1 (Subnet/prod/a)", true),
        ("The routeTable 'rtb-1' has dependencies and cannot be deleted.", false),
    ] {
        let mut scene = scene_with_instance(json!({}), "vpc a", "routetable a, subnet a", "i-1");
        scene.deletion("RouteTable", "rtb-1", reference("vpcID", "VPC/a"), "Deleting", message);
        scene.checks.emptied(scene.now);
        scene.has_violation_unless(is_fine, Class::LeftBehind);
    }
}

#[test]
fn a_resource_whose_error_names_what_its_object_uses_is_reported() {
    let mut scene = scene();
    let refusal = "Network vpc-1 has some mapped public address(es). (DependencyViolation)";
    let waiting = format!("{WAITING} internetgateway a");
    scene.deletion("InternetGateway", "igw-1", reference("vpcID", "VPC/a"), "Deleting", refusal);
    scene.deletion("VPC", "vpc-1", json!({}), "DeletionBlocked", &waiting);
    scene.checks.emptied(scene.now);
    assert_eq!(scene.classes(), [Class::LeftBehind, Class::LeftBehind]);
}
