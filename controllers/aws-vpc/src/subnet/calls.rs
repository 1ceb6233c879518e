//! The calls of subnets.

use kraken_aws::{cidr, ec2::types::AttributeBooleanValue, prelude::*};

use super::{
    api::{self, Change, Desired},
    observed::Subnet,
};
use crate::dependents::{self, Of};

/// The kind Subnet.
pub(crate) struct Subnets;

impl AwsResource for Subnets {
    type Kind = api::Subnet;

    async fn read(aws: &Aws, query: DescribeQuery) -> Result<Vec<Subnet>, Failure> {
        let call = aws.ec2().describe_subnets().set_subnet_ids(query.ids).set_filters(query.filters);
        let pages = call.into_paginator().send();
        aws.items("DescribeSubnets", "failed to describe subnets", pages, |page| page.subnets).await
    }

    async fn create(aws: &Aws, desired: &Desired, creation: &Creation<'_>) -> Result<Subnet, Failure> {
        // Public addresses at launch are set by a change.
        let Desired { vpc_id, cidr_block, availability_zone, map_public_ip_on_launch: _ } = desired;
        let call = aws
            .ec2_once()
            .create_subnet()
            .vpc_id(vpc_id.expose())
            .cidr_block(cidr_block.expose())
            .set_availability_zone(exposed(availability_zone.as_ref()))
            .set_tag_specifications(Some(creation.specifications(ResourceType::Subnet)));
        match aws.call("CreateSubnet", "failed to create the subnet", call.send()).await {
            Ok(made) => Ok(made.subnet.map(Subnet::from).unwrap_or_default()),
            Err(failure) if failure.code == "InvalidSubnet.Conflict" => {
                let mut others = Self::read(aws, DescribeQuery::with("vpc-id", vpc_id.expose())).await?;
                others.retain(|other| {
                    let block = other.cidr_block.as_deref().unwrap_or_default();
                    cidr::overlap(block, cidr_block.expose())
                });
                Err(creation.is_taken(failure, &format!("cidrBlock {}", shown(cidr_block)), &others))
            }
            Err(failure) => Err(failure),
        }
    }

    async fn update(aws: &Aws, change: &Change, _: &Desired, subnet: &Subnet) -> Result<(), Failure> {
        let Change::MapPublicIpOnLaunch(on) = change;
        let on = AttributeBooleanValue::builder().value(*on).build();
        let call =
            aws.ec2().modify_subnet_attribute().subnet_id(&subnet.subnet_id).map_public_ip_on_launch(on);
        let action = "failed to change mapPublicIPOnLaunch";
        aws.call("ModifySubnetAttribute", action, call.send()).await.map(drop)
    }

    async fn delete(aws: &Aws, subnet: &Subnet) -> Result<(), Failure> {
        let call = aws.ec2().delete_subnet().subnet_id(&subnet.subnet_id);
        let result = aws.call("DeleteSubnet", "failed to delete the subnet", call.send()).await;
        dependents::named(aws, result, Of::Subnet(&subnet.subnet_id)).await
    }
}
