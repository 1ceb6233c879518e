//! Load balancers on both sides, in the network that the preceding calls created.

use super::{Calls, Listed};

/// The calls.
pub(super) const CALLS: Calls = &[
    (
        "CreateLoadBalancer",
        "Name=web Subnets.member.1=$subnet-A Subnets.member.2=$subnet-B SecurityGroups.member.1=$sg-A \
         Tags.member.1.Key=Name Tags.member.1.Value=a",
    ),
    ("DescribeLoadBalancers", "LoadBalancerArns.member.1=$loadbalancer-A"),
    ("DescribeLoadBalancers", "Names.member.1=web"),
    ("DescribeTags", "ResourceArns.member.1=$loadbalancer-A"),
    (
        "CreateTargetGroup",
        "Name=web Protocol=HTTP Port=80 VpcId=$vpc-A HealthCheckPath=/ready Matcher.HttpCode=200-299",
    ),
    ("DescribeTargetGroups", "TargetGroupArns.member.1=$targetgroup-A"),
    (
        "CreateListener",
        "LoadBalancerArn=$loadbalancer-A Protocol=HTTP Port=80 DefaultActions.member.1.Type=forward \
         DefaultActions.member.1.TargetGroupArn=$targetgroup-A",
    ),
    ("DescribeListeners", "LoadBalancerArn=$loadbalancer-A"),
    (
        "CreateListener",
        "LoadBalancerArn=$loadbalancer-A Protocol=HTTP Port=81 DefaultActions.member.1.Type=redirect \
         DefaultActions.member.1.RedirectConfig.Protocol=HTTPS DefaultActions.member.1.RedirectConfig.Port=443 \
         DefaultActions.member.1.RedirectConfig.StatusCode=HTTP_301",
    ),
    (
        "CreateRule",
        "ListenerArn=$listener-A Priority=10 Conditions.member.1.Field=path-pattern \
         Conditions.member.1.PathPatternConfig.Values.member.1=/api/* Actions.member.1.Type=forward \
         Actions.member.1.TargetGroupArn=$targetgroup-A",
    ),
    ("DescribeRules", "RuleArns.member.1=$listener-rule-A"),
    (
        "CreateRule",
        "ListenerArn=$listener-A Priority=10 Conditions.member.1.Field=host-header \
         Conditions.member.1.HostHeaderConfig.Values.member.1=a.example Actions.member.1.Type=fixed-response \
         Actions.member.1.FixedResponseConfig.StatusCode=503",
    ),
    (
        "SetRulePriorities",
        "RulePriorities.member.1.RuleArn=$listener-rule-A RulePriorities.member.1.Priority=11",
    ),
    (
        "ModifyRule",
        "RuleArn=$listener-rule-A Conditions.member.1.Field=http-request-method \
         Conditions.member.1.HttpRequestMethodConfig.Values.member.1=GET",
    ),
    ("AddTags", "ResourceArns.member.1=$listener-rule-A Tags.member.1.Key=Team Tags.member.1.Value=x"),
    ("DescribeTags", "ResourceArns.member.1=$listener-rule-A"),
    ("DeleteRule", "RuleArn=$listener-rule-A"),
    ("DescribeRules", "RuleArns.member.1=$listener-rule-A"),
    ("DescribeTargetGroups", "LoadBalancerArn=$loadbalancer-A"),
    ("DeleteTargetGroup", "TargetGroupArn=$targetgroup-A"),
    ("DescribeTargetHealth", "TargetGroupArn=$targetgroup-A"),
    ("ModifyTargetGroup", "TargetGroupArn=$targetgroup-A HealthCheckIntervalSeconds=10"),
    ("ModifyListener", "ListenerArn=$listener-A Port=82"),
    ("AddTags", "ResourceArns.member.1=$targetgroup-A Tags.member.1.Key=Team Tags.member.1.Value=x"),
    ("DescribeTags", "ResourceArns.member.1=$targetgroup-A"),
    ("RemoveTags", "ResourceArns.member.1=$targetgroup-A TagKeys.member.1=Team"),
    ("DescribeTags", "ResourceArns.member.1=$targetgroup-A"),
    (
        "ModifyLoadBalancerAttributes",
        "LoadBalancerArn=$loadbalancer-A Attributes.member.1.Key=idle_timeout.timeout_seconds \
         Attributes.member.1.Value=30",
    ),
    ("DeleteListener", "ListenerArn=$listener-A"),
    ("DescribeListeners", "ListenerArns.member.1=$listener-A"),
    ("DeleteLoadBalancer", "LoadBalancerArn=$loadbalancer-A"),
    ("DescribeLoadBalancers", "LoadBalancerArns.member.1=$loadbalancer-A"),
    ("DeleteTargetGroup", "TargetGroupArn=$targetgroup-A"),
];

/// Responses that only moto has, with the reasons.
pub(super) const ONLY_MOTO: Listed = &[
    (&["/Error/Message="], "moto has other error messages; the codes are compared"),
    (&["/AlpnPolicy=", "/SslPolicy=ELBSecurityPolicy-2016-08"], "AWS does not return it for plain HTTP"),
];

/// Responses that only the simulator has, or that differ, with the reasons.
pub(super) const ONLY_SIMULATOR: Listed = &[
    (&["/Error/Message="], "moto has other error messages; the codes are compared"),
    (
        &[
            "/LoadBalancerAddresses=",
            "/Scheme=internet-facing",
            "/LoadBalancerArns=",
            "/Certificates=",
            "/ForwardConfig/",
            "/Order=1",
            "/RedirectConfig/Host=#{host}",
            "/RedirectConfig/Path=/#{path}",
            "/RedirectConfig/Query=#{query}",
            "/Conditions/member/Values/member=",
            "ModifyLoadBalancerAttributesResult/Attributes/member/",
        ],
        "AWS returns it, moto does not",
    ),
];
