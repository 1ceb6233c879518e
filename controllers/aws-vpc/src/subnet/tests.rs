use kraken_aws::testing::{self, with};
use serde_json::{Value, json};

use super::{Subnets, observed::Subnet};

fn written(changes: Value) -> Value {
    with(json!({"vpcID": {"value": "vpc-1"}, "cidrBlock": {"value": "10.0.1.0/24"}}), changes)
}

fn subnet() -> Subnet {
    Subnet {
        vpc_id: Some("vpc-1".into()),
        cidr_block: Some("10.0.1.0/24".into()),
        availability_zone: Some("us-east-1a".into()),
        map_public_ip_on_launch: Some(false),
        ..Subnet::default()
    }
}

fn compared(changes: Value) -> Vec<String> {
    testing::compared::<Subnets>(written(changes), &subnet())
}

#[test]
fn unset_fields_are_not_managed() {
    assert!(compared(json!({})).is_empty());
}

#[test]
fn only_map_public_ip_on_launch_changes_in_place() {
    assert_eq!(
        compared(json!({
            "vpcID": {"value": "vpc-2"},
            "cidrBlock": {"value": "10.0.2.0/24"},
            "availabilityZone": {"value": "us-east-1b"},
            "mapPublicIPOnLaunch": {"value": true},
        })),
        [
            "vpcID: vpc-1 becomes vpc-2: fixed",
            "cidrBlock: 10.0.1.0/24 becomes 10.0.2.0/24: fixed",
            "availabilityZone: us-east-1a becomes us-east-1b: fixed",
            "mapPublicIPOnLaunch: false becomes true: MapPublicIpOnLaunch(true)",
        ]
    );
}

#[test]
fn all_problems_are_reported_at_once() {
    assert_eq!(
        testing::problems::<Subnets>(json!({
            "vpcID": {"value": "main"},
            "cidrBlock": {"value": "10.0.1.5/24"},
            "availabilityZone": {"value": "us east"},
        })),
        [
            "spec.vpcID: must look like vpc-0abc1234def567890",
            "spec.cidrBlock: has host bits set for the prefix length /24: write 10.0.1.0/24",
            "spec.availabilityZone: must be the name of a zone such as us-east-1a",
        ]
    );
}

#[test]
fn a_subnet_waits_for_its_vpc() {
    let main = json!({"valueFrom": {"krakenResource": {"kind": "vpc", "name": "main"}}});
    assert_eq!(
        testing::problems::<Subnets>(written(json!({"vpcID": main}))),
        ["spec.vpcID: waiting for the id of vpc main"]
    );
}
