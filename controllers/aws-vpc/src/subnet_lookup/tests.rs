use kraken_aws::{
    ec2::types,
    testing::{answered, wanted, with},
};
use serde_json::{Value, json};

use super::SubnetLookups;
use crate::subnet::observed::Subnet;

fn subnet(id: &str, zone: &str) -> Subnet {
    types::Subnet::builder().subnet_id(id).availability_zone(zone).build().into()
}

fn found(changes: Value) -> Vec<String> {
    let subnets = vec![
        subnet("subnet-3", "us-east-1a"),
        subnet("subnet-2", "us-east-1b"),
        subnet("subnet-1", "us-east-1a"),
    ];
    answered::<SubnetLookups>(with(json!({"vpcID": {"value": "vpc-1"}}), changes), subnets).unwrap()
}

#[test]
fn all_subnets_are_the_answer_in_the_order_of_their_zones() {
    assert_eq!(found(json!({})), ["subnet-1", "subnet-3", "subnet-2"]);
    assert_eq!(found(json!({"onePerZone": {"value": false}})), ["subnet-1", "subnet-3", "subnet-2"]);
}

#[test]
fn one_subnet_of_each_zone_is_always_the_same() {
    assert_eq!(found(json!({"onePerZone": {"value": true}})), ["subnet-1", "subnet-2"]);
}

#[test]
fn a_subnet_lookup_needs_a_criterion_besides_the_zone() {
    assert_eq!(
        wanted::<SubnetLookups>(json!({"availabilityZone": {"value": "us-east-1a"}})).unwrap_err(),
        ["spec: says nothing about the subnets: set vpcID or tags"]
    );
}
