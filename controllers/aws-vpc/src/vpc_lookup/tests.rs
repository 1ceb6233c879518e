use kraken_aws::{
    ec2::types,
    testing::{answered, wanted},
};
use serde_json::json;

use super::VpcLookups;
use crate::vpc::observed::Vpc;

fn vpc(id: &str, name: &str) -> Vpc {
    let name = (!name.is_empty()).then(|| types::Tag::builder().key("Name").value(name).build());
    types::Vpc::builder().vpc_id(id).set_tags(Some(name.into_iter().collect())).build().into()
}

#[test]
fn exactly_one_vpc_is_the_answer() {
    let spec = json!({"tags": {"Env": "prod"}, "isDefault": {"value": false}});
    assert_eq!(answered::<VpcLookups>(spec.clone(), vec![vpc("vpc-1", "")]).unwrap(), ["vpc-1"]);
    assert_eq!(
        answered::<VpcLookups>(spec, vec![vpc("vpc-1", "a"), vpc("vpc-2", "")]).unwrap_err(),
        "the search for VPCs with isDefault false, tags.Env prod found 2, vpc-1 (a), vpc-2: exactly one is expected; narrow the \
         search with spec.cidrBlock or spec.tags"
    );
}

#[test]
fn a_vpc_lookup_needs_a_criterion() {
    assert_eq!(
        wanted::<VpcLookups>(json!({})).unwrap_err(),
        ["spec: says nothing about the VPC: set tags, cidrBlock or isDefault"]
    );
}

#[test]
fn tags_are_references_or_literals_without_reserved_keys() {
    let spec =
        json!({"tags": {"aws:x": "y", "Env": {"valueFrom": {"configMap": {"name": "env", "key": "name"}}}}});
    assert_eq!(wanted::<VpcLookups>(spec).unwrap_err().len(), 2);
}
