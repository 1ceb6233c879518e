use kraken_aws::{
    AwsSpec as _,
    ec2::types,
    resource::AwsResource as _,
    testing::{self, with},
};
use serde_json::{Value, json};

use super::{
    NetworkAcls,
    api::NetworkACLSpec,
    observed::{Association, NetworkAcl},
};

fn written(changes: Value) -> Value {
    with(json!({"vpcID": {"value": "vpc-1"}}), changes)
}

fn entry(number: i32, protocol: &str, more: Value) -> Value {
    let entry = json!({
        "ruleNumber": {"value": number}, "action": {"value": "allow"}, "protocol": {"value": protocol},
        "cidrBlock": {"value": "10.0.0.0/8"},
    });
    with(entry, more)
}

fn observed(number: i32, protocol: &str, is_egress: bool) -> types::builders::NetworkAclEntryBuilder {
    types::NetworkAclEntry::builder()
        .rule_number(number)
        .egress(is_egress)
        .rule_action(types::RuleAction::Allow)
        .protocol(protocol)
        .cidr_block("10.0.0.0/8")
}

/// With HTTPS and ICMP inbound, everything outbound, and the entries of AWS.
fn acl() -> NetworkAcl {
    let https = types::PortRange::builder().from(443).to(443).build();
    let icmp = types::IcmpTypeCode::builder().r#type(8).code(-1).build();
    let entries = [
        observed(100, "6", false).port_range(https).build(),
        observed(110, "1", false).icmp_type_code(icmp).build(),
        observed(100, "-1", true).build(),
        observed(32_767, "-1", false).rule_action(types::RuleAction::Deny).build(),
        observed(32_768, "-1", true).rule_action(types::RuleAction::Deny).build(),
    ];
    let sdk = types::NetworkAcl::builder().network_acl_id("acl-1").vpc_id("vpc-1");
    let association = Association { subnet_id: "subnet-1".into(), ..Association::default() };
    NetworkAcl { associations: vec![association], ..sdk.set_entries(Some(entries.into())).build().into() }
}

fn compared(changes: Value, acl: &NetworkAcl) -> Vec<String> {
    let found = testing::compared::<NetworkAcls>(written(changes), acl);
    // Truncates the debug form of the change; "(absent)" is kept.
    let short = |text: String| {
        let end = text.find(['(', '{']).unwrap_or(text.len());
        text[..end].to_owned()
    };
    found.into_iter().map(|text| short(text.replace("(absent)", "absent"))).collect()
}

#[test]
fn unset_fields_and_the_entries_of_aws_are_not_managed() {
    assert_eq!(compared(json!({}), &acl()), [""; 0]);
    let same = json!({
        "ingress": [entry(110, "icmp", json!({"fromPort": {"value": 8}})), entry(100, "tcp", json!({"fromPort": {"value": 443}}))],
        "egress": [entry(100, "-1", json!({}))],
        "subnetIDs": {"value": ["subnet-1"]},
    });
    assert_eq!(compared(same, &acl()), [""; 0]);
}

#[test]
fn entries_are_added_changed_and_then_removed() {
    let wanted = json!({
        "ingress": [
            entry(90, "udp", json!({"fromPort": {"value": 53}, "toPort": {"value": 54}, "action": {"value": "deny"}})),
            entry(100, "tcp", json!({"fromPort": {"value": 80}})),
        ],
        "egress": [],
    });
    assert_eq!(
        compared(wanted, &acl()),
        [
            "ingress[\"90\"]: absent becomes deny udp 53-54 10.0.0.0/8: Create",
            "ingress[\"100\"]: allow tcp 443 10.0.0.0/8 becomes allow tcp 80 10.0.0.0/8: Replace",
            "ingress[\"110\"]: allow icmp 8--1 10.0.0.0/8 becomes absent: Delete",
            "egress[\"100\"]: allow all 10.0.0.0/8 becomes absent: Delete",
        ]
    );
}

#[test]
fn an_ipv6_block_is_compared_in_its_canonical_form() {
    let mut have = acl();
    have.entries.retain(|entry| entry.egress);
    have.entries[0].cidr_block = None;
    have.entries[0].ipv6_cidr_block = Some("2001:db8::/32".into());
    let wanted = entry(100, "-1", json!({"cidrBlock": null, "ipv6CIDRBlock": {"value": "2001:DB8:0::/32"}}));
    assert_eq!(compared(json!({"egress": [wanted]}), &have), [""; 0]);
}

#[test]
fn subnets_are_associated_and_disassociated_and_the_vpc_is_immutable() {
    assert_eq!(
        compared(json!({"vpcID": {"value": "vpc-2"}, "subnetIDs": {"value": ["subnet-2"]}}), &acl()),
        [
            "vpcID: vpc-1 becomes vpc-2: fixed",
            "subnetIDs[\"subnet-2\"]: absent becomes subnet-2: Associate",
            "subnetIDs[\"subnet-1\"]: subnet-1 becomes absent: Disassociate",
        ]
    );
}

#[test]
fn a_secret_is_absent_from_differences() {
    let from_secret = json!({"valueFrom": {"secret": {"name": "s", "key": "k"}}});
    let wanted = json!({"ingress": [entry(100, "-1", json!({"action": from_secret}))]});
    let found = testing::problems::<NetworkAcls>(written(wanted)).concat();
    assert!(found.contains("allow, deny") && !found.contains(testing::HIDDEN), "{found}");
}

#[test]
fn all_problems_of_entries_are_reported_with_their_index() {
    let found = testing::problems::<NetworkAcls>(written(json!({"ingress": [
        entry(100, "tcp", json!({})),
        entry(100, "-1", json!({"fromPort": {"value": 1}, "action": {"value": "pass"}})),
        entry(32_767, "udp", json!({"fromPort": {"value": 2}, "toPort": {"value": 1}})),
        entry(120, "icmp", json!({"fromPort": {"value": 256}})),
        entry(130, "tcp", json!({"fromPort": {"value": 1}, "cidrBlock": {"value": "10.0.0.1/8"}})),
        entry(140, "-1", json!({"cidrBlock": null})),
    ], "egress": [entry(7, "-1", json!({})), entry(7, "-1", json!({}))]})));
    assert_eq!(
        found,
        [
            "spec.ingress[0].fromPort: is required for tcp and udp",
            "spec.ingress[1].action: must be one of allow, deny",
            "spec.ingress[1].fromPort: is only allowed for tcp, udp and icmp: this protocol has no ports",
            "spec.ingress[2].ruleNumber: must be 1 to 32766",
            "spec.ingress[2].fromPort: must not be greater than toPort",
            "spec.ingress[3].fromPort: must be -1 to 255",
            "spec.ingress[4].cidrBlock: has host bits set for the prefix length /8: write 10.0.0.0/8",
            "spec.ingress[5]: must have exactly one of cidrBlock, ipv6CIDRBlock",
            "spec.ingress[1].ruleNumber: is also the number of ingress[0]",
            "spec.egress[1].ruleNumber: is also the number of egress[0]",
        ]
    );
}

#[test]
fn entries_are_imported_by_names_of_protocols() {
    let spec = NetworkACLSpec::imported(&acl()).group().unwrap();
    assert_eq!(
        spec,
        json!({
            "vpcID": {"value": "vpc-1"},
            "ingress": [
                entry(100, "tcp", json!({"fromPort": {"value": 443}})),
                entry(110, "icmp", json!({"fromPort": {"value": 8}})),
            ],
            "egress": [entry(100, "-1", json!({}))],
            "subnetIDs": {"value": ["subnet-1"]},
        })
    );
    assert_eq!(NetworkAcls::not_importable(&acl()), None);
    let default = NetworkAcl { is_default: true, ..acl() };
    assert_eq!(NetworkAcls::not_importable(&default).as_deref(), Some("the default network ACL of its VPC"));
}
