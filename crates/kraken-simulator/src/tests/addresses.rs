//! Elastic IP addresses.

use super::account::Account;

fn allocate(account: &mut Account) -> String {
    account.text("AllocateAddress", "Domain=vpc", &["allocationId"])
}

/// A running instance in a VPC with an internet gateway.
fn instance(account: &mut Account) -> (String, String) {
    let vpc = account.vpc();
    account.gateway_of(&vpc);
    let subnet = account.subnet(&vpc, 1, 'a');
    let id = account.instance(&format!("SubnetId={subnet}"));
    account.settle();
    (id, vpc)
}

#[test]
fn an_address_is_associated_and_disassociated() {
    let mut account = Account::new();
    let (id, (owner, _)) = (allocate(&mut account), instance(&mut account));
    let both = format!("AllocationId={id} InstanceId={owner}");
    let association = account.text("AssociateAddress", &both, &["associationId"]);
    assert_eq!(account.text("AssociateAddress", &both, &["associationId"]), association);
    let address = account.only("DescribeAddresses", &format!("AllocationId.1={id}"), "addressesSet");
    assert_eq!(
        (address.text_at(&["instanceId"]), address.text_at(&["domain"])),
        (owner.clone(), "vpc".into())
    );
    let ip = address.text_at(&["publicIp"]);
    assert_eq!(account.described_instance(&owner).text_at(&["ipAddress"]), ip);
    let (code, message) = account.no("ReleaseAddress", &format!("AllocationId={id}"));
    assert_eq!((code.as_str(), message), ("InvalidIPAddress.InUse", format!("Address {ip} is in use.")));
    account.ok("DisassociateAddress", &format!("AssociationId={association}"));
    assert_eq!(account.described_instance(&owner).text_at(&["ipAddress"]), "");
    let code = account.code("DisassociateAddress", &format!("AssociationId={association}"));
    assert_eq!(code, "InvalidAssociationID.NotFound");
    account.ok("ReleaseAddress", &format!("AllocationId={id}"));
    let (code, message) = account.no("ReleaseAddress", &format!("AllocationId={id}"));
    assert_eq!(code, "InvalidAllocationID.NotFound");
    assert_eq!(message, format!("The allocation ID '{id}' does not exist"));
    assert_eq!(account.code("DescribeAddresses", &format!("PublicIp.1={ip}")), "InvalidAddress.NotFound");
}

#[test]
fn an_address_is_reassociated_unless_that_is_forbidden() {
    let mut account = Account::new();
    let id = allocate(&mut account);
    let ((first, _), (second, _)) = (instance(&mut account), instance(&mut account));
    account.ok("AssociateAddress", &format!("AllocationId={id} InstanceId={first}"));
    let other = format!("AllocationId={id} InstanceId={second}");
    let forbidden = format!("{other} AllowReassociation=false");
    assert_eq!(account.code("AssociateAddress", &forbidden), "Resource.AlreadyAssociated");
    account.ok("AssociateAddress", &other);
    assert_eq!(account.described_instance(&first).text_at(&["ipAddress"]), "");
    assert_ne!(account.described_instance(&second).text_at(&["ipAddress"]), "");
}

#[test]
fn an_address_is_disassociated_when_its_instance_is_terminated() {
    let mut account = Account::new();
    let (id, (owner, _)) = (allocate(&mut account), instance(&mut account));
    account.ok("AssociateAddress", &format!("AllocationId={id} InstanceId={owner}"));
    account.terminate(&owner);
    account.ok("ReleaseAddress", &format!("AllocationId={id}"));
}

#[test]
fn a_gateway_cannot_be_detached_while_addresses_use_it() {
    let mut account = Account::new();
    let (id, (owner, vpc)) = (allocate(&mut account), instance(&mut account));
    let gateway =
        account.only("DescribeInternetGateways", "", "internetGatewaySet").text_at(&["internetGatewayId"]);
    let detach = format!("InternetGatewayId={gateway} VpcId={vpc}");
    let both = format!("AllocationId={id} InstanceId={owner}");
    let association = account.text("AssociateAddress", &both, &["associationId"]);
    let (code, message) = account.no("DetachInternetGateway", &detach);
    assert!(code == "DependencyViolation" && message.contains("mapped public address"), "{code} {message}");
    account.ok("DisassociateAddress", &format!("AssociationId={association}"));
    account.ok("DetachInternetGateway", &detach);
    assert_eq!(account.code("AssociateAddress", &both), "Gateway.NotAttached");
}
