//! Each check fails for a specific history, and only for it.

mod cluster;
mod copies;
mod end;
mod given;
mod launches;
mod objects;
mod order;
mod permission;
mod places;
mod restored;
mod scaling;
mod targets;
mod waits;

use parking_lot::Mutex;
use serde_json::json;

use super::call::tests::call;
use super::*;
use kraken_simulator::Kind;

const NS: &str = "prod";
const TAGS: &str = "TagSpecification.1.Tag.1.Key=kraken-iac.eoinfennessy.com/uid&TagSpecification.1.Tag.1.Value=u-1\
                    &TagSpecification.1.Tag.2.Key=kraken-iac.eoinfennessy.com/epoch&TagSpecification.1.Tag.2.Value=1";

/// A cluster and a cloud that the test changes directly.
struct Scene {
    objects: Arc<Mutex<Vec<Arc<Value>>>>,
    cloud: Arc<Mutex<RemoteObjects>>,
    checks: Checks,
    now: Duration,
    version: u64,
}

fn vpc_caller() -> CallingProcess {
    let location = Some(("1".to_owned(), "us-east-1".to_owned()));
    let (identity, place) = (String::new(), String::new());
    CallingProcess { controller: Controller::Vpc, incarnation: 1, identity, location, place }
}

fn instance_caller(incarnation: u64) -> CallingProcess {
    CallingProcess { controller: Controller::Ec2Instance, incarnation, ..vpc_caller() }
}

fn hub_caller() -> CallingProcess {
    CallingProcess { controller: Controller::Hub, location: None, ..vpc_caller() }
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

/// A VPC in place: finalizer, ledger, an id on record.
fn vpc(lifecycle: Value) -> Value {
    json!({
        "apiVersion": "aws.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "VPC",
        "metadata": {
            "namespace": NS, "name": "a", "uid": "u-1", "generation": 1,
            "finalizers": ["kraken-iac.eoinfennessy.com/external"],
        },
        "spec": {"lifecycle": lifecycle},
        "status": {"externalIds": ["vpc-1"], "observedGeneration": 1, "ledger": {"uid": "u-1", "epoch": 1}},
    })
}

/// The VPC while it is being deleted.
fn deleting_vpc() -> Value {
    let mut vpc = vpc(json!({}));
    vpc["metadata"]["deletionTimestamp"] = json!("now");
    vpc
}

impl Scene {
    fn of(object: Value) -> Self {
        let (objects, cloud) =
            (Arc::<Mutex<Vec<Arc<Value>>>>::default(), Arc::<Mutex<RemoteObjects>>::default());
        let view = LiveState {
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
        scene.checks.after_out_of_band(scene.now);
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
        self.object_of(Kind::Vpc, id, tags);
    }

    fn object_of(&self, kind: Kind, id: &str, tags: &[(&str, &str)]) {
        let tags = tags.iter().map(|(key, value)| (format!("{}{key}", remote::PREFIX), (*value).to_owned()));
        let tags = tags.collect();
        let remote = RemoteObject {
            kind,
            name: None,
            tags,
            alive: true,
            exists: true,
            is_implicit: false,
            is_stopped: false,
        };
        self.cloud.lock().0.insert(id.to_owned(), remote);
    }

    fn owned_object(&self, id: &str) {
        self.object(id, &[("uid", "u-1"), ("cluster", "c")]);
    }

    /// An object that the controller created.
    fn created_object(&mut self, id: &str) {
        self.owned_object(id);
        self.cloud_call("CreateVpc", TAGS);
    }

    fn advance(&mut self, seconds: u64) {
        self.now += Duration::from_secs(seconds);
    }

    fn after_out_of_band(&mut self) {
        self.checks.after_out_of_band(self.now);
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

    /// A write of a VPC that has taken effect.
    fn write(&mut self, by: &CallingProcess, body: &Value) {
        self.write_of("vpcs", by, body);
    }

    /// The same of another kind, by its plural.
    fn write_of(&mut self, plural: &str, by: &CallingProcess, body: &Value) {
        let call = Call { name: format!("PATCH {plural}"), ..patch("", body) };
        self.checks.after_api(self.now, by, &call, &ok());
    }

    fn classes(&self) -> Vec<Class> {
        self.checks.violations().iter().map(|violation| violation.class).collect()
    }

    #[track_caller]
    fn has_no_violation(&self) {
        assert_eq!(self.checks.violations(), []);
    }

    #[track_caller]
    fn has_violation(&self, class: Class) {
        assert_eq!(self.classes(), [class], "{:?}", self.checks.violations());
    }

    #[track_caller]
    fn has_violation_unless(&self, is_fine: bool, class: Class) {
        if is_fine {
            self.has_no_violation();
        } else {
            self.has_violation(class);
        }
    }
}

fn scene_with(lifecycle: Value) -> Scene {
    let mut scene = Scene::of(vpc(lifecycle));
    scene.created_object("vpc-1");
    scene.has_no_violation();
    scene
}

fn map(name: &str, annotations: Value, data: Value) -> Value {
    json!({"kind": "ConfigMap", "apiVersion": "v1", "data": data,
        "metadata": {"namespace": NS, "name": name, "uid": format!("m-{name}"), "annotations": annotations}})
}

fn status(object: &mut Value, status: &str, reason: &str, message: &str) {
    object["status"]["conditions"] =
        json!([{"type": "Ready", "status": status, "reason": reason, "message": message}]);
}
