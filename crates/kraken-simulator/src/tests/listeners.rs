//! Listeners.

use super::account::{Account, forward, members, port_of};

const LIST: &str = "Listeners";
const CERTIFICATE: &str =
    "Certificates.member.1.CertificateArn=arn:aws:acm:us-east-1:123456789012:certificate/a";

#[test]
fn a_listener_forwards() {
    let mut account = Account::new();
    let site = account.site();
    let (balancer, group) = (account.balancer(&site, "web"), account.target_group(&site, "web"));
    let arn = account.listener(&balancer, 80, &group);
    assert!(arn.contains(":listener/app/web/"));
    let listener = account.member("DescribeListeners", &format!("LoadBalancerArn={balancer}"), LIST);
    assert_eq!((listener.text_at(&["Port"]), listener.text_at(&["Protocol"])), ("80".into(), "HTTP".into()));
    let action = &members(&listener, "DefaultActions")[0];
    assert_eq!(action.text_at(&["TargetGroupArn"]), group);
    let config = action.child("ForwardConfig").unwrap();
    assert_eq!(members(config, "TargetGroups")[0].text_at(&["Weight"]), "1");
}

#[test]
fn a_port_has_at_most_one_listener() {
    let mut account = Account::new();
    let site = account.site();
    let (balancer, group) = (account.balancer(&site, "web"), account.target_group(&site, "web"));
    let arn = account.listener(&balancer, 80, &group);
    assert_eq!(account.listener(&balancer, 80, &group), arn, "the same call has the same response");
    let second = account.target_group(&site, "second");
    let other = format!("{} {}", port_of(&balancer, 80), forward(&second));
    let (code, message) = account.no("CreateListener", &other);
    assert_eq!(code, "DuplicateListener");
    assert_eq!(
        message,
        format!("A listener already exists on this port for this load balancer '{balancer}'")
    );
    let other = account.listener(&balancer, 81, &group);
    assert_eq!(account.code("ModifyListener", &format!("ListenerArn={other} Port=80")), "DuplicateListener");
    let moved = account.member("ModifyListener", &format!("ListenerArn={other} Port=82"), LIST);
    assert_eq!(moved.text_at(&["Port"]), "82");
    account.ok("DeleteListener", &format!("ListenerArn={other}"));
    assert_eq!(account.code("DeleteListener", &format!("ListenerArn={other}")), "ListenerNotFound");
}

#[test]
fn a_listener_can_redirect_or_return_a_fixed_response() {
    let mut account = Account::new();
    let site = account.site();
    let balancer = account.balancer(&site, "web");
    let action = "DefaultActions.member.1";
    let redirect = format!(
        "{} {action}.Type=redirect {action}.RedirectConfig.Protocol=HTTPS {action}.RedirectConfig.Port=443 \
         {action}.RedirectConfig.StatusCode=HTTP_301",
        port_of(&balancer, 80)
    );
    let listener = account.member("CreateListener", &redirect, LIST);
    let config = members(&listener, "DefaultActions")[0].child("RedirectConfig").unwrap().clone();
    assert_eq!((config.text_at(&["Port"]), config.text_at(&["Path"])), ("443".into(), "/#{path}".into()));
    let fixed = format!(
        "ListenerArn={} {action}.Type=fixed-response {action}.FixedResponseConfig.StatusCode=503",
        listener.text_at(&["ListenerArn"])
    );
    let listener = account.member("ModifyListener", &fixed, LIST);
    let config = members(&listener, "DefaultActions")[0].child("FixedResponseConfig").unwrap().clone();
    assert_eq!(config.text_at(&["StatusCode"]), "503");
    let moon = format!("{} {action}.Type=moon", port_of(&balancer, 81));
    assert_eq!(account.code("CreateListener", &moon), "ValidationError");
}

#[test]
fn an_encrypted_listener_requires_a_certificate() {
    let mut account = Account::new();
    let site = account.site();
    let (balancer, group) = (account.balancer(&site, "web"), account.target_group(&site, "web"));
    let https = format!("LoadBalancerArn={balancer} Protocol=HTTPS Port=443 {}", forward(&group));
    assert_eq!(account.code("CreateListener", &https), "ValidationError");
    let wrong = format!("{https} Certificates.member.1.CertificateArn=moon");
    assert_eq!(account.code("CreateListener", &wrong), "CertificateNotFound");
    let listener = account.member("CreateListener", &format!("{https} {CERTIFICATE}"), LIST);
    assert_eq!(listener.text_at(&["SslPolicy"]), "ELBSecurityPolicy-2016-08");
    assert_eq!(members(&listener, "Certificates").len(), 1);
    let plain = format!("ListenerArn={} Protocol=HTTP", listener.text_at(&["ListenerArn"]));
    let listener = account.member("ModifyListener", &plain, LIST);
    assert!(listener.child("SslPolicy").is_none() && members(&listener, "Certificates").is_empty());
}

#[test]
fn a_listener_requires_a_compatible_target_group() {
    let mut account = Account::new();
    let site = account.site();
    let (balancer, group) = (account.balancer(&site, "web"), account.target_group(&site, "web"));
    let port = port_of(&balancer, 80);
    let gone = format!("{port} {}", forward(&group.replace("/web/", "/gone/")));
    assert_eq!(account.code("CreateListener", &gone), "TargetGroupNotFound");
    let tcp = format!("Name=tcp Protocol=TCP Port=80 VpcId={}", site.vpc);
    let tcp = account.member("CreateTargetGroup", &tcp, "TargetGroups").text_at(&["TargetGroupArn"]);
    assert_eq!(account.code("CreateListener", &format!("{port} {}", forward(&tcp))), "IncompatibleProtocols");
    let wrong = format!("{port} {}", forward(&group)).replace("Protocol=HTTP", "Protocol=TCP");
    assert_eq!(account.code("CreateListener", &wrong), "ValidationError");
    account.listener(&balancer, 80, &group);
    let second = account.balancer(&site, "second");
    let shared = format!("{} {}", port_of(&second, 80), forward(&group));
    assert_eq!(account.code("CreateListener", &shared), "TargetGroupAssociationLimit");
    assert_eq!(account.code("CreateListener", &shared.replace("/second/", "/gone/")), "LoadBalancerNotFound");
    assert_eq!(account.code("DescribeListeners", ""), "ValidationError");
}

#[test]
fn requests_are_distributed_to_target_groups() {
    let mut account = Account::new();
    let site = account.site();
    let (one, other) = (account.target_group(&site, "one"), account.target_group(&site, "other"));
    let balancer = account.balancer(&site, "web");
    let config = "DefaultActions.member.1.ForwardConfig.TargetGroups.member";
    let fields = format!(
        "{} DefaultActions.member.1.Type=forward {config}.1.TargetGroupArn={one} {config}.1.Weight=9 \
         {config}.2.TargetGroupArn={other} {config}.2.Weight=1",
        port_of(&balancer, 80)
    );
    let listener = account.member("CreateListener", &fields, LIST);
    let action = &members(&listener, "DefaultActions")[0];
    assert!(action.child("TargetGroupArn").is_none());
    let groups = members(action.child("ForwardConfig").unwrap(), "TargetGroups");
    assert_eq!(groups.iter().map(|group| group.text_at(&["Weight"])).collect::<Vec<_>>(), ["9", "1"]);
    assert_eq!(account.code("DeleteTargetGroup", &format!("TargetGroupArn={other}")), "ResourceInUse");
}
