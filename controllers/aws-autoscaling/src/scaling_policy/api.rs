//! ScalingPolicy, the API type.

use kraken_aws::{
    aws_kind,
    bounds::{Pattern, Range},
    words,
};
use kraken_kind::{Opt, options::Public};

use super::observed::Policy;

static GROUP_NAME: Pattern = Pattern::new(
    "^[!-9;-~]([ -9;-~]*[!-9;-~])?$",
    255,
    "must be the name of an Auto Scaling group, with 1 to 255 printable ASCII characters without colons",
);
static LOAD_BALANCER: Pattern = Pattern::new(
    "^arn:[a-z-]+:elasticloadbalancing:[!-~]+:loadbalancer/app/[!-~]+$",
    511,
    "must be the ARN of an application load balancer",
);
static TARGET_GROUP: Pattern = Pattern::new(
    "^arn:[a-z-]+:elasticloadbalancing:[!-~]+:targetgroup/[!-~]+$",
    511,
    "must be the ARN of a target group",
);
const SECONDS: Range = Range(0, 86_400);

words!(
    /// A metric of a group.
    Metric {
        Cpu = "ASGAverageCPUUtilization",
        NetworkIn = "ASGAverageNetworkIn",
        NetworkOut = "ASGAverageNetworkOut",
        Requests = "ALBRequestCountPerTarget",
    }
);

/// A target tracking policy of an Auto Scaling group.
#[aws_kind(
    kind = "ScalingPolicy",
    plural = "scalingpolicies",
    shortname = "asgpol",
    doc = "A target tracking policy of an Auto Scaling group: AWS changes the number of instances so that a metric is near a value. Its main id \
           is its PolicyARN.",
    noun = "scaling policy",
    state = "scalingPolicy",
    untagged,
    observed = Policy,
    summary("Group" = "AutoScalingGroupName", "Metric" = "PredefinedMetricType", "Target" = "TargetValue"),
    rules = Self::between_fields,
    cel(
        "(has(self.loadBalancerARN) && has(self.targetGroupARN)) || (!has(self.loadBalancerARN) && !has(self.targetGroupARN))"
            else "loadBalancerARN and targetGroupARN must be set together",
    )
)]
pub(crate) struct ScalingPolicySpec {
    /// The Auto Scaling group, by name. Immutable. Example: `{valueFrom: {ref: AutoScalingGroup/web}}`
    #[field("groupName", rule = GROUP_NAME, fixed, observed = &auto_scaling_group_name)]
    pub(crate) group_name: Public<Opt<String>>,

    /// The metric: `ASGAverageCPUUtilization` in percent, `ASGAverageNetworkIn` or `ASGAverageNetworkOut` in bytes per minute and instance,
    /// or `ALBRequestCountPerTarget` in requests per minute and instance. AWS accepts one policy per group and metric. Changed in place.
    /// Example: `{value: ASGAverageCPUUtilization}`
    #[field("metric", change = Put, observed = predefined_metric_type, always_sent)]
    pub(crate) metric: Opt<Metric>,

    /// The value of the metric, greater than 0. Changed in place. Example: `{value: 50}`
    #[field("targetValue", check = above_zero, change = Put, always_sent)]
    pub(crate) target_value: Opt<f64>,

    /// The load balancer that sends the requests. Required for `ALBRequestCountPerTarget`, and only for it. Changed in place. Default:
    /// none. Example: `{valueFrom: {ref: LoadBalancer/web}}`
    #[field(
        "loadBalancerARN",
        rule = LOAD_BALANCER,
        change = Put,
        compare = Self::compare_label,
        import = none,
        published("ResourceLabel"),
        none_if_unset
    )]
    pub(crate) load_balancer_arn: Option<Opt<String>>,

    /// The target group of the instances. Required for `ALBRequestCountPerTarget`, and only for it. Changed in place. Default: none.
    /// Example: `{valueFrom: {ref: TargetGroup/web}}`
    #[field(
        "targetGroupARN",
        rule = TARGET_GROUP,
        change = Put,
        compare = Self::compare_nothing,
        import = none,
        published("ResourceLabel"),
        none_if_unset
    )]
    pub(crate) target_group_arn: Option<Opt<String>>,

    /// Whether the policy only adds instances. Changed in place. Default: AWS's default (false). Example: `{value: true}`
    #[field("disableScaleIn", change = Put, unless = false)]
    pub(crate) disable_scale_in: Option<Opt<bool>>,

    /// How long the metrics of a new instance are left out in seconds, 0 to 86400. Changed in place. Default: that of the group. Example:
    /// `{value: 120}`
    #[field("estimatedInstanceWarmupSeconds", rule = SECONDS, change = Put, observed = estimated_instance_warmup)]
    pub(crate) estimated_instance_warmup_seconds: Option<Opt<i32>>,
}

fn above_zero(value: &f64) -> Result<(), String> {
    if *value > 0.0 { Ok(()) } else { Err("must be greater than 0".to_owned()) }
}
