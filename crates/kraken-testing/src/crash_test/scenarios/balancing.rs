//! A load balancer with its target group, a listener and a rule, which refer to each other.

use kraken_simulator::Service;
use serde_json::{Value, json};

use super::super::desired::{Desired, Query, object};
use super::super::scenario::{BALANCING, Scenario, Step, apply};

/// The edited settings.
#[derive(Clone, Copy)]
struct Settings {
    port: &'static str,
    health: &'static str,
    target: &'static str,
    path: &'static str,
    priority: &'static str,
    idle: &'static str,
}

const BEFORE: Settings = Settings {
    port: "80",
    health: "/healthz",
    target: "10.0.1.10",
    path: "/a/*",
    priority: "10",
    idle: "60",
};
const AFTER: Settings =
    Settings { port: "81", health: "/ready", target: "10.0.1.11", path: "/b/*", priority: "20", idle: "120" };

fn number(text: &str) -> Value {
    json!({"value": text.parse::<i64>().unwrap_or_default()})
}

impl Settings {
    fn desired(self) -> Desired {
        let refer = |kind: &str| json!({"valueFrom": {"krakenResource": {"kind": kind, "name": "a"}}});
        let forward = json!({"forward": {"targetGroupARN": refer("targetgroup")}});
        let query = |of, action, id, texts| Query { of, service: Service::Elb, action, id, more: &[], texts };
        Desired::of([
            object("LoadBalancer", "a", &json!({
                "scheme": {"value": "internal"}, "subnetIDs": {"value": ["${subnet-a}", "${subnet-b}"]},
                "idleTimeoutSeconds": number(self.idle), "tags": {"Team": "web"},
            })),
            object("TargetGroup", "a", &json!({
                "protocol": {"value": "HTTP"}, "port": {"value": 8080}, "vpcID": {"value": "${vpc}"},
                "targetType": {"value": "ip"}, "targets": {"value": [self.target]},
                "healthCheck": {"path": {"value": self.health}}, "tags": {"Team": "web"},
            })),
            object("Listener", "a", &json!({
                "loadBalancerARN": refer("loadbalancer"), "port": number(self.port),
                "protocol": {"value": "HTTP"}, "defaultAction": forward, "tags": {"Team": "web"},
            })),
            object("ListenerRule", "a", &json!({
                "listenerARN": refer("listener"), "priority": number(self.priority),
                "conditions": {"pathPatterns": {"value": [self.path]}}, "action": forward, "tags": {"Team": "web"},
            })),
        ])
        .described(query("LoadBalancer/a", "DescribeLoadBalancers", "LoadBalancerArns.member.1", vec![
            ("Scheme", vec!["internal"]),
        ]))
        .described(query("TargetGroup/a", "DescribeTargetGroups", "TargetGroupArns.member.1", vec![
            ("HealthCheckPath", vec![self.health]),
        ]))
        .described(query("TargetGroup/a", "DescribeTargetHealth", "TargetGroupArn", vec![
            ("Id", vec![self.target]),
        ]))
        .described(query("Listener/a", "DescribeListeners", "ListenerArns.member.1", vec![
            ("Port", vec![self.port]),
        ]))
        .described(query("ListenerRule/a", "DescribeRules", "RuleArns.member.1", vec![
            ("Priority", vec![self.priority]),
        ]))
    }
}

pub(in super::super) fn all() -> Vec<Scenario> {
    let nothing = || Step::Apply(Desired::nothing());
    let story = |name, steps| Scenario::new(name, BALANCING, steps).referring();
    vec![
        story("balancing-create", apply(BEFORE.desired())),
        story("balancing-edit", apply(AFTER.desired())).after(BEFORE.desired()),
        story("balancing-delete", vec![nothing(), Step::Settle]).after(BEFORE.desired()),
    ]
}
