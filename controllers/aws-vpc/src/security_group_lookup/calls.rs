//! The filters and the call of security group look-ups.

use kraken_aws::{AwsLookup, lookup_kind::Search, prelude::*};

use super::api::{self, Desired};
use crate::security_group::observed::SecurityGroup;

/// The kind SecurityGroupLookup.
pub(crate) struct SecurityGroupLookups;

impl AwsLookup for SecurityGroupLookups {
    type Kind = api::SecurityGroupLookup;
    const SHARED: &[&str] = &["group-name"];

    fn search(desired: &Desired) -> Search {
        let Desired { vpc_id, group_name, tags: _, pin: _ } = desired;
        Search::default()
            .with("group-name", group_name.as_ref().map(|one| one.expose().as_str()))
            .with("vpc-id", vpc_id.as_ref().map(|one| one.expose().as_str()))
    }

    fn value<'o>(group: &'o SecurityGroup, filter: &str) -> Option<&'o str> {
        (filter == "group-name").then_some(group.group_name.as_deref()).flatten()
    }

    async fn read(aws: &Aws, _: Vec<String>, query: DescribeQuery) -> Result<Vec<SecurityGroup>, Failure> {
        let call = aws.ec2().describe_security_groups().set_group_ids(query.ids).set_filters(query.filters);
        let pages = call.into_paginator().send();
        let action = "failed to describe security groups";
        aws.items("DescribeSecurityGroups", action, pages, |page| page.security_groups).await
    }

    fn words(group: &SecurityGroup) -> Option<String> {
        group.group_name.clone()
    }
}
