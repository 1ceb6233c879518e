//! Out-of-band changes, and access to the actual state, of a simulator with a server.

use crate::{Kind, Service, Simulator, SimulatorOptions};
use crate::{http, xml};

struct Network {
    simulator: Simulator,
    vpc: String,
    gateway: String,
    table: String,
    group: String,
}

fn one(simulator: &Simulator, action: &str, parameters: &[(&str, &str)]) -> String {
    simulator.out_of_band(action, parameters).unwrap().remove(0)
}

fn network() -> Network {
    let simulator = Simulator::start(SimulatorOptions::default()).unwrap();
    let vpc = one(&simulator, "CreateVpc", &[("CidrBlock", "10.0.0.0/16")]);
    let gateway = one(&simulator, "CreateInternetGateway", &[]);
    one(&simulator, "AttachInternetGateway", &[("InternetGatewayId", &gateway), ("VpcId", &vpc)]);
    let table = one(&simulator, "CreateRouteTable", &[("VpcId", &vpc)]);
    let route = [("RouteTableId", &*table), ("DestinationCidrBlock", "0.0.0.0/0"), ("GatewayId", &*gateway)];
    one(&simulator, "CreateRoute", &route);
    let named = [("VpcId", &*vpc), ("GroupName", "web"), ("GroupDescription", "web")];
    let group = one(&simulator, "CreateSecurityGroup", &named);
    Network { simulator, vpc, gateway, table, group }
}

fn described(simulator: &Simulator, action: &str, name: &str, value: &str) -> usize {
    let filter = [("Filter.1.Name", name), ("Filter.1.Value.1", value)];
    simulator.out_of_band(action, &filter).unwrap().len()
}

#[test]
fn networks_can_be_changed_out_of_band() {
    let Network { simulator, vpc, gateway, table, group } = network();
    let routes = |state| described(&simulator, "DescribeRouteTables", "route.state", state);
    simulator.detach_gateway_out_of_band(&gateway).unwrap();
    assert_eq!(routes("blackhole"), 1);
    simulator.remove_route_out_of_band(&table, "0.0.0.0/0").unwrap();
    assert_eq!(routes("blackhole"), 0);
    simulator.add_rule_out_of_band(&group, 22, "0.0.0.0/0").unwrap();
    let open = || described(&simulator, "DescribeSecurityGroups", "ip-permission.to-port", "22");
    assert_eq!(open(), 1);
    simulator.remove_rule_out_of_band(&group, 22, "0.0.0.0/0").unwrap();
    assert_eq!(open(), 0);
    simulator.tag_out_of_band(&vpc, "Name", Some("a")).unwrap();
    assert_eq!(simulator.tagged(Kind::Vpc, "Name", "a"), [vpc.as_str()]);
    assert!(simulator.detach_gateway_out_of_band(&gateway).is_err());
    assert!(simulator.journal().iter().all(|call| call.out_of_band));
}

#[test]
fn load_balancers_can_be_changed_out_of_band() {
    let Network { simulator, vpc, .. } = network();
    let subnet = |range, zone| {
        let fields = [("VpcId", &*vpc), ("CidrBlock", range), ("AvailabilityZone", zone)];
        one(&simulator, "CreateSubnet", &fields)
    };
    let (a, b) = (subnet("10.0.1.0/24", "us-east-1a"), subnet("10.0.2.0/24", "us-east-1b"));
    let elb = |action, fields: &[(&str, &str)]| simulator.out_of_band_elb(action, fields).unwrap().remove(0);
    let fields = [("Name", "web"), ("Subnets.member.1", &*a), ("Subnets.member.2", &*b)];
    let balancer = elb("CreateLoadBalancer", &fields);
    let fixed = [
        ("LoadBalancerArn", &*balancer),
        ("Protocol", "HTTP"),
        ("Port", "80"),
        ("DefaultActions.member.1.Type", "fixed-response"),
        ("DefaultActions.member.1.FixedResponseConfig.StatusCode", "200"),
    ];
    let listener = elb("CreateListener", &fixed);
    simulator.change_port_out_of_band(&listener, 81).unwrap();
    assert_ne!(elb("CreateListener", &fixed), listener, "port 80 is free");
    simulator.tag_out_of_band(&balancer, "Name", Some("a")).unwrap();
    assert_eq!(simulator.tagged(Kind::LoadBalancer, "Name", "a"), [balancer.as_str()]);
    simulator.tag_out_of_band(&balancer, "Name", None).unwrap();
    assert!(simulator.tagged(Kind::LoadBalancer, "Name", "a").is_empty());
    simulator.delete_out_of_band(&balancer).unwrap();
    let alive = simulator.live_counts();
    assert_eq!((alive.get(&Kind::LoadBalancer), alive.get(&Kind::Listener)), (None, None));
    assert!(simulator.delete_out_of_band(&balancer).is_err());
}

#[test]
fn a_test_can_read_live_objects_and_rejected_calls() {
    let Network { simulator, vpc, gateway, table, group } = network();
    let counts: Vec<(Kind, usize)> = simulator.live_counts().into_iter().collect();
    let expected =
        [(Kind::Vpc, 1), (Kind::InternetGateway, 1), (Kind::RouteTable, 2), (Kind::SecurityGroup, 2)];
    assert_eq!(counts, expected);
    assert!(simulator.delete_out_of_band(&vpc).is_err());
    let refused = simulator.dependency_violations();
    assert_eq!(refused.iter().map(|call| &*call.action).collect::<Vec<_>>(), ["DeleteVpc"]);
    simulator.detach_gateway_out_of_band(&gateway).unwrap();
    for id in [&gateway, &table, &group, &vpc] {
        simulator.delete_out_of_band(id).unwrap();
    }
    assert!(simulator.live_counts().is_empty());
    let vpcs = simulator.objects(Kind::Vpc);
    assert!(vpcs.len() == 1 && !vpcs[0].alive && vpcs[0].made_by == 1, "{vpcs:?}");
}

#[tokio::test]
async fn both_apis_share_an_endpoint_and_have_their_own_responses() {
    let Network { simulator, .. } = network();
    let send = async |version: &str, action: &str, more: &[(&str, &str)]| {
        let form = [&[("Action", action), ("Version", version)], more].concat();
        let answer = http::post_form(simulator.endpoint(), &[], &form).await.unwrap();
        (answer.status, xml::parse(&answer.body).unwrap())
    };
    let (status, root) = send("2015-12-01", "DescribeTags", &[("ResourceArns.member.1", "arn:moon")]).await;
    assert_eq!((status, &*root.name), (400, "ErrorResponse"));
    assert_eq!(root.text_at(&["Error", "Code"]), "ValidationError");
    assert_eq!(root.text_at(&["Error", "Type"]), "Sender");
    let (status, root) = send("2015-12-01", "DescribeLoadBalancers", &[]).await;
    assert_eq!((status, &*root.name), (200, "DescribeLoadBalancersResponse"));
    assert!(root.child("DescribeLoadBalancersResult").is_some() && root.child("ResponseMetadata").is_some());
    let (status, root) = send("2016-11-15", "DescribeTags", &[]).await;
    assert_eq!((status, &*root.name), (200, "DescribeTagsResponse"));
    let services: Vec<Service> =
        simulator.journal().into_iter().filter(|call| !call.out_of_band).map(|call| call.service).collect();
    assert_eq!(services, [Service::Elb, Service::Elb, Service::Ec2]);
}

#[test]
fn each_of_many_networks_is_described_by_its_tag() {
    let simulator = Simulator::start(SimulatorOptions::default()).unwrap();
    let tags = |name: &'static str, kind: &'static str, n: usize| -> Vec<(String, String)> {
        let mut fields = vec![("TagSpecification.1.ResourceType".to_owned(), kind.to_owned())];
        for (index, (key, value)) in
            [("uid", format!("{name}-{n}")), ("cluster", "c".to_owned())].into_iter().enumerate()
        {
            let tag = format!("TagSpecification.1.Tag.{}", index + 1);
            fields.extend([(format!("{tag}.Key"), key.to_owned()), (format!("{tag}.Value"), value)]);
        }
        fields
    };
    let make = |action: &str, mut fields: Vec<(String, String)>, more: &[(&str, &str)]| {
        fields.extend(more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (&**name, &**value)).collect();
        one(&simulator, action, &fields)
    };
    for n in 0..600 {
        let vpc = make("CreateVpc", tags("vpc", "vpc", n), &[("CidrBlock", "10.0.0.0/16")]);
        let subnet = [("VpcId", &*vpc), ("CidrBlock", "10.0.1.0/24")];
        make("CreateSubnet", tags("subnet", "subnet", n), &subnet);
        let group = [("VpcId", &*vpc), ("GroupName", "web"), ("GroupDescription", "web")];
        make("CreateSecurityGroup", tags("group", "security-group", n), &group);
    }
    for n in 0..600 {
        let uid = format!("subnet-{n}");
        assert_eq!(described(&simulator, "DescribeSubnets", "tag:uid", &uid), 1);
    }
    assert_eq!(described(&simulator, "DescribeTags", "key", "uid"), 1000, "a page");
}
