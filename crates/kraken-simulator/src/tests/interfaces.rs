//! Network interfaces.

use super::account::Account;

const ACTION: &str = "DescribeNetworkInterfaces";
const SET: &str = "networkInterfaceSet";

fn filter(name: &str, value: &str) -> String {
    format!("Filter.1.Name={name} Filter.1.Value.1={value}")
}

fn count(account: &mut Account, name: &str, value: &str) -> usize {
    account.texts(ACTION, &filter(name, value), SET, &["networkInterfaceId"]).len()
}

#[test]
fn interfaces_of_instances_and_load_balancers_use_their_security_groups() {
    let mut account = Account::new();
    let site = account.site();
    account.balancer(&site, "web");
    let fields = format!("SubnetId={} SecurityGroupId.1={}", site.subnets[0], site.group);
    let instance = account.ec2().instance(&fields);
    assert_eq!(count(&mut account, "group-id", &site.group), 3);
    assert_eq!(count(&mut account, "subnet-id", &site.subnets[0]), 2);
    let of_balancer = account.only(ACTION, &filter("subnet-id", &site.subnets[1]), SET);
    assert!(of_balancer.text_at(&["description"]).starts_with("ELB app/web/"), "{of_balancer:?}");
    let of_instance = account.only(ACTION, &filter("attachment.instance-id", &instance), SET);
    assert_eq!(of_instance.text_at(&["attachment", "instanceId"]), instance);
    account.terminate(&instance);
    assert_eq!(count(&mut account, "group-id", &site.group), 2);
}

#[test]
fn interface_of_a_nat_gateway_exists_until_it_is_deleted() {
    let mut account = Account::new();
    let vpc = account.vpc();
    account.gateway_of(&vpc);
    let subnet = account.subnet(&vpc, 1, 'a');
    let allocation = account.text("AllocateAddress", "Domain=vpc", &["allocationId"]);
    let fields = format!("SubnetId={subnet} AllocationId={allocation}");
    let id = account.text("CreateNatGateway", &fields, &["natGateway", "natGatewayId"]);
    let public = account.only(ACTION, &filter("association.public-ip", "*"), SET);
    assert_eq!(public.text_at(&["description"]), format!("Interface for NAT Gateway {id}"));
    account.ok("DeleteNatGateway", &format!("NatGatewayId={id}"));
    assert_eq!(count(&mut account, "subnet-id", &subnet), 1, "it is not deleted yet");
    account.settle();
    assert_eq!(count(&mut account, "subnet-id", &subnet), 0);
}

#[test]
fn an_interface_is_found_by_its_id() {
    let mut account = Account::new();
    account.instance("");
    let id = account.only(ACTION, "", SET).text_at(&["networkInterfaceId"]);
    account.only(ACTION, &format!("NetworkInterfaceId.1={id}"), SET);
    let missing = "NetworkInterfaceId.1=eni-0123456789abcdef0";
    assert_eq!(account.code(ACTION, missing), "InvalidNetworkInterfaceID.NotFound");
    assert_eq!(account.code(ACTION, &filter("owner-id", "1")), "InvalidParameterValue");
}
