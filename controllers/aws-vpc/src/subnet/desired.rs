//! The desired state of a subnet, and its comparison with the observed state. Pure.

use kraken_aws::{
    bounds::{VPC_ID, ZONE},
    diff::{changed, fixed},
    validator::SpecValidator,
};
use kraken_spoke::{Difference, Resolved, Resolver};

use super::{
    api::{CIDR_BLOCK, SubnetSpec},
    aws::Subnet,
};

/// The desired state. Absent fields are neither sent nor compared.
#[derive(Debug)]
pub(crate) struct Desired {
    pub(super) vpc_id: Resolved<String>,
    pub(super) cidr_block: Resolved<String>,
    pub(super) availability_zone: Option<Resolved<String>>,
    pub(super) map_public_ip_on_launch: Option<Resolved<bool>>,
}

/// A change in place.
#[derive(Debug)]
pub(crate) enum Change {
    MapPublicIpOnLaunch(bool),
}

pub(super) fn desired(spec: &SubnetSpec, values: &mut Resolver<'_>) -> Option<Desired> {
    let mut validator = SpecValidator::new(values);
    let vpc_id = validator.one("vpcID", &spec.vpc_id, |id: &str| VPC_ID.check(id));
    let cidr_block = validator.one("cidrBlock", &spec.cidr_block, |block: &str| CIDR_BLOCK.check(block));
    let availability_zone =
        validator
            .optional("availabilityZone", spec.availability_zone.as_ref(), |zone: &str| ZONE.check(zone));
    let map_public_ip_on_launch =
        validator.any_if("mapPublicIPOnLaunch", spec.map_public_ip_on_launch.as_ref());
    let desired = Desired {
        vpc_id: vpc_id?,
        cidr_block: cidr_block?,
        availability_zone: availability_zone?,
        map_public_ip_on_launch: map_public_ip_on_launch?,
    };
    validator.is_valid().then_some(desired)
}

pub(super) fn differences(desired: &Desired, subnet: &Subnet) -> Vec<Difference<Change>> {
    let map = subnet.map_public_ip_on_launch;
    let fixed = [
        fixed("vpcID", Some(&desired.vpc_id), subnet.vpc_id.as_ref()),
        fixed("cidrBlock", Some(&desired.cidr_block), subnet.cidr_block.as_ref()),
        fixed("availabilityZone", desired.availability_zone.as_ref(), subnet.availability_zone.as_ref()),
    ];
    let wanted = desired.map_public_ip_on_launch.as_ref();
    let change = Change::MapPublicIpOnLaunch(wanted.is_some_and(|wanted| *wanted.expose()));
    fixed.into_iter().flatten().chain(changed("mapPublicIPOnLaunch", wanted, map.as_ref(), change)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subnet::Subnets;
    use kraken_aws::testing::{self, rendered, with};
    use serde_json::{Value, json};

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
        rendered(differences(&testing::desired::<Subnets>(written(changes)), &subnet()))
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
}
