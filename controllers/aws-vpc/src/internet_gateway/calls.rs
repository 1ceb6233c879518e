//! The calls of internet gateways.

use kraken_aws::prelude::*;

use super::{
    api::{self, Change, Desired},
    observed::InternetGateway,
};
use crate::{conflicts::unless_own, dependents};

/// The kind InternetGateway.
pub(crate) struct InternetGateways;

impl AwsResource for InternetGateways {
    type Kind = api::InternetGateway;
    const IN_VPC: &'static str = "attachment.vpc-id";

    async fn read(aws: &Aws, query: DescribeQuery) -> Result<Vec<InternetGateway>, Failure> {
        let DescribeQuery { ids, filters } = query;
        let call = aws.ec2().describe_internet_gateways().set_internet_gateway_ids(ids).set_filters(filters);
        let pages = call.into_paginator().send();
        let action = "failed to describe internet gateways";
        aws.items("DescribeInternetGateways", action, pages, |page| page.internet_gateways).await
    }

    async fn create(aws: &Aws, _: &Desired, creation: &Creation<'_>) -> Result<InternetGateway, Failure> {
        let tags = creation.specifications(ResourceType::InternetGateway);
        let call = aws.ec2_once().create_internet_gateway().set_tag_specifications(Some(tags));
        let made =
            aws.call("CreateInternetGateway", "failed to create the internet gateway", call.send()).await?;
        Ok(made.internet_gateway.map(InternetGateway::from).unwrap_or_default())
    }

    async fn update(
        aws: &Aws,
        change: &Change,
        desired: &Desired,
        gateway: &InternetGateway,
    ) -> Result<(), Failure> {
        let Change::Attach = change;
        let Some(vpc_id) = &desired.vpc_id else { return Ok(()) };
        detach(aws, gateway).await?;
        attach(aws, gateway, vpc_id.expose()).await
    }

    async fn delete(aws: &Aws, gateway: &InternetGateway) -> Result<(), Failure> {
        detach(aws, gateway).await?;
        let call = aws.ec2().delete_internet_gateway().internet_gateway_id(&gateway.internet_gateway_id);
        aws.call("DeleteInternetGateway", "failed to delete the internet gateway", call.send())
            .await
            .map(drop)
    }
}

/// A VPC can have only one internet gateway. If AWS reports one, the call succeeds if it is this one.
async fn attach(aws: &Aws, own: &InternetGateway, vpc_id: &str) -> Result<(), Failure> {
    let call =
        aws.ec2().attach_internet_gateway().internet_gateway_id(&own.internet_gateway_id).vpc_id(vpc_id);
    let result =
        aws.call("AttachInternetGateway", "failed to attach the internet gateway", call.send()).await;
    let attached = InternetGateways::read(aws, DescribeQuery::with("attachment.vpc-id", vpc_id));
    unless_own(result, &["Resource.AlreadyAssociated", "InvalidParameterValue"], own, attached, |other| {
        format!(
            "{vpc_id} has the internet gateway {other} already, and can have only one: detach that one first"
        )
    })
    .await
}

async fn detach(aws: &Aws, gateway: &InternetGateway) -> Result<(), Failure> {
    let Some(vpc_id) = gateway.attached_to() else { return Ok(()) };
    let call =
        aws.ec2().detach_internet_gateway().internet_gateway_id(&gateway.internet_gateway_id).vpc_id(vpc_id);
    let result =
        aws.call("DetachInternetGateway", "failed to detach the internet gateway", call.send()).await;
    let result = ignore_codes(result, &["Gateway.NotAttached"]);
    dependents::named(aws, result, dependents::Of::Attachment(vpc_id)).await
}
