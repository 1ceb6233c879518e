//! The desired state of a NAT gateway, and its comparison with the observed state. Pure.

use kraken_aws::{bounds::SUBNET_ID, diff::fixed, validator::SpecValidator};
use kraken_spoke::{Difference, Resolved, Resolver};

use super::{
    api::{ALLOCATION_ID, CONNECTIVITY_TYPE, NATGatewaySpec},
    aws::NatGateway,
};

/// The desired state. Absent fields are neither sent nor compared.
#[derive(Debug)]
pub(crate) struct Desired {
    pub(super) subnet_id: Resolved<String>,
    pub(super) allocation_id: Option<Resolved<String>>,
    pub(super) connectivity_type: Option<Resolved<String>>,
}

impl Desired {
    /// Whether its connectivity type is `public`, which is the default.
    pub(super) fn is_public(&self) -> bool {
        self.connectivity_type.as_ref().is_none_or(|kind| kind.expose() != "private")
    }
}

/// Only tags can be changed in place.
#[derive(Debug)]
pub(crate) enum Change {}

pub(super) fn desired(spec: &NATGatewaySpec, values: &mut Resolver<'_>) -> Option<Desired> {
    let mut validator = SpecValidator::new(values);
    let subnet_id = validator.one("subnetID", &spec.subnet_id, |id: &str| SUBNET_ID.check(id));
    let allocation_id =
        validator.optional("allocationID", spec.allocation_id.as_ref(), |id: &str| ALLOCATION_ID.check(id));
    let connectivity_type =
        validator.optional("connectivityType", spec.connectivity_type.as_ref(), |kind: &str| {
            CONNECTIVITY_TYPE.check(kind)
        });
    if let Some(kind) = &connectivity_type {
        match kind.as_ref().map_or("public", |kind| kind.expose()) {
            "public" if spec.allocation_id.is_none() => {
                validator.problem("allocationID", "is required for a public gateway");
            }
            "private" if spec.allocation_id.is_some() => {
                validator.problem("allocationID", "is only allowed for a public gateway");
            }
            _ => {}
        }
    }
    let desired = Desired {
        subnet_id: subnet_id?,
        allocation_id: allocation_id?,
        connectivity_type: connectivity_type?,
    };
    validator.is_valid().then_some(desired)
}

pub(super) fn differences(desired: &Desired, gateway: &NatGateway) -> Vec<Difference<Change>> {
    let kind = desired.connectivity_type.as_ref();
    let all = [
        fixed("subnetID", Some(&desired.subnet_id), gateway.subnet_id.as_ref()),
        fixed("allocationID", desired.allocation_id.as_ref(), gateway.allocation_id().as_ref()),
        fixed("connectivityType", kind, gateway.connectivity_type.as_ref()),
    ];
    all.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nat_gateway::NatGateways;
    use kraken_aws::testing::{self, rendered};
    use serde_json::json;

    #[test]
    fn all_fields_are_immutable() {
        let wanted = testing::desired::<NatGateways>(json!({
            "subnetID": {"value": "subnet-2"}, "allocationID": {"value": "eipalloc-2"},
        }));
        let have = NatGateway { subnet_id: Some("subnet-1".into()), ..NatGateway::default() };
        assert_eq!(
            rendered(differences(&wanted, &have.with_address("eipalloc-1"))),
            [
                "subnetID: subnet-1 becomes subnet-2: fixed",
                "allocationID: eipalloc-1 becomes eipalloc-2: fixed",
            ]
        );
    }

    #[test]
    fn only_a_public_gateway_has_an_address() {
        let subnet = json!({"value": "subnet-1"});
        assert_eq!(
            testing::problems::<NatGateways>(json!({"subnetID": subnet})),
            ["spec.allocationID: is required for a public gateway"]
        );
        let private = json!({"value": "private"});
        assert_eq!(
            testing::problems::<NatGateways>(json!({
                "subnetID": {"value": "a"}, "allocationID": {"value": "eip-1"}, "connectivityType": private,
            })),
            [
                "spec.subnetID: must look like subnet-0abc1234def567890",
                "spec.allocationID: must look like eipalloc-0abc1234def567890",
                "spec.allocationID: is only allowed for a public gateway",
            ]
        );
        testing::desired::<NatGateways>(json!({"subnetID": subnet, "connectivityType": private}));
    }
}
