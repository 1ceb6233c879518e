//! TargetGroup, the API type.

use kraken_aws::{
    TagOptions,
    bounds::{self, VPC_ID, literal},
    tags,
};
use kraken_spoke::{
    HasLifecycle, Lifecycle, Opt, ResourceStatus,
    options::{ListOpt, Public, Text},
};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules;
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
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "has(self.protocol) || (has(self.targetType) && (!has(self.targetType.value) || self.targetType.value == 'lambda'))",
    "message": "is required unless targetType is lambda",
    "fieldPath": ".protocol",
}, {
    "rule": "!has(self.protocol) || !has(self.targetType) || !has(self.targetType.value) || self.targetType.value != 'lambda'",
    "message": "is not supported for targets of type lambda; remove it or change targetType",
    "fieldPath": ".protocol",
}, {
    "rule": "has(self.port) || (has(self.targetType) && (!has(self.targetType.value) || self.targetType.value == 'lambda'))",
    "message": "is required unless targetType is lambda",
    "fieldPath": ".port",
}, {
    "rule": "!has(self.port) || !has(self.targetType) || !has(self.targetType.value) || self.targetType.value != 'lambda'",
    "message": "is not supported for targets of type lambda; remove it or change targetType",
    "fieldPath": ".port",
}, {
    "rule": "has(self.vpcID) || (has(self.targetType) && (!has(self.targetType.value) || self.targetType.value == 'lambda'))",
    "message": "is required unless targetType is lambda",
    "fieldPath": ".vpcID",
}, {
    "rule": "!has(self.vpcID) || !has(self.targetType) || !has(self.targetType.value) || self.targetType.value != 'lambda'",
    "message": "is not supported for targets of type lambda; remove it or change targetType",
    "fieldPath": ".vpcID",
}]))]
pub(crate) struct TargetGroupSpec {
    /// The name, unique in the account and region: 1 to 32 letters, digits and hyphens. Immutable. Default: generated
    /// by Kraken. Example: `{value: web}`
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = literal(&rules::NAME))]
    pub(crate) name: Option<Public<Opt<String>>>,

    /// The protocol to the targets: `HTTP` or `HTTPS` for an application load balancer, `TCP`, `TLS`, `UDP` or
    /// `TCP_UDP` for a network load balancer. Immutable. Required unless `targetType` is `lambda`. Example:
    /// `{value: HTTP}`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) protocol: Option<Opt<Protocol>>,

    /// The port of the targets, 1 to 65535. Immutable. Required unless `targetType` is `lambda`. Example:
    /// `{value: 8080}`
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = literal(&rules::PORT))]
    pub(crate) port: Option<Opt<i32>>,

    /// The VPC of the targets. Immutable. Required unless `targetType` is `lambda`. Example:
    /// `{valueFrom: {krakenResource: {kind: vpc, name: main}}}`
    #[serde(rename = "vpcID", skip_serializing_if = "Option::is_none")]
    #[schemars(transform = literal(&VPC_ID))]
    pub(crate) vpc_id: Option<Opt<String>>,

    /// The type of the targets: `instance`, `ip`, `lambda` or `alb`. Immutable. Default: AWS's default (`instance`).
    /// Example: `{value: ip}`
    #[serde(rename = "targetType", skip_serializing_if = "Option::is_none")]
    pub(crate) target_type: Option<Opt<TargetType>>,

    /// The targets, at most 1000: instance ids, IP addresses, or the ARN of one Lambda function or one application load
    /// balancer. Registered and deregistered in place; an empty list deregisters all. Default: none; existing targets
    /// are not managed. Example: `{value: [{valueFrom: {krakenResource: {kind: ec2instance, name: web}}}]}`
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = literal(&rules::TARGET).items(0, 1_000))]
    pub(crate) targets: Option<ListOpt<String>>,

    /// The health check of the targets. Changed in place. Fields that are not set are not managed. If set, the health check is enabled; for
    /// targets of type `lambda` it is disabled by default. Default: AWS's default. Example:
    /// `{path: {value: /healthz}, intervalSeconds: {value: 10}}`
    #[serde(rename = "healthCheck", skip_serializing_if = "Option::is_none")]
    pub(crate) health_check: Option<HealthCheck>,

    /// Tags, at most 45, with keys of up to 128 and values of up to 256 characters. Each value is a literal or a
    /// reference, but not to a Secret. Tags that are set outside Kraken are not changed. Default: none. Example:
    /// `{Team: shop, Env: {valueFrom: {configMap: {name: env, key: name}}}}`
    #[serde(default, skip_serializing_if = "tags::is_empty")]
    #[schemars(transform = bounds::tags())]
    pub(crate) tags: TagOptions,

    /// How this resource is created, reconciled and deleted.
    #[serde(default)]
    pub(crate) lifecycle: Lifecycle,
}

impl HasLifecycle for TargetGroupSpec {
    fn lifecycle(&self) -> &Lifecycle {
        &self.lifecycle
    }
}

/// The health check of the targets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "!has(self.timeoutSeconds) || !has(self.timeoutSeconds.value) || !has(self.intervalSeconds) || !has(self.intervalSeconds.value) || self.timeoutSeconds.value <= self.intervalSeconds.value",
    "message": "must not be greater than intervalSeconds",
    "fieldPath": ".timeoutSeconds",
}]))]
pub(crate) struct HealthCheck {
    /// The protocol: `HTTP`, `HTTPS` or `TCP`. Default: AWS's default. Example: `{value: HTTP}`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) protocol: Option<Opt<HealthCheckProtocol>>,

    /// The port, 1 to 65535, or `traffic-port` for the port of the target. Default: AWS's default (`traffic-port`).
    /// Example: `{value: 8081}`
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = literal(&rules::HEALTH_CHECK_PORT))]
    pub(crate) port: Option<Opt<Text>>,

    /// The path of an HTTP health check, which begins with `/`. Default: AWS's default (`/`). Example:
    /// `{value: /healthz}`
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = literal(&rules::HEALTH_CHECK_PATH))]
    pub(crate) path: Option<Opt<String>>,

    /// The interval between two checks of a target in seconds, 5 to 300. Default: AWS's default (30). Example:
    /// `{value: 10}`
    #[serde(rename = "intervalSeconds", skip_serializing_if = "Option::is_none")]
    #[schemars(transform = literal(&rules::INTERVAL_SECONDS))]
    pub(crate) interval_seconds: Option<Opt<i32>>,

    /// The timeout of a check in seconds, 2 to 120, at most `intervalSeconds`. Default: AWS's default. Example:
    /// `{value: 5}`
    #[serde(rename = "timeoutSeconds", skip_serializing_if = "Option::is_none")]
    #[schemars(transform = literal(&rules::TIMEOUT_SECONDS))]
    pub(crate) timeout_seconds: Option<Opt<i32>>,

    /// The number of consecutive successful checks after which a target is healthy, 2 to 10. Default: AWS's default
    /// (5). Example: `{value: 2}`
    #[serde(rename = "healthyThreshold", skip_serializing_if = "Option::is_none")]
    #[schemars(transform = literal(&rules::THRESHOLD))]
    pub(crate) healthy_threshold: Option<Opt<i32>>,

    /// The number of consecutive failed checks after which a target is unhealthy, 2 to 10. Default: AWS's default (2).
    /// Example: `{value: 3}`
    #[serde(rename = "unhealthyThreshold", skip_serializing_if = "Option::is_none")]
    #[schemars(transform = literal(&rules::THRESHOLD))]
    pub(crate) unhealthy_threshold: Option<Opt<i32>>,

    /// The HTTP status codes of a successful check, as codes and ranges. Default: AWS's default (`200`). Example:
    /// `{value: 200-299}`
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = literal(&rules::MATCHER))]
    pub(crate) matcher: Option<Opt<String>>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use kraken_aws::testing::assert_round_trips;
    use serde_json::json;

    #[test]
    fn field_names_follow_kubernetes_and_values_follow_aws() {
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
