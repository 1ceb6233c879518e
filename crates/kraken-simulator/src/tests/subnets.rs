//! Subnets and zones.

use super::account::Account;

#[test]
fn a_subnet_is_created_in_its_vpc_and_zone() {
    let mut account = Account::new();
    let vpc = account.vpc();
    let id = account.subnet(&vpc, 1, 'b');
    let subnet = account.only("DescribeSubnets", &format!("SubnetId.1={id}"), "subnetSet");
    for (name, value) in [
        ("vpcId", vpc.as_str()),
        ("cidrBlock", "10.0.1.0/24"),
        ("availabilityZone", "us-east-1b"),
        ("availableIpAddressCount", "251"),
        ("mapPublicIpOnLaunch", "false"),
        ("state", "available"),
    ] {
        assert_eq!(subnet.text_at(&[name]), value, "{name}");
    }
    account.subnet(&vpc, 2, 'c');
    let by_zone = "Filter.1.Name=availability-zone Filter.1.Value.1=us-east-1b";
    assert_eq!(account.texts("DescribeSubnets", by_zone, "subnetSet", &["subnetId"]), [id]);
}

#[test]
fn a_subnet_is_within_its_vpc_and_overlaps_no_other() {
    let mut account = Account::new();
    let vpc = account.vpc();
    account.subnet(&vpc, 1, 'a');
    let mut refused = |range: &str| account.no("CreateSubnet", &format!("VpcId={vpc} CidrBlock={range}"));
    let (code, message) = refused("10.0.1.128/25");
    assert_eq!(code, "InvalidSubnet.Conflict");
    assert_eq!(message, "The CIDR '10.0.1.128/25' conflicts with another subnet");
    assert_eq!(refused("10.1.0.0/24").0, "InvalidSubnet.Range");
    assert_eq!(refused("10.0.2.0/29").0, "InvalidSubnet.Range");
    assert_eq!(refused("10.0.2.0").0, "InvalidParameterValue");
    let unknown = "VpcId=vpc-00000000 CidrBlock=10.0.0.0/24";
    assert_eq!(account.code("CreateSubnet", unknown), "InvalidVpcID.NotFound");
}

#[test]
fn an_unknown_zone_is_rejected_with_the_existing_ones() {
    let mut account = Account::new();
    let vpc = account.vpc();
    let fields = format!("VpcId={vpc} CidrBlock=10.0.1.0/24 AvailabilityZone=us-east-1z");
    let (code, message) = account.no("CreateSubnet", &fields);
    assert_eq!(code, "InvalidParameterValue");
    assert!(message.contains("(us-east-1z)") && message.contains("us-east-1a, us-east-1b"), "{message}");
}

#[test]
fn a_subnet_with_an_instance_cannot_be_deleted() {
    let mut account = Account::new();
    let vpc = account.vpc();
    let subnet = account.subnet(&vpc, 1, 'a');
    let instance = account.instance(&format!("SubnetId={subnet}"));
    let (code, message) = account.no("DeleteSubnet", &format!("SubnetId={subnet}"));
    assert_eq!(code, "DependencyViolation");
    assert_eq!(message, format!("The subnet '{subnet}' has dependencies and cannot be deleted."));
    account.terminate(&instance);
    account.ok("DeleteSubnet", &format!("SubnetId={subnet}"));
    let (code, message) = account.no("DeleteSubnet", &format!("SubnetId={subnet}"));
    assert_eq!(code, "InvalidSubnetID.NotFound");
    assert_eq!(message, format!("The subnet ID '{subnet}' does not exist"));
}

#[test]
fn a_subnet_determines_whether_instances_have_public_addresses() {
    let mut account = Account::new();
    let vpc = account.vpc();
    let subnet = account.subnet(&vpc, 1, 'a');
    account.ok("ModifySubnetAttribute", &format!("SubnetId={subnet} MapPublicIpOnLaunch.Value=true"));
    let described = account.only("DescribeSubnets", "", "subnetSet");
    assert_eq!(described.text_at(&["mapPublicIpOnLaunch"]), "true");
    let nothing = format!("SubnetId={subnet}");
    assert_eq!(account.code("ModifySubnetAttribute", &nothing), "InvalidParameterCombination");
}

#[test]
fn the_region_has_six_zones() {
    let mut account = Account::new();
    let names = account.texts("DescribeAvailabilityZones", "", "availabilityZoneInfo", &["zoneName"]);
    assert_eq!(names.len(), 6);
    assert_eq!((&*names[0], &*names[5]), ("us-east-1a", "us-east-1f"));
    let one = account.only("DescribeAvailabilityZones", "ZoneName.1=us-east-1c", "availabilityZoneInfo");
    assert_eq!(one.text_at(&["zoneState"]), "available");
    assert_eq!(account.code("DescribeAvailabilityZones", "ZoneName.1=moon"), "InvalidParameterValue");
}
