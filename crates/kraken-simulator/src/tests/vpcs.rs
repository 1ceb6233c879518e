//! VPCs.

use super::account::Account;

#[test]
fn a_vpc_is_pending_then_available_and_has_a_main_table_and_a_default_group() {
    let mut account = Account::new();
    let made = account.ok("CreateVpc", "CidrBlock=10.0.3.7/16");
    assert_eq!(made.text_at(&["vpc", "state"]), "pending");
    assert_eq!(made.text_at(&["vpc", "cidrBlock"]), "10.0.0.0/16");
    let id = made.text_at(&["vpc", "vpcId"]);
    let vpc = account.only("DescribeVpcs", &format!("VpcId.1={id}"), "vpcSet");
    assert_eq!((vpc.text_at(&["state"]), vpc.text_at(&["isDefault"])), ("available".into(), "false".into()));
    let by_vpc = format!("Filter.1.Name=vpc-id Filter.1.Value.1={id}");
    let table = account.only("DescribeRouteTables", &by_vpc, "routeTableSet");
    assert_eq!(table.items("associationSet").next().unwrap().text_at(&["main"]), "true");
    let route = table.items("routeSet").next().unwrap();
    assert_eq!(route.text_at(&["destinationCidrBlock"]), "10.0.0.0/16");
    assert_eq!((route.text_at(&["gatewayId"]), route.text_at(&["state"])), ("local".into(), "active".into()));
    let group = account.only("DescribeSecurityGroups", &by_vpc, "securityGroupInfo");
    assert_eq!(group.text_at(&["groupName"]), "default");
    assert_eq!((group.items("ipPermissions").count(), group.items("ipPermissionsEgress").count()), (1, 1));
}

#[test]
fn a_vpc_is_deleted_with_its_default_objects() {
    let mut account = Account::new();
    let id = account.vpc();
    account.ok("DeleteVpc", &format!("VpcId={id}"));
    for (action, list) in [
        ("DescribeVpcs", "vpcSet"),
        ("DescribeRouteTables", "routeTableSet"),
        ("DescribeSecurityGroups", "securityGroupInfo"),
    ] {
        assert_eq!(account.ok(action, "").items(list).count(), 0, "{action}");
    }
    let (code, message) = account.no("DeleteVpc", &format!("VpcId={id}"));
    assert_eq!(code, "InvalidVpcID.NotFound");
    assert_eq!(message, format!("The vpc ID '{id}' does not exist"));
    assert_eq!(account.code("DescribeVpcs", &format!("VpcId.1={id}")), "InvalidVpcID.NotFound");
    assert_eq!(account.code("DescribeVpcs", "VpcId.1=moon"), "InvalidVpcID.Malformed");
}

#[test]
fn a_vpc_with_content_cannot_be_deleted() {
    let mut account = Account::new();
    let vpc = account.vpc();
    let delete = format!("VpcId={vpc}");
    let refused = |account: &mut Account| {
        let (code, message) = account.no("DeleteVpc", &delete);
        assert_eq!(code, "DependencyViolation");
        assert_eq!(message, format!("The vpc '{vpc}' has dependencies and cannot be deleted."));
    };
    let subnet = account.subnet(&vpc, 1, 'a');
    refused(&mut account);
    account.ok("DeleteSubnet", &format!("SubnetId={subnet}"));
    let gateway = account.gateway_of(&vpc);
    refused(&mut account);
    account.ok("DetachInternetGateway", &format!("InternetGatewayId={gateway} VpcId={vpc}"));
    let group = account.group(&vpc, "web");
    refused(&mut account);
    account.ok("DeleteSecurityGroup", &format!("GroupId={group}"));
    let table = account.table(&vpc);
    refused(&mut account);
    account.ok("DeleteRouteTable", &format!("RouteTableId={table}"));
    account.ok("DeleteVpc", &delete);
}

#[test]
fn an_invalid_range_of_a_vpc_is_rejected() {
    let mut account = Account::new();
    assert_eq!(account.code("CreateVpc", "CidrBlock=10.0.0.0/8"), "InvalidVpc.Range");
    assert_eq!(account.code("CreateVpc", "CidrBlock=10.0.0.0/29"), "InvalidVpc.Range");
    assert_eq!(account.code("CreateVpc", "CidrBlock=moon"), "InvalidParameterValue");
    assert_eq!(account.code("CreateVpc", ""), "MissingParameter");
}

#[test]
fn attributes_are_changed_one_at_a_time() {
    let mut account = Account::new();
    let id = account.vpc();
    let value = |account: &mut Account, name: &str| {
        let fields = format!("VpcId={id} Attribute={name}");
        account.text("DescribeVpcAttribute", &fields, &[name, "value"])
    };
    assert_eq!(value(&mut account, "enableDnsSupport"), "true");
    assert_eq!(value(&mut account, "enableDnsHostnames"), "false");
    account.ok("ModifyVpcAttribute", &format!("VpcId={id} EnableDnsHostnames.Value=true"));
    assert_eq!(value(&mut account, "enableDnsHostnames"), "true");
    account.ok("ModifyVpcAttribute", &format!("VpcId={id} EnableDnsSupport.Value=false"));
    assert_eq!(value(&mut account, "enableDnsSupport"), "false");
    let both = format!("VpcId={id} EnableDnsSupport.Value=true EnableDnsHostnames.Value=true");
    assert_eq!(account.code("ModifyVpcAttribute", &both), "InvalidParameterCombination");
    let unknown = format!("VpcId={id} Attribute=moon");
    assert_eq!(account.code("DescribeVpcAttribute", &unknown), "InvalidParameterValue");
}

#[test]
fn ranges_are_added_and_removed_with_their_local_routes() {
    let mut account = Account::new();
    let id = account.vpc();
    let added = account.ok("AssociateVpcCidrBlock", &format!("VpcId={id} CidrBlock=10.1.0.0/16"));
    let block = added.child("cidrBlockAssociation").unwrap();
    assert_eq!(block.text_at(&["cidrBlockState", "state"]), "associating");
    let association = block.text_at(&["associationId"]);
    let locals = |account: &mut Account| {
        let table = account.only("DescribeRouteTables", "", "routeTableSet");
        table.items("routeSet").map(|route| route.text_at(&["destinationCidrBlock"])).collect::<Vec<_>>()
    };
    assert_eq!(locals(&mut account), ["10.0.0.0/16", "10.1.0.0/16"]);
    let fields = format!("VpcId={id} CidrBlock=10.1.4.0/24");
    let subnet = account.text("CreateSubnet", &fields, &["subnet", "subnetId"]);
    let gone = format!("AssociationId={association}");
    assert_eq!(account.code("DisassociateVpcCidrBlock", &gone), "DependencyViolation");
    account.ok("DeleteSubnet", &format!("SubnetId={subnet}"));
    account.ok("DisassociateVpcCidrBlock", &gone);
    assert_eq!(locals(&mut account), ["10.0.0.0/16"]);
    let code = account.code("DisassociateVpcCidrBlock", &gone);
    assert_eq!(code, "InvalidVpcCidrBlockAssociationID.NotFound");
}

#[test]
fn the_primary_range_is_immutable_and_ranges_do_not_overlap() {
    let mut account = Account::new();
    let id = account.vpc();
    let overlapping = format!("VpcId={id} CidrBlock=10.0.9.0/24");
    assert_eq!(account.code("AssociateVpcCidrBlock", &overlapping), "CidrConflict");
    let too_large = format!("VpcId={id} CidrBlock=11.0.0.0/8");
    assert_eq!(account.code("AssociateVpcCidrBlock", &too_large), "InvalidVpc.Range");
    let vpc = account.only("DescribeVpcs", "", "vpcSet");
    let first = vpc.items("cidrBlockAssociationSet").next().unwrap().text_at(&["associationId"]);
    let code = account.code("DisassociateVpcCidrBlock", &format!("AssociationId={first}"));
    assert_eq!(code, "OperationNotPermitted");
    for n in 1..5 {
        account.ok("AssociateVpcCidrBlock", &format!("VpcId={id} CidrBlock=10.{n}.0.0/16"));
    }
    let sixth = format!("VpcId={id} CidrBlock=10.9.0.0/16");
    assert_eq!(account.code("AssociateVpcCidrBlock", &sixth), "CidrLimitExceeded");
}

#[test]
fn a_vpc_can_have_an_ipv6_range_of_amazon() {
    let mut account = Account::new();
    account.ok("CreateVpc", "CidrBlock=10.0.0.0/16 AmazonProvidedIpv6CidrBlock=true");
    let vpc = account.only("DescribeVpcs", "", "vpcSet");
    let range = vpc.items("ipv6CidrBlockAssociationSet").next().unwrap();
    assert!(range.text_at(&["ipv6CidrBlock"]).ends_with("::/56"));
    assert_eq!(vpc.items("cidrBlockAssociationSet").count(), 1);
}

#[test]
fn objects_are_found_by_their_tags() {
    let mut account = Account::new();
    let tagged = "TagSpecification.1.ResourceType=vpc TagSpecification.1.Tag.1.Key=Name \
                  TagSpecification.1.Tag.1.Value=a";
    let fields = format!("CidrBlock=10.0.0.0/16 {tagged}");
    let vpc = account.text("CreateVpc", &fields, &["vpc", "vpcId"]);
    account.vpc();
    let by_tag = "Filter.1.Name=tag:Name Filter.1.Value.1=a";
    assert_eq!(account.texts("DescribeVpcs", by_tag, "vpcSet", &["vpcId"]), [vpc.as_str()]);
    account.ok("CreateTags", &format!("ResourceId.1={vpc} Tag.1.Key=Name Tag.1.Value=b"));
    assert_eq!(account.ok("DescribeVpcs", by_tag).items("vpcSet").count(), 0);
    let by_key = "Filter.1.Name=tag-key Filter.1.Value.1=Name";
    assert_eq!(account.texts("DescribeVpcs", by_key, "vpcSet", &["vpcId"]), [vpc.as_str()]);
    let kinds = account.texts("DescribeTags", "", "tagSet", &["resourceType"]);
    assert_eq!(kinds, ["vpc"]);
    account.ok("DeleteTags", &format!("ResourceId.1={vpc} Tag.1.Key=Name"));
    assert_eq!(account.ok("DescribeVpcs", by_key).items("vpcSet").count(), 0);
    let other = tagged.replace("=vpc", "=subnet");
    assert_eq!(account.code("CreateVpc", &format!("CidrBlock=10.0.0.0/16 {other}")), "InvalidParameterValue");
    let unknown = "ResourceId.1=vpc-00000000 Tag.1.Key=a Tag.1.Value=b";
    assert_eq!(account.code("CreateTags", unknown), "InvalidVpcID.NotFound");
    assert_eq!(account.code("CreateTags", "ResourceId.1=moon Tag.1.Key=a"), "InvalidID");
}

#[test]
fn pages_have_the_requested_size() {
    let mut account = Account::new();
    let all: Vec<String> = (0..7).map(|_| account.vpc()).collect();
    let first = account.ok("DescribeVpcs", "MaxResults=5");
    let next = first.text_at(&["nextToken"]);
    let second = account.ok("DescribeVpcs", &format!("MaxResults=5 NextToken={next}"));
    let pages = first.items("vpcSet").chain(second.items("vpcSet"));
    assert_eq!(pages.map(|vpc| vpc.text_at(&["vpcId"])).collect::<Vec<_>>(), all);
    assert_eq!(second.text_at(&["nextToken"]), "");
    assert_eq!(account.code("DescribeVpcs", "MaxResults=4"), "InvalidParameterValue");
}

#[test]
fn a_created_object_is_visible_after_the_lag() {
    let lag = std::time::Duration::from_mins(1);
    let mut account = Account::with(|options| (options.describe_lag, options.change_lag) = (lag, lag));
    let vpc = account.vpc();
    assert_eq!(account.code("DescribeVpcs", &format!("VpcId.1={vpc}")), "InvalidVpcID.NotFound");
    assert_eq!(account.code("DeleteVpc", &format!("VpcId={vpc}")), "InvalidVpcID.NotFound");
    assert_eq!(account.ok("DescribeVpcs", "").items("vpcSet").count(), 0);
    account.wait(lag);
    assert_eq!(account.ok("DescribeVpcs", "").items("vpcSet").count(), 1);
    account.ok("DeleteVpc", &format!("VpcId={vpc}"));
}
