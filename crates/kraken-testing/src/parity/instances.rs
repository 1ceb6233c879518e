//! Instances on both sides.

use super::{Calls, Listed};

/// The calls; `$i-A` and `$i-B` stand for the two instances. Each is made after the effects of the preceding one are
/// complete.
pub(super) const CALLS: Calls = &[
    (
        "RunInstances",
        "ImageId=ami-12c6146b MinCount=2 MaxCount=2 InstanceType=t2.nano ClientToken=token \
         TagSpecification.1.ResourceType=instance TagSpecification.1.Tag.1.Key=Name \
         TagSpecification.1.Tag.1.Value=a&b<c>",
    ),
    ("DescribeInstances", "InstanceId.1=$i-A InstanceId.2=$i-B"),
    ("DescribeInstances", "Filter.1.Name=tag:Name Filter.1.Value.1=other Filter.1.Value.2=a&b<c>"),
    ("DescribeInstances", "Filter.1.Name=tag:Name Filter.1.Value.1=a*"),
    ("DescribeInstances", "Filter.1.Name=tag-key Filter.1.Value.1=Nobody"),
    ("DescribeInstances", "Filter.1.Name=instance-state-name Filter.1.Value.1=running"),
    (
        "CreateTags",
        "ResourceId.1=$i-A ResourceId.2=$i-B Tag.1.Key=Team Tag.1.Value=web Tag.2.Key=Name Tag.2.Value=n",
    ),
    ("DescribeTags", "Filter.1.Name=resource-id Filter.1.Value.1=$i-A Filter.1.Value.2=$i-B"),
    ("DeleteTags", "ResourceId.1=$i-A Tag.1.Key=Team"),
    ("DescribeTags", "Filter.1.Name=key Filter.1.Value.1=Team"),
    ("DescribeInstances", "InstanceId.1=$i-A"),
    ("StopInstances", "InstanceId.1=$i-A"),
    ("ModifyInstanceAttribute", "InstanceId=$i-A InstanceType.Value=t3.micro"),
    ("ModifyInstanceAttribute", "InstanceId=$i-A UserData.Value=aGVsbG8="),
    ("DescribeInstanceAttribute", "InstanceId=$i-A Attribute=userData"),
    ("DescribeInstanceAttribute", "InstanceId=$i-B Attribute=userData"),
    ("DescribeInstances", "InstanceId.1=$i-A"),
    ("StartInstances", "InstanceId.1=$i-A"),
    ("ModifyInstanceMetadataOptions", "InstanceId=$i-A HttpTokens=required HttpPutResponseHopLimit=2"),
    ("DescribeInstances", "InstanceId.1=$i-A"),
    ("DescribeImages", "ImageId.1=ami-12c6146b"),
    ("DescribeImages", "ImageId.1=ami-00000000"),
    ("DescribeInstances", "InstanceId.1=i-0123456789abcdef0"),
    (
        "DescribeInstances",
        "InstanceId.1=i-0123456789abcdef0 InstanceId.2=$i-A InstanceId.3=i-0123456789abcdef1",
    ),
    ("StopInstances", "InstanceId.1=i-0123456789abcdef0"),
    ("TerminateInstances", "InstanceId.1=i-0123456789abcdef0"),
    ("ModifyInstanceAttribute", "InstanceId=i-0123456789abcdef0 InstanceType.Value=t3.micro"),
    ("TerminateInstances", "InstanceId.1=$i-A InstanceId.2=$i-B"),
    ("DescribeInstances", "InstanceId.1=$i-B"),
    ("TerminateInstances", "InstanceId.1=$i-B"),
];

/// Responses that only moto has: parts of calls and responses, with the reasons.
pub(super) const ONLY_MOTO: Listed = &[
    (
        &[
            "/reason=",
            "/stateReason/",
            "/sourceDestCheck=",
            "/sriovNetSupport=",
            "/productCodes=",
            "/hibernationOptions=",
            "/placement/groupName=",
            "/privateIpAddressesSet/",
            "/ipv6AddressesSet=",
            "/interfaceType=",
            "/description=",
            "/attachTime=",
            "/attachmentId=",
            "/networkCardIndex=",
            "/attachment/deleteOnTermination=",
            "/ipOwnerId=",
            "/httpProtocolIpv6=",
            "/instanceMetadataTags=",
        ],
        "no controller reads it",
    ),
    (
        &["/platform=windows", "DescribeImages ImageId.1=ami-12c6146b: /imagesSet/item/"],
        "moto has this image",
    ),
    (
        &["/instancesSet/item/groupSet="],
        "moto returns only the groups of an interface, AWS those of the instance too",
    ),
    (
        &["RunInstances ImageId", "/dnsName=", "/ipAddress=", "/association="],
        "moto assigns a public address at once and then returns it as empty; AWS assigns it to running instances",
    ),
    (
        &["DescribeInstances InstanceId.1=$i-B: /"],
        "moto keeps the network and volumes of a terminated instance",
    ),
    (&["TerminateInstances InstanceId.1=$i-B: /instancesSet/item/currentState/"], "moto terminates again"),
    (&["InstanceId.3=i-0123456789abcdef1: /Errors/Error/Message="], "moto reports one missing id, AWS all"),
    (
        &["UserData.Value=", "Attribute=userData: /userData="],
        "moto requires the user data of a change encoded twice, so it rejects what AWS accepts",
    ),
];

/// Responses that only the simulator has, or that differ, with the reasons.
pub(super) const ONLY_SIMULATOR: Listed = &[
    (&["/return=true"], "AWS returns it, moto does not"),
    (&["/instancesSet/item/groupSet/item/"], "moto returns only the groups of an interface"),
    (&["/httpEndpoint=enabled"], "moto loses the endpoint when another setting changes"),
    (&["TerminateInstances InstanceId.1=$i-B: /instancesSet/item/currentState/"], "moto terminates again"),
    (&["InstanceId.3=i-0123456789abcdef1: /Errors/Error/Message="], "moto reports one missing id, AWS all"),
    (&["UserData.Value=", "Attribute=userData: /userData/value="], "moto rejects this change"),
];
