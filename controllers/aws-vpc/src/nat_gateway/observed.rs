//! The observed NAT gateway, which is the published state.

use kraken_aws::{aws_observed, ec2::types, resource::Phase};

/// AWS returns it for about an hour after its deletion.
#[aws_observed(from = types::NatGateway, id = nat_gateway_id, phase = Self::phase)]
pub(crate) struct NatGateway {
    pub(super) nat_gateway_id: String,
    pub(super) vpc_id: Option<String>,
    pub(super) subnet_id: Option<String>,
    pub(super) connectivity_type: Option<String>,
    pub(super) nat_gateway_addresses: Vec<Address>,
    pub(super) state: String,
    #[serde(skip)]
    #[from(failure(&sdk))]
    pub(super) failure: Option<String>,
    /// The time of its creation, in seconds since 1970.
    #[serde(skip)]
    #[from(sdk.create_time.map(|time| time.secs()))]
    pub(super) created: Option<i64>,
}

#[aws_observed(from = types::NatGatewayAddress)]
pub(crate) struct Address {
    pub(super) allocation_id: Option<String>,
    pub(super) public_ip: Option<String>,
    pub(super) private_ip: Option<String>,
    pub(super) network_interface_id: Option<String>,
    /// Whether it is the address that the gateway was created with.
    #[serde(skip)]
    #[from(sdk.is_primary == Some(true))]
    pub(super) is_primary: bool,
}

fn failure(gateway: &types::NatGateway) -> Option<String> {
    match (gateway.failure_message(), gateway.failure_code()) {
        (Some(message), Some(code)) => Some(format!("{message} ({code})")),
        (message, code) => message.or(code).map(str::to_owned),
    }
}

impl NatGateway {
    /// The address that it was created with; others may have been added outside Kraken.
    pub(super) fn allocation_id(&self) -> Option<&String> {
        let first = self.nat_gateway_addresses.iter().find(|address| address.is_primary);
        first.or_else(|| self.nat_gateway_addresses.first())?.allocation_id.as_ref()
    }

    /// Whether it has, or had, this address at this interface, if both are known.
    pub(crate) fn holds(&self, id: &str, interface: Option<&str>) -> bool {
        self.nat_gateway_addresses.iter().any(|address| {
            let here = address.network_interface_id.as_deref();
            address.allocation_id.as_deref() == Some(id)
                && (here.is_none() || interface.is_none() || here == interface)
        })
    }

    fn phase(&self) -> Phase {
        match &*self.state {
            "pending" => Phase::Pending(self.state.clone()),
            "failed" => {
                Phase::Failed(self.failure.clone().unwrap_or_else(|| "AWS reports no cause".to_owned()))
            }
            "deleting" => Phase::Deleting,
            "deleted" => Phase::Deleted,
            _ => Phase::Available,
        }
    }
}
