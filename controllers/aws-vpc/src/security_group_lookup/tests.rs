use kraken_aws::{
    ec2::types,
    testing::{answered, wanted},
};
use serde_json::json;

use super::SecurityGroupLookups;
use crate::security_group::observed::SecurityGroup;

fn group(id: &str, name: &str) -> SecurityGroup {
    types::SecurityGroup::builder().group_id(id).group_name(name).build().into()
}

#[test]
fn a_group_name_in_several_vpcs_is_ambiguous() {
    let spec = json!({"groupName": {"value": "default"}});
    let groups = vec![group("sg-1", "default"), group("sg-2", "default")];
    assert_eq!(
        answered::<SecurityGroupLookups>(spec, groups).unwrap_err(),
        "the search for security groups with groupName default found 2, sg-1 (default), sg-2 (default): exactly one is expected; \
         narrow the search with spec.vpcID or spec.tags"
    );
}

#[test]
fn a_security_group_lookup_needs_a_name_or_tags() {
    assert_eq!(
        wanted::<SecurityGroupLookups>(json!({"vpcID": {"value": "vpc-1"}})).unwrap_err(),
        ["spec: says nothing about the security group: set groupName or tags"]
    );
}
