//! Describes NAT gateways.

use kraken_aws::prelude::*;

use super::observed::NatGateway;

/// As [`kraken_aws::AwsResource::read`].
pub(crate) async fn read(aws: &Aws, query: DescribeQuery) -> Result<Vec<NatGateway>, Failure> {
    let call = aws.ec2().describe_nat_gateways().set_nat_gateway_ids(query.ids).set_filter(query.filters);
    let pages = call.into_paginator().send();
    aws.items("DescribeNatGateways", "failed to describe NAT gateways", pages, |page| page.nat_gateways).await
}
