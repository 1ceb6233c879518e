//! What people and other tools do to remote objects.

use kraken_testing::simulator::Kind;

use super::kube::Result;
use super::remote::Found;
use crate::schedule::Tamper;

/// What Kraken's own tags begin with.
const PREFIX: &str = "kraken-iac.eoinfennessy.com/";

/// Changes a remote object; `tags` are those that it gets, if the change is that it gets some.
pub(super) fn tamper(found: &Found, tamper: &Tamper, tags: &[(String, String)]) -> Result {
    let Found { cloud, id, .. } = found;
    let done = match tamper {
        Tamper::Delete => cloud.delete_outside(id),
        Tamper::StripOwnerTags => {
            let own = found.tags.keys().filter(|key| key.starts_with(PREFIX));
            own.map(|key| cloud.tag_outside(id, key, None)).collect()
        }
        Tamper::OwnerTagsOf(_) => {
            tags.iter().map(|(key, value)| cloud.tag_outside(id, key, Some(value))).collect()
        }
        Tamper::Tag { key, value } => cloud.tag_outside(id, key, value.as_deref()),
        Tamper::Change { number } => return change(found, *number),
    };
    done.map_err(|error| error.to_string())
}

/// A change of a property, by another tool.
fn change(found: &Found, number: usize) -> Result {
    let Found { cloud, id, kind, .. } = found;
    let id = id.as_str();
    let call = |action: &str, parameters: &[(&str, &str)]| cloud.outside(action, parameters).map(drop);
    let elb = |action: &str, parameters: &[(&str, &str)]| cloud.outside_elb(action, parameters).map(drop);
    let odd = number % 2 == 1;
    let on = if odd { "true" } else { "false" };
    let done = match (kind, number % 4) {
        (Kind::Instance, 0 | 1) => cloud.stop_outside(id),
        (Kind::Instance, 2) => call("StartInstances", &[("InstanceId.1", id)]),
        (Kind::Instance, _) => call("MonitorInstances", &[("InstanceId.1", id)]),
        (Kind::Vpc, 0 | 1) => call("ModifyVpcAttribute", &[("VpcId", id), ("EnableDnsHostnames.Value", on)]),
        (Kind::Vpc, 2) => call("AssociateVpcCidrBlock", &[("VpcId", id), ("CidrBlock", "10.222.0.0/16")]),
        (Kind::Vpc, _) => call("ModifyVpcAttribute", &[("VpcId", id), ("EnableDnsSupport.Value", "false")]),
        (Kind::Subnet, _) => {
            call("ModifySubnetAttribute", &[("SubnetId", id), ("MapPublicIpOnLaunch.Value", on)])
        }
        (Kind::InternetGateway, _) => cloud.detach_gateway_outside(id),
        (Kind::RouteTable, 0 | 1) => cloud.remove_route_outside(id, "0.0.0.0/0"),
        (Kind::RouteTable, _) => {
            let gateway = cloud.things(Kind::InternetGateway).into_iter().find(|thing| thing.alive);
            let Some(gateway) = gateway else { return Err("there is no gateway".to_owned()) };
            let to =
                [("RouteTableId", id), ("DestinationCidrBlock", "8.8.0.0/16"), ("GatewayId", &gateway.id)];
            call("CreateRoute", &to)
        }
        (Kind::SecurityGroup, 0 | 1) => cloud.add_rule_outside(id, 22, "0.0.0.0/0"),
        (Kind::SecurityGroup, _) => cloud.remove_rule_outside(id, 443, "0.0.0.0/0"),
        (Kind::Volume, _) => call("DetachVolume", &[("VolumeId", id)]),
        (Kind::LoadBalancer, 0 | 1) => attribute(found, "deletion_protection.enabled", on),
        (Kind::LoadBalancer, _) => attribute(found, "idle_timeout.timeout_seconds", "77"),
        (Kind::TargetGroup, _) => {
            elb("ModifyTargetGroup", &[("TargetGroupArn", id), ("HealthCheckPath", "/changed")])
        }
        (Kind::Listener, _) => cloud.move_listener_outside(id, if odd { 8443 } else { 81 }),
        (Kind::ListenerRule, _) => elb(
            "SetRulePriorities",
            &[
                ("RulePriorities.member.1.RuleArn", id),
                ("RulePriorities.member.1.Priority", if odd { "77" } else { "10" }),
            ],
        ),
        (Kind::Address | Kind::NatGateway | Kind::KeyPair, _) => {
            cloud.tag_outside(id, "Team", Some("elsewhere"))
        }
    };
    done.map_err(|error| error.to_string())
}

fn attribute(found: &Found, key: &str, value: &str) -> anyhow::Result<()> {
    let parameters = [
        ("LoadBalancerArn", found.id.as_str()),
        ("Attributes.member.1.Key", key),
        ("Attributes.member.1.Value", value),
    ];
    found.cloud.outside_elb("ModifyLoadBalancerAttributes", &parameters).map(drop)
}
