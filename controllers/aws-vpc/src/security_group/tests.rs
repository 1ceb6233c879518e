use kraken_aws::testing::{self, with};
use serde_json::{Value, json};

use super::{SecurityGroups, observed::SecurityGroup};

fn written(changes: Value) -> Value {
    with(json!({"vpcID": {"value": "vpc-1"}}), changes)
}

fn problems(changes: Value) -> Vec<String> {
    testing::problems::<SecurityGroups>(written(changes))
}

fn compared(changes: Value) -> Vec<String> {
    let group = SecurityGroup { vpc_id: Some("vpc-1".into()), ..SecurityGroup::default() };
    testing::compared::<SecurityGroups>(written(changes), &group)
}

fn web() -> Value {
    json!({"protocol": {"value": "tcp"}, "fromPort": {"value": 443}, "cidrBlocks": {"value": ["0.0.0.0/0"]}})
}

#[test]
fn name_description_and_vpc_are_immutable() {
    let wanted =
        json!({"groupName": {"value": "web"}, "description": {"value": "d"}, "vpcID": {"value": "vpc-2"}});
    assert_eq!(
        compared(wanted),
        [
            "vpcID: vpc-1 becomes vpc-2: fixed",
            "groupName: (absent) becomes web: fixed",
            "description: (absent) becomes d: fixed",
        ]
    );
}

#[test]
fn all_problems_of_rules_are_reported_with_their_index() {
    let rule = |protocol: Value, from: i32, to: i32| {
        json!({
            "protocol": {"value": protocol}, "fromPort": {"value": from}, "toPort": {"value": to},
            "cidrBlocks": {"value": ["10.0.0.0/8"]},
        })
    };
    let mut several = rule(json!("tcp"), -1, 65_536);
    several["cidrBlocks"] = json!({"value": ["10.0.0.1/8", "10.0.0.0/8"]});
    several["securityGroupIDs"] = json!({"value": ["web"]});
    let found = problems(json!({
        "ingress": [
            several,
            rule(json!("tcp"), 81, 80),
            rule(json!("http"), 80, 80),
            rule(json!(-1), 1, 1),
            {"protocol": {"value": "udp"}},
            rule(json!("icmp"), -1, 256),
        ],
        "egress": [web(), web()],
        "groupName": {"value": "sg-web"},
        "description": {"value": "a<b"},
    }));
    assert_eq!(
        found,
        [
            "spec.groupName: must not start with sg-, and must not start or end with a space",
            "spec.description: must have 1 to 255 letters, digits, spaces and ._-:/()#,@[]+=&;{}!$*",
            "spec.ingress[0].fromPort: must be 0 to 65535",
            "spec.ingress[0].toPort: must be 0 to 65535",
            "spec.ingress[0].cidrBlocks.value[0]: has host bits set for the prefix length /8: write 10.0.0.0/8",
            "spec.ingress[0].securityGroupIDs.value[0]: must look like sg-0abc1234def567890, or be self",
            "spec.ingress[1].fromPort: must not be greater than toPort",
            "spec.ingress[2].protocol: must be tcp, udp, icmp, icmpv6, a number of 0 to 255, or -1 for all",
            "spec.ingress[2].fromPort: is only allowed for tcp, udp and icmp: this protocol has no ports",
            "spec.ingress[2].toPort: is only allowed for tcp, udp and icmp: this protocol has no ports",
            "spec.ingress[3].fromPort: is only allowed for tcp, udp and icmp: this protocol has no ports",
            "spec.ingress[3].toPort: is only allowed for tcp, udp and icmp: this protocol has no ports",
            "spec.ingress[4]: no peer specified: set cidrBlocks, ipv6CIDRBlocks, securityGroupIDs or prefixListIDs",
            "spec.ingress[4].fromPort: is required for tcp and udp",
            "spec.ingress[5].toPort: must be -1 to 255",
        ]
    );
}
