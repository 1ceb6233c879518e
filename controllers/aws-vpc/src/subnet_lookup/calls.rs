//! The filters and the call of subnet look-ups.

use kraken_aws::{AwsLookup, lookup_kind::Search, prelude::*};

use super::api::{self, Desired};
use crate::subnet::observed::Subnet;

/// The kind SubnetLookup.
pub(crate) struct SubnetLookups;

impl AwsLookup for SubnetLookups {
    type Kind = api::SubnetLookup;
    const ANSWERS: &'static str = "subnetIDs";
    const IS_LIST: bool = true;

    fn search(desired: &Desired) -> Search {
        // Which of a zone's subnets are published is chosen among all of them.
        let Desired { vpc_id, availability_zone, one_per_zone: _, tags: _, pin: _ } = desired;
        Search::default()
            .with("vpc-id", vpc_id.as_ref().map(|one| one.expose().as_str()))
            .with("availability-zone", availability_zone.as_ref().map(|one| one.expose().as_str()))
            .with("state", Some("available"))
    }

    async fn read(aws: &Aws, _: Vec<String>, query: DescribeQuery) -> Result<Vec<Subnet>, Failure> {
        let call = aws.ec2().describe_subnets().set_subnet_ids(query.ids).set_filters(query.filters);
        let pages = call.into_paginator().send();
        aws.items("DescribeSubnets", "failed to describe subnets", pages, |page| page.subnets).await
    }

    fn choose<'o>(desired: &Desired, mut found: Vec<&'o Subnet>) -> Result<Vec<&'o Subnet>, String> {
        found.sort_by_key(|subnet| (&subnet.availability_zone, &subnet.subnet_id));
        if desired.one_per_zone.as_ref().is_some_and(|one| *one.expose()) {
            found.dedup_by_key(|subnet| &subnet.availability_zone);
        }
        Ok(found)
    }
}
