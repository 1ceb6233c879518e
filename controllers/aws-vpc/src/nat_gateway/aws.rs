//! NAT gateways in AWS.

use kraken_aws::{
    Aws, AwsResource, TagOptions, Tags,
    ec2::types::{self, ConnectivityType, ResourceType},
    lookup::Tagged,
    resolved::exposed,
    resource::{Creation, DescribeQuery, Phase, RemoteObject},
    tags,
};
use kraken_spoke::{Difference, Failure, Resolver};
use serde::Serialize;

use super::{
    api::{NATGateway, NATGatewaySpec},
    desired::{self, Change, Desired},
    readiness,
};

/// The kind NATGateway.
pub(crate) struct NatGateways;

/// An observed NAT gateway, which is the published state. AWS returns it for about an hour after its deletion.
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
    pub(super) fn allocation_id(&self) -> Option<String> {
        let first = self.nat_gateway_addresses.iter().find(|address| address.is_primary);
        first.or_else(|| self.nat_gateway_addresses.first())?.allocation_id.clone()
    }

    #[cfg(test)]
    pub(super) fn with_address(mut self, id: &str) -> Self {
        self.nat_gateway_addresses =
            vec![Address { allocation_id: Some(id.to_owned()), is_primary: true, ..Address::default() }];
        self
    }
}

impl Tagged for NatGateway {
    fn id(&self) -> &str {
        &self.nat_gateway_id
    }

    fn tags(&self) -> &Tags {
        &self.tags
    }
}

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

fn gateway(gateway: types::NatGateway) -> NatGateway {
    let address = |address: types::NatGatewayAddress| Address {
        allocation_id: address.allocation_id,
        public_ip: address.public_ip,
        private_ip: address.private_ip,
        network_interface_id: address.network_interface_id,
        is_primary: address.is_primary == Some(true),
    };
    let addresses = gateway.nat_gateway_addresses.unwrap_or_default();
    let mut addresses: Vec<Address> = addresses.into_iter().map(address).collect();
    addresses.sort();
    let failure = match (gateway.failure_message, gateway.failure_code) {
        (Some(message), Some(code)) => Some(format!("{message} ({code})")),
        (message, code) => message.or(code),
    };
    NatGateway {
        nat_gateway_id: gateway.nat_gateway_id.unwrap_or_default(),
        vpc_id: gateway.vpc_id,
        subnet_id: gateway.subnet_id,
        connectivity_type: gateway.connectivity_type.map(|kind| kind.as_str().to_owned()),
        nat_gateway_addresses: addresses,
        state: gateway.state.map(|state| state.as_str().to_owned()).unwrap_or_default(),
        tags: tags::from_sdk(&gateway.tags.unwrap_or_default()),
        failure,
        created: gateway.create_time.map(|time| time.secs()),
    }
}

impl AwsResource for NatGateways {
    type Kind = NATGateway;
    type Desired = Desired;
    type RemoteObject = NatGateway;
    type Change = Change;
    const NOUN: &'static str = "NAT gateway";
    const STATE_KEY: &'static str = "natGateway";
    const SECRET_FIELD_PATHS: &[(&str, &[&str])] = &[
        ("subnetID", &["natGateway.SubnetId"]),
        (
            "allocationID",
            &["natGateway.NatGatewayAddresses.AllocationId", "natGateway.NatGatewayAddresses.PublicIp"],
        ),
        ("connectivityType", &["natGateway.ConnectivityType"]),
    ];
    const SUMMARY: &[(&str, &str)] = &[
        ("Public IP", "natGateway.NatGatewayAddresses.0.PublicIp"),
        ("Subnet", "natGateway.SubnetId"),
        ("State", "natGateway.State"),
    ];
    const IS_IDEMPOTENT: bool = true;
    const DRIFT_PATHS: &[&str] = &["state"];

    fn desired(spec: &NATGatewaySpec, values: &mut Resolver<'_>) -> Option<Desired> {
        desired::desired(spec, values)
    }

    fn tags(spec: &NATGatewaySpec) -> &TagOptions {
        &spec.tags
    }

    fn differences(desired: &Desired, gateway: &NatGateway) -> Vec<Difference<Change>> {
        desired::differences(desired, gateway)
    }

    async fn read(aws: &Aws, query: DescribeQuery) -> Result<Vec<NatGateway>, Failure> {
        let call = aws.ec2().describe_nat_gateways().set_nat_gateway_ids(query.ids).set_filter(query.filters);
        let pages = call.into_paginator().send();
        let pages = aws.pages("DescribeNatGateways", "failed to describe NAT gateways", pages).await?;
        Ok(pages.into_iter().flat_map(|page| page.nat_gateways.unwrap_or_default()).map(gateway).collect())
    }

    async fn create(aws: &Aws, desired: &Desired, creation: &Creation<'_>) -> Result<NatGateway, Failure> {
        readiness::check(aws, desired, creation).await?;
        let kind = desired.connectivity_type.as_ref();
        let call = aws
            .ec2_once()
            .create_nat_gateway()
            .subnet_id(desired.subnet_id.expose())
            .set_allocation_id(exposed(desired.allocation_id.as_ref()))
            .set_connectivity_type(kind.map(|kind| ConnectivityType::from(kind.expose().as_str())))
            .client_token(&creation.launch.token)
            .set_tag_specifications(Some(creation.specifications(ResourceType::Natgateway)));
        let made = aws.call("CreateNatGateway", "failed to create the NAT gateway", call.send()).await?;
        Ok(made.nat_gateway.map(gateway).unwrap_or_default())
    }

    async fn update(_: &Aws, change: &Change, _: &Desired, _: &NatGateway) -> Result<(), Failure> {
        match *change {}
    }

    async fn delete(aws: &Aws, gateway: &NatGateway) -> Result<(), Failure> {
        let call = aws.ec2().delete_nat_gateway().nat_gateway_id(&gateway.nat_gateway_id);
        aws.call("DeleteNatGateway", "failed to delete the NAT gateway", call.send()).await.map(drop)
    }
}
