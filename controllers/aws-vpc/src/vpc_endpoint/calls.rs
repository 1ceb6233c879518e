//! The calls of VPC endpoints.

use std::collections::BTreeSet;

use kraken_aws::{
    codes::class_of,
    ec2::types::{DnsOptionsSpecification, PrefixList},
    policy::{self, Document},
    prelude::*,
    release::filter,
    resolved::Joined,
};
use kraken_kind::FailureClass;

use super::{
    api::{self, Change, Desired, DesiredDnsOptions},
    desired::not_importable,
    observed::VpcEndpoint,
};

const DELETE: &str = "failed to delete the VPC endpoint";

/// The kind VPCEndpoint.
pub(crate) struct VpcEndpoints;

impl AwsResource for VpcEndpoints {
    type Kind = api::VPCEndpoint;
    const FEATURES: Features = Features { is_idempotent: true, ..Features::NONE };

    fn not_importable(endpoint: &VpcEndpoint) -> Option<String> {
        not_importable(endpoint)
    }

    async fn read(aws: &Aws, query: DescribeQuery) -> Result<Vec<VpcEndpoint>, Failure> {
        let DescribeQuery { ids, filters } = query;
        let call = aws.ec2().describe_vpc_endpoints().set_vpc_endpoint_ids(ids).set_filters(filters);
        let pages = call.into_paginator().send();
        let action = "failed to describe VPC endpoints";
        let mut found: Vec<VpcEndpoint> =
            aws.items("DescribeVpcEndpoints", action, pages, |page| page.vpc_endpoints).await?;
        add_prefix_lists(aws, &mut found).await?;
        Ok(found)
    }

    async fn create(aws: &Aws, desired: &Desired, creation: &Creation<'_>) -> Result<VpcEndpoint, Failure> {
        let Desired {
            vpc_id,
            service_name,
            endpoint_type,
            route_table_ids,
            subnet_ids,
            security_group_ids,
            policy,
            private_dns_enabled,
            ip_address_type,
            dns_options,
        } = desired;
        let call = aws
            .ec2_once()
            .create_vpc_endpoint()
            .vpc_id(vpc_id.expose())
            .service_name(service_name.expose())
            .set_vpc_endpoint_type(endpoint_type.as_ref().map(|kind| kind.expose().as_str().into()))
            .set_route_table_ids(exposed(route_table_ids.as_ref()))
            .set_subnet_ids(exposed(subnet_ids.as_ref()))
            .set_security_group_ids(exposed(security_group_ids.as_ref()))
            .set_policy_document(policy.as_ref().map(|policy| policy.expose().text()))
            .set_private_dns_enabled(exposed(private_dns_enabled.as_ref()))
            .set_ip_address_type(ip_address_type.as_ref().map(|kind| kind.expose().as_str().into()))
            .set_dns_options(dns_options.as_ref().map(specification))
            .client_token(&creation.launch.token)
            .set_tag_specifications(Some(creation.specifications(ResourceType::VpcEndpoint)));
        let made = aws.call("CreateVpcEndpoint", "failed to create the VPC endpoint", call.send()).await;
        Ok(made.map_err(explained)?.vpc_endpoint.map(VpcEndpoint::from).unwrap_or_default())
    }

    /// One call for all fields that differ.
    async fn update(
        aws: &Aws,
        change: &Change,
        desired: &Desired,
        endpoint: &VpcEndpoint,
    ) -> Result<(), Failure> {
        let Change::Modify = change;
        let Desired {
            vpc_id: _,
            service_name: _,
            endpoint_type: _, // immutable
            route_table_ids,
            subnet_ids,
            security_group_ids,
            policy,
            private_dns_enabled,
            ip_address_type,
            dns_options,
        } = desired;
        let (tables, subnets) = (&endpoint.route_table_ids, &endpoint.subnet_ids);
        let groups = endpoint.group_ids();
        let is_other = |wanted: &&Joined<Document>| {
            policy::compared("policy", wanted, &endpoint.policy_document, ()).is_some()
        };
        let kind =
            exposed(ip_address_type.as_ref()).filter(|kind| Some(kind) != endpoint.ip_address_type.as_ref());
        let differs = |options: &&DesiredDnsOptions| !options.differences("", endpoint, || ()).is_empty();
        let call = aws
            .ec2()
            .modify_vpc_endpoint()
            .vpc_endpoint_id(&endpoint.vpc_endpoint_id)
            .set_add_route_table_ids(added(route_table_ids.as_ref(), tables))
            .set_remove_route_table_ids(removed(route_table_ids.as_ref(), tables))
            .set_add_subnet_ids(added(subnet_ids.as_ref(), subnets))
            .set_remove_subnet_ids(removed(subnet_ids.as_ref(), subnets))
            .set_add_security_group_ids(added(security_group_ids.as_ref(), &groups))
            .set_remove_security_group_ids(removed(security_group_ids.as_ref(), &groups))
            .set_policy_document(policy.as_ref().filter(is_other).map(|policy| policy.expose().text()))
            .set_private_dns_enabled(
                exposed(private_dns_enabled.as_ref()).filter(|on| Some(*on) != endpoint.private_dns_enabled),
            )
            .set_ip_address_type(kind.map(|kind| kind.as_str().into()))
            .set_dns_options(dns_options.as_ref().filter(differs).map(specification));
        let result = aws.call("ModifyVpcEndpoint", "failed to change the VPC endpoint", call.send()).await;
        result.map(drop).map_err(explained)
    }

    /// The call succeeds also if the endpoint is not deleted, and says so in its response.
    async fn delete(aws: &Aws, endpoint: &VpcEndpoint) -> Result<(), Failure> {
        let call = aws.ec2().delete_vpc_endpoints().vpc_endpoint_ids(&endpoint.vpc_endpoint_id);
        let answer = aws.call("DeleteVpcEndpoints", DELETE, call.send()).await?;
        let failed = answer.unsuccessful.unwrap_or_default().into_iter().next();
        failed.and_then(|item| item.error).map_or(Ok(()), |error| {
            let (code, message) = (error.code.unwrap_or_default(), error.message.unwrap_or_default());
            Err(Failure { class: class_of(&code, 400, &message), action: DELETE.to_owned(), code, message })
        })
    }
}

/// AWS returns the prefix list of a gateway endpoint only by the name of its service: one call for all of them.
async fn add_prefix_lists(aws: &Aws, endpoints: &mut [VpcEndpoint]) -> Result<(), Failure> {
    let gateways = || endpoints.iter().filter(|endpoint| endpoint.is_of_type("Gateway"));
    let names: BTreeSet<String> = gateways().filter_map(|gateway| gateway.service_name.clone()).collect();
    if names.is_empty() {
        return Ok(());
    }
    let filters = filter("prefix-list-name", names.into_iter().collect());
    let pages = aws.ec2().describe_prefix_lists().filters(filters).into_paginator().send();
    let action = "failed to describe the prefix lists of services";
    let lists: Vec<PrefixList> =
        aws.items("DescribePrefixLists", action, pages, |page| page.prefix_lists).await?;
    for endpoint in endpoints.iter_mut().filter(|endpoint| endpoint.is_of_type("Gateway")) {
        let list = lists.iter().find(|list| list.prefix_list_name == endpoint.service_name);
        endpoint.prefix_list_id = list.and_then(|list| list.prefix_list_id.clone());
    }
    Ok(())
}

fn specification(options: &DesiredDnsOptions) -> DnsOptionsSpecification {
    let DesiredDnsOptions { dns_record_ip_type: kind, private_dns_only_for_inbound_resolver_endpoint } =
        options;
    DnsOptionsSpecification::builder()
        .set_dns_record_ip_type(kind.as_ref().map(|kind| kind.expose().as_str().into()))
        .set_private_dns_only_for_inbound_resolver_endpoint(exposed(
            private_dns_only_for_inbound_resolver_endpoint.as_ref(),
        ))
        .build()
}

fn added(wanted: Option<&Resolved<Vec<String>>>, have: &[String]) -> Option<Vec<String>> {
    Some(wanted?.expose().iter().filter(|id| !have.contains(id)).cloned().collect())
}

fn removed(wanted: Option<&Resolved<Vec<String>>>, have: &[String]) -> Option<Vec<String>> {
    let wanted = wanted?.expose();
    Some(have.iter().filter(|id| !wanted.contains(id)).cloned().collect())
}

/// A route table has one endpoint of a service. The code is also that of a stale read of a route.
fn explained(failure: Failure) -> Failure {
    if failure.code != "RouteAlreadyExists" {
        return failure;
    }
    let message = format!(
        "{}; a route table can have only one endpoint of a service: remove it from the other one first",
        failure.message.trim_end_matches('.')
    );
    Failure { class: FailureClass::Terminal, message, ..failure }
}
