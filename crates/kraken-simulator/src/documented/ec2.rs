//! The errors of the EC2 API.

use super::{DocumentedError, any, depends_on_state, possibly_applied};

/// The errors of every action of EC2.
pub(super) const COMMON: &[DocumentedError] = &[
    any("RequestLimitExceeded", 503, "Request limit exceeded."),
    possibly_applied("InternalError", 500, "An internal error has occurred"),
    possibly_applied("Unavailable", 503, "The server is overloaded and can't handle the request."),
    possibly_applied(
        "ServiceUnavailable",
        503,
        "The request has failed due to a temporary failure of the server.",
    ),
    any("AuthFailure", 401, "AWS was not able to validate the provided access credentials"),
    any("RequestExpired", 400, "Request has expired."),
    any("UnauthorizedOperation", 403, "You are not authorized to perform this operation."),
    any(
        "PendingVerification",
        400,
        "Your request for accessing resources in this region is being validated, and you will not be able to launch \
         additional resources in this region until the validation is complete.",
    ),
];

/// A stale state of an object that was just created, changed or released.
const DEPENDENCY: DocumentedError = any("DependencyViolation", 400, "resource has a dependent object");
const MISMATCH: DocumentedError = depends_on_state("IdempotentParameterMismatch");

/// Errors of single actions, in addition to common errors.
pub(super) const OWN: &[(&str, &[DocumentedError])] = &[
    (
        "RunInstances",
        &[
            any("InsufficientInstanceCapacity", 500, "We currently do not have sufficient capacity."),
            any("InsufficientHostCapacity", 500, "There is not enough capacity to fulfill your request."),
            any("InsufficientAddressCapacity", 500, "Not enough available addresses."),
            any("InstanceLimitExceeded", 400, "You have requested more instances than your current limit."),
            any("VcpuLimitExceeded", 400, "You have requested more vCPU capacity than your current limit."),
            any("MaxIOPSLimitExceeded", 400, "The maximum IOPS for volumes has been reached."),
            any("VolumeLimitExceeded", 400, "The maximum size of volumes has been reached."),
            depends_on_state("InsufficientFreeAddressesInSubnet"),
            depends_on_state("InvalidAMIID.NotFound"),
            depends_on_state("InvalidSubnetID.NotFound"),
            depends_on_state("InvalidGroup.NotFound"),
            depends_on_state("InvalidKeyPair.NotFound"),
            depends_on_state("InvalidParameterValue"),
            depends_on_state("InvalidIPAddress.InUse"),
            depends_on_state("IdempotentInstanceTerminated"),
            MISMATCH,
        ],
    ),
    (
        "TerminateInstances",
        &[depends_on_state("InvalidInstanceID.NotFound"), depends_on_state("OperationNotPermitted")],
    ),
    (
        "StartInstances",
        &[
            any("InsufficientInstanceCapacity", 500, "We currently do not have sufficient capacity."),
            depends_on_state("IncorrectInstanceState"),
            depends_on_state("InvalidInstanceID.NotFound"),
        ],
    ),
    (
        "StopInstances",
        &[depends_on_state("IncorrectInstanceState"), depends_on_state("InvalidInstanceID.NotFound")],
    ),
    (
        "ModifyInstanceAttribute",
        &[depends_on_state("IncorrectInstanceState"), depends_on_state("InvalidInstanceID.NotFound")],
    ),
    (
        "AssociateIamInstanceProfile",
        &[depends_on_state("IncorrectState"), depends_on_state("InvalidInstanceID.NotFound")],
    ),
    ("ReplaceIamInstanceProfileAssociation", &[depends_on_state("InvalidAssociationID.NotFound")]),
    ("DisassociateIamInstanceProfile", &[depends_on_state("InvalidAssociationID.NotFound")]),
    (
        "CreateTags",
        &[any("TagLimitExceeded", 400, "The maximum number of tags."), depends_on_state("InvalidID")],
    ),
    (
        "CreateVpc",
        &[
            any("VpcLimitExceeded", 400, "The maximum number of VPCs has been reached."),
            depends_on_state("InvalidVpc.Range"),
        ],
    ),
    ("DeleteVpc", &[DEPENDENCY, depends_on_state("InvalidVpcID.NotFound")]),
    (
        "ModifyVpcAttribute",
        &[depends_on_state("InvalidVpcID.NotFound"), depends_on_state("InvalidParameterCombination")],
    ),
    (
        "AssociateVpcCidrBlock",
        &[
            any("CidrLimitExceeded", 400, "The maximum number of CIDR blocks has been reached."),
            depends_on_state("CidrConflict"),
            depends_on_state("InvalidVpcID.NotFound"),
        ],
    ),
    (
        "DisassociateVpcCidrBlock",
        &[DEPENDENCY, depends_on_state("InvalidVpcCidrBlockAssociationID.NotFound")],
    ),
    (
        "CreateSubnet",
        &[
            any("SubnetLimitExceeded", 400, "The maximum number of subnets has been reached."),
            depends_on_state("InvalidSubnet.Conflict"),
            depends_on_state("InvalidSubnet.Range"),
            depends_on_state("InvalidVpcID.NotFound"),
        ],
    ),
    ("DeleteSubnet", &[DEPENDENCY, depends_on_state("InvalidSubnetID.NotFound")]),
    ("ModifySubnetAttribute", &[depends_on_state("InvalidSubnetID.NotFound")]),
    (
        "CreateInternetGateway",
        &[any(
            "InternetGatewayLimitExceeded",
            400,
            "The maximum number of internet gateways has been reached.",
        )],
    ),
    (
        "AttachInternetGateway",
        &[
            depends_on_state("Resource.AlreadyAssociated"),
            depends_on_state("InvalidVpcID.NotFound"),
            depends_on_state("InvalidInternetGatewayID.NotFound"),
        ],
    ),
    (
        "DetachInternetGateway",
        &[
            DEPENDENCY,
            depends_on_state("Gateway.NotAttached"),
            depends_on_state("InvalidInternetGatewayID.NotFound"),
        ],
    ),
    ("DeleteInternetGateway", &[DEPENDENCY, depends_on_state("InvalidInternetGatewayID.NotFound")]),
    (
        "CreateRouteTable",
        &[
            any("RouteTableLimitExceeded", 400, "The maximum number of route tables has been reached."),
            depends_on_state("InvalidVpcID.NotFound"),
        ],
    ),
    ("DeleteRouteTable", &[DEPENDENCY, depends_on_state("InvalidRouteTableID.NotFound")]),
    (
        "AssociateRouteTable",
        &[
            depends_on_state("Resource.AlreadyAssociated"),
            depends_on_state("InvalidRouteTableID.NotFound"),
            depends_on_state("InvalidSubnetID.NotFound"),
        ],
    ),
    ("DisassociateRouteTable", &[depends_on_state("InvalidAssociationID.NotFound")]),
    (
        "CreateRoute",
        &[
            any("RouteLimitExceeded", 400, "The maximum number of routes has been reached."),
            depends_on_state("RouteAlreadyExists"),
            depends_on_state("InvalidRouteTableID.NotFound"),
            depends_on_state("InvalidGatewayID.NotFound"),
            depends_on_state("InvalidNatGatewayID.NotFound"),
        ],
    ),
    (
        "ReplaceRoute",
        &[depends_on_state("InvalidParameterValue"), depends_on_state("InvalidRouteTableID.NotFound")],
    ),
    (
        "DeleteRoute",
        &[depends_on_state("InvalidRoute.NotFound"), depends_on_state("InvalidRouteTableID.NotFound")],
    ),
    (
        "CreateSecurityGroup",
        &[
            any("SecurityGroupLimitExceeded", 400, "The maximum number of security groups has been reached."),
            depends_on_state("InvalidGroup.Duplicate"),
            depends_on_state("InvalidVpcID.NotFound"),
        ],
    ),
    ("DeleteSecurityGroup", &[DEPENDENCY, depends_on_state("InvalidGroup.NotFound")]),
    (
        "AuthorizeSecurityGroupIngress",
        &[
            any("RulesPerSecurityGroupLimitExceeded", 400, "The maximum number of rules has been reached."),
            depends_on_state("InvalidPermission.Duplicate"),
            depends_on_state("InvalidGroup.NotFound"),
        ],
    ),
    (
        "AuthorizeSecurityGroupEgress",
        &[
            any("RulesPerSecurityGroupLimitExceeded", 400, "The maximum number of rules has been reached."),
            depends_on_state("InvalidPermission.Duplicate"),
            depends_on_state("InvalidGroup.NotFound"),
        ],
    ),
    (
        "RevokeSecurityGroupIngress",
        &[depends_on_state("InvalidPermission.NotFound"), depends_on_state("InvalidGroup.NotFound")],
    ),
    (
        "RevokeSecurityGroupEgress",
        &[depends_on_state("InvalidPermission.NotFound"), depends_on_state("InvalidGroup.NotFound")],
    ),
    (
        "AllocateAddress",
        &[
            any("AddressLimitExceeded", 400, "The maximum number of addresses has been reached."),
            any("InsufficientAddressCapacity", 500, "Not enough available addresses."),
        ],
    ),
    (
        "ReleaseAddress",
        &[depends_on_state("InvalidIPAddress.InUse"), depends_on_state("InvalidAllocationID.NotFound")],
    ),
    (
        "AssociateAddress",
        &[
            depends_on_state("InvalidInstanceID"),
            depends_on_state("Resource.AlreadyAssociated"),
            depends_on_state("InvalidAllocationID.NotFound"),
        ],
    ),
    (
        "DisassociateAddress",
        &[depends_on_state("InvalidAssociationID.NotFound"), depends_on_state("AuthFailure")],
    ),
    (
        "CreateNatGateway",
        &[
            any("NatGatewayLimitExceeded", 400, "The maximum number of NAT gateways has been reached."),
            depends_on_state("InvalidSubnetID.NotFound"),
            depends_on_state("InvalidAllocationID.NotFound"),
            MISMATCH,
        ],
    ),
    ("DeleteNatGateway", &[depends_on_state("NatGatewayNotFound")]),
    (
        "ImportKeyPair",
        &[
            any("KeyPairLimitExceeded", 400, "The maximum number of key pairs has been reached."),
            depends_on_state("InvalidKeyPair.Duplicate"),
            depends_on_state("InvalidKey.Format"),
        ],
    ),
    ("DeleteKeyPair", &[depends_on_state("InvalidKeyPair.NotFound")]),
    (
        "CreateVolume",
        &[
            any("VolumeLimitExceeded", 400, "The maximum size of volumes has been reached."),
            any("InsufficientVolumeCapacity", 500, "There is not enough capacity to fulfill your request."),
            any("MaxIOPSLimitExceeded", 400, "The maximum IOPS for volumes has been reached."),
            depends_on_state("InvalidZone.NotFound"),
            MISMATCH,
        ],
    ),
    (
        "ModifyVolume",
        &[
            any("VolumeModificationSizeLimitExceeded", 400, "The maximum size of changes has been reached."),
            any(
                "VolumeModificationRateExceeded",
                400,
                "You've reached the maximum modification rate per volume limit. Wait at least 6 hours between modifications per EBS volume.",
            ),
            depends_on_state("IncorrectModificationState"),
            depends_on_state("InvalidVolume.NotFound"),
        ],
    ),
    (
        "AttachVolume",
        &[
            depends_on_state("VolumeInUse"),
            depends_on_state("IncorrectState"),
            depends_on_state("InvalidVolume.ZoneMismatch"),
        ],
    ),
    (
        "DetachVolume",
        &[
            depends_on_state("IncorrectState"),
            depends_on_state("InvalidVolume.NotFound"),
            depends_on_state("OperationNotPermitted"),
        ],
    ),
    (
        "DeleteVolume",
        &[
            depends_on_state("VolumeInUse"),
            depends_on_state("InvalidVolume.NotFound"),
            depends_on_state("IncorrectState"),
        ],
    ),
];
