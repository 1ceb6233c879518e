//! The calls of VPCs.

use kraken_aws::{
    Aws, AwsResource,
    ec2::types::{self, AttributeBooleanValue, ResourceType, Tenancy, VpcAttributeName},
    from_sdk,
    missing::unless_done,
    resource::{Creation, DescribeQuery, FromSdk as _},
};
use kraken_spoke::Failure;

use super::{
    api::{self, Change, Desired},
    observed::{Association, BlockState, Vpc},
};
use crate::dependents::{self, Of};

/// The kind VPC.
pub(crate) struct Vpcs;

from_sdk!(types::Vpc as vpc => Vpc {
    vpc_id, cidr_block, state, cidr_block_association_set, is_default, instance_tenancy, dhcp_options_id, owner_id, tags;
    dns_support: None,
    dns_hostnames: None,
});

from_sdk!(types::VpcCidrBlockAssociation as association => Association {
    association_id, cidr_block;
    cidr_block_state: BlockState { state: String::of(association.cidr_block_state.and_then(|state| state.state)) },
});

impl AwsResource for Vpcs {
    type Kind = api::VPC;

    async fn read(aws: &Aws, query: DescribeQuery) -> Result<Vec<Vpc>, Failure> {
        let call = aws.ec2().describe_vpcs().set_vpc_ids(query.ids).set_filters(query.filters);
        let pages = call.into_paginator().send();
        aws.items("DescribeVpcs", "failed to describe VPCs", pages, |page| page.vpcs).await
    }

    async fn complete(aws: &Aws, vpc: &mut Vpc, deep: bool) -> Result<(), Failure> {
        if deep {
            vpc.dns_support = attribute(aws, &vpc.vpc_id, VpcAttributeName::EnableDnsSupport).await?;
            vpc.dns_hostnames = attribute(aws, &vpc.vpc_id, VpcAttributeName::EnableDnsHostnames).await?;
        }
        Ok(())
    }

    async fn create(aws: &Aws, desired: &Desired, creation: &Creation<'_>) -> Result<Vpc, Failure> {
        // The others are set by changes.
        let Desired { cidr_block, instance_tenancy, .. } = desired;
        let tenancy = instance_tenancy.as_ref().map(|tenancy| Tenancy::from(tenancy.expose().as_str()));
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
        let value = |value: bool| AttributeBooleanValue::builder().value(value).build();
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
                let result = aws.call("AssociateVpcCidrBlock", "failed to add a block", call.send()).await;
                succeeded_if_associated(aws, result.map(drop), &vpc.vpc_id, block).await
            }
            Change::Disassociate(block) => {
                let all = vpc.cidr_block_association_set.iter().filter(|a| a.cidr_block == *block);
                for association in all {
                    let call =
                        aws.ec2().disassociate_vpc_cidr_block().association_id(&association.association_id);
                    let action = "failed to remove a block";
                    let result = aws.call("DisassociateVpcCidrBlock", action, call.send()).await;
                    unless_done(result, &["InvalidVpcCidrBlockAssociationID.NotFound"])?;
                }
                Ok(())
            }
        }
    }

    async fn delete(aws: &Aws, vpc: &Vpc) -> Result<(), Failure> {
        let call = aws.ec2().delete_vpc().vpc_id(&vpc.vpc_id);
        let result = aws.call("DeleteVpc", "failed to delete the VPC", call.send()).await;
        dependents::named(aws, result, Of::Vpc(&vpc.vpc_id)).await
    }
}

/// AWS rejects an existing block with the same error as an overlapping one.
async fn succeeded_if_associated(
    aws: &Aws,
    result: Result<(), Failure>,
    id: &str,
    block: &String,
) -> Result<(), Failure> {
    match result {
        Err(failure) if failure.code == "CidrConflict" => {
            let found = Vpcs::read(aws, DescribeQuery::of(id)).await?;
            let is_there = found.iter().any(|vpc| vpc.secondary_cidr_blocks().contains(block));
            if is_there { Ok(()) } else { Err(failure) }
        }
        result => result,
    }
}

async fn attribute(aws: &Aws, id: &str, name: VpcAttributeName) -> Result<Option<bool>, Failure> {
    let call = aws.ec2().describe_vpc_attribute().vpc_id(id).attribute(name);
    let found = aws
        .call("DescribeVpcAttribute", "failed to describe the DNS attributes of the VPC", call.send())
        .await?;
    let one = found.enable_dns_support.or(found.enable_dns_hostnames);
    Ok(one.and_then(|value| value.value))
}
