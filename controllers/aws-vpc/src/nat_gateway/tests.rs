use kraken_aws::{ManagedKind, testing};
use kraken_kind::Kind as _;
use serde_json::json;

use super::{
    NatGateways,
    observed::{Address, NatGateway},
};
use crate::volume::Volumes;

impl NatGateway {
    pub(super) fn with_address(mut self, id: &str) -> Self {
        self.nat_gateway_addresses =
            vec![Address { allocation_id: Some(id.to_owned()), is_primary: true, ..Address::default() }];
        self
    }
}

#[test]
fn all_fields_are_immutable() {
    let wanted = json!({"subnetID": {"value": "subnet-2"}, "allocationID": {"value": "eipalloc-2"}});
    let have = NatGateway { subnet_id: Some("subnet-1".into()), ..NatGateway::default() };
    assert_eq!(
        testing::compared::<NatGateways>(wanted, &have.with_address("eipalloc-1")),
        ["subnetID: subnet-1 becomes subnet-2: fixed", "allocationID: eipalloc-1 becomes eipalloc-2: fixed",]
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

#[test]
fn a_gateway_that_is_missing_after_its_deletion_is_awaited() {
    // AWS returns a deleted gateway for about an hour, and a deleted volume not at all.
    assert_eq!(
        [
            ManagedKind::<NatGateways>::default().info().shows_deleted,
            ManagedKind::<Volumes>::default().info().shows_deleted
        ],
        [true, false]
    );
}
