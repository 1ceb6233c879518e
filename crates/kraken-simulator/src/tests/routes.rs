//! Route tables, their routes and associations.

use super::account::Account;
use crate::xml::Element;

fn table(account: &mut Account, id: &str) -> Element {
    account.only("DescribeRouteTables", &format!("RouteTableId.1={id}"), "routeTableSet")
}

fn routes(account: &mut Account, id: &str) -> Vec<(String, String, String)> {
    let table = table(account, id);
    let line = |route: &Element| {
        let text = |name| route.text_at(&[name]);
        (text("destinationCidrBlock"), text("gatewayId"), text("state"))
    };
    table.items("routeSet").map(line).collect()
}

fn route(destination: &str, gateway: &str, state: &str) -> (String, String, String) {
    (destination.to_owned(), gateway.to_owned(), state.to_owned())
}

#[test]
fn routes_are_created_replaced_and_deleted() {
    let mut account = Account::new();
    let vpc = account.vpc();
    let (id, gateway) = (account.table(&vpc), account.gateway_of(&vpc));
    let all = format!("RouteTableId={id} DestinationCidrBlock=0.0.0.0/0");
    account.ok("CreateRoute", &format!("{all} GatewayId={gateway}"));
    let local = route("10.0.0.0/16", "local", "active");
    assert_eq!(routes(&mut account, &id), [local.clone(), route("0.0.0.0/0", &gateway, "active")]);
    let (code, message) = account.no("CreateRoute", &format!("{all} GatewayId={gateway}"));
    assert_eq!(code, "RouteAlreadyExists");
    assert_eq!(message, "The route identified by 0.0.0.0/0 already exists.");
    account.ok("ReplaceRoute", &format!("{all} TransitGatewayId=tgw-1"));
    assert_eq!(routes(&mut account, &id)[1], route("0.0.0.0/0", "", "active"));
    account.ok("DeleteRoute", &all);
    assert_eq!(routes(&mut account, &id), [local]);
    let (code, message) = account.no("DeleteRoute", &all);
    assert_eq!(code, "InvalidRoute.NotFound");
    assert_eq!(message, format!("no route with destination-cidr-block 0.0.0.0/0 in route table {id}"));
    assert_eq!(account.code("ReplaceRoute", &format!("{all} GatewayId={gateway}")), "InvalidParameterValue");
}

#[test]
fn a_route_to_a_detached_gateway_is_a_black_hole() {
    let mut account = Account::new();
    let vpc = account.vpc();
    let (id, gateway) = (account.table(&vpc), account.gateway_of(&vpc));
    account
        .ok("CreateRoute", &format!("RouteTableId={id} DestinationIpv6CidrBlock=::/0 GatewayId={gateway}"));
    account.ok("DetachInternetGateway", &format!("InternetGatewayId={gateway} VpcId={vpc}"));
    let state = "Filter.1.Name=route.state Filter.1.Value.1=blackhole";
    let found = account.only("DescribeRouteTables", state, "routeTableSet");
    let last = found.items("routeSet").last().unwrap();
    assert_eq!(last.text_at(&["destinationIpv6CidrBlock"]), "::/0");
}

#[test]
fn a_route_requires_a_target_of_its_network() {
    let mut account = Account::new();
    let (vpc, other) = (account.vpc(), account.vpc());
    let (id, foreign) = (account.table(&vpc), account.gateway_of(&other));
    let all = format!("RouteTableId={id} DestinationCidrBlock=0.0.0.0/0");
    assert_eq!(account.code("CreateRoute", &all), "MissingParameter");
    assert_eq!(account.code("CreateRoute", &format!("{all} GatewayId={foreign}")), "InvalidParameterValue");
    let unknown = format!("{all} GatewayId=igw-00000000");
    assert_eq!(account.code("CreateRoute", &unknown), "InvalidGatewayID.NotFound");
    let inside = format!("RouteTableId={id} DestinationCidrBlock=10.0.1.0/24 TransitGatewayId=tgw-1");
    assert_eq!(account.code("CreateRoute", &inside), "InvalidParameterValue");
    let local = format!("RouteTableId={id} DestinationCidrBlock=10.0.0.0/16");
    assert_eq!(account.code("DeleteRoute", &local), "InvalidParameterValue");
    let nowhere = all.replace(&id, "rtb-00000000");
    assert_eq!(account.code("DeleteRoute", &nowhere), "InvalidRouteTableID.NotFound");
}

#[test]
fn a_table_with_associations_cannot_be_deleted() {
    let mut account = Account::new();
    let vpc = account.vpc();
    let (id, subnet) = (account.table(&vpc), account.subnet(&vpc, 1, 'a'));
    let both = format!("RouteTableId={id} SubnetId={subnet}");
    let association = account.text("AssociateRouteTable", &both, &["associationId"]);
    let again = account.text("AssociateRouteTable", &both, &["associationId"]);
    assert_eq!(again, association, "the same call has the same response");
    let (code, message) = account.no("DeleteRouteTable", &format!("RouteTableId={id}"));
    assert_eq!(code, "DependencyViolation");
    assert_eq!(message, format!("The routeTable '{id}' has dependencies and cannot be deleted."));
    let by_subnet = format!("Filter.1.Name=association.subnet-id Filter.1.Value.1={subnet}");
    assert_eq!(account.texts("DescribeRouteTables", &by_subnet, "routeTableSet", &["routeTableId"]), [&*id]);
    account.ok("DisassociateRouteTable", &format!("AssociationId={association}"));
    account.ok("DeleteRouteTable", &format!("RouteTableId={id}"));
    let gone = format!("AssociationId={association}");
    assert_eq!(account.code("DisassociateRouteTable", &gone), "InvalidAssociationID.NotFound");
}

#[test]
fn a_subnet_has_one_table_and_its_association_is_deleted_with_it() {
    let mut account = Account::new();
    let vpc = account.vpc();
    let (first, second) = (account.table(&vpc), account.table(&vpc));
    let subnet = account.subnet(&vpc, 1, 'a');
    let associate = |table: &str| format!("RouteTableId={table} SubnetId={subnet}");
    let association = account.text("AssociateRouteTable", &associate(&first), &["associationId"]);
    assert_eq!(account.code("AssociateRouteTable", &associate(&second)), "Resource.AlreadyAssociated");
    let replace = format!("AssociationId={association} RouteTableId={second}");
    let moved = account.text("ReplaceRouteTableAssociation", &replace, &["newAssociationId"]);
    assert_ne!(moved, association);
    assert_eq!(table(&mut account, &first).items("associationSet").count(), 0);
    assert_eq!(table(&mut account, &second).items("associationSet").count(), 1);
    account.ok("DeleteSubnet", &format!("SubnetId={subnet}"));
    assert_eq!(table(&mut account, &second).items("associationSet").count(), 0);
}

#[test]
fn another_table_can_become_the_main_one() {
    let mut account = Account::new();
    let vpc = account.vpc();
    let by_main = "Filter.1.Name=association.main Filter.1.Value.1=true";
    let old = account.only("DescribeRouteTables", by_main, "routeTableSet");
    let association = old.items("associationSet").next().unwrap().text_at(&["routeTableAssociationId"]);
    let one = format!("AssociationId={association}");
    assert_eq!(account.code("DisassociateRouteTable", &one), "InvalidParameterValue");
    let delete = format!("RouteTableId={}", old.text_at(&["routeTableId"]));
    assert_eq!(account.code("DeleteRouteTable", &delete), "DependencyViolation");
    let new = account.table(&vpc);
    account.ok("ReplaceRouteTableAssociation", &format!("{one} RouteTableId={new}"));
    assert_eq!(account.texts("DescribeRouteTables", by_main, "routeTableSet", &["routeTableId"]), [new]);
    account.ok("DeleteRouteTable", &delete);
}

#[test]
fn a_token_creates_one_route_table() {
    let mut account = Account::new();
    let (vpc, other) = (account.vpc(), account.vpc());
    let create = |account: &mut Account, vpc: &str| {
        account.text(
            "CreateRouteTable",
            &format!("VpcId={vpc} ClientToken=t"),
            &["routeTable", "routeTableId"],
        )
    };
    let id = create(&mut account, &vpc);
    assert_eq!(create(&mut account, &vpc), id);
    let mismatch = account.code("CreateRouteTable", &format!("VpcId={other} ClientToken=t"));
    assert_eq!(mismatch, "IdempotentParameterMismatch");
}
