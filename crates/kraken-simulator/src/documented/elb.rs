//! The errors of the Elastic Load Balancing API.

use super::{DocumentedError, any, depends_on_state, possibly_applied};

/// The errors of every action of Elastic Load Balancing.
pub(super) const COMMON: &[DocumentedError] = &[
    any("Throttling", 400, "Rate exceeded"),
    possibly_applied(
        "InternalFailure",
        500,
        "The request processing has failed because of an unknown error.",
    ),
    possibly_applied(
        "ServiceUnavailable",
        503,
        "The request has failed due to a temporary failure of the server.",
    ),
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
            depends_on_state("DuplicateLoadBalancerName"),
            depends_on_state("SubnetNotFound"),
            depends_on_state("InvalidSubnet"),
            depends_on_state("InvalidSecurityGroup"),
            depends_on_state("InvalidConfigurationRequest"),
            depends_on_state("AllocationIdNotFound"),
        ],
    ),
    (
        "ModifyLoadBalancerAttributes",
        &[depends_on_state("LoadBalancerNotFound"), depends_on_state("InvalidConfigurationRequest")],
    ),
    (
        "SetSubnets",
        &[
            depends_on_state("SubnetNotFound"),
            depends_on_state("InvalidSubnet"),
            depends_on_state("LoadBalancerNotFound"),
        ],
    ),
    (
        "SetSecurityGroups",
        &[depends_on_state("InvalidSecurityGroup"), depends_on_state("LoadBalancerNotFound")],
    ),
    ("SetIpAddressType", &[depends_on_state("InvalidSubnet"), depends_on_state("LoadBalancerNotFound")]),
    (
        "DeleteLoadBalancer",
        &[
            any("ResourceInUse", 400, "A specified resource is in use."),
            depends_on_state("OperationNotPermitted"),
        ],
    ),
    (
        "CreateTargetGroup",
        &[
            any("TooManyTargetGroups", 400, "You've reached the limit on the number of target groups."),
            depends_on_state("DuplicateTargetGroupName"),
        ],
    ),
    (
        "ModifyTargetGroup",
        &[depends_on_state("TargetGroupNotFound"), depends_on_state("InvalidConfigurationRequest")],
    ),
    ("DeleteTargetGroup", &[depends_on_state("ResourceInUse")]),
    (
        "RegisterTargets",
        &[
            any(
                "TooManyRegistrationsForTargetId",
                400,
                "You've reached the limit on the number of times a target can be registered.",
            ),
            any("TooManyTargets", 400, "You've reached the limit on the number of targets."),
            depends_on_state("InvalidTarget"),
            depends_on_state("TargetGroupNotFound"),
        ],
    ),
    ("DeregisterTargets", &[depends_on_state("InvalidTarget"), depends_on_state("TargetGroupNotFound")]),
    (
        "CreateListener",
        &[
            any(
                "TooManyListeners",
                400,
                "You've reached the limit on the number of listeners per load balancer.",
            ),
            any("TooManyTargets", 400, "You've reached the limit on the number of targets."),
            depends_on_state("DuplicateListener"),
            depends_on_state("LoadBalancerNotFound"),
            depends_on_state("TargetGroupNotFound"),
            depends_on_state("TargetGroupAssociationLimit"),
            depends_on_state("IncompatibleProtocols"),
            depends_on_state("CertificateNotFound"),
        ],
    ),
    (
        "ModifyListener",
        &[
            depends_on_state("DuplicateListener"),
            depends_on_state("ListenerNotFound"),
            depends_on_state("TargetGroupNotFound"),
            depends_on_state("IncompatibleProtocols"),
        ],
    ),
    (
        "DeleteListener",
        &[any("ResourceInUse", 400, "A specified resource is in use."), depends_on_state("ListenerNotFound")],
    ),
    (
        "CreateRule",
        &[
            any("TooManyRules", 400, "You've reached the limit on the number of rules per load balancer."),
            depends_on_state("PriorityInUse"),
            depends_on_state("ListenerNotFound"),
            depends_on_state("TargetGroupNotFound"),
        ],
    ),
    ("ModifyRule", &[depends_on_state("RuleNotFound"), depends_on_state("TargetGroupNotFound")]),
    ("SetRulePriorities", &[depends_on_state("PriorityInUse"), depends_on_state("RuleNotFound")]),
    ("DeleteRule", &[depends_on_state("RuleNotFound"), depends_on_state("OperationNotPermitted")]),
    (
        "AddTags",
        &[any("TooManyTags", 400, "You've reached the limit on the number of tags for this resource.")],
    ),
];
