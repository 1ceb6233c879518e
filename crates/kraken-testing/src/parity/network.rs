//! Networks on both sides.

use super::{Calls, Listed};

/// The objects that are created first are kept for the calls for load balancers.
pub(super) const CALLS: Calls = &[
    (
        "CreateVpc",
        "CidrBlock=10.0.0.0/16 TagSpecification.1.ResourceType=vpc TagSpecification.1.Tag.1.Key=Name \
         TagSpecification.1.Tag.1.Value=a",
    ),
    ("DescribeVpcs", "VpcId.1=$vpc-A"),
    ("DescribeVpcs", "Filter.1.Name=tag:Name Filter.1.Value.1=a"),
    ("DescribeVpcs", "VpcId.1=vpc-0123456789abcdef0"),
    ("ModifyVpcAttribute", "VpcId=$vpc-A EnableDnsHostnames.Value=true"),
    ("DescribeVpcAttribute", "VpcId=$vpc-A Attribute=enableDnsHostnames"),
    ("DescribeVpcAttribute", "VpcId=$vpc-A Attribute=enableDnsSupport"),
    ("AssociateVpcCidrBlock", "VpcId=$vpc-A CidrBlock=10.1.0.0/16"),
    ("DescribeVpcs", "VpcId.1=$vpc-A"),
    ("CreateSubnet", "VpcId=$vpc-A CidrBlock=10.0.1.0/24 AvailabilityZone=us-east-1a"),
    ("CreateSubnet", "VpcId=$vpc-A CidrBlock=10.0.2.0/24 AvailabilityZone=us-east-1b"),
    ("CreateSubnet", "VpcId=$vpc-A CidrBlock=10.0.1.128/25"),
    ("CreateSubnet", "VpcId=$vpc-A CidrBlock=10.9.1.0/24"),
    ("CreateSubnet", "VpcId=$vpc-A CidrBlock=10.0.3.0/24 AvailabilityZone=us-east-1z"),
    ("ModifySubnetAttribute", "SubnetId=$subnet-A MapPublicIpOnLaunch.Value=true"),
    ("DescribeSubnets", "SubnetId.1=$subnet-A"),
    ("DescribeSubnets", "Filter.1.Name=vpc-id Filter.1.Value.1=$vpc-A"),
    ("DescribeSubnets", "SubnetId.1=subnet-0123456789abcdef0"),
    ("CreateInternetGateway", ""),
    ("AttachInternetGateway", "InternetGatewayId=$igw-A VpcId=$vpc-A"),
    ("AttachInternetGateway", "InternetGatewayId=$igw-A VpcId=$vpc-A"),
    ("DescribeInternetGateways", "InternetGatewayId.1=$igw-A"),
    ("DescribeInternetGateways", "Filter.1.Name=attachment.vpc-id Filter.1.Value.1=$vpc-A"),
    ("DeleteInternetGateway", "InternetGatewayId=$igw-A"),
    ("DescribeRouteTables", "Filter.1.Name=vpc-id Filter.1.Value.1=$vpc-A"),
    ("CreateRouteTable", "VpcId=$vpc-A"),
    ("CreateRoute", "RouteTableId=$rtb-B DestinationCidrBlock=0.0.0.0/0 GatewayId=$igw-A"),
    ("CreateRoute", "RouteTableId=$rtb-B DestinationCidrBlock=0.0.0.0/0 GatewayId=$igw-A"),
    ("AssociateRouteTable", "RouteTableId=$rtb-B SubnetId=$subnet-A"),
    ("DescribeRouteTables", "RouteTableId.1=$rtb-B"),
    ("DescribeRouteTables", "Filter.1.Name=association.subnet-id Filter.1.Value.1=$subnet-A"),
    ("DeleteRouteTable", "RouteTableId=$rtb-B"),
    ("DeleteRoute", "RouteTableId=$rtb-B DestinationCidrBlock=1.0.0.0/8"),
    ("CreateSecurityGroup", "VpcId=$vpc-A GroupName=web GroupDescription=web"),
    ("CreateSecurityGroup", "VpcId=$vpc-A GroupName=web GroupDescription=web"),
    (
        "AuthorizeSecurityGroupIngress",
        "GroupId=$sg-A IpPermissions.1.IpProtocol=tcp IpPermissions.1.FromPort=80 IpPermissions.1.ToPort=80 \
         IpPermissions.1.IpRanges.1.CidrIp=0.0.0.0/0 IpPermissions.1.IpRanges.1.Description=all",
    ),
    (
        "AuthorizeSecurityGroupIngress",
        "GroupId=$sg-A IpPermissions.1.IpProtocol=tcp IpPermissions.1.FromPort=80 IpPermissions.1.ToPort=80 \
         IpPermissions.1.IpRanges.1.CidrIp=0.0.0.0/0",
    ),
    (
        "AuthorizeSecurityGroupIngress",
        "GroupId=$sg-A IpPermissions.1.IpProtocol=-1 IpPermissions.1.Groups.1.GroupId=$sg-A",
    ),
    ("DescribeSecurityGroups", "GroupId.1=$sg-A"),
    ("DescribeSecurityGroups", "Filter.1.Name=group-name Filter.1.Value.1=web"),
    (
        "RevokeSecurityGroupIngress",
        "GroupId=$sg-A IpPermissions.1.IpProtocol=udp IpPermissions.1.FromPort=80 IpPermissions.1.ToPort=80 \
         IpPermissions.1.IpRanges.1.CidrIp=0.0.0.0/0",
    ),
    ("DeleteSecurityGroup", "GroupId=sg-0123456789abcdef0"),
    ("DescribeSecurityGroups", "GroupId.1=sg-0123456789abcdef0"),
    ("DeleteVpc", "VpcId=$vpc-A"),
    ("AllocateAddress", "Domain=vpc"),
    ("DescribeAddresses", "AllocationId.1=$eipalloc-A"),
    ("CreateNatGateway", "SubnetId=$subnet-A AllocationId=$eipalloc-A"),
    ("DescribeNatGateways", "NatGatewayId.1=$nat-A"),
    ("DeleteNatGateway", "NatGatewayId=$nat-A"),
    ("ReleaseAddress", "AllocationId=$eipalloc-A"),
    ("DescribeAddresses", "AllocationId.1=eipalloc-0123456789abcdef0"),
    ("CreateKeyPair", "KeyName=mine"),
    ("CreateKeyPair", "KeyName=mine"),
    ("DescribeKeyPairs", "KeyName.1=mine"),
    ("DescribeKeyPairs", "KeyName.1=other"),
    ("DeleteKeyPair", "KeyName=mine"),
    ("CreateVolume", "AvailabilityZone=us-east-1a Size=10 VolumeType=gp3"),
    ("DescribeVolumes", "VolumeId.1=$vol-A"),
    ("ModifyVolume", "VolumeId=$vol-A Size=20"),
    ("DeleteVolume", "VolumeId=$vol-A"),
    ("DescribeVolumes", "VolumeId.1=vol-0123456789abcdef0"),
    ("DescribeAvailabilityZones", "ZoneName.1=us-east-1a"),
    ("DescribeVpcEndpoints", "Filter.1.Name=vpc-id Filter.1.Value.1=vpc-0123456789abcdef0"),
    ("DescribeNetworkAcls", "Filter.1.Name=vpc-id Filter.1.Value.1=vpc-0123456789abcdef0"),
    (
        "DescribeVpcPeeringConnections",
        "Filter.1.Name=requester-vpc-info.vpc-id Filter.1.Value.1=vpc-0123456789abcdef0",
    ),
];

/// Responses that only moto has, with the reasons.
pub(super) const ONLY_MOTO: Listed = &[
    (&["/Errors/Error/Message="], "moto has other error messages; the codes are compared"),
    (&["/dhcpOptionsId="], "both have one set of DHCP options, with different ids"),
    (&["/ipv6CidrBlockAssociationSet=", "/privateDnsNameOptionsOnLaunch/"], "no controller reads it"),
    (&["/securityGroupRuleSet/item/tagSet="], "single rules have no tags in the simulator"),
    (
        &["=available", "/modificationState=completed", "/progress=100", "/endTime="],
        "moto has no transitions",
    ),
    (
        &["/addressesSet/item/instanceId=", "/addressesSet/item/networkInterfaceId="],
        "moto returns empty associations of a free address, AWS returns none",
    ),
    (&["/keyMaterial="], "neither is a key"),
];

/// Responses that only the simulator has, or that differ, with the reasons.
pub(super) const ONLY_SIMULATOR: Listed = &[
    (&["/Errors/Error/Message="], "moto has other error messages; the codes are compared"),
    (&["/dhcpOptionsId="], "both have one set of DHCP options, with different ids"),
    (&["=pending", "=creating", "/modificationState=modifying", "/progress=0"], "moto has no transitions"),
    (&["/keyMaterial="], "neither is a key"),
    (
        &[
            "/return=true",
            "/tagSet=",
            "/enableDns64=false",
            "/propagatingVgwSet=",
            "/item/fromPort=-1",
            "/item/toPort=-1",
            "/groupOwnerId=",
            "/networkBorderGroup=",
            "/publicIpv4Pool=amazon",
            "/connectivityType=public",
            "/isPrimary=true",
            "/natGatewayAddressSet/item/status=succeeded",
            "/keyType=rsa",
            "/multiAttachEnabled=false",
            "/snapshotId=",
            "/throughput=125",
            "/volumeModification/original",
            "/volumeModification/target",
            "/availabilityZoneInfo/item/groupName=",
            "/availabilityZoneInfo/item/optInStatus=",
        ],
        "AWS returns it, moto does not",
    ),
];
