//! TargetGroup as users write it.

use kraken_aws::{TagOptions, tags};
use kraken_spoke::{
    HasLifecycle, Lifecycle, Opt, ResourceStatus,
    options::{ListOpt, Public, Text},
};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::words::{HealthCheckProtocol, Protocol, TargetType};

/// A target group of Elastic Load Balancing, with its targets.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "aws.kraken-iac.eoinfennessy.com",
    version = "v1alpha1",
    kind = "TargetGroup",
    plural = "targetgroups",
    shortname = "tg",
    category = "kraken",
    namespaced,
    status = "ResourceStatus",
    doc = "A target group of Elastic Load Balancing, with its targets. Kraken creates, heals and deletes it."
)]
pub(crate) struct TargetGroupSpec {
    /// The name, unique in the account and region: 1 to 32 letters, digits and hyphens. It cannot be changed later.
    /// Default: one that Kraken makes. Example: `{value: web}`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<Public<Opt<String>>>,

    /// How the targets are spoken to: `HTTP` or `HTTPS` behind an application load balancer, `TCP`, `TLS`, `UDP` or
    /// `TCP_UDP` behind a network load balancer. It cannot be changed later. Needed unless `targetType` is `lambda`.
    /// Example: `{value: HTTP}`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) protocol: Option<Opt<Protocol>>,

    /// The port of the targets, 1 to 65535. It cannot be changed later. Needed unless `targetType` is `lambda`.
    /// Example: `{value: 8080}`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) port: Option<Opt<i32>>,

    /// The VPC of the targets. It cannot be changed later. Needed unless `targetType` is `lambda`. Example:
    /// `{valueFrom: {krakenResource: {kind: vpc, name: main}}}`
    #[serde(rename = "vpcID", skip_serializing_if = "Option::is_none")]
    pub(crate) vpc_id: Option<Opt<String>>,

    /// What the targets are: `instance`, `ip`, `lambda` or `alb`. It cannot be changed later. Default: AWS's
    /// (`instance`). Example: `{value: ip}`
    #[serde(rename = "targetType", skip_serializing_if = "Option::is_none")]
    pub(crate) target_type: Option<Opt<TargetType>>,

    /// The targets, at most 1000: ids of instances, IP addresses, or one ARN of a function or of an application load
    /// balancer. Registered and deregistered in place; an empty list deregisters all. Default: what is registered is
    /// left alone. Example: `{value: [{valueFrom: {krakenResource: {kind: ec2instance, name: web}}}]}`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) targets: Option<ListOpt<String>>,

    /// How it is found out which targets are healthy; changed in place. What is left out is left as it is. With it the
    /// check is on, which for targets of type `lambda` it is not by default. Default: AWS's. Example: `{path: {value: /healthz}, intervalSeconds: {value: 10}}`
    #[serde(rename = "healthCheck", skip_serializing_if = "Option::is_none")]
    pub(crate) health_check: Option<HealthCheck>,

    /// Tags; at most 45, with keys of up to 128 and values of up to 256 characters; each value is a literal or a
    /// reference, but not to a Secret. Tags that others set are left alone. Default: none. Example:
    /// `{Team: shop, Env: {valueFrom: {configMap: {name: env, key: name}}}}`
    #[serde(default, skip_serializing_if = "tags::is_empty")]
    pub(crate) tags: TagOptions,

    /// How this resource is created, healed and deleted.
    #[serde(default)]
    pub(crate) lifecycle: Lifecycle,
}

impl HasLifecycle for TargetGroupSpec {
    fn lifecycle(&self) -> &Lifecycle {
        &self.lifecycle
    }
}

/// How it is found out which targets are healthy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct HealthCheck {
    /// The protocol: `HTTP`, `HTTPS` or `TCP`. Default: AWS's. Example: `{value: HTTP}`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) protocol: Option<Opt<HealthCheckProtocol>>,

    /// The port, 1 to 65535, or `traffic-port` for the port of the target. Default: AWS's (`traffic-port`). Example:
    /// `{value: 8081}`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) port: Option<Opt<Text>>,

    /// The path of an HTTP check; begins with `/`. Default: AWS's (`/`). Example: `{value: /healthz}`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) path: Option<Opt<String>>,

    /// Seconds between two checks of a target, 5 to 300. Default: AWS's (30). Example: `{value: 10}`
    #[serde(rename = "intervalSeconds", skip_serializing_if = "Option::is_none")]
    pub(crate) interval_seconds: Option<Opt<i32>>,

    /// Seconds without an answer that count as a failed check, 2 to 120, at most `intervalSeconds`. Default: AWS's.
    /// Example: `{value: 5}`
    #[serde(rename = "timeoutSeconds", skip_serializing_if = "Option::is_none")]
    pub(crate) timeout_seconds: Option<Opt<i32>>,

    /// Good checks in a row that make a target healthy, 2 to 10. Default: AWS's (5). Example: `{value: 2}`
    #[serde(rename = "healthyThreshold", skip_serializing_if = "Option::is_none")]
    pub(crate) healthy_threshold: Option<Opt<i32>>,

    /// Failed checks in a row that make a target unhealthy, 2 to 10. Default: AWS's (2). Example: `{value: 3}`
    #[serde(rename = "unhealthyThreshold", skip_serializing_if = "Option::is_none")]
    pub(crate) unhealthy_threshold: Option<Opt<i32>>,

    /// The HTTP codes of a good check, as codes and ranges. Default: AWS's (`200`). Example: `{value: 200-299}`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) matcher: Option<Opt<String>>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use kraken_aws::testing::assert_round_trips;
    use serde_json::json;

    #[test]
    fn names_are_spelled_as_aws_and_kubernetes_do() {
        assert_round_trips::<TargetGroupSpec>(&json!({
            "name": {"value": "web"},
            "protocol": {"value": "TCP_UDP"},
            "port": {"value": 80},
            "vpcID": {"value": "vpc-1"},
            "targetType": {"value": "ip"},
            "targets": {"value": ["10.0.0.1"]},
            "healthCheck": {
                "protocol": {"value": "HTTP"}, "port": {"value": "traffic-port"}, "path": {"value": "/"},
                "intervalSeconds": {"value": 10}, "timeoutSeconds": {"value": 5}, "healthyThreshold": {"value": 2},
                "unhealthyThreshold": {"value": 2}, "matcher": {"value": "200"},
            },
            "tags": {"Name": "web"},
        }));
    }
}
