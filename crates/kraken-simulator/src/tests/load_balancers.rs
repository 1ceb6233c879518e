//! Load balancers.

use super::account::{Account, members};
use crate::xml::Element;

const LIST: &str = "LoadBalancers";

fn state(balancer: &Element) -> String {
    balancer.text_at(&["State", "Code"])
}

#[test]
fn a_load_balancer_is_provisioned_then_active() {
    let mut account = Account::new();
    let site = account.site();
    let made = account.member("CreateLoadBalancer", &site.balancer("web"), LIST);
    assert_eq!(state(&made), "provisioning");
    for (name, value) in [
        ("Type", "application"),
        ("Scheme", "internet-facing"),
        ("IpAddressType", "ipv4"),
        ("VpcId", &site.vpc),
    ] {
        assert_eq!(made.text_at(&[name]), value, "{name}");
    }
    let arn = made.text_at(&["LoadBalancerArn"]);
    assert!(arn.starts_with("arn:aws:elasticloadbalancing:us-east-1:123456789012:loadbalancer/app/web/"));
    assert!(made.text_at(&["DNSName"]).ends_with(".us-east-1.elb.amazonaws.com"));
    let zones = members(&made, "AvailabilityZones");
    assert_eq!(
        zones.iter().map(|zone| zone.text_at(&["ZoneName"])).collect::<Vec<_>>(),
        ["us-east-1a", "us-east-1b"]
    );
    assert_eq!(members(&made, "SecurityGroups")[0].text.trim(), site.group);
    account.settle();
    let described =
        account.member("DescribeLoadBalancers", &format!("LoadBalancerArns.member.1={arn}"), LIST);
    assert_eq!(state(&described), "active");
}

#[test]
fn a_repeated_call_creates_one_and_another_call_with_its_name_is_rejected() {
    let mut account = Account::new();
    let site = account.site();
    let arn = account.balancer(&site, "web");
    assert_eq!(account.balancer(&site, "web"), arn);
    let internal = format!("{} Scheme=internal", site.balancer("web"));
    let (code, message) = account.no("CreateLoadBalancer", &internal);
    assert_eq!(code, "DuplicateLoadBalancerName");
    assert_eq!(message, "A load balancer with the same name 'web' exists, but with different settings");
    assert_eq!(account.members("DescribeLoadBalancers", "", LIST).len(), 1);
}

#[test]
fn an_application_load_balancer_requires_two_zones_and_a_network_one_does_not() {
    let mut account = Account::new();
    let site = account.site();
    let one = format!("Name=web Subnets.member.1={}", site.subnets[0]);
    assert_eq!(account.code("CreateLoadBalancer", &one), "ValidationError");
    let third = account.ec2().subnet(&site.vpc, 3, 'a');
    let twice = format!("{one} Subnets.member.2={third}");
    assert_eq!(account.elb().code("CreateLoadBalancer", &twice), "InvalidConfigurationRequest");
    let network = account.member("CreateLoadBalancer", &format!("{one} Type=network"), LIST);
    assert!(network.text_at(&["LoadBalancerArn"]).contains(":loadbalancer/net/web/"));
    assert!(network.text_at(&["DNSName"]).ends_with(".elb.us-east-1.amazonaws.com"));
    assert!(members(&network, "SecurityGroups").is_empty());
}

#[test]
fn invalid_parameters_of_a_load_balancer_are_rejected() {
    let mut account = Account::new();
    let site = account.site();
    let fields = site.balancer("web");
    let subnet = fields.replace(&site.subnets[0], "subnet-00000000");
    assert_eq!(account.code("CreateLoadBalancer", &subnet), "SubnetNotFound");
    let group = fields.replace(&site.group, "sg-00000000");
    assert_eq!(account.code("CreateLoadBalancer", &group), "InvalidSecurityGroup");
    assert_eq!(account.code("CreateLoadBalancer", &fields.replace("web", "-web")), "ValidationError");
    assert_eq!(account.code("CreateLoadBalancer", &format!("{fields} Type=moon")), "ValidationError");
    let gateway = account.ec2().only("DescribeInternetGateways", "", "internetGatewaySet");
    let detach = format!("InternetGatewayId={} VpcId={}", gateway.text_at(&["internetGatewayId"]), site.vpc);
    account.ok("DetachInternetGateway", &detach);
    assert_eq!(account.elb().code("CreateLoadBalancer", &fields), "InvalidSubnet");
    account.ok("CreateLoadBalancer", &format!("{fields} Scheme=internal"));
}

#[test]
fn a_missing_load_balancer_is_reported_by_arn_and_by_name() {
    let mut account = Account::new();
    let site = account.site();
    let arn = account.balancer(&site, "web");
    let (code, message) = account.no("DescribeLoadBalancers", "Names.member.1=other");
    assert_eq!(
        (code.as_str(), message.as_str()),
        ("LoadBalancerNotFound", "Load balancers '[other]' not found")
    );
    let by_name = account.member("DescribeLoadBalancers", "Names.member.1=web", LIST);
    assert_eq!(by_name.text_at(&["LoadBalancerArn"]), arn);
    account.ok("DeleteLoadBalancer", &format!("LoadBalancerArn={arn}"));
    account.ok("DeleteLoadBalancer", &format!("LoadBalancerArn={arn}"));
    let (code, message) = account.no("DescribeLoadBalancers", &format!("LoadBalancerArns.member.1={arn}"));
    assert_eq!(code, "LoadBalancerNotFound");
    assert_eq!(message, "One or more load balancers not found");
    assert_eq!(account.code("DescribeLoadBalancers", "LoadBalancerArns.member.1=web"), "ValidationError");
}

#[test]
fn a_load_balancer_is_deleted_with_its_listeners_and_releases_its_network_later() {
    let mut account = Account::new();
    let site = account.site();
    let (arn, group) = (account.balancer(&site, "web"), account.target_group(&site, "web"));
    let listener = account.listener(&arn, 80, &group);
    let subnet = format!("SubnetId={}", site.subnets[0]);
    let security = format!("GroupId={}", site.group);
    assert_eq!(account.ec2().code("DeleteSubnet", &subnet), "DependencyViolation");
    assert_eq!(account.code("DeleteSecurityGroup", &security), "DependencyViolation");
    account.elb().ok("DeleteLoadBalancer", &format!("LoadBalancerArn={arn}"));
    let described = format!("ListenerArns.member.1={listener}");
    assert_eq!(account.code("DescribeListeners", &described), "ListenerNotFound");
    account.ok("DeleteTargetGroup", &format!("TargetGroupArn={group}"));
    assert_eq!(account.ec2().code("DeleteSubnet", &subnet), "DependencyViolation", "its interface exists");
    assert_eq!(account.code("DeleteSecurityGroup", &security), "DependencyViolation");
    account.settle();
    account.ok("DeleteSubnet", &subnet);
    account.ok("DeleteSecurityGroup", &security);
}

#[test]
fn a_protected_load_balancer_cannot_be_deleted() {
    let mut account = Account::new();
    let site = account.site();
    let one = format!("LoadBalancerArn={}", account.balancer(&site, "web"));
    let set = |key: &str, value: &str| {
        format!("{one} Attributes.member.1.Key={key} Attributes.member.1.Value={value}")
    };
    account.ok("ModifyLoadBalancerAttributes", &set("deletion_protection.enabled", "true"));
    assert_eq!(account.code("DeleteLoadBalancer", &one), "OperationNotPermitted");
    account.ok("ModifyLoadBalancerAttributes", &set("deletion_protection.enabled", "false"));
    account.ok("ModifyLoadBalancerAttributes", &set("idle_timeout.timeout_seconds", "30"));
    let all = account.members("DescribeLoadBalancerAttributes", &one, "Attributes");
    let idle = all.iter().find(|one| one.text_at(&["Key"]) == "idle_timeout.timeout_seconds").unwrap();
    assert_eq!(idle.text_at(&["Value"]), "30");
    assert_eq!(account.code("ModifyLoadBalancerAttributes", &set("moon", "full")), "ValidationError");
    let wrong = set("deletion_protection.enabled", "maybe");
    assert_eq!(account.code("ModifyLoadBalancerAttributes", &wrong), "ValidationError");
    account.ok("DeleteLoadBalancer", &one);
}

#[test]
fn subnets_and_groups_can_change() {
    let mut account = Account::new();
    let site = account.site();
    let one = format!("LoadBalancerArn={}", account.balancer(&site, "web"));
    let third = account.ec2().subnet(&site.vpc, 3, 'c');
    let other = account.group(&site.vpc, "other");
    let wanted = format!("{one} Subnets.member.1={} Subnets.member.2={third}", site.subnets[0]);
    let zones = account.elb().members("SetSubnets", &wanted, "AvailabilityZones");
    assert_eq!(
        zones.iter().map(|zone| zone.text_at(&["ZoneName"])).collect::<Vec<_>>(),
        ["us-east-1a", "us-east-1c"]
    );
    assert_eq!(account.code("SetSubnets", &format!("{one} Subnets.member.1={third}")), "ValidationError");
    let groups = account.members(
        "SetSecurityGroups",
        &format!("{one} SecurityGroups.member.1={other}"),
        "SecurityGroupIds",
    );
    assert_eq!(groups[0].text.trim(), other);
    assert_eq!(account.code("SetSecurityGroups", &one), "MissingParameter");
    account.ec2().ok("DeleteSubnet", &format!("SubnetId={}", site.subnets[1]));
    account.ok("DeleteSecurityGroup", &format!("GroupId={}", site.group));
    assert_eq!(account.code("DeleteSubnet", &format!("SubnetId={third}")), "DependencyViolation");
}

#[test]
fn pages_have_markers() {
    let mut account = Account::new();
    let site = account.site();
    let all: Vec<String> = (0..5).map(|n| account.balancer(&site, &format!("web-{n}"))).collect();
    let (mut seen, mut marker) = (vec![], String::new());
    loop {
        let page = account.ok("DescribeLoadBalancers", &format!("PageSize=2 Marker={marker}"));
        seen.extend(members(&page, LIST).iter().map(|one| one.text_at(&["LoadBalancerArn"])));
        marker = page.text_at(&["NextMarker"]);
        if marker.is_empty() {
            break;
        }
    }
    assert_eq!(seen, all);
    assert_eq!(account.code("DescribeLoadBalancers", "PageSize=401"), "ValidationError");
    assert_eq!(account.code("DescribeLoadBalancers", "Marker=moon"), "ValidationError");
}

#[test]
fn tags_are_read_for_twenty_arns_at_once() {
    let mut account = Account::new();
    let site = account.site();
    let tagged = format!("{} Tags.member.1.Key=Name Tags.member.1.Value=a", site.balancer("web"));
    let arn = account.member("CreateLoadBalancer", &tagged, LIST).text_at(&["LoadBalancerArn"]);
    let group = account.target_group(&site, "web");
    let both = format!("ResourceArns.member.1={arn} ResourceArns.member.2={group}");
    account.ok("AddTags", &format!("{both} Tags.member.1.Key=Team Tags.member.1.Value=x"));
    account.ok("RemoveTags", &format!("ResourceArns.member.1={arn} TagKeys.member.1=Name"));
    let described = account.members("DescribeTags", &both, "TagDescriptions");
    let keys =
        |one: &Element| members(one, "Tags").iter().map(|tag| tag.text_at(&["Key"])).collect::<Vec<_>>();
    assert_eq!(described.iter().map(keys).collect::<Vec<_>>(), [["Team"], ["Team"]]);
    let many: Vec<String> = (1..=21).map(|n| format!("ResourceArns.member.{n}={arn}")).collect();
    assert_eq!(account.code("DescribeTags", &many.join(" ")), "ValidationError");
    account.ok("DescribeTags", &many[..20].join(" "));
    let twice = "Tags.member.1.Key=a Tags.member.2.Key=a";
    assert_eq!(account.code("AddTags", &format!("{both} {twice}")), "DuplicateTagKeys");
    let gone = both.replace("/web/", "/gone/");
    assert_eq!(account.code("DescribeTags", &gone), "LoadBalancerNotFound");
    assert!(account.ec2().ok("DescribeTags", "").items("tagSet").next().is_none(), "not in EC2");
}
