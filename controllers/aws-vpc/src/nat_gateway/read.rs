//! Describes NAT gateways.

use kraken_aws::{
    Aws,
    ec2::types::{self, NatGatewayAddress},
    from_sdk,
    items::sorted,
    resource::DescribeQuery,
};
use kraken_spoke::Failure;

use super::observed::{Address, NatGateway};

/// As [`kraken_aws::AwsResource::read`].
pub(super) async fn read(aws: &Aws, query: DescribeQuery) -> Result<Vec<NatGateway>, Failure> {
    let call = aws.ec2().describe_nat_gateways().set_nat_gateway_ids(query.ids).set_filter(query.filters);
    let pages = call.into_paginator().send();
    aws.items("DescribeNatGateways", "failed to describe NAT gateways", pages, |page| page.nat_gateways).await
}

from_sdk!(types::NatGateway as gateway => NatGateway {
    nat_gateway_id, vpc_id, subnet_id, connectivity_type, state, tags;
    nat_gateway_addresses: sorted(gateway.nat_gateway_addresses),
    failure: match (gateway.failure_message, gateway.failure_code) {
        (Some(message), Some(code)) => Some(format!("{message} ({code})")),
        (message, code) => message.or(code),
    },
    created: gateway.create_time.map(|time| time.secs()),
});

from_sdk!(NatGatewayAddress as address => Address {
    allocation_id, public_ip, private_ip, network_interface_id;
    is_primary: address.is_primary == Some(true),
});
