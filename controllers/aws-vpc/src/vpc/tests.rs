use kraken_aws::testing::{self, with};
use serde_json::{Value, json};

use super::{
    Vpcs,
    observed::{Association, BlockState, Vpc},
};

impl Vpc {
    fn with_blocks(mut self, blocks: &[&str]) -> Self {
        let association = |block: &&str| Association {
            association_id: format!("vpc-cidr-assoc-{block}"),
            cidr_block: (*block).to_owned(),
            cidr_block_state: BlockState { state: "associated".into() },
        };
        self.cidr_block_association_set = blocks.iter().map(association).collect();
        self
    }
}

fn written(changes: Value) -> Value {
    with(json!({"cidrBlock": {"value": "10.0.0.0/16"}}), changes)
}

fn compared(changes: &Value, vpc: &Vpc) -> Vec<String> {
    testing::compared::<Vpcs>(written(changes.clone()), vpc)
}

fn problems(changes: Value) -> Vec<String> {
    testing::problems::<Vpcs>(written(changes))
}

fn vpc() -> Vpc {
    Vpc { cidr_block: Some("10.0.0.0/16".into()), instance_tenancy: Some("default".into()), ..Vpc::default() }
        .with_blocks(&["10.0.0.0/16", "10.1.0.0/16"])
}

#[test]
fn unset_fields_are_not_managed() {
    assert!(compared(&json!({}), &vpc()).is_empty());
}

#[test]
fn secondary_blocks_are_added_and_removed_in_place() {
    let wanted = json!({"secondaryCIDRBlocks": {"value": ["10.2.0.0/16"]}});
    assert_eq!(
        compared(&wanted, &vpc()),
        [
            "secondaryCIDRBlocks[\"10.2.0.0/16\"]: (absent) becomes 10.2.0.0/16: Associate(\"10.2.0.0/16\")",
            "secondaryCIDRBlocks[\"10.1.0.0/16\"]: 10.1.0.0/16 becomes (absent): Disassociate(\"10.1.0.0/16\")",
        ]
    );
}

#[test]
fn a_block_that_overlaps_a_new_one_is_removed_before_the_new_one_is_added() {
    let wanted = json!({"secondaryCIDRBlocks": {"value": ["10.1.0.0/17"]}});
    let found = compared(&wanted, &vpc());
    assert!(found[0].ends_with("Disassociate(\"10.1.0.0/16\")"), "{found:?}");
    assert!(found[1].ends_with("Associate(\"10.1.0.0/17\")"), "{found:?}");
}

#[test]
fn the_block_and_the_tenancy_are_immutable() {
    let wanted = json!({"cidrBlock": {"value": "10.9.0.0/16"}, "instanceTenancy": {"value": "dedicated"}});
    assert_eq!(
        compared(&wanted, &vpc()),
        [
            "cidrBlock: 10.0.0.0/16 becomes 10.9.0.0/16: fixed",
            "instanceTenancy: default becomes dedicated: fixed",
        ]
    );
}

#[test]
fn dns_is_compared_only_if_read_and_support_is_enabled_before_hostnames() {
    let on = json!({"enableDNSSupport": {"value": true}, "enableDNSHostnames": {"value": true}});
    assert!(compared(&on, &vpc()).is_empty());
    let read = |is: bool| Vpc { dns_support: Some(is), dns_hostnames: Some(is), ..vpc() };
    assert_eq!(
        compared(&on, &read(false)),
        [
            "enableDNSSupport: false becomes true: DnsSupport(true)",
            "enableDNSHostnames: false becomes true: DnsHostnames(true)",
        ]
    );
    let off = json!({"enableDNSSupport": {"value": false}, "enableDNSHostnames": {"value": false}});
    let found = compared(&off, &read(true));
    assert!(
        found[0].starts_with("enableDNSHostnames") && found[1].starts_with("enableDNSSupport"),
        "{found:?}"
    );
}

#[test]
fn all_problems_are_reported_at_once() {
    assert_eq!(
        problems(json!({
            "cidrBlock": {"value": "10.0.0.1/16"},
            "secondaryCIDRBlocks": {"value": ["10.1.0.0/8", "x", "10.2.0.0/16", "10.2.0.0/16"]},
            "enableDNSSupport": {"value": false},
            "enableDNSHostnames": {"value": true},
            "instanceTenancy": {"value": "host"},
        })),
        [
            "spec.cidrBlock: has host bits set for the prefix length /16: write 10.0.0.0/16",
            "spec.secondaryCIDRBlocks.value[0]: has host bits set for the prefix length /8: write 10.0.0.0/8",
            "spec.secondaryCIDRBlocks.value[1]: must be an IPv4 CIDR block such as 10.0.0.0/16",
            "spec.instanceTenancy: must be one of default, dedicated",
            "spec.enableDNSHostnames: requires enableDNSSupport",
        ]
    );
    assert_eq!(
        problems(json!({"cidrBlock": {"value": "10.0.0.0/8"}})),
        ["spec.cidrBlock: must be a block of /16 to /28, not /8"]
    );
    assert_eq!(
        problems(json!({"secondaryCIDRBlocks": {"value": ["10.0.0.0/16"]}})),
        ["spec.secondaryCIDRBlocks: item 0 overlaps cidrBlock"]
    );
    assert_eq!(
        problems(json!({"secondaryCIDRBlocks": {"value": ["10.1.0.0/16", "10.1.128.0/20"]}})),
        ["spec.secondaryCIDRBlocks: item 1 overlaps item 0"]
    );
}

#[test]
fn a_secret_is_absent_from_differences() {
    let from_secret = json!({"valueFrom": {"secret": {"name": "s", "key": "k"}}});
    let found = problems(json!({"cidrBlock": from_secret})).concat();
    assert!(found.contains("IPv4 CIDR block") && !found.contains(testing::HIDDEN), "{found}");
}
