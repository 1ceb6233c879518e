//! Tests of the kinds' calls on the simulator, for behavior that comparisons do not cover.

mod changes;
mod creations;
mod deletions;
mod imports;

use kraken_aws::{Aws, AwsResource, AwsSpec as _, Managed, ManagedKind, resource::SpecOf, testing};
use kraken_kind::{
    Calls, Failure, FromContext, Identity, Kind, Launch, ObserveRequest,
    dynamic::{Desired, Observed},
};
use kraken_simulator::{Simulator, SimulatorOptions};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::{
    listener::Listeners, listener_rule::ListenerRules, load_balancer::Balancers, target_group::Groups,
};

/// A VPC with subnets of two zones.
struct Site {
    cloud: Simulator,
    aws: Aws,
    vpc: String,
    subnets: [String; 2],
}

async fn site() -> Site {
    let cloud = Simulator::start(SimulatorOptions::default()).unwrap();
    let aws = testing::aws(cloud.endpoint()).await;
    let vpc = cloud.out_of_band("CreateVpc", &[("CidrBlock", "10.0.0.0/16")]).unwrap().remove(0);
    let subnet = |cidr, zone| {
        let fields = [("VpcId", vpc.as_str()), ("CidrBlock", cidr), ("AvailabilityZone", zone)];
        cloud.out_of_band("CreateSubnet", &fields).unwrap().remove(0)
    };
    let subnets = [subnet("10.0.1.0/24", "us-east-1a"), subnet("10.0.2.0/24", "us-east-1b")];
    Site { cloud, aws, vpc, subnets }
}

impl Site {
    /// A resource of a kind, with its spec.
    fn resource<S: AwsResource>(&self, name: &str, spec: Value) -> Resource<S>
    where
        SpecOf<S>: DeserializeOwned,
    {
        let spec: SpecOf<S> = serde_json::from_value(spec).unwrap();
        let owner = format!("{}/ns/{name}", SpecOf::<S>::NOUN.replace(' ', ""));
        Resource {
            kind: ManagedKind::default(),
            calls: Managed::from_context(&self.aws),
            identity: Identity { cluster: "c".into(), uid: format!("uid-{name}"), owner },
            spec,
        }
    }

    fn group(&self, name: &str) -> Resource<Groups> {
        self.resource(name, self.group_spec(json!({})))
    }

    fn group_spec(&self, more: Value) -> Value {
        let usual = json!({
            "protocol": {"value": "HTTP"}, "port": {"value": 80}, "vpcID": {"value": self.vpc},
            "targetType": {"value": "ip"},
        });
        testing::with(usual, more)
    }

    fn balancer(&self, name: &str, more: Value) -> Resource<Balancers> {
        let usual = json!({"scheme": {"value": "internal"}, "subnetIDs": {"value": self.subnets}});
        self.resource(name, testing::with(usual, more))
    }

    fn listener(&self, name: &str, balancer: &str, port: i32, group: &str) -> Resource<Listeners> {
        let forward = json!({"forward": {"targetGroupARN": {"value": group}}});
        self.resource(name, json!({
            "loadBalancerARN": {"value": balancer}, "port": {"value": port}, "protocol": {"value": "HTTP"},
            "defaultAction": forward,
        }))
    }

    fn rule(&self, name: &str, listener: &str, priority: i32, group: &str) -> Resource<ListenerRules> {
        self.resource(name, json!({
            "listenerARN": {"value": listener}, "priority": {"value": priority},
            "conditions": {"pathPatterns": {"value": ["/api/*"]}, "queryStrings": [{"value": {"value": "a"}}]},
            "action": {"forward": {"targetGroupARN": {"value": group}}},
        }))
    }

    /// A listener at port 80 of a load balancer, with its target group: the ARNs of all three.
    async fn tier(&self) -> [String; 3] {
        let group = self.group("group").created(1).await.unwrap();
        let balancer = self.balancer("balancer", json!({})).created(1).await.unwrap();
        let listener = self.listener("listener", &balancer, 80, &group).created(1).await.unwrap();
        [balancer, listener, group]
    }
}

struct Resource<S: AwsResource> {
    kind: ManagedKind<S>,
    calls: Managed<S>,
    identity: Identity,
    spec: SpecOf<S>,
}

impl<S: AwsResource> Resource<S> {
    fn desired(&self) -> Desired {
        testing::resolve(|values| self.kind.desired(&self.spec, values)).unwrap()
    }

    /// Creates it with this epoch and returns its ARN.
    async fn created(&self, epoch: i64) -> Result<String, Failure> {
        let launch = Launch { epoch, token: self.identity.token(epoch) };
        let nothing = Observed::default();
        let made = self.calls.create(&self.identity, &launch, &self.desired(), &nothing).await?;
        Ok(made.ids().remove(0))
    }

    async fn observed(&self) -> Observed {
        let request = ObserveRequest {
            identity: self.identity.clone(),
            ids: vec![],
            search: true,
            deep: true,
            launched: 0,
            is_own_record: false,
            wanted: None,
        };
        self.calls.observe(&[request]).await.unwrap().remove(0)
    }

    /// Makes the first change and returns its path; `None` if there is no difference.
    async fn changed(&self) -> Result<Option<String>, Failure> {
        let (desired, observed) = (self.desired(), self.observed().await);
        let first = self.kind.compare(&desired, &observed).differences.into_iter().next();
        let Some(difference) = first else { return Ok(None) };
        let kraken_kind::Remedy::Change(change) = difference.remedy else { panic!("{:?}", difference.field) };
        self.calls.update(&self.identity, &change, &desired, &observed).await?;
        Ok(Some(difference.field.path))
    }

    async fn deleted(&self) -> Result<(), Failure> {
        self.calls.delete(&self.identity, &self.observed().await).await.map(drop)
    }
}
