//! Subnets in AWS.

use kraken_aws::{
    Aws, AwsResource, TagOptions, Tags, cidr,
    ec2::types::{self, AttributeBooleanValue, ResourceType},
    fields::shown,
    lookup::Tagged,
    release::filter,
    resolved::exposed,
    resource::{Creation, DescribeQuery, Phase, RemoteObject},
    tags,
};
use kraken_spoke::{Difference, Failure, Resolver};
use serde::Serialize;

use crate::dependents::{self, Of};

use super::{
    api::{Subnet as Resource, SubnetSpec},
    desired::{self, Change, Desired},
};

/// The kind Subnet.
pub(crate) struct Subnets;

/// An observed subnet, which is the published state.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Subnet {
    pub(super) subnet_id: String,
    pub(super) subnet_arn: Option<String>,
    pub(super) vpc_id: Option<String>,
    pub(super) cidr_block: Option<String>,
    pub(super) availability_zone: Option<String>,
    pub(super) availability_zone_id: Option<String>,
    pub(super) map_public_ip_on_launch: Option<bool>,
    pub(super) state: String,
    pub(super) owner_id: Option<String>,
    #[serde(serialize_with = "tags::written")]
    pub(super) tags: Tags,
}

impl Tagged for Subnet {
    fn id(&self) -> &str {
        &self.subnet_id
    }

    fn tags(&self) -> &Tags {
        &self.tags
    }
}

impl RemoteObject for Subnet {
    fn phase(&self) -> Phase {
        match &*self.state {
            "pending" => Phase::Settling(self.state.clone()),
            "failed" | "failed-insufficient-capacity" => Phase::Failed(self.state.clone()),
            _ => Phase::Up,
        }
    }
}

fn subnet(subnet: types::Subnet) -> Subnet {
    Subnet {
        subnet_id: subnet.subnet_id.unwrap_or_default(),
        subnet_arn: subnet.subnet_arn,
        vpc_id: subnet.vpc_id,
        cidr_block: subnet.cidr_block,
        availability_zone: subnet.availability_zone,
        availability_zone_id: subnet.availability_zone_id,
        map_public_ip_on_launch: subnet.map_public_ip_on_launch,
        state: subnet.state.map(|state| state.as_str().to_owned()).unwrap_or_default(),
        owner_id: subnet.owner_id,
        tags: tags::from_sdk(&subnet.tags.unwrap_or_default()),
    }
}

impl AwsResource for Subnets {
    type Kind = Resource;
    type Desired = Desired;
    type RemoteObject = Subnet;
    type Change = Change;
    const NOUN: &'static str = "subnet";
    const STATE_KEY: &'static str = "subnet";
    const SECRET_FIELD_PATHS: &[(&str, &[&str])] = &[
        ("vpcID", &["subnet.VpcId"]),
        ("cidrBlock", &["subnet.CidrBlock"]),
        ("availabilityZone", &["subnet.AvailabilityZone", "subnet.AvailabilityZoneId"]),
        ("mapPublicIPOnLaunch", &["subnet.MapPublicIpOnLaunch"]),
    ];
    const SUMMARY: &[(&str, &str)] =
        &[("CIDR", "subnet.CidrBlock"), ("Zone", "subnet.AvailabilityZone"), ("State", "subnet.State")];

    fn desired(spec: &SubnetSpec, values: &mut Resolver<'_>) -> Option<Desired> {
        desired::desired(spec, values)
    }

    fn tags(spec: &SubnetSpec) -> &TagOptions {
        &spec.tags
    }

    fn differences(desired: &Desired, subnet: &Subnet) -> Vec<Difference<Change>> {
        desired::differences(desired, subnet)
    }

    async fn read(aws: &Aws, query: DescribeQuery) -> Result<Vec<Subnet>, Failure> {
        let call = aws.ec2().describe_subnets().set_subnet_ids(query.ids).set_filters(query.filters);
        let pages = call.into_paginator().send();
        let pages = aws.pages("DescribeSubnets", "failed to describe subnets", pages).await?;
        Ok(pages.into_iter().flat_map(|page| page.subnets.unwrap_or_default()).map(subnet).collect())
    }

    async fn create(aws: &Aws, desired: &Desired, creation: &Creation<'_>) -> Result<Subnet, Failure> {
        let call = aws
            .ec2_once()
            .create_subnet()
            .vpc_id(desired.vpc_id.expose())
            .cidr_block(desired.cidr_block.expose())
            .set_availability_zone(exposed(desired.availability_zone.as_ref()))
            .set_tag_specifications(Some(creation.specifications(ResourceType::Subnet)));
        match aws.call("CreateSubnet", "failed to create the subnet", call.send()).await {
            Ok(made) => Ok(made.subnet.map(subnet).unwrap_or_default()),
            Err(failure) if failure.code == "InvalidSubnet.Conflict" => {
                let filters = Some(vec![filter("vpc-id", vec![desired.vpc_id.expose().clone()])]);
                let mut others = Self::read(aws, DescribeQuery { ids: None, filters }).await?;
                others.retain(|other| {
                    let block = other.cidr_block.as_deref().unwrap_or_default();
                    cidr::overlap(block, desired.cidr_block.expose())
                });
                Err(creation.is_taken(failure, &format!("cidrBlock {}", shown(&desired.cidr_block)), &others))
            }
            Err(failure) => Err(failure),
        }
    }

    async fn update(aws: &Aws, change: &Change, _: &Desired, subnet: &Subnet) -> Result<(), Failure> {
        let Change::MapPublicIpOnLaunch(on) = change;
        let on = AttributeBooleanValue::builder().value(*on).build();
        let call =
            aws.ec2().modify_subnet_attribute().subnet_id(&subnet.subnet_id).map_public_ip_on_launch(on);
        let action = "failed to change public addresses at launch";
        aws.call("ModifySubnetAttribute", action, call.send()).await.map(drop)
    }

    async fn delete(aws: &Aws, subnet: &Subnet) -> Result<(), Failure> {
        let call = aws.ec2().delete_subnet().subnet_id(&subnet.subnet_id);
        let result = aws.call("DeleteSubnet", "failed to delete the subnet", call.send()).await;
        dependents::named(aws, result, Of::Subnet(&subnet.subnet_id)).await
    }
}
