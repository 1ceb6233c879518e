use kraken_aws::testing::{self, with};
use serde_json::{Value, json};

use super::{
    RouteTables,
    observed::{Association, Route, RouteTable},
};

impl RouteTable {
    fn with_subnet(mut self, id: &str) -> Self {
        let main = Association { main: Some(true), ..Association::default() };
        self.associations =
            vec![main, Association { subnet_id: Some(id.to_owned()), ..Association::default() }];
        self
    }
}

impl Route {
    fn v4(block: &str, field: fn(&mut Self) -> &mut Option<String>, id: &str) -> Self {
        let mut route = Self { origin: Some("CreateRoute".into()), ..Self::default() };
        route.destination_cidr_block = Some(block.to_owned());
        *field(&mut route) = Some(id.to_owned());
        route
    }
}

fn written(changes: Value) -> Value {
    with(json!({"vpcID": {"value": "vpc-1"}}), changes)
}

fn compared(changes: Value, table: &RouteTable) -> Vec<String> {
    let found = testing::compared::<RouteTables>(written(changes), table);
    let change = |text: String| {
        let end = text.find(['(', '{']).filter(|end| text[..*end].contains(" becomes "));
        end.map_or(text.clone(), |end| text[..end].to_owned())
    };
    // Truncates the debug form of the change; "(absent)" is kept.
    found.into_iter().map(|text| change(text.replace("(absent)", "absent"))).collect()
}

fn problems(changes: Value) -> Vec<String> {
    testing::problems::<RouteTables>(written(changes))
}

fn to(block: &str, field: &str, id: &str) -> Value {
    json!({"destinationCIDRBlock": {"value": block}, field: {"value": id}})
}

fn local() -> Route {
    Route {
        origin: Some("CreateRouteTable".into()),
        ..Route::v4("10.0.0.0/16", |r| &mut r.gateway_id, "local")
    }
}

fn table(routes: Vec<Route>) -> RouteTable {
    let all = [local()].into_iter().chain(routes).collect();
    RouteTable { vpc_id: Some("vpc-1".into()), routes: all, ..RouteTable::default() }.with_subnet("subnet-1")
}

#[test]
fn routes_managed_by_aws_are_ignored() {
    let propagated = Route {
        origin: Some("EnableVgwRoutePropagation".into()),
        ..Route::v4("192.168.0.0/16", |r| &mut r.gateway_id, "vgw-1")
    };
    let endpoint = Route {
        destination_prefix_list_id: Some("pl-1".into()),
        destination_cidr_block: None,
        ..Route::v4("", |r| &mut r.gateway_id, "vpce-1")
    };
    assert!(compared(json!({"routes": []}), &table(vec![propagated, endpoint])).is_empty());
    assert!(
        compared(json!({}), &table(vec![Route::v4("0.0.0.0/0", |r| &mut r.gateway_id, "igw-1")])).is_empty()
    );
}

#[test]
fn routes_are_created_replaced_and_deleted() {
    let have = table(vec![
        Route::v4("0.0.0.0/0", |r| &mut r.gateway_id, "igw-1"),
        Route::v4("10.8.0.0/16", |r| &mut r.nat_gateway_id, "nat-1"),
    ]);
    let wanted = json!({"routes": [
        to("0.0.0.0/0", "natGatewayID", "nat-1"),
        {"destinationIPv6CIDRBlock": {"value": "::/0"}, "egressOnlyInternetGatewayID": {"value": "eigw-1"}},
    ]});
    assert_eq!(
        compared(wanted, &have),
        [
            "routes[\"0.0.0.0/0\"]: igw-1 becomes nat-1: ReplaceRoute",
            "routes[\"::/0\"]: absent becomes eigw-1: CreateRoute",
            "routes[\"10.8.0.0/16\"]: nat-1 becomes absent: DeleteRoute",
        ]
    );
}

#[test]
fn a_route_to_a_target_that_is_gone_is_set_again() {
    let mut dead = Route::v4("0.0.0.0/0", |r| &mut r.nat_gateway_id, "nat-1");
    dead.state = Some("blackhole".into());
    let wanted = json!({"routes": [to("0.0.0.0/0", "natGatewayID", "nat-1")]});
    assert_eq!(
        compared(wanted, &table(vec![dead])),
        ["routes[\"0.0.0.0/0\"]: nat-1, to which the route is a blackhole becomes nat-1: ReplaceRoute"]
    );
}

#[test]
fn an_instance_is_reached_through_its_interface() {
    let mut route = Route::v4("0.0.0.0/0", |r| &mut r.instance_id, "i-1");
    route.network_interface_id = Some("eni-1".into());
    let table = table(vec![route]);
    assert!(compared(json!({"routes": [to("0.0.0.0/0", "instanceID", "i-1")]}), &table).is_empty());
    assert!(compared(json!({"routes": [to("0.0.0.0/0", "networkInterfaceID", "eni-1")]}), &table).is_empty());
}

#[test]
fn subnets_are_associated_and_disassociated() {
    assert_eq!(
        compared(json!({"subnetIDs": {"value": ["subnet-2"]}}), &table(vec![])),
        [
            "subnetIDs[\"subnet-2\"]: absent becomes subnet-2: Associate",
            "subnetIDs[\"subnet-1\"]: subnet-1 becomes absent: Disassociate",
        ]
    );
}

#[test]
fn the_vpc_is_immutable() {
    let wanted = json!({"vpcID": {"value": "vpc-2"}});
    assert_eq!(compared(wanted, &table(vec![])), ["vpcID: vpc-1 becomes vpc-2: fixed"]);
}

#[test]
fn all_problems_of_routes_are_reported_with_their_index() {
    let mut two = to("10.1.0.0/16", "gatewayID", "igw-1");
    two["natGatewayID"] = json!({"value": "nat-1"});
    let mut both = to("10.2.0.0/16", "gatewayID", "igw-1");
    both["destinationIPv6CIDRBlock"] = json!({"value": "::/0"});
    assert_eq!(
        problems(json!({
            "routes": [
                to("0.0.0.0/0", "gatewayID", "igw-1"),
                to("0.0.0.0/0", "natGatewayID", "nat-1"),
                two,
                {"destinationCIDRBlock": {"value": "10.3.0.1/16"}},
                {"gatewayID": {"value": "local"}},
                both,
            ],
            "subnetIDs": {"value": ["subnet-1", "subnet-1"]},
        })),
        [
            "spec.routes[2]: has more than one target: gatewayID, natGatewayID",
            "spec.routes[3].destinationCIDRBlock: has host bits set for the prefix length /16: write 10.3.0.0/16",
            "spec.routes[3]: requires a target: one of gatewayID, natGatewayID, instanceID, networkInterfaceID, \
             vpcPeeringConnectionID, transitGatewayID, egressOnlyInternetGatewayID",
            "spec.routes[4]: requires destinationCIDRBlock or destinationIPv6CIDRBlock",
            "spec.routes[4].gatewayID: must look like igw-0abc1234def567890 or vgw-0abc1234def567890",
            "spec.routes[5]: must have only one of destinationCIDRBlock and destinationIPv6CIDRBlock",
            "spec.routes[1]: has the same destination as routes[0] and another target",
        ]
    );
}

#[test]
fn all_missing_references_are_reported_at_once() {
    let reference = |kind: &str| json!({"valueFrom": {"krakenResource": {"kind": kind, "name": "main"}}});
    let route =
        json!({"destinationCIDRBlock": {"value": "0.0.0.0/0"}, "gatewayID": reference("internetgateway")});
    assert_eq!(
        problems(json!({
            "vpcID": reference("vpc"), "routes": [route], "subnetIDs": {"value": [reference("subnet")]},
        })),
        [
            "spec.vpcID: waiting for the id of vpc main",
            "spec.routes[0].gatewayID: waiting for the id of internetgateway main",
            "spec.subnetIDs.value[0]: waiting for the id of subnet main",
        ]
    );
}
