//! The actions that are missing in the other lists. Only their status and error code are compared.

use super::{Calls, Listed};

/// TCP on port 80, from and to everywhere.
const PORT_80: &str = "GroupId=$sg-B IpPermissions.1.IpProtocol=tcp IpPermissions.1.FromPort=80 \
     IpPermissions.1.ToPort=80 IpPermissions.1.IpRanges.1.CidrIp=0.0.0.0/0";

/// The same with a description.
const DESCRIBED_PORT_80: &str = "GroupId=$sg-B IpPermissions.1.IpProtocol=tcp IpPermissions.1.FromPort=80 \
     IpPermissions.1.ToPort=80 IpPermissions.1.IpRanges.1.CidrIp=0.0.0.0/0 \
     IpPermissions.1.IpRanges.1.Description=all";

const KEY_PAIR: &str = "KeyName=mine \
     PublicKeyMaterial=c3NoLWVkMjU1MTkgQUFBQUMzTnphQzFsWkRJMU5URTVBQUFBSUk4MUtOdmdSTEd6ckNuYm4xS3dlWCtZZ3pZR1NGN3E0TWZ5RmRzQ0xrOEEgbWU=";

/// The calls of EC2.
pub(super) const CALLS: Calls = &[
    ("CreateVpc", "CidrBlock=10.0.0.0/16"),
    ("CreateSubnet", "VpcId=$vpc-A CidrBlock=10.0.1.0/24 AvailabilityZone=us-east-1a"),
    ("CreateSubnet", "VpcId=$vpc-A CidrBlock=10.0.2.0/24 AvailabilityZone=us-east-1b"),
    ("CreateSubnet", "VpcId=$vpc-A CidrBlock=10.0.3.0/24 AvailabilityZone=us-east-1c"),
    ("AssociateVpcCidrBlock", "VpcId=$vpc-A CidrBlock=10.1.0.0/16"),
    ("DisassociateVpcCidrBlock", "AssociationId=$vpc-cidr-assoc-B"),
    ("DisassociateVpcCidrBlock", "AssociationId=vpc-cidr-assoc-0123456789abcdef0"),
    ("CreateInternetGateway", ""),
    ("AttachInternetGateway", "InternetGatewayId=$igw-A VpcId=$vpc-A"),
    ("RunInstances", "ImageId=ami-12c6146b MinCount=1 MaxCount=1 InstanceType=t3.micro SubnetId=$subnet-A"),
    ("MonitorInstances", "InstanceId.1=$i-A"),
    ("UnmonitorInstances", "InstanceId.1=$i-A"),
    ("MonitorInstances", "InstanceId.1=i-0123456789abcdef0"),
    ("DescribeNetworkInterfaces", "Filter.1.Name=subnet-id Filter.1.Value.1=$subnet-A"),
    ("DescribeInstanceTypes", "InstanceType.1=t3.micro"),
    ("DescribeInstanceTypes", "InstanceType.1=nothing"),
    (
        "DescribeInstanceTypeOfferings",
        "LocationType=availability-zone Filter.1.Name=location Filter.1.Value.1=us-east-1a \
         Filter.2.Name=instance-type Filter.2.Value.1=t3.micro",
    ),
    ("AssociateIamInstanceProfile", "InstanceId=$i-A IamInstanceProfile.Name=one"),
    ("DescribeIamInstanceProfileAssociations", "Filter.1.Name=instance-id Filter.1.Value.1=$i-A"),
    ("ReplaceIamInstanceProfileAssociation", "AssociationId=$iip-assoc-A IamInstanceProfile.Name=two"),
    ("DisassociateIamInstanceProfile", "AssociationId=$iip-assoc-A"),
    ("DisassociateIamInstanceProfile", "AssociationId=iip-assoc-0123456789abcdef0"),
    ("AllocateAddress", "Domain=vpc"),
    ("AssociateAddress", "AllocationId=$eipalloc-A InstanceId=$i-A"),
    ("ReleaseAddress", "AllocationId=$eipalloc-A"),
    ("DisassociateAddress", "AssociationId=$eipassoc-A"),
    ("DisassociateAddress", "AssociationId=eipassoc-0123456789abcdef0"),
    ("ReleaseAddress", "AllocationId=$eipalloc-A"),
    ("CreateVolume", "AvailabilityZone=us-east-1a Size=10 VolumeType=gp3"),
    ("AttachVolume", "VolumeId=$vol-B InstanceId=$i-A Device=/dev/sdf"),
    ("AttachVolume", "VolumeId=$vol-B InstanceId=$i-A Device=/dev/sdg"),
    ("DeleteVolume", "VolumeId=$vol-B"),
    ("DescribeVolumesModifications", "VolumeId.1=$vol-B"),
    ("DetachVolume", "VolumeId=$vol-B InstanceId=$i-A"),
    ("DetachVolume", "VolumeId=$vol-B InstanceId=$i-A"),
    ("ModifyVolume", "VolumeId=$vol-B Size=20"),
    ("DescribeVolumesModifications", "VolumeId.1=$vol-B"),
    ("DeleteVolume", "VolumeId=$vol-B"),
    ("CreateRouteTable", "VpcId=$vpc-A"),
    ("DescribeRouteTables", "Filter.1.Name=vpc-id Filter.1.Value.1=$vpc-A"),
    ("CreateRoute", "RouteTableId=$rtb-A DestinationCidrBlock=0.0.0.0/0 GatewayId=$igw-A"),
    ("ReplaceRoute", "RouteTableId=$rtb-A DestinationCidrBlock=0.0.0.0/0 InstanceId=$i-A"),
    ("ReplaceRoute", "RouteTableId=$rtb-A DestinationCidrBlock=1.0.0.0/8 GatewayId=$igw-A"),
    ("AssociateRouteTable", "RouteTableId=$rtb-A SubnetId=$subnet-A"),
    ("DisassociateRouteTable", "AssociationId=$rtbassoc-B"),
    ("DisassociateRouteTable", "AssociationId=rtbassoc-0123456789abcdef0"),
    ("AssociateRouteTable", "RouteTableId=$rtb-A SubnetId=$subnet-B"),
    ("CreateRouteTable", "VpcId=$vpc-A"),
    ("ReplaceRouteTableAssociation", "AssociationId=$rtbassoc-C RouteTableId=$rtb-C"),
    ("CreateSecurityGroup", "VpcId=$vpc-A GroupName=web GroupDescription=web"),
    ("AuthorizeSecurityGroupEgress", PORT_80),
    ("AuthorizeSecurityGroupEgress", PORT_80),
    ("UpdateSecurityGroupRuleDescriptionsEgress", DESCRIBED_PORT_80),
    ("RevokeSecurityGroupEgress", PORT_80),
    ("RevokeSecurityGroupEgress", PORT_80),
    ("AuthorizeSecurityGroupIngress", PORT_80),
    ("UpdateSecurityGroupRuleDescriptionsIngress", DESCRIBED_PORT_80),
    ("ImportKeyPair", KEY_PAIR),
    ("ImportKeyPair", KEY_PAIR),
    ("ImportKeyPair", "KeyName=other PublicKeyMaterial=bm90aGluZw=="),
];

/// The calls of the load balancing API, after [`CALLS`].
pub(super) const BALANCING: Calls = &[
    (
        "CreateLoadBalancer",
        "Name=web Subnets.member.1=$subnet-A Subnets.member.2=$subnet-B SecurityGroups.member.1=$sg-B",
    ),
    ("DescribeLoadBalancerAttributes", "LoadBalancerArn=$loadbalancer-A"),
    ("SetSubnets", "LoadBalancerArn=$loadbalancer-A Subnets.member.1=$subnet-A Subnets.member.2=$subnet-C"),
    ("SetSecurityGroups", "LoadBalancerArn=$loadbalancer-A SecurityGroups.member.1=$sg-B"),
    ("SetIpAddressType", "LoadBalancerArn=$loadbalancer-A IpAddressType=ipv4"),
    ("CreateTargetGroup", "Name=web Protocol=HTTP Port=80 VpcId=$vpc-A"),
    ("DescribeTargetGroupAttributes", "TargetGroupArn=$targetgroup-A"),
    (
        "ModifyTargetGroupAttributes",
        "TargetGroupArn=$targetgroup-A Attributes.member.1.Key=deregistration_delay.timeout_seconds \
         Attributes.member.1.Value=30",
    ),
    ("RegisterTargets", "TargetGroupArn=$targetgroup-A Targets.member.1.Id=$i-A"),
    ("RegisterTargets", "TargetGroupArn=$targetgroup-A Targets.member.1.Id=i-0123456789abcdef0"),
    ("DescribeTargetHealth", "TargetGroupArn=$targetgroup-A"),
    ("DeregisterTargets", "TargetGroupArn=$targetgroup-A Targets.member.1.Id=$i-A"),
    ("DeleteTargetGroup", "TargetGroupArn=$targetgroup-A"),
    ("DeleteLoadBalancer", "LoadBalancerArn=$loadbalancer-A"),
];

/// The calls of EC2 at the end.
pub(super) const END: Calls = &[
    ("DetachInternetGateway", "InternetGatewayId=$igw-A VpcId=$vpc-A"),
    ("DetachInternetGateway", "InternetGatewayId=$igw-A VpcId=$vpc-A"),
    ("DeleteSubnet", "SubnetId=$subnet-C"),
    ("DeleteSubnet", "SubnetId=subnet-0123456789abcdef0"),
];

/// The calls with different responses of the two sides, with the reasons.
pub(super) const KNOWN: Listed = &[
    (
        &["MonitorInstances InstanceId", "UnmonitorInstances InstanceId"],
        "moto does not implement these actions",
    ),
    (
        &["IamInstanceProfile.Name=", "DisassociateIamInstanceProfile AssociationId=$iip-assoc-A"],
        "in moto a profile must exist in IAM, which the simulator does not have",
    ),
    (
        &["ReleaseAddress AllocationId=", "DisassociateAddress AssociationId=$eipassoc-A"],
        "moto releases an address that is in use, AWS does not",
    ),
    (&["Device=/dev/sdg"], "moto attaches a volume a second time, AWS does not"),
    (&["DetachVolume VolumeId=", "DeleteVolume VolumeId="], "moto then keeps the first attachment"),
    (
        &["vpc-cidr-assoc-0123456789abcdef0: /Errors/Error/Code="],
        "AWS documents InvalidVpcCidrBlockAssociationID.NotFound",
    ),
    (&["PublicKeyMaterial=bm90aGluZw==: /Errors/Error/Code="], "AWS returns InvalidKey.Format"),
    (&["Targets.member.1.Id=i-0123456789abcdef0"], "moto registers targets that do not exist"),
];
