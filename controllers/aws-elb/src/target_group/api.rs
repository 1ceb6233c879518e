//! TargetGroup, the API type.

use kraken_aws::{aws_group, aws_kind, bounds::VPC_ID};
use kraken_kind::{
    Opt,
    options::{ListOpt, Public, Text},
};

use super::observed::{Group, Target};
use crate::{
    rules,
    words::{HealthCheckProtocol, Protocol, TargetType},
};

/// A target group of Elastic Load Balancing, with its targets.
#[aws_kind(
    kind = "TargetGroup",
    plural = "targetgroups",
    shortname = "tg",
    doc = "A target group of Elastic Load Balancing, with its targets. Its main id is its TargetGroupArn.",
    noun = "target group",
    state = "targetGroup",
    observed = Group,
    summary("Protocol" = "Protocol", "Port" = "Port", "Type" = "TargetType"),
    whole("targets"),
    change = Change,
    rules = Self::between_fields,
    cel(
        "has(self.protocol) || (has(self.targetType) && (!has(self.targetType.value) || self.targetType.value == 'lambda'))"
            else "is required unless targetType is lambda" at "protocol",
        "!has(self.protocol) || !has(self.targetType) || !has(self.targetType.value) || self.targetType.value != 'lambda'"
            else "is not supported for targets of type lambda; remove it or change targetType" at "protocol",
        "has(self.port) || (has(self.targetType) && (!has(self.targetType.value) || self.targetType.value == 'lambda'))"
            else "is required unless targetType is lambda" at "port",
        "!has(self.port) || !has(self.targetType) || !has(self.targetType.value) || self.targetType.value != 'lambda'"
            else "is not supported for targets of type lambda; remove it or change targetType" at "port",
        "has(self.vpcID) || (has(self.targetType) && (!has(self.targetType.value) || self.targetType.value == 'lambda'))"
            else "is required unless targetType is lambda" at "vpcID",
        "!has(self.vpcID) || !has(self.targetType) || !has(self.targetType.value) || self.targetType.value != 'lambda'"
            else "is not supported for targets of type lambda; remove it or change targetType" at "vpcID",
    )
)]
pub(crate) struct TargetGroupSpec {
    /// The name, unique in the account and region: 1 to 32 letters, digits and hyphens. Immutable. Default: generated
    /// by Kraken. Example: `{value: web}`
    #[field("name", rule = rules::NAME, fixed, observed = &target_group_name)]
    pub(crate) name: Option<Public<Opt<String>>>,

    /// The protocol to the targets: `HTTP` or `HTTPS` for an application load balancer, `TCP`, `TLS`, `UDP` or
    /// `TCP_UDP` for a network load balancer. Immutable. Required unless `targetType` is `lambda`. Example:
    /// `{value: HTTP}`
    #[field("protocol", fixed)]
    pub(crate) protocol: Option<Opt<Protocol>>,

    /// The port of the targets, 1 to 65535. Immutable. Required unless `targetType` is `lambda`. Example:
    /// `{value: 8080}`
    #[field("port", rule = rules::PORT, fixed, published("Port", "TargetHealthDescriptions.Target.Port"))]
    pub(crate) port: Option<Opt<i32>>,

    /// The VPC of the targets. Immutable. Required unless `targetType` is `lambda`. Example:
    /// `{valueFrom: {ref: VPC/main}}`
    #[field("vpcID", rule = VPC_ID, fixed, none_if_unset)]
    pub(crate) vpc_id: Option<Opt<String>>,

    /// The type of the targets: `instance`, `ip`, `lambda` or `alb`. Immutable. Default: AWS's default (`instance`).
    /// Example: `{value: ip}`
    #[field("targetType", fixed, unless = "instance")]
    pub(crate) target_type: Option<Opt<TargetType>>,

    /// The health check of the targets. Changed in place. Fields that are not set are not managed. If set, the health check is enabled; for
    /// targets of type `lambda` it is disabled by default. Default: AWS's default. Example:
    /// `{path: {value: /healthz}, intervalSeconds: {value: 10}}`
    #[field("healthCheck", group, change = HealthCheck, compare = Self::compare_health, import = HealthCheck::imported)]
    pub(crate) health_check: Option<HealthCheck>,

    /// The targets, at most 1000: instance ids, IP addresses, or the ARN of one Lambda function or one application load
    /// balancer. Registered and deregistered in place; an empty list deregisters all. Default: none; existing targets
    /// are not managed. Example: `{value: [{valueFrom: {ref: EC2Instance/web}}]}`
    #[field(
        "targets",
        rule = rules::TARGET,
        items(0, 1_000),
        check = |_| Ok::<(), String>(()), // by the type of the targets, in `between_fields`
        compare = Self::compare_targets,
        import = Self::import_targets,
        published("TargetHealthDescriptions")
    )]
    pub(crate) targets: Option<ListOpt<String>>,
}

/// The health check of the targets.
#[aws_group(
    observed = Group,
    state = "targetGroup",
    published("HealthCheckEnabled"),
    rules = Self::between_fields,
    cel(
        "!has(self.timeoutSeconds) || !has(self.timeoutSeconds.value) || !has(self.intervalSeconds) || !has(self.intervalSeconds.value) || self.timeoutSeconds.value <= self.intervalSeconds.value"
            else "must not be greater than intervalSeconds" at "timeoutSeconds",
    )
)]
pub(crate) struct HealthCheck {
    /// The protocol: `HTTP`, `HTTPS` or `TCP`. Default: AWS's default. Example: `{value: HTTP}`
    #[field("protocol", observed = health_check_protocol, unless = "HTTP")]
    pub(crate) protocol: Option<Opt<HealthCheckProtocol>>,

    /// The port, 1 to 65535, or `traffic-port` for the port of the target. Default: AWS's default (`traffic-port`).
    /// Example: `{value: 8081}`
    #[field("port", rule = rules::HEALTH_CHECK_PORT, observed = health_check_port, unless = "traffic-port")]
    pub(crate) port: Option<Opt<Text>>,

    /// The path of an HTTP health check, which begins with `/`. Default: AWS's default (`/`). Example:
    /// `{value: /healthz}`
    #[field("path", rule = rules::HEALTH_CHECK_PATH, observed = health_check_path, unless = "/")]
    pub(crate) path: Option<Opt<String>>,

    /// The interval between two checks of a target in seconds, 5 to 300. Default: AWS's default (30). Example:
    /// `{value: 10}`
    #[field("intervalSeconds", rule = rules::INTERVAL_SECONDS, observed = health_check_interval_seconds, unless = 30)]
    pub(crate) interval_seconds: Option<Opt<i32>>,

    /// The timeout of a check in seconds, 2 to 120, at most `intervalSeconds`. Default: AWS's default. Example:
    /// `{value: 5}`
    #[field("timeoutSeconds", rule = rules::TIMEOUT_SECONDS, observed = health_check_timeout_seconds, unless = 5)]
    pub(crate) timeout_seconds: Option<Opt<i32>>,

    /// The number of consecutive successful checks after which a target is healthy, 2 to 10. Default: AWS's default
    /// (5). Example: `{value: 2}`
    #[field("healthyThreshold", rule = rules::THRESHOLD, observed = healthy_threshold_count, unless = 5)]
    pub(crate) healthy_threshold: Option<Opt<i32>>,

    /// The number of consecutive failed checks after which a target is unhealthy, 2 to 10. Default: AWS's default (2).
    /// Example: `{value: 3}`
    #[field("unhealthyThreshold", rule = rules::THRESHOLD, observed = unhealthy_threshold_count, unless = 2)]
    pub(crate) unhealthy_threshold: Option<Opt<i32>>,

    /// The HTTP status codes of a successful check, as codes and ranges. Default: AWS's default (`200`). Example:
    /// `{value: 200-299}`
    #[field("matcher", rule = rules::MATCHER, check = rules::matcher, observed = matcher(), published("Matcher"), unless = "200")]
    pub(crate) matcher: Option<Opt<String>>,
}

/// A change in place, one call each.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Change {
    /// All fields of the health check in the spec, because AWS validates them together.
    HealthCheck,
    Register(Vec<String>),
    Deregister(Vec<Target>),
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
