//! Tests of instances in simulated networks.

use super::account::Account;

const LAUNCH: &str = "ImageId=ami-12c6146b InstanceType=t3.micro MinCount=1 MaxCount=1";

#[test]
fn an_instance_has_its_network_from_its_subnet() {
    let mut account = Account::new();
    let vpc = account.vpc();
    let (subnet, group) = (account.subnet(&vpc, 7, 'c'), account.group(&vpc, "web"));
    let id = account.instance(&format!("SubnetId={subnet} SecurityGroupId.1={group}"));
    account.settle();
    let instance = account.described_instance(&id);
    assert_eq!(instance.text_at(&["vpcId"]), vpc);
    assert_eq!(instance.text_at(&["privateIpAddress"]), "10.0.7.4");
    assert_eq!(instance.text_at(&["placement", "availabilityZone"]), "us-east-1c");
    assert_eq!(instance.text_at(&["ipAddress"]), "", "the subnet assigns no public addresses");
    assert_eq!(instance.items("groupSet").next().unwrap().text_at(&["groupName"]), "web");
    let subnet = account.only("DescribeSubnets", "", "subnetSet");
    assert_eq!(subnet.text_at(&["availableIpAddressCount"]), "250");
}

#[test]
fn an_instance_without_a_group_is_in_its_vpcs_default_one() {
    let mut account = Account::new();
    let vpc = account.vpc();
    let subnet = account.subnet(&vpc, 1, 'a');
    let id = account.instance(&format!("SubnetId={subnet}"));
    let default = account.only("DescribeSecurityGroups", "", "securityGroupInfo").text_at(&["groupId"]);
    let instance = account.described_instance(&id);
    assert_eq!(instance.items("groupSet").next().unwrap().text_at(&["groupId"]), default);
}

#[test]
fn a_private_address_is_unique_and_released_after_the_termination() {
    let mut account = Account::new();
    let vpc = account.vpc();
    let subnet = account.subnet(&vpc, 1, 'a');
    let wanted = format!("SubnetId={subnet} PrivateIpAddress=10.0.1.9");
    let id = account.instance(&wanted);
    let (code, message) = account.no("RunInstances", &format!("{LAUNCH} {wanted}"));
    assert_eq!((code.as_str(), message.as_str()), ("InvalidIPAddress.InUse", "Address 10.0.1.9 is in use."));
    let outside = format!("{LAUNCH} SubnetId={subnet} PrivateIpAddress=10.0.2.9");
    assert_eq!(account.code("RunInstances", &outside), "InvalidParameterValue");
    account.terminate(&id);
    account.instance(&wanted);
}

#[test]
fn a_full_subnet_limits_a_launch() {
    let mut account = Account::new();
    let vpc = account.vpc();
    let fields = format!("VpcId={vpc} CidrBlock=10.0.0.0/28");
    let subnet = account.text("CreateSubnet", &fields, &["subnet", "subnetId"]);
    let launch = format!("ImageId=ami-12c6146b MinCount=1 MaxCount=20 SubnetId={subnet}");
    assert_eq!(account.ok("RunInstances", &launch).items("instancesSet").count(), 11);
    assert_eq!(account.code("RunInstances", &launch), "InsufficientFreeAddressesInSubnet");
}

#[test]
fn a_group_of_another_network_is_rejected() {
    let mut account = Account::new();
    let (vpc, other) = (account.vpc(), account.vpc());
    let (subnet, group) = (account.subnet(&vpc, 1, 'a'), account.group(&other, "web"));
    let launch = format!("{LAUNCH} SubnetId={subnet} SecurityGroupId.1={group}");
    assert_eq!(account.code("RunInstances", &launch), "InvalidParameter");
}

#[test]
fn only_a_strict_network_rejects_unknown_objects() {
    let mut account = Account::new();
    let made_up = "SubnetId=subnet-0a0a0a0a SecurityGroupId.1=sg-0a0a0a0a KeyName=mine";
    account.instance(made_up);
    account.cloud.options.strict_network = true;
    let refused = |account: &mut Account, part| account.code("RunInstances", &format!("{LAUNCH} {part}"));
    assert_eq!(refused(&mut account, "SubnetId=subnet-0a0a0a0a"), "InvalidSubnetID.NotFound");
    assert_eq!(refused(&mut account, "SecurityGroupId.1=sg-0a0a0a0a"), "InvalidGroup.NotFound");
    account.instance("");
}
