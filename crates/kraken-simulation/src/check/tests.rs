//! Each check fails for a specific history, and only for it.

use parking_lot::Mutex;
use serde_json::json;

use super::remote::tests::call;
use super::*;
use kraken_simulator::Kind;

const NS: &str = "prod";
const TAGS: &str = "TagSpecification.1.Tag.1.Key=kraken-iac.eoinfennessy.com/uid&TagSpecification.1.Tag.1.Value=u-1\
                    &TagSpecification.1.Tag.2.Key=kraken-iac.eoinfennessy.com/epoch&TagSpecification.1.Tag.2.Value=1";

/// A cluster and a cloud that the test changes directly.
struct Scene {
    objects: Arc<Mutex<Vec<Arc<Value>>>>,
    cloud: Arc<Mutex<Cloud>>,
    checks: Checks,
    now: Duration,
    version: u64,
}

fn vpc_caller() -> Caller {
    let location = Some(("1".to_owned(), "us-east-1".to_owned()));
    let (identity, place) = (String::new(), String::new());
    Caller { controller: Controller::Vpc, incarnation: 1, identity, location, place }
}

fn hub_caller() -> Caller {
    Caller { controller: Controller::Hub, location: None, ..vpc_caller() }
}

fn patch(name: &str, body: &Value) -> Call {
    Call {
        number: 1,
        name: "PATCH vpcs".to_owned(),
        writes: true,
        watches: false,
        namespace: NS.to_owned(),
        object: name.to_owned(),
        body: body.to_string().into(),
    }
}

fn ok() -> Answer {
    Answer { status: 200, body: "".into() }
}

/// A VPC that is up: finalizer, intent, an id on record.
fn vpc(lifecycle: Value) -> Value {
    json!({
        "apiVersion": "aws.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "VPC",
        "metadata": {
            "namespace": NS, "name": "a", "uid": "u-1", "generation": 1,
            "finalizers": ["kraken-iac.eoinfennessy.com/external"],
            "annotations": {"kraken-iac.eoinfennessy.com/intent": "{\"epoch\":1}"},
        },
        "spec": {"lifecycle": lifecycle},
        "status": {"externalIds": ["vpc-1"], "observedGeneration": 1},
    })
}

impl Scene {
    fn of(object: Value) -> Self {
        let (objects, cloud) = (Arc::<Mutex<Vec<Arc<Value>>>>::default(), Arc::<Mutex<Cloud>>::default());
        let view = View {
            objects: Box::new({
                let objects = objects.clone();
                move || objects.lock().clone().into()
            }),
            cloud: Box::new({
                let cloud = cloud.clone();
                move || Arc::new(cloud.lock().clone())
            }),
        };
        let checks = Checks::new(view, &Settings::default());
        let mut scene = Self { objects, cloud, checks, now: Duration::from_secs(100), version: 0 };
        scene.set(json!({"kind": "Namespace", "metadata": {"name": "kube-system", "uid": "c"}}));
        scene.set(object);
        scene.checks.outside(scene.now);
        scene
    }

    /// An object is created or changed.
    fn set(&mut self, mut object: Value) {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        let uid = object["metadata"]["uid"].clone();
        let mut objects = self.objects.lock();
        objects.retain(|other| other["metadata"]["uid"] != uid);
        objects.push(Arc::new(object));
    }

    fn remove(&self, uid: &str) {
        self.objects.lock().retain(|object| object["metadata"]["uid"] != uid);
    }

    fn object(&self, id: &str, tags: &[(&str, &str)]) {
        let tags = tags.iter().map(|(key, value)| (format!("{}{key}", remote::PREFIX), (*value).to_owned()));
        let remote = Remote { kind: Kind::Vpc, tags: tags.collect(), alive: true, exists: true };
        self.cloud.lock().0.insert(id.to_owned(), remote);
    }

    fn ours(&self, id: &str) {
        self.object(id, &[("uid", "u-1"), ("cluster", "c")]);
    }

    /// The objects that the controller created before.
    fn made(&mut self, id: &str) {
        self.ours(id);
        self.cloud_call("CreateVpc", TAGS);
    }

    fn pass(&mut self, seconds: u64) {
        self.now += Duration::from_secs(seconds);
    }

    fn outside(&mut self) {
        self.checks.outside(self.now);
    }

    /// A call of the VPC controller that has taken effect.
    fn cloud_call(&mut self, action: &str, form: &str) {
        self.checks.after_cloud(self.now, &vpc_caller(), &call(action, form), &ok());
    }

    fn delete(&mut self) {
        self.cloud.lock().0.get_mut("vpc-1").unwrap().alive = false;
        self.cloud_call("DeleteVpc", "VpcId=vpc-1");
    }

    fn modify(&mut self) {
        self.cloud_call("ModifyVpcAttribute", "VpcId=vpc-1");
    }

    fn write(&mut self, by: &Caller, body: &Value) {
        self.checks.after_api(self.now, by, &patch("", body), &ok());
    }

    fn classes(&self) -> Vec<Class> {
        self.checks.violations().iter().map(|violation| violation.class).collect()
    }

    fn is_clean(&self) {
        assert_eq!(self.checks.violations(), []);
    }

    fn is(&self, class: Class) {
        assert_eq!(self.classes(), [class], "{:?}", self.checks.violations());
    }
}

fn up(lifecycle: Value) -> Scene {
    let mut scene = Scene::of(vpc(lifecycle));
    scene.made("vpc-1");
    scene.is_clean();
    scene
}

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
fn two_launches_must_not_have_the_same_token() {
    let mut scene = Scene::of(vpc(json!({})));
    scene.ours("vpc-1");
    scene.cloud_call("CreateVpc", &format!("{TAGS}&ClientToken=t"));
    scene.cloud_call("CreateVpc", &format!("{TAGS}&ClientToken=t"));
    scene.is_clean();
    scene.cloud_call("CreateVpc", &format!("{}&ClientToken=t", TAGS.replace("2.Value=1", "2.Value=2")));
    scene.is(Class::SameToken);
}

#[test]
fn an_approval_is_not_valid_for_a_plan_that_a_client_stored_under_its_hash() {
    let planned = |target: &str| {
        let mut object = vpc(json!({"approval": "Manual"}));
        object["status"]["plan"] = json!({"hash": "h", "action": "Change", "target": target});
        object["metadata"]["annotations"]["kraken-iac.eoinfennessy.com/approved-plan"] = json!("h");
        object
    };
    for (stored, is_fine) in [("t", true), ("other", false)] {
        let mut scene = up(json!({}));
        scene.set(planned("t"));
        scene.write(&vpc_caller(), &json!({"metadata": {"resourceVersion": "1"}}));
        scene.set(planned(stored));
        scene.outside();
        scene.pass(60);
        scene.modify();
        assert_eq!(scene.classes().is_empty(), is_fine, "{stored}");
        assert!(is_fine || scene.classes() == [Class::Unapproved]);
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
fn drift_that_is_only_reported_must_not_be_reverted() {
    let placed = |generation: i64| {
        let mut object = vpc(json!({"drift": "Report"}));
        object["status"]["inPlace"] = json!({"generation": generation, "spec": "x", "inputs": ""});
        object
    };
    let mut scene = Scene::of(placed(1));
    scene.made("vpc-1");
    scene.checks.violations.clear(); // it was made before
    scene.modify();
    scene.is(Class::Reported);
    // An edit is carried out.
    let mut scene = Scene::of(placed(0));
    scene.made("vpc-1");
    scene.modify();
    scene.is_clean();
}

#[test]
fn a_manual_plan_is_carried_out_only_after_its_approval() {
    let manual = |approved: &str| {
        let mut object = vpc(json!({"approval": "Manual"}));
        object["status"]["plan"] = json!({"hash": "h", "action": "Change"});
        object["metadata"]["annotations"]["kraken-iac.eoinfennessy.com/approved-plan"] = json!(approved);
        object
    };
    for (approved, is_fine) in [("h", true), ("other", false)] {
        let mut scene = Scene::of(vpc(json!({})));
        scene.made("vpc-1");
        scene.set(manual(approved));
        scene.write(&vpc_caller(), &json!({"metadata": {"resourceVersion": "1"}}));
        scene.pass(60);
        scene.modify();
        assert_eq!(scene.classes().is_empty(), is_fine, "{approved}");
        // What was approved was a change and no creation.
        scene.cloud.lock().0.remove("vpc-1");
        scene.outside();
        scene.made("vpc-2");
        assert!(scene.classes().contains(&Class::Unapproved));
    }
}

#[test]
fn a_replacement_without_an_edit_is_detected() {
    let placed = |boundary: Value, generation: i64| {
        let mut object = vpc(json!({"replace": "CreateFirst"}));
        object["metadata"]["annotations"]["kraken-iac.eoinfennessy.com/intent"] =
            json!(json!({"epoch": 1, "replacedBefore": boundary}).to_string());
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
fn a_launch_without_an_intent_is_detected() {
    let mut bare = vpc(json!({}));
    bare["metadata"]["annotations"] = json!({});
    let mut scene = Scene::of(bare);
    scene.made("vpc-1");
    scene.is(Class::NoIntent);
    let mut scene = Scene::of(vpc(json!({})));
    scene.object("vpc-1", &[]);
    scene.cloud_call("CreateVpc", "CidrBlock=10.0.0.0/16");
    scene.is(Class::NoIntent);
}

#[test]
fn an_intent_without_a_precondition_is_detected() {
    let mut scene = up(json!({}));
    let body = |version: Value| {
        json!({"metadata": {
            "uid": "u-1", "resourceVersion": version,
            "annotations": {"kraken-iac.eoinfennessy.com/intent": "{}"},
        }})
    };
    scene.write(&vpc_caller(), &body(json!("1")));
    scene.is_clean();
    scene.write(&vpc_caller(), &body(Value::Null));
    scene.is(Class::NoPrecondition);
}

#[test]
fn a_launch_for_a_deleted_object_is_detected() {
    let mut scene = up(json!({}));
    scene.cloud.lock().0.clear();
    scene.remove("u-1");
    scene.outside();
    scene.pass(60);
    scene.made("vpc-2");
    scene.is(Class::CreatedForGone);
}

#[test]
fn a_launch_in_another_location_is_detected() {
    let mut object = vpc(json!({}));
    object["status"]["location"] = json!({"account": "1", "region": "eu-west-1"});
    let mut scene = Scene::of(object);
    scene.made("vpc-1");
    scene.is(Class::Elsewhere);
}

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

fn map(name: &str, annotations: Value, data: Value) -> Value {
    json!({"kind": "ConfigMap", "apiVersion": "v1", "data": data,
        "metadata": {"namespace": NS, "name": name, "uid": format!("m-{name}"), "annotations": annotations}})
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
        let by = Caller { identity: identity.to_owned(), ..vpc_caller() };
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

fn status(object: &mut Value, status: &str, reason: &str, message: &str) {
    object["status"]["conditions"] =
        json!([{"type": "Ready", "status": status, "reason": reason, "message": message}]);
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
fn objects_that_disappeared_at_once_are_not_recreated_without_a_confirmation() {
    let resource = |number: usize| {
        let mut object = vpc(json!({}));
        object["metadata"]["uid"] = json!(format!("u-{number}"));
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
        scene.outside();
        (0..5).for_each(|number| created(&mut scene, "vpc", number));
        scene.pass(60);
        scene.cloud.lock().0.clear();
        scene.outside();
        for number in 0..5 {
            scene.pass(seconds_between);
            created(&mut scene, "new", number);
        }
        assert_eq!(scene.classes().is_empty(), is_fine, "{:?}", scene.checks.violations());
        assert!(is_fine || scene.classes() == [Class::Unconfirmed]);
    }
}

#[test]
fn at_the_end_every_resource_is_ready_or_reports_why_not() {
    for (reason, message, expected) in [
        ("Available", "in place", None),
        ("Creating", "", Some(Class::NotConverged)),
        (
            "Creating",
            "failed to create the subnet: there is no room (InsufficientFreeAddressesInSubnet)",
            None,
        ),
        ("KubernetesError", "", Some(Class::NotConverged)),
        ("Paused", "", Some(Class::Wrong)),
        ("DependenciesNotReady", "", Some(Class::Wrong)),
        ("InvalidSpec", "", None),
    ] {
        let mut object = vpc(json!({}));
        status(&mut object, if reason == "Available" { "True" } else { "False" }, reason, message);
        let mut scene = Scene::of(object);
        scene.made("vpc-1");
        scene.checks.converged(scene.now);
        assert_eq!(scene.classes(), Vec::from_iter(expected), "{reason}: {:?}", scene.checks.violations());
    }
}

#[test]
fn at_the_end_count_and_tags_match_the_spec() {
    let mut object = vpc(json!({}));
    object["spec"]["tags"] = json!({"Team": "web"});
    status(&mut object, "True", "Available", "");
    let mut scene = Scene::of(object);
    scene.made("vpc-1");
    scene.checks.converged(scene.now);
    scene.is(Class::Wrong);
    scene.cloud.lock().0.clear();
    scene.checks.violations.clear();
    scene.checks.converged(scene.now);
    scene.is(Class::Wrong);
}

#[test]
fn an_orphan_is_detected_at_the_end() {
    let mut scene = up(json!({}));
    let mut bare = vpc(json!({}));
    bare["metadata"]["finalizers"] = json!([]);
    scene.set(bare);
    scene.outside();
    scene.pass(60);
    scene.remove("u-1");
    scene.outside();
    scene.checks.converged(scene.now);
    scene.is(Class::Orphan);
    scene.checks.emptied(scene.now);
    assert_eq!(scene.classes(), [Class::Orphan, Class::LeftBehind]);
}

#[test]
fn a_write_in_steady_state_is_detected() {
    let mut scene = up(json!({}));
    scene.pass(300);
    scene.checks.rested(scene.now, Duration::from_mins(1));
    scene.is_clean();
    for _ in 0..100 {
        scene.modify();
    }
    let mut edited = vpc(json!({}));
    edited["status"]["epoch"] = json!(1);
    scene.set(edited);
    scene.write(&vpc_caller(), &json!({}));
    scene.checks.rested(scene.now, Duration::from_mins(1));
    assert_eq!(scene.classes(), [Class::Restless, Class::Restless, Class::Busy]);
}

#[test]
fn a_new_process_does_not_know_older_versions() {
    let mut scene = up(json!({}));
    scene.set(vpc(json!({"protect": true})));
    scene.outside();
    scene.pass(1);
    let by = Caller { incarnation: 2, ..vpc_caller() };
    scene.cloud.lock().0.get_mut("vpc-1").unwrap().alive = false;
    scene.checks.after_cloud(scene.now, &by, &call("DeleteVpc", "VpcId=vpc-1"), &ok());
    scene.is(Class::Protected);
}

#[test]
fn a_remaining_object_is_detected_after_all_are_deleted() {
    let mut scene = up(json!({}));
    scene.checks.emptied(scene.now);
    assert_eq!(scene.classes(), [Class::LeftBehind], "the object itself");
}

#[test]
fn a_remaining_resource_must_name_an_unmanaged_object() {
    for (message, is_explained) in [("it is used by vpc-9", true), ("vpc-1 has dependencies", false)] {
        let mut deleting = vpc(json!({}));
        deleting["metadata"]["deletionTimestamp"] = json!("now");
        status(&mut deleting, "False", "Deleting", message);
        let mut scene = Scene::of(vpc(json!({})));
        scene.made("vpc-1");
        scene.object("vpc-9", &[]);
        scene.outside();
        scene.set(deleting);
        scene.checks.emptied(scene.now);
        assert_eq!(scene.classes().is_empty(), is_explained, "{message}");
    }
}

#[test]
fn a_released_object_without_tags_explains_what_it_blocks() {
    let mut deleting = vpc(json!({}));
    deleting["metadata"]["deletionTimestamp"] = json!("now");
    status(&mut deleting, "False", "Deleting", "it is used by sg-9");
    let mut scene = Scene::of(vpc(json!({})));
    scene.made("vpc-1");
    scene.object("sg-9", &[]);
    scene.cloud.lock().0.get_mut("sg-9").unwrap().kind = Kind::SecurityGroup;
    scene.checks.launched.insert("sg-9".into(), "gone".into());
    scene.outside();
    scene.set(deleting);
    scene.checks.emptied(scene.now);
    assert_eq!(scene.classes(), []);
}

#[test]
fn an_unexpected_end_of_a_controller_is_detected() {
    let mut scene = up(json!({}));
    scene.checks.panicked(scene.now, "kraken-hub panicked");
    scene.is(Class::Panicked);
}
