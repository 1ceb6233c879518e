//! EC2Instances: a kind with tokens.

use std::time::Duration;

use kraken_simulator::{Kind, Service};
use serde_json::{Map, Value, json};

use super::super::cloud::{ADOPTABLE, IMAGE};
use super::super::desired::{Desired, Query, config_map, object};
use super::super::scenario::{INSTANCES, OutOfBand, Scenario, Step, Stress, apply};

const OTHER_IMAGE: &str = "ami-0b301ce3ce3475b4f";
const LAUNCH: &str = "cloud RunInstances";
const LONG_LAG: Duration = Duration::from_secs(4);

/// The desired state of one EC2Instance.
#[derive(Clone)]
struct InstanceSpec {
    count: usize,
    image: &'static str,
    instance_type: &'static str,
    /// The instance type comes from a ConfigMap.
    referenced: bool,
    tags: &'static [(&'static str, &'static str)],
    lifecycle: Value,
}

fn one() -> InstanceSpec {
    InstanceSpec {
        count: 1,
        image: IMAGE,
        instance_type: "t2.nano",
        referenced: false,
        tags: &[("Team", "web")],
        lifecycle: json!({}),
    }
}

fn count(count: usize) -> InstanceSpec {
    InstanceSpec { count, ..one() }
}

impl InstanceSpec {
    fn desired(&self) -> Desired {
        let instance_type = if self.referenced {
            json!({"valueFrom": {"configMap": {"name": "sizes", "key": "size"}}})
        } else {
            json!({"value": self.instance_type})
        };
        let tags: Map<String, Value> =
            self.tags.iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect();
        let instance = object(
            "EC2Instance",
            "a",
            &json!({
                "imageID": {"value": self.image}, "instanceType": instance_type, "tags": tags,
                "minCount": {"value": 1}, "maxCount": {"value": self.count}, "lifecycle": self.lifecycle,
            }),
        );
        let sizes = self.referenced.then(|| config_map("sizes", &json!({"size": self.instance_type})));
        Desired::of(sizes.into_iter().chain([instance])).described(Query {
            of: "EC2Instance/a",
            service: Service::Ec2,
            action: "DescribeInstances",
            id: "InstanceId.1",
            more: &[],
            texts: vec![("instanceType", vec![self.instance_type]), ("imageId", vec![self.image])],
        })
    }
}

/// From one desired state to another, in place.
fn change(name: &'static str, from: &InstanceSpec, to: &InstanceSpec) -> Scenario {
    Scenario::new(name, INSTANCES, apply(to.desired())).after(from.desired()).bound(
        Kind::Instance,
        from.count.min(to.count),
        from.count.max(to.count),
    )
}

fn replace(name: &'static str, from: &InstanceSpec, how: &str, (least, most): (usize, usize)) -> Scenario {
    let to = InstanceSpec { image: OTHER_IMAGE, lifecycle: json!({"replace": how}), ..from.clone() };
    Scenario::new(name, INSTANCES, apply(to.desired())).after(from.desired()).bound(
        Kind::Instance,
        least,
        most,
    )
}

pub(in super::super) fn all() -> Vec<Scenario> {
    let create = |name, spec: &InstanceSpec| {
        Scenario::new(name, INSTANCES, apply(spec.desired())).bound(Kind::Instance, 0, spec.count)
    };
    let micro = InstanceSpec { instance_type: "t2.micro", ..one() };
    let tagged = InstanceSpec { tags: &[("Team", "web"), ("Old", "yes")], ..one() };
    let other = InstanceSpec { tags: &[("Team", "shop")], ..one() };
    let disrupted = InstanceSpec {
        lifecycle: json!({"disruption": "Allow", "ignoreChanges": ["state"]}),
        ..micro.clone()
    };
    let adopting = InstanceSpec {
        lifecycle: json!({"adopt": {"tags": {ADOPTABLE: "yes"}}, "deletion": "Delete"}),
        ..one()
    };
    let nothing = || Step::Apply(Desired::nothing());
    vec![
        create("create", &one()),
        create("refer", &InstanceSpec { referenced: true, ..one() }).referring(),
        change("grow", &one(), &count(3)),
        change("shrink", &count(3), &one()),
        change("tag", &tagged, &other),
        Scenario { out_of_band: OutOfBand::Stop, ..change("type", &one(), &micro) },
        change("resize", &one(), &disrupted),
        Scenario::new("delete", INSTANCES, vec![nothing(), Step::Settle]).after(count(2).desired()).bound(
            Kind::Instance,
            0,
            2,
        ),
        Scenario::new(
            "recreate",
            INSTANCES,
            [vec![nothing(), Step::Settle], apply(one().desired())].concat(),
        )
        .after(one().desired()),
        replace("create-first", &one(), "CreateFirst", (1, 2)),
        replace("delete-first", &one(), "DeleteFirst", (0, 1)),
        Scenario { per_launch: Some(1), ..replace("trickle", &count(2), "CreateFirst", (2, 4)) },
        Scenario { lag: LONG_LAG, ..create("lag", &count(3)) },
        Scenario::new(
            "abandon",
            INSTANCES,
            vec![Step::Apply(one().desired()), Step::Await(LAUNCH), nothing(), Step::Settle],
        ),
        Scenario::new(
            "hurry",
            INSTANCES,
            vec![
                Step::Apply(one().desired()),
                Step::Await(LAUNCH),
                Step::Apply(InstanceSpec { count: 2, ..other }.desired()),
                Step::Settle,
            ],
        )
        .bound(Kind::Instance, 0, 2),
        Scenario { out_of_band: OutOfBand::Adoptable, ..create("adopt", &adopting) },
        Scenario { stress: Some(Stress::Throttle(200)), ..create("throttle", &one()) },
        Scenario { stress: Some(Stress::Outage), ..create("outage", &count(3)) },
    ]
}
