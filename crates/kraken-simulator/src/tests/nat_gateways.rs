//! NAT gateways.

use std::time::Duration;

use super::account::Account;

struct Place {
    subnet: String,
    vpc: String,
    allocation: String,
}

fn place(account: &mut Account) -> Place {
    let vpc = account.vpc();
    account.gateway_of(&vpc);
    let subnet = account.subnet(&vpc, 1, 'a');
    let allocation = account.text("AllocateAddress", "Domain=vpc", &["allocationId"]);
    Place { subnet, vpc, allocation }
}

fn create(account: &mut Account, place: &Place, more: &str) -> String {
    let fields = format!("SubnetId={} AllocationId={} {more}", place.subnet, place.allocation);
    account.text("CreateNatGateway", &fields, &["natGateway", "natGatewayId"])
}

fn state(account: &mut Account, id: &str) -> String {
    let fields = format!("NatGatewayId.1={id}");
    account.only("DescribeNatGateways", &fields, "natGatewaySet").text_at(&["state"])
}

#[test]
fn a_nat_gateway_is_created_and_deleted_slowly() {
    let mut account = Account::with(|options| options.terminated_visible = Duration::from_secs(10));
    let place = place(&mut account);
    let id = create(&mut account, &place, "");
    assert_eq!(state(&mut account, &id), "pending");
    account.settle();
    assert_eq!(state(&mut account, &id), "available");
    let subnet = format!("SubnetId={}", place.subnet);
    assert_eq!(account.code("DeleteSubnet", &subnet), "DependencyViolation");
    let release = format!("AllocationId={}", place.allocation);
    assert_eq!(account.code("ReleaseAddress", &release), "InvalidIPAddress.InUse");
    account.ok("DeleteNatGateway", &format!("NatGatewayId={id}"));
    account.ok("DeleteNatGateway", &format!("NatGatewayId={id}"));
    assert_eq!(state(&mut account, &id), "deleting");
    assert_eq!(account.code("DeleteSubnet", &subnet), "DependencyViolation", "it is not deleted yet");
    account.settle();
    assert_eq!(state(&mut account, &id), "deleted");
    account.ok("DeleteSubnet", &subnet);
    account.ok("ReleaseAddress", &release);
    account.wait(Duration::from_secs(10));
    let (code, message) = account.no("DescribeNatGateways", &format!("NatGatewayId.1={id}"));
    assert_eq!(
        (code.as_str(), message),
        ("NatGatewayNotFound", format!("The Nat Gateway {id} was not found"))
    );
    assert_eq!(account.code("DeleteNatGateway", &format!("NatGatewayId={id}")), "NatGatewayNotFound");
}

#[test]
fn a_token_creates_one_nat_gateway() {
    let mut account = Account::new();
    let place = place(&mut account);
    let id = create(&mut account, &place, "ClientToken=t");
    assert_eq!(create(&mut account, &place, "ClientToken=t"), id);
    let other = account.subnet(&place.vpc, 2, 'b');
    let fields = format!("SubnetId={other} AllocationId={} ClientToken=t", place.allocation);
    assert_eq!(account.code("CreateNatGateway", &fields), "IdempotentParameterMismatch");
}

#[test]
fn a_nat_gateway_that_cannot_be_connected_fails() {
    let mut account = Account::new();
    let place = place(&mut account);
    create(&mut account, &place, "");
    let second = create(&mut account, &place, "");
    account.settle();
    let fields = format!("NatGatewayId.1={second}");
    let failed = account.only("DescribeNatGateways", &fields, "natGatewaySet");
    assert_eq!(failed.text_at(&["state"]), "failed");
    assert_eq!(failed.text_at(&["failureCode"]), "Resource.AlreadyAssociated");
    let vpc = account.vpc();
    let (subnet, allocation) =
        (account.subnet(&vpc, 1, 'a'), account.text("AllocateAddress", "", &["allocationId"]));
    let third = create(&mut account, &Place { subnet, vpc, allocation }, "");
    account.settle();
    let failed = account.only("DescribeNatGateways", &format!("NatGatewayId.1={third}"), "natGatewaySet");
    assert_eq!(failed.text_at(&["failureCode"]), "Gateway.NotAttached");
}

#[test]
fn missing_dependencies_of_a_nat_gateway_are_rejected() {
    let mut account = Account::new();
    let place = place(&mut account);
    let no_address = format!("SubnetId={}", place.subnet);
    assert_eq!(account.code("CreateNatGateway", &no_address), "MissingParameter");
    let unknown = format!("{no_address} AllocationId=eipalloc-00000000");
    assert_eq!(account.code("CreateNatGateway", &unknown), "InvalidAllocationID.NotFound");
    let nowhere = format!("SubnetId=subnet-00000000 AllocationId={}", place.allocation);
    assert_eq!(account.code("CreateNatGateway", &nowhere), "InvalidSubnetID.NotFound");
    account.ok("CreateNatGateway", &format!("{no_address} ConnectivityType=private"));
}

#[test]
fn a_route_to_a_deleted_nat_gateway_is_a_black_hole() {
    let mut account = Account::new();
    let place = place(&mut account);
    let (id, table) = (create(&mut account, &place, ""), account.table(&place.vpc));
    let all = format!("RouteTableId={table} DestinationCidrBlock=0.0.0.0/0 NatGatewayId={id}");
    account.ok("CreateRoute", &all);
    let by_gateway = format!("Filter.1.Name=route.nat-gateway-id Filter.1.Value.1={id}");
    let last = |account: &mut Account| {
        let found = account.only("DescribeRouteTables", &by_gateway, "routeTableSet");
        found.items("routeSet").last().unwrap().text_at(&["state"])
    };
    assert_eq!(last(&mut account), "active");
    account.ok("DeleteNatGateway", &format!("NatGatewayId={id}"));
    assert_eq!(last(&mut account), "blackhole");
    let again = all.replace("0.0.0.0/0", "1.0.0.0/8");
    assert_eq!(account.code("CreateRoute", &again), "InvalidNatGatewayID.NotFound");
}
