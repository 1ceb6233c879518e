//! The resources of the tests.

use serde_json::{Value, json};

use super::moto::Network;

pub(super) fn target_group(network: &Network, targets: &[&str]) -> Value {
    json!({
        "protocol": {"value": "HTTP"}, "port": {"value": 8080}, "vpcID": {"value": network.vpc},
        "targetType": {"value": "ip"}, "targets": {"value": targets},
        "healthCheck": {"path": {"value": "/healthz"}, "port": {"value": 8081}},
        "tags": {"Team": "web"},
    })
}

pub(super) fn load_balancer(network: &Network) -> Value {
    json!({
        "scheme": {"value": "internal"}, "subnetIDs": {"value": network.subnets},
        "securityGroupIDs": {"value": [network.group]}, "idleTimeoutSeconds": {"value": 120},
    })
}

/// Refers to the load balancer and the target group `web` by their main ids.
pub(super) fn listener(port: i64) -> Value {
    let id = |kind: &str| json!({"valueFrom": {"krakenResource": {"kind": kind, "name": "web"}}});
    json!({
        "loadBalancerARN": id("LoadBalancer"), "port": {"value": port}, "protocol": {"value": "HTTP"},
        "defaultAction": {"forward": {"targetGroupARN": id("target-group")}},
    })
}

/// A rule of the listener `web`.
pub(super) fn rule(path: &str) -> Value {
    let id = |kind: &str| json!({"valueFrom": {"krakenResource": {"kind": kind, "name": "web"}}});
    json!({
        "listenerARN": id("listener"), "priority": {"value": 10},
        "conditions": {"pathPatterns": {"value": [path]}, "methods": {"value": ["GET", "HEAD"]}},
        "action": {"forward": {"targetGroups": [{"targetGroupARN": id("target-group"), "weight": {"value": 5}}]}},
    })
}
