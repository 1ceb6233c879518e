//! Target groups and their targets.

use super::account::{Account, members};

const LIST: &str = "TargetGroups";

#[test]
fn a_target_group_has_awss_defaults() {
    let mut account = Account::new();
    let site = account.site();
    let fields = format!("Name=web Protocol=HTTP Port=80 VpcId={}", site.vpc);
    let group = account.member("CreateTargetGroup", &fields, LIST);
    for (name, value) in [
        ("TargetType", "instance"),
        ("ProtocolVersion", "HTTP1"),
        ("HealthCheckPath", "/"),
        ("HealthCheckPort", "traffic-port"),
        ("HealthCheckIntervalSeconds", "30"),
        ("HealthCheckTimeoutSeconds", "5"),
        ("HealthyThresholdCount", "5"),
        ("UnhealthyThresholdCount", "2"),
    ] {
        assert_eq!(group.text_at(&[name]), value, "{name}");
    }
    assert_eq!(group.text_at(&["Matcher", "HttpCode"]), "200");
    let tcp = format!("Name=tcp Protocol=TCP Port=80 VpcId={}", site.vpc);
    let tcp = account.member("CreateTargetGroup", &tcp, LIST);
    assert_eq!((tcp.text_at(&["HealthCheckProtocol"]), tcp.child("Matcher")), ("TCP".to_owned(), None));
    let by_name = account.member("DescribeTargetGroups", "Names.member.1=tcp", LIST);
    assert_eq!(by_name.text_at(&["TargetGroupName"]), "tcp");
    assert_eq!(account.code("DescribeTargetGroups", "Names.member.1=other"), "TargetGroupNotFound");
}

#[test]
fn the_name_of_a_target_group_is_unique() {
    let mut account = Account::new();
    let site = account.site();
    let arn = account.target_group(&site, "web");
    assert_eq!(account.target_group(&site, "web"), arn);
    let other = format!("Name=web Protocol=HTTP Port=81 VpcId={}", site.vpc);
    let (code, message) = account.no("CreateTargetGroup", &other);
    assert_eq!(code, "DuplicateTargetGroupName");
    assert_eq!(message, "A target group with the same name 'web' exists, but with different settings");
    assert_eq!(account.code("CreateTargetGroup", "Name=x Protocol=HTTP Port=80"), "ValidationError");
    let nowhere = "Name=x Protocol=HTTP Port=80 VpcId=vpc-00000000";
    assert_eq!(account.code("CreateTargetGroup", nowhere), "ValidationError");
}

#[test]
fn only_the_health_check_is_mutable() {
    let mut account = Account::new();
    let site = account.site();
    let one = format!("TargetGroupArn={}", account.target_group(&site, "web"));
    let wanted =
        format!("{one} HealthCheckPath=/ready HealthCheckIntervalSeconds=10 Matcher.HttpCode=200-299");
    let changed = account.member("ModifyTargetGroup", &wanted, LIST);
    assert_eq!(changed.text_at(&["HealthCheckPath"]), "/ready");
    assert_eq!(changed.text_at(&["Matcher", "HttpCode"]), "200-299");
    assert_eq!(changed.text_at(&["HealthyThresholdCount"]), "5");
    let wrong = format!("{one} HealthCheckIntervalSeconds=5");
    assert_eq!(account.code("ModifyTargetGroup", &wrong), "ValidationError", "interval = timeout");
    let unknown = wanted.replace("/web/", "/other/");
    assert_eq!(account.code("ModifyTargetGroup", &unknown), "TargetGroupNotFound");
    let delay = "Attributes.member.1.Key=deregistration_delay.timeout_seconds Attributes.member.1.Value=5";
    account.ok("ModifyTargetGroupAttributes", &format!("{one} {delay}"));
    let all = account.members("DescribeTargetGroupAttributes", &one, "Attributes");
    assert!(all.iter().any(|attribute| attribute.text_at(&["Value"]) == "5"));
}

#[test]
fn a_target_group_in_use_cannot_be_deleted() {
    let mut account = Account::new();
    let site = account.site();
    let (balancer, group) = (account.balancer(&site, "web"), account.target_group(&site, "web"));
    let listener = account.listener(&balancer, 80, &group);
    let (code, message) = account.no("DeleteTargetGroup", &format!("TargetGroupArn={group}"));
    assert_eq!(code, "ResourceInUse");
    assert_eq!(message, format!("Target group '{group}' is currently in use by a listener or a rule"));
    let by_balancer = format!("LoadBalancerArn={balancer}");
    let used = account.member("DescribeTargetGroups", &by_balancer, LIST);
    assert_eq!(members(&used, "LoadBalancerArns")[0].text.trim(), balancer);
    account.ok("DeleteListener", &format!("ListenerArn={listener}"));
    account.ok("DeleteTargetGroup", &format!("TargetGroupArn={group}"));
    account.ok("DeleteTargetGroup", &format!("TargetGroupArn={group}"));
    let gone = format!("TargetGroupArns.member.1={group}");
    assert_eq!(account.code("DescribeTargetGroups", &gone), "TargetGroupNotFound");
}

#[test]
fn targets_become_healthy_and_drain() {
    let mut account = Account::new();
    let site = account.site();
    let instance = account.ec2().instance(&format!("SubnetId={}", site.subnets[0]));
    let group = account.elb().target_group(&site, "web");
    let one = format!("TargetGroupArn={group}");
    let target = format!("{one} Targets.member.1.Id={instance}");
    let health = |account: &mut Account| {
        let described = account.members("DescribeTargetHealth", &one, "TargetHealthDescriptions");
        described.iter().map(|one| one.text_at(&["TargetHealth", "State"])).collect::<Vec<_>>()
    };
    account.settle();
    account.ok("RegisterTargets", &target);
    account.ok("RegisterTargets", &target);
    assert_eq!(health(&mut account), ["unused"]);
    let balancer = account.balancer(&site, "web");
    account.listener(&balancer, 80, &group);
    assert_eq!(health(&mut account), ["initial"]);
    account.settle();
    assert_eq!(health(&mut account), ["healthy"]);
    account.ok("DeregisterTargets", &target);
    assert_eq!(health(&mut account), ["draining"]);
    account.settle();
    assert!(health(&mut account).is_empty());
    let described = account.member("DescribeTargetHealth", &target, "TargetHealthDescriptions");
    assert_eq!(described.text_at(&["TargetHealth", "Reason"]), "Target.NotRegistered");
    account.ok("DeregisterTargets", &target);
}

#[test]
fn a_target_is_a_running_instance_of_the_network() {
    let mut account = Account::new();
    let site = account.site();
    let one = format!("TargetGroupArn={}", account.target_group(&site, "web"));
    let register = |id: &str| format!("{one} Targets.member.1.Id={id}");
    assert_eq!(account.code("RegisterTargets", &register("i-00000000")), "InvalidTarget");
    let elsewhere = account.ec2().instance("");
    assert_eq!(account.elb().code("RegisterTargets", &register(&elsewhere)), "InvalidTarget");
    let over = account.ec2().instance(&format!("SubnetId={}", site.subnets[0]));
    account.terminate(&over);
    assert_eq!(account.elb().code("RegisterTargets", &register(&over)), "InvalidTarget");
    let by_address = format!("Name=ips Protocol=HTTP Port=80 TargetType=ip VpcId={}", site.vpc);
    let arn = account.member("CreateTargetGroup", &by_address, LIST).text_at(&["TargetGroupArn"]);
    account.ok("RegisterTargets", &format!("TargetGroupArn={arn} Targets.member.1.Id=10.0.1.9"));
    let moon = format!("TargetGroupArn={arn} Targets.member.1.Id=moon");
    assert_eq!(account.code("RegisterTargets", &moon), "ValidationError");
}
