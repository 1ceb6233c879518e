//! The calls of VPCs.

use kraken_aws::{ec2::types, prelude::*};

use super::{
    api::{self, Change, Desired},
    observed::Vpc,
};
use crate::{conflicts::unless_made, dependents, in_vpc};

/// The kind VPC.
pub(crate) struct Vpcs;

impl AwsResource for Vpcs {
    type Kind = api::VPC;
    const FEATURES: Features =
        Features { ordered_fields: &["enableDNSSupport", "enableDNSHostnames"], ..Features::NONE };

    async fn unsupported(aws: &Aws, place: &str) -> Vec<String> {
        in_vpc::without_kind(aws, place).await
    }

    async fn read(aws: &Aws, query: DescribeQuery) -> Result<Vec<Vpc>, Failure> {
        let call = aws.ec2().describe_vpcs().set_vpc_ids(query.ids).set_filters(query.filters);
        let pages = call.into_paginator().send();
        aws.items("DescribeVpcs", "failed to describe VPCs", pages, |page| page.vpcs).await
    }

    async fn complete(aws: &Aws, vpc: &mut Vpc, deep: bool) -> Result<(), Failure> {
        if deep {
            vpc.dns_support = attribute(aws, &vpc.vpc_id, types::VpcAttributeName::EnableDnsSupport).await?;
            vpc.dns_hostnames =
                attribute(aws, &vpc.vpc_id, types::VpcAttributeName::EnableDnsHostnames).await?;
        }
        Ok(())
    }

    async fn create(aws: &Aws, desired: &Desired, creation: &Creation<'_>) -> Result<Vpc, Failure> {
        // The others are set by changes.
        let Desired { cidr_block, instance_tenancy, .. } = desired;
        let tenancy = instance_tenancy.as_ref().map(|tenancy| tenancy.expose().as_str().into());
        let call = aws
            .ec2_once()
            .create_vpc()
            .cidr_block(cidr_block.expose())
            .set_instance_tenancy(tenancy)
            .set_tag_specifications(Some(creation.specifications(ResourceType::Vpc)));
        let made = aws.call("CreateVpc", "failed to create the VPC", call.send()).await?;
        Ok(made.vpc.map(Vpc::from).unwrap_or_default())
    }

    async fn update(aws: &Aws, change: &Change, _: &Desired, vpc: &Vpc) -> Result<(), Failure> {
        let value = |value: bool| types::AttributeBooleanValue::builder().value(value).build();
        let modify = aws.ec2().modify_vpc_attribute().vpc_id(&vpc.vpc_id);
        match change {
            Change::DnsSupport(on) => {
                let call = modify.enable_dns_support(value(*on));
                aws.call("ModifyVpcAttribute", "failed to change DNS support", call.send()).await.map(drop)
            }
            Change::DnsHostnames(on) => {
                let call = modify.enable_dns_hostnames(value(*on));
                aws.call("ModifyVpcAttribute", "failed to change DNS hostnames", call.send()).await.map(drop)
            }
            Change::Associate(block) => {
                let call = aws.ec2().associate_vpc_cidr_block().vpc_id(&vpc.vpc_id).cidr_block(block);
                let result =
                    aws.call("AssociateVpcCidrBlock", "failed to add a CIDR block", call.send()).await;
                // AWS rejects an existing block with the same error as an overlapping one.
                let read = Self::read(aws, DescribeQuery::of(&vpc.vpc_id));
                unless_made(result, "CidrConflict", read, |vpc| vpc.secondary_cidr_blocks().contains(block))
                    .await
            }
            Change::Disassociate(block) => {
                let all = vpc.cidr_block_association_set.iter().filter(|a| a.cidr_block == *block);
                for association in all {
                    let call =
                        aws.ec2().disassociate_vpc_cidr_block().association_id(&association.association_id);
                    let action = "failed to remove a CIDR block";
                    let result = aws.call("DisassociateVpcCidrBlock", action, call.send()).await;
                    ignore_codes(result, &["InvalidVpcCidrBlockAssociationID.NotFound"])?;
                }
                Ok(())
            }
        }
    }

    async fn delete(aws: &Aws, vpc: &Vpc) -> Result<(), Failure> {
        let call = aws.ec2().delete_vpc().vpc_id(&vpc.vpc_id);
        let result = aws.call("DeleteVpc", "failed to delete the VPC", call.send()).await;
        dependents::named(aws, result, dependents::Of::Vpc(&vpc.vpc_id)).await
    }
}

async fn attribute(aws: &Aws, id: &str, name: types::VpcAttributeName) -> Result<Option<bool>, Failure> {
    let call = aws.ec2().describe_vpc_attribute().vpc_id(id).attribute(name);
    let found = aws
        .call("DescribeVpcAttribute", "failed to describe the DNS attributes of the VPC", call.send())
        .await?;
    let one = found.enable_dns_support.or(found.enable_dns_hostnames);
    Ok(one.and_then(|value| value.value))
}
