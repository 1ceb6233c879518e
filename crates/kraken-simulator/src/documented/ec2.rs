//! The errors of the EC2 API.

use super::{DocumentedError, any, caused, doubtful};

/// The errors of every action of EC2.
pub(super) const COMMON: &[DocumentedError] = &[
    any("RequestLimitExceeded", 503, "Request limit exceeded."),
    doubtful("InternalError", 500, "An internal error has occurred"),
    doubtful("Unavailable", 503, "The server is overloaded and can't handle the request."),
    doubtful("ServiceUnavailable", 503, "The request has failed due to a temporary failure of the server."),
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
const MISMATCH: DocumentedError = caused("IdempotentParameterMismatch");

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
            caused("InsufficientFreeAddressesInSubnet"),
            caused("InvalidAMIID.NotFound"),
            caused("InvalidSubnetID.NotFound"),
            caused("InvalidGroup.NotFound"),
            caused("InvalidKeyPair.NotFound"),
            caused("InvalidParameterValue"),
            caused("InvalidIPAddress.InUse"),
            caused("IdempotentInstanceTerminated"),
            MISMATCH,
        ],
    ),
    ("TerminateInstances", &[caused("InvalidInstanceID.NotFound"), caused("OperationNotPermitted")]),
    (
        "StartInstances",
        &[
            any("InsufficientInstanceCapacity", 500, "We currently do not have sufficient capacity."),
            caused("IncorrectInstanceState"),
            caused("InvalidInstanceID.NotFound"),
        ],
    ),
    ("StopInstances", &[caused("IncorrectInstanceState"), caused("InvalidInstanceID.NotFound")]),
    ("ModifyInstanceAttribute", &[caused("IncorrectInstanceState"), caused("InvalidInstanceID.NotFound")]),
    ("AssociateIamInstanceProfile", &[caused("IncorrectState"), caused("InvalidInstanceID.NotFound")]),
    ("ReplaceIamInstanceProfileAssociation", &[caused("InvalidAssociationID.NotFound")]),
    ("DisassociateIamInstanceProfile", &[caused("InvalidAssociationID.NotFound")]),
    ("CreateTags", &[any("TagLimitExceeded", 400, "The maximum number of tags."), caused("InvalidID")]),
    (
        "CreateVpc",
        &[
            any("VpcLimitExceeded", 400, "The maximum number of VPCs has been reached."),
            caused("InvalidVpc.Range"),
        ],
    ),
    ("DeleteVpc", &[DEPENDENCY, caused("InvalidVpcID.NotFound")]),
    ("ModifyVpcAttribute", &[caused("InvalidVpcID.NotFound"), caused("InvalidParameterCombination")]),
    (
        "AssociateVpcCidrBlock",
        &[
            any("CidrLimitExceeded", 400, "The maximum number of CIDR blocks has been reached."),
            caused("CidrConflict"),
            caused("InvalidVpcID.NotFound"),
        ],
    ),
    ("DisassociateVpcCidrBlock", &[DEPENDENCY, caused("InvalidVpcCidrBlockAssociationID.NotFound")]),
    (
        "CreateSubnet",
        &[
            any("SubnetLimitExceeded", 400, "The maximum number of subnets has been reached."),
            caused("InvalidSubnet.Conflict"),
            caused("InvalidSubnet.Range"),
            caused("InvalidVpcID.NotFound"),
        ],
    ),
    ("DeleteSubnet", &[DEPENDENCY, caused("InvalidSubnetID.NotFound")]),
    ("ModifySubnetAttribute", &[caused("InvalidSubnetID.NotFound")]),
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
            caused("Resource.AlreadyAssociated"),
            caused("InvalidVpcID.NotFound"),
            caused("InvalidInternetGatewayID.NotFound"),
        ],
    ),
    (
        "DetachInternetGateway",
        &[DEPENDENCY, caused("Gateway.NotAttached"), caused("InvalidInternetGatewayID.NotFound")],
    ),
    ("DeleteInternetGateway", &[DEPENDENCY, caused("InvalidInternetGatewayID.NotFound")]),
    (
        "CreateRouteTable",
        &[
            any("RouteTableLimitExceeded", 400, "The maximum number of route tables has been reached."),
            caused("InvalidVpcID.NotFound"),
        ],
    ),
    ("DeleteRouteTable", &[DEPENDENCY, caused("InvalidRouteTableID.NotFound")]),
    (
        "AssociateRouteTable",
        &[
            caused("Resource.AlreadyAssociated"),
            caused("InvalidRouteTableID.NotFound"),
            caused("InvalidSubnetID.NotFound"),
        ],
    ),
    ("DisassociateRouteTable", &[caused("InvalidAssociationID.NotFound")]),
    (
        "CreateRoute",
        &[
            any("RouteLimitExceeded", 400, "The maximum number of routes has been reached."),
            caused("RouteAlreadyExists"),
            caused("InvalidRouteTableID.NotFound"),
            caused("InvalidGatewayID.NotFound"),
            caused("InvalidNatGatewayID.NotFound"),
        ],
    ),
    ("ReplaceRoute", &[caused("InvalidParameterValue"), caused("InvalidRouteTableID.NotFound")]),
    ("DeleteRoute", &[caused("InvalidRoute.NotFound"), caused("InvalidRouteTableID.NotFound")]),
    (
        "CreateSecurityGroup",
        &[
            any("SecurityGroupLimitExceeded", 400, "The maximum number of security groups has been reached."),
            caused("InvalidGroup.Duplicate"),
            caused("InvalidVpcID.NotFound"),
        ],
    ),
    ("DeleteSecurityGroup", &[DEPENDENCY, caused("InvalidGroup.NotFound")]),
    (
        "AuthorizeSecurityGroupIngress",
        &[
            any("RulesPerSecurityGroupLimitExceeded", 400, "The maximum number of rules has been reached."),
            caused("InvalidPermission.Duplicate"),
            caused("InvalidGroup.NotFound"),
        ],
    ),
    (
        "AuthorizeSecurityGroupEgress",
        &[
            any("RulesPerSecurityGroupLimitExceeded", 400, "The maximum number of rules has been reached."),
            caused("InvalidPermission.Duplicate"),
            caused("InvalidGroup.NotFound"),
        ],
    ),
    ("RevokeSecurityGroupIngress", &[caused("InvalidPermission.NotFound"), caused("InvalidGroup.NotFound")]),
    ("RevokeSecurityGroupEgress", &[caused("InvalidPermission.NotFound"), caused("InvalidGroup.NotFound")]),
    (
        "AllocateAddress",
        &[
            any("AddressLimitExceeded", 400, "The maximum number of addresses has been reached."),
            any("InsufficientAddressCapacity", 500, "Not enough available addresses."),
        ],
    ),
    ("ReleaseAddress", &[caused("InvalidIPAddress.InUse"), caused("InvalidAllocationID.NotFound")]),
    (
        "AssociateAddress",
        &[
            caused("InvalidInstanceID"),
            caused("Resource.AlreadyAssociated"),
            caused("InvalidAllocationID.NotFound"),
        ],
    ),
    ("DisassociateAddress", &[caused("InvalidAssociationID.NotFound"), caused("AuthFailure")]),
    (
        "CreateNatGateway",
        &[
            any("NatGatewayLimitExceeded", 400, "The maximum number of NAT gateways has been reached."),
            caused("InvalidSubnetID.NotFound"),
            caused("InvalidAllocationID.NotFound"),
            MISMATCH,
        ],
    ),
    ("DeleteNatGateway", &[caused("NatGatewayNotFound")]),
    (
        "ImportKeyPair",
        &[
            any("KeyPairLimitExceeded", 400, "The maximum number of key pairs has been reached."),
            caused("InvalidKeyPair.Duplicate"),
            caused("InvalidKey.Format"),
        ],
    ),
    ("DeleteKeyPair", &[caused("InvalidKeyPair.NotFound")]),
    (
        "CreateVolume",
        &[
            any("VolumeLimitExceeded", 400, "The maximum size of volumes has been reached."),
            any("InsufficientVolumeCapacity", 500, "There is not enough capacity to fulfill your request."),
            any("MaxIOPSLimitExceeded", 400, "The maximum IOPS for volumes has been reached."),
            caused("InvalidZone.NotFound"),
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
            caused("IncorrectModificationState"),
            caused("InvalidVolume.NotFound"),
        ],
    ),
    (
        "AttachVolume",
        &[caused("VolumeInUse"), caused("IncorrectState"), caused("InvalidVolume.ZoneMismatch")],
    ),
    (
        "DetachVolume",
        &[caused("IncorrectState"), caused("InvalidVolume.NotFound"), caused("OperationNotPermitted")],
    ),
    ("DeleteVolume", &[caused("VolumeInUse"), caused("InvalidVolume.NotFound"), caused("IncorrectState")]),
];
