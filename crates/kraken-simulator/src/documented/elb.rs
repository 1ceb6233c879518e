//! The errors of the Elastic Load Balancing API.

use super::{DocumentedError, any, caused, doubtful};

/// The errors of every action of Elastic Load Balancing.
pub(super) const COMMON: &[DocumentedError] = &[
    any("Throttling", 400, "Rate exceeded"),
    doubtful("InternalFailure", 500, "The request processing has failed because of an unknown error."),
    doubtful("ServiceUnavailable", 503, "The request has failed due to a temporary failure of the server."),
    any("ExpiredToken", 403, "The security token included in the request is expired"),
    any("AccessDenied", 403, "User is not authorized to perform this action."),
    any("InvalidClientTokenId", 403, "The security token included in the request is invalid."),
    any("RequestExpired", 400, "Request timestamp is too old."),
];

/// Errors of single actions, in addition to common errors.
pub(super) const OWN: &[(&str, &[DocumentedError])] = &[
    (
        "CreateLoadBalancer",
        &[
            any("TooManyLoadBalancers", 400, "You've reached the limit on the number of load balancers."),
            any("ResourceInUse", 400, "A specified resource is in use."),
            caused("DuplicateLoadBalancerName"),
            caused("SubnetNotFound"),
            caused("InvalidSubnet"),
            caused("InvalidSecurityGroup"),
            caused("InvalidConfigurationRequest"),
            caused("AllocationIdNotFound"),
        ],
    ),
    (
        "ModifyLoadBalancerAttributes",
        &[caused("LoadBalancerNotFound"), caused("InvalidConfigurationRequest")],
    ),
    ("SetSubnets", &[caused("SubnetNotFound"), caused("InvalidSubnet"), caused("LoadBalancerNotFound")]),
    ("SetSecurityGroups", &[caused("InvalidSecurityGroup"), caused("LoadBalancerNotFound")]),
    ("SetIpAddressType", &[caused("InvalidSubnet"), caused("LoadBalancerNotFound")]),
    (
        "DeleteLoadBalancer",
        &[any("ResourceInUse", 400, "A specified resource is in use."), caused("OperationNotPermitted")],
    ),
    (
        "CreateTargetGroup",
        &[
            any("TooManyTargetGroups", 400, "You've reached the limit on the number of target groups."),
            caused("DuplicateTargetGroupName"),
        ],
    ),
    ("ModifyTargetGroup", &[caused("TargetGroupNotFound"), caused("InvalidConfigurationRequest")]),
    ("DeleteTargetGroup", &[caused("ResourceInUse")]),
    (
        "RegisterTargets",
        &[
            any(
                "TooManyRegistrationsForTargetId",
                400,
                "You've reached the limit on the number of times a target can be registered.",
            ),
            any("TooManyTargets", 400, "You've reached the limit on the number of targets."),
            caused("InvalidTarget"),
            caused("TargetGroupNotFound"),
        ],
    ),
    ("DeregisterTargets", &[caused("InvalidTarget"), caused("TargetGroupNotFound")]),
    (
        "CreateListener",
        &[
            any(
                "TooManyListeners",
                400,
                "You've reached the limit on the number of listeners per load balancer.",
            ),
            any("TooManyTargets", 400, "You've reached the limit on the number of targets."),
            caused("DuplicateListener"),
            caused("LoadBalancerNotFound"),
            caused("TargetGroupNotFound"),
            caused("TargetGroupAssociationLimit"),
            caused("IncompatibleProtocols"),
            caused("CertificateNotFound"),
        ],
    ),
    (
        "ModifyListener",
        &[
            caused("DuplicateListener"),
            caused("ListenerNotFound"),
            caused("TargetGroupNotFound"),
            caused("IncompatibleProtocols"),
        ],
    ),
    (
        "DeleteListener",
        &[any("ResourceInUse", 400, "A specified resource is in use."), caused("ListenerNotFound")],
    ),
    (
        "CreateRule",
        &[
            any("TooManyRules", 400, "You've reached the limit on the number of rules per load balancer."),
            caused("PriorityInUse"),
            caused("ListenerNotFound"),
            caused("TargetGroupNotFound"),
        ],
    ),
    ("ModifyRule", &[caused("RuleNotFound"), caused("TargetGroupNotFound")]),
    ("SetRulePriorities", &[caused("PriorityInUse"), caused("RuleNotFound")]),
    ("DeleteRule", &[caused("RuleNotFound"), caused("OperationNotPermitted")]),
    (
        "AddTags",
        &[any("TooManyTags", 400, "You've reached the limit on the number of tags for this resource.")],
    ),
];
