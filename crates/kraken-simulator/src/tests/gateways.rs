//! Internet gateways.

use super::account::Account;

#[test]
fn a_gateway_is_attached_detached_and_deleted() {
    let mut account = Account::new();
    let vpc = account.vpc();
    let id = account.gateway_of(&vpc);
    let by_vpc = format!("Filter.1.Name=attachment.vpc-id Filter.1.Value.1={vpc}");
    let gateway = account.only("DescribeInternetGateways", &by_vpc, "internetGatewaySet");
    let attachment = gateway.items("attachmentSet").next().unwrap();
    assert_eq!(attachment.text_at(&["state"]), "available");
    let both = format!("InternetGatewayId={id} VpcId={vpc}");
    account.ok("DetachInternetGateway", &both);
    assert_eq!(account.ok("DescribeInternetGateways", &by_vpc).items("internetGatewaySet").count(), 0);
    assert_eq!(account.code("DetachInternetGateway", &both), "Gateway.NotAttached");
    account.ok("DeleteInternetGateway", &format!("InternetGatewayId={id}"));
    let (code, message) = account.no("DeleteInternetGateway", &format!("InternetGatewayId={id}"));
    assert_eq!(code, "InvalidInternetGatewayID.NotFound");
    assert_eq!(message, format!("The internetGateway ID '{id}' does not exist"));
}

#[test]
fn an_attached_gateway_is_neither_attached_again_nor_deleted() {
    let mut account = Account::new();
    let (vpc, other) = (account.vpc(), account.vpc());
    let id = account.gateway_of(&vpc);
    let (code, message) =
        account.no("AttachInternetGateway", &format!("InternetGatewayId={id} VpcId={other}"));
    assert_eq!(code, "Resource.AlreadyAssociated");
    assert_eq!(message, format!("resource {id} is already attached to network {vpc}"));
    let second = account.gateway();
    let both = format!("InternetGatewayId={second} VpcId={vpc}");
    assert_eq!(account.code("AttachInternetGateway", &both), "InvalidParameterValue");
    let (code, message) = account.no("DeleteInternetGateway", &format!("InternetGatewayId={id}"));
    assert_eq!(code, "DependencyViolation");
    assert_eq!(message, format!("The internetGateway '{id}' has dependencies and cannot be deleted."));
}
