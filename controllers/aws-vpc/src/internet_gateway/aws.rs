//! Internet gateways in AWS.

use kraken_aws::{
    Aws, AwsResource, TagOptions, Tags,
    ec2::types::{self, ResourceType},
    lookup::Tagged,
    missing::unless_done,
    release::filter,
    resource::{Creation, DescribeQuery, RemoteObject},
    tags,
};
use kraken_spoke::{Difference, Failure, FailureClass, Resolver};
use serde::Serialize;

use crate::dependents::{self, Of};

use super::{
    api::{InternetGateway as Resource, InternetGatewaySpec},
    desired::{self, Change, Desired},
};

/// The kind InternetGateway.
pub(crate) struct InternetGateways;

/// An observed internet gateway, which is the published state.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct InternetGateway {
    pub(super) internet_gateway_id: String,
    pub(super) attachments: Vec<Attachment>,
    pub(super) owner_id: Option<String>,
    #[serde(serialize_with = "tags::written")]
    pub(super) tags: Tags,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Attachment {
    pub(super) vpc_id: String,
    pub(super) state: String,
}

impl InternetGateway {
    /// The VPC that it is attached to, or that it is being attached to.
    pub(super) fn attached_to(&self) -> Option<String> {
        let is_there = |a: &&Attachment| matches!(&*a.state, "attaching" | "attached" | "available");
        self.attachments.iter().find(is_there).map(|attachment| attachment.vpc_id.clone())
    }

    #[cfg(test)]
    pub(super) fn with_attachment(mut self, vpc_id: &str, state: &str) -> Self {
        self.attachments = vec![Attachment { vpc_id: vpc_id.to_owned(), state: state.to_owned() }];
        self
    }
}

impl Tagged for InternetGateway {
    fn id(&self) -> &str {
        &self.internet_gateway_id
    }

    fn tags(&self) -> &Tags {
        &self.tags
    }
}

impl RemoteObject for InternetGateway {}

fn gateway(gateway: types::InternetGateway) -> InternetGateway {
    let attachment = |attachment: types::InternetGatewayAttachment| Attachment {
        vpc_id: attachment.vpc_id.unwrap_or_default(),
        state: attachment.state.map(|state| state.as_str().to_owned()).unwrap_or_default(),
    };
    InternetGateway {
        internet_gateway_id: gateway.internet_gateway_id.unwrap_or_default(),
        attachments: gateway.attachments.unwrap_or_default().into_iter().map(attachment).collect(),
        owner_id: gateway.owner_id,
        tags: tags::from_sdk(&gateway.tags.unwrap_or_default()),
    }
}

impl AwsResource for InternetGateways {
    type Kind = Resource;
    type Desired = Desired;
    type RemoteObject = InternetGateway;
    type Change = Change;
    const NOUN: &'static str = "internet gateway";
    const STATE_KEY: &'static str = "internetGateway";
    const SECRET_FIELD_PATHS: &[(&str, &[&str])] = &[("vpcID", &["internetGateway.Attachments.VpcId"])];
    const SUMMARY: &[(&str, &str)] =
        &[("VPC", "internetGateway.Attachments.0.VpcId"), ("State", "internetGateway.Attachments.0.State")];

    fn desired(spec: &InternetGatewaySpec, values: &mut Resolver<'_>) -> Option<Desired> {
        desired::desired(spec, values)
    }

    fn tags(spec: &InternetGatewaySpec) -> &TagOptions {
        &spec.tags
    }

    fn differences(desired: &Desired, gateway: &InternetGateway) -> Vec<Difference<Change>> {
        desired::differences(desired, gateway)
    }

    async fn read(aws: &Aws, query: DescribeQuery) -> Result<Vec<InternetGateway>, Failure> {
        let call = aws
            .ec2()
            .describe_internet_gateways()
            .set_internet_gateway_ids(query.ids)
            .set_filters(query.filters);
        let pages = call.into_paginator().send();
        let pages =
            aws.pages("DescribeInternetGateways", "failed to describe internet gateways", pages).await?;
        let found = pages.into_iter().flat_map(|page| page.internet_gateways.unwrap_or_default());
        Ok(found.map(gateway).collect())
    }

    async fn create(aws: &Aws, _: &Desired, creation: &Creation<'_>) -> Result<InternetGateway, Failure> {
        let tags = creation.specifications(ResourceType::InternetGateway);
        let call = aws.ec2_once().create_internet_gateway().set_tag_specifications(Some(tags));
        let made = aws.call("CreateInternetGateway", "failed to create the gateway", call.send()).await?;
        Ok(made.internet_gateway.map(gateway).unwrap_or_default())
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
    let filters = Some(vec![filter("attachment.vpc-id", vec![vpc_id.to_owned()])]);
    let attached = InternetGateways::read(aws, DescribeQuery { ids: None, filters }).await?;
    match attached.first() {
        Some(gateway) if gateway.internet_gateway_id == id => Ok(()),
        Some(other) => {
            let of = tags::owner(&other.tags).map(|owner| format!(" of {}", owner.owner)).unwrap_or_default();
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
        aws.ec2().detach_internet_gateway().internet_gateway_id(&gateway.internet_gateway_id).vpc_id(&vpc_id);
    let result = aws.call("DetachInternetGateway", "failed to detach the gateway", call.send()).await;
    let result = unless_done(result, &["Gateway.NotAttached"]);
    dependents::named(aws, result, Of::Attachment(&vpc_id)).await
}
