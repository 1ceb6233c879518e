//! The calls of internet gateways.

use kraken_aws::{
    Aws, AwsResource,
    ec2::types::{self, ResourceType},
    from_sdk,
    missing::unless_done,
    resource::{Creation, DescribeQuery},
    tags,
};
use kraken_spoke::{Failure, FailureClass};

use super::{
    api::{self, Change, Desired},
    observed::{Attachment, InternetGateway},
};
use crate::dependents::{self, Of};

/// The kind InternetGateway.
pub(crate) struct InternetGateways;

from_sdk!(types::InternetGateway => InternetGateway { internet_gateway_id, attachments, owner_id, tags });
from_sdk!(types::InternetGatewayAttachment => Attachment { vpc_id, state });

impl AwsResource for InternetGateways {
    type Kind = api::InternetGateway;

    async fn read(aws: &Aws, query: DescribeQuery) -> Result<Vec<InternetGateway>, Failure> {
        let call = aws
            .ec2()
            .describe_internet_gateways()
            .set_internet_gateway_ids(query.ids)
            .set_filters(query.filters);
        let pages = call.into_paginator().send();
        let action = "failed to describe internet gateways";
        aws.items("DescribeInternetGateways", action, pages, |page| page.internet_gateways).await
    }

    async fn create(aws: &Aws, _: &Desired, creation: &Creation<'_>) -> Result<InternetGateway, Failure> {
        let tags = creation.specifications(ResourceType::InternetGateway);
        let call = aws.ec2_once().create_internet_gateway().set_tag_specifications(Some(tags));
        let made = aws.call("CreateInternetGateway", "failed to create the gateway", call.send()).await?;
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
        attach(aws, &gateway.internet_gateway_id, vpc_id.expose()).await
    }

    async fn delete(aws: &Aws, gateway: &InternetGateway) -> Result<(), Failure> {
        detach(aws, gateway).await?;
        let call = aws.ec2().delete_internet_gateway().internet_gateway_id(&gateway.internet_gateway_id);
        aws.call("DeleteInternetGateway", "failed to delete the gateway", call.send()).await.map(drop)
    }
}

/// A VPC can have only one internet gateway. If AWS reports one, the call succeeds if it is this one.
async fn attach(aws: &Aws, id: &str, vpc_id: &str) -> Result<(), Failure> {
    let call = aws.ec2().attach_internet_gateway().internet_gateway_id(id).vpc_id(vpc_id);
    let result = aws.call("AttachInternetGateway", "failed to attach the gateway", call.send()).await;
    let failure = match result {
        Ok(_) => return Ok(()),
        Err(failure) if matches!(&*failure.code, "Resource.AlreadyAssociated" | "InvalidParameterValue") => {
            failure
        }
        Err(failure) => return Err(failure),
    };
    let attached = InternetGateways::read(aws, DescribeQuery::with("attachment.vpc-id", vpc_id)).await?;
    match attached.first() {
        Some(gateway) if gateway.internet_gateway_id == id => Ok(()),
        Some(other) => {
            let of = tags::of_owner(&other.tags);
            let other = &other.internet_gateway_id;
            let message =
                format!("{vpc_id} has the internet gateway {other}{of} already, and can have only one");
            Err(Failure { class: FailureClass::Terminal, message, ..failure })
        }
        None => Err(failure),
    }
}

async fn detach(aws: &Aws, gateway: &InternetGateway) -> Result<(), Failure> {
    let Some(vpc_id) = gateway.attached_to() else { return Ok(()) };
    let call =
        aws.ec2().detach_internet_gateway().internet_gateway_id(&gateway.internet_gateway_id).vpc_id(vpc_id);
    let result = aws.call("DetachInternetGateway", "failed to detach the gateway", call.send()).await;
    let result = unless_done(result, &["Gateway.NotAttached"]);
    dependents::named(aws, result, Of::Attachment(vpc_id)).await
}
