use kraken_aws::{
    AwsSpec as _,
    resource::{Phase, RemoteObject as _},
    testing::{self, assert_begin, assert_round_trips, rendered, with},
};
use serde_json::{Value, json};

use super::{
    SubnetGroups,
    api::DBSubnetGroupSpec,
    observed::{Subnet, SubnetGroup},
};

fn written(changes: Value) -> Value {
    with(json!({"subnetIDs": {"value": ["subnet-1", "subnet-2"]}}), changes)
}

fn group() -> SubnetGroup {
    let subnet = |id: &str| Subnet { subnet_identifier: id.to_owned() };
    SubnetGroup {
        db_subnet_group_name: "orders".into(),
        db_subnet_group_arn: "arn:aws:rds:us-east-1:123456789012:subgrp:orders".into(),
        db_subnet_group_description: Some("orders".into()),
        subnet_group_status: Some("Complete".into()),
        subnets: vec![subnet("subnet-2"), subnet("subnet-1")],
        ..SubnetGroup::default()
    }
}

fn differing(changes: Value) -> Vec<String> {
    let desired = testing::desired::<SubnetGroups>(written(changes));
    rendered(DBSubnetGroupSpec::differences(&desired, &group()))
}

#[test]
fn subnets_in_another_order_do_not_differ_and_others_are_changed_in_place() {
    assert_eq!(differing(json!({})), [""; 0]);
    assert_eq!(
        differing(json!({
            "name": {"value": "other"}, "description": {"value": "shop"},
            "subnetIDs": {"value": ["subnet-1", "subnet-3"]},
        })),
        [
            "name: orders becomes other: fixed",
            "description: orders becomes shop: Description",
            "subnetIDs: subnet-2, subnet-1 becomes subnet-1, subnet-3: Subnets",
        ]
    );
}

#[test]
fn its_id_is_its_name_and_it_is_tagged_by_its_arn() {
    assert_eq!(group().tagged_as(), "arn:aws:rds:us-east-1:123456789012:subgrp:orders");
    let pending = SubnetGroup { subnet_group_status: Some("Creating".into()), ..group() };
    assert_eq!((group().phase(), pending.phase()), (Phase::Available, Phase::Pending("creating".into())));
}

#[test]
fn all_problems_are_reported_at_once() {
    let found = testing::problems::<SubnetGroups>(json!({
        "name": {"value": "default"}, "description": {"value": ""}, "subnetIDs": {"value": []},
    }));
    let wanted = [
        "spec.description: must have 1",
        "spec.name: must not be default",
        "spec.subnetIDs: must have at least 1",
    ];
    assert_begin(&found, &wanted);
}

#[test]
fn field_names_follow_kubernetes_and_values_follow_aws() {
    assert_round_trips::<DBSubnetGroupSpec>(&written(json!({
        "name": {"value": "orders"}, "description": {"value": "shop"}, "tags": {"Name": "orders"},
    })));
}
