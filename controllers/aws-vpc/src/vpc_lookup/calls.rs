//! The filters and the call of VPC look-ups.

use kraken_aws::{AwsLookup, lookup_kind::Search, prelude::*};

use super::api::{self, Desired};
use crate::vpc::observed::Vpc;

/// The kind VPCLookup.
pub(crate) struct VpcLookups;

impl AwsLookup for VpcLookups {
    type Kind = api::VPCLookup;
    const ANSWERS: &'static str = "vpcID";
    const SHARED: &[&str] = &["cidr"];

    fn search(desired: &Desired) -> Search {
        let Desired { cidr_block, is_default, tags: _, pin: _ } = desired;
        let is_default = is_default.as_ref().map(|one| one.expose().to_string());
        Search::default()
            .with("cidr", cidr_block.as_ref().map(|one| one.expose().as_str()))
            .with("is-default", is_default.as_deref())
            .with("state", Some("available"))
    }

    fn value<'o>(vpc: &'o Vpc, filter: &str) -> Option<&'o str> {
        (filter == "cidr").then_some(vpc.cidr_block.as_deref()).flatten()
    }

    async fn read(aws: &Aws, _: Vec<String>, query: DescribeQuery) -> Result<Vec<Vpc>, Failure> {
        let call = aws.ec2().describe_vpcs().set_vpc_ids(query.ids).set_filters(query.filters);
        let pages = call.into_paginator().send();
        aws.items("DescribeVpcs", "failed to describe VPCs", pages, |page| page.vpcs).await
    }
}
