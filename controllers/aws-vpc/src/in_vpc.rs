//! What is used in a VPC, for imports of kinds that no filter finds by their VPC, and what exists in it without a kind.

use std::collections::BTreeSet;

use kraken_aws::{
    Aws,
    ec2::types::{Filter, Instance},
    fields::listed,
    import::unknown,
    items::in_order,
    release::filter,
    resource::DescribeQuery,
};
use kraken_kind::Failure;

/// What the instances of a VPC use.
#[derive(Debug, Default)]
pub(crate) struct Used {
    /// The ids of the instances.
    pub(crate) instances: BTreeSet<String>,
    /// The names of their key pairs.
    pub(crate) keys: BTreeSet<String>,
}

/// The part of an instance that is used here.
struct User {
    id: String,
    key: Option<String>,
    is_terminated: bool,
}

impl From<Instance> for User {
    fn from(sdk: Instance) -> Self {
        let state = sdk.state.and_then(|state| state.name);
        let is_terminated = state.is_some_and(|name| matches!(name.as_str(), "shutting-down" | "terminated"));
        let key = sdk.key_name.filter(|key| !key.is_empty());
        Self { id: sdk.instance_id.unwrap_or_default(), key, is_terminated }
    }
}

/// What the instances in a VPC use: one call per thousand of them.
///
/// # Errors
/// The first failure of a call.
pub(crate) async fn used(aws: &Aws, vpc: &str) -> Result<Used, Failure> {
    let filters = Some(one("vpc-id", vpc));
    let pages = aws.ec2().describe_instances().set_filters(filters).max_results(1000).into_paginator().send();
    let pages = aws.pages("DescribeInstances", "failed to describe the instances of the VPC", pages).await?;
    let reservations = pages.into_iter().flat_map(|page| page.reservations.unwrap_or_default());
    let mut used = Used::default();
    for user in reservations.flat_map(|reservation| in_order::<_, User>(reservation.instances)) {
        if !user.is_terminated {
            used.instances.insert(user.id);
            used.keys.extend(user.key);
        }
    }
    Ok(used)
}

/// The query for objects with one of these values of a filter; none without values.
pub(crate) fn any_of(name: &str, values: BTreeSet<String>) -> Vec<DescribeQuery> {
    // AWS allows 200 values.
    let values: Vec<String> = values.into_iter().collect();
    let query =
        |values: &[String]| DescribeQuery { ids: None, filters: Some(vec![filter(name, values.to_vec())]) };
    values.chunks(200).map(query).collect()
}

fn one(name: &str, value: &str) -> Vec<Filter> {
    vec![filter(name, vec![value.to_owned()])]
}

/// What exists in a VPC and has no kind; a call that fails is a line too.
pub(crate) async fn without_kind(aws: &Aws, vpc: &str) -> Vec<String> {
    let what = "VPN gateways";
    let call = aws.ec2().describe_vpn_gateways().set_filters(Some(one("attachment.vpc-id", vpc)));
    let answer = aws.call("DescribeVpnGateways", "failed to describe what has no kind", call.send()).await;
    let line = match answer {
        Ok(answer) => {
            let gateways = answer.vpn_gateways.unwrap_or_default().into_iter();
            named(what, gateways.filter_map(|gateway| gateway.vpn_gateway_id).collect())
        }
        Err(failure) => Some(unknown(what, &failure)),
    };
    line.into_iter().collect()
}

fn named(what: &str, ids: Vec<String>) -> Option<String> {
    (!ids.is_empty()).then(|| format!("{what}: {}", listed(&ids)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_has_at_most_two_hundred_values_and_none_asks_nothing() {
        let ids = |n: usize| (0..n).map(|n| format!("i-{n:03}")).collect();
        assert_eq!(any_of("instance-id", ids(0)).len(), 0);
        let queries = any_of("instance-id", ids(201));
        let filters = |query: &DescribeQuery| query.filters.clone().unwrap()[0].values().len();
        assert_eq!(queries.iter().map(filters).collect::<Vec<_>>(), [200, 1]);
    }

    #[test]
    fn objects_without_a_kind_are_named() {
        assert_eq!(named("VPN gateways", vec!["vgw-1".into()]).as_deref(), Some("VPN gateways: vgw-1"));
        assert_eq!(named("VPN gateways", vec![]), None);
    }
}
