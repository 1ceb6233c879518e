//! The observed NAT gateway, which is the published state.

use kraken_aws::{
    Tags,
    resource::{Phase, RemoteObject},
    tagged_by, tags,
};
use serde::Serialize;

/// AWS returns it for about an hour after its deletion.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct NatGateway {
    pub(super) nat_gateway_id: String,
    pub(super) vpc_id: Option<String>,
    pub(super) subnet_id: Option<String>,
    pub(super) connectivity_type: Option<String>,
    pub(super) nat_gateway_addresses: Vec<Address>,
    pub(super) state: String,
    #[serde(serialize_with = "tags::written")]
    pub(super) tags: Tags,
    #[serde(skip)]
    pub(super) failure: Option<String>,
    /// The time of its creation, in seconds since 1970.
    #[serde(skip)]
    pub(super) created: Option<i64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Address {
    pub(super) allocation_id: Option<String>,
    pub(super) public_ip: Option<String>,
    pub(super) private_ip: Option<String>,
    pub(super) network_interface_id: Option<String>,
    /// Whether it is the address that the gateway was created with.
    #[serde(skip)]
    pub(super) is_primary: bool,
}

impl NatGateway {
    /// The address that it was created with; others may have been added outside Kraken.
    pub(super) fn allocation_id(&self) -> Option<&String> {
        let first = self.nat_gateway_addresses.iter().find(|address| address.is_primary);
        first.or_else(|| self.nat_gateway_addresses.first())?.allocation_id.as_ref()
    }

    #[cfg(test)]
    pub(super) fn with_address(mut self, id: &str) -> Self {
        self.nat_gateway_addresses =
            vec![Address { allocation_id: Some(id.to_owned()), is_primary: true, ..Address::default() }];
        self
    }
}

tagged_by!(NatGateway, nat_gateway_id);

impl RemoteObject for NatGateway {
    fn phase(&self) -> Phase {
        match &*self.state {
            "pending" => Phase::Settling(self.state.clone()),
            "failed" => {
                Phase::Failed(self.failure.clone().unwrap_or_else(|| "AWS reports no cause".to_owned()))
            }
            "deleting" => Phase::Leaving,
            "deleted" => Phase::Gone,
            _ => Phase::Up,
        }
    }
}
