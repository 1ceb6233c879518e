//! VPCs in AWS.

use kraken_aws::{
    Aws, AwsResource, TagOptions, Tags,
    ec2::types::{self, AttributeBooleanValue, ResourceType, Tenancy, VpcAttributeName},
    lookup::Tagged,
    missing::unless_done,
    resource::{Creation, DescribeQuery, Phase, RemoteObject},
    tags,
};
use kraken_spoke::{Difference, Failure, Resolver};
use serde::Serialize;

use crate::dependents::{self, Of};

use super::{
    api::{VPC, VPCSpec},
    desired::{self, Change, Desired},
};

/// The kind VPC.
pub(crate) struct Vpcs;

/// An observed VPC, which is the published state.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Vpc {
    pub(super) vpc_id: String,
    pub(super) cidr_block: Option<String>,
    pub(super) state: String,
    pub(super) cidr_block_association_set: Vec<Association>,
    pub(super) is_default: Option<bool>,
    pub(super) instance_tenancy: Option<String>,
    pub(super) dhcp_options_id: Option<String>,
    pub(super) owner_id: Option<String>,
    #[serde(serialize_with = "tags::written")]
    pub(super) tags: Tags,

    /// Not in the state: attributes that need one call per VPC are not read by every observation.
    #[serde(skip)]
    pub(super) dns_support: Option<bool>,
    #[serde(skip)]
    pub(super) dns_hostnames: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Association {
    pub(super) association_id: String,
    pub(super) cidr_block: String,
    pub(super) cidr_block_state: BlockState,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct BlockState {
    pub(super) state: String,
}

impl Vpc {
    /// The current and pending blocks, without the primary one.
    pub(super) fn secondary_cidr_blocks(&self) -> Vec<String> {
        let is_there = |a: &&Association| matches!(&*a.cidr_block_state.state, "associating" | "associated");
        let there = self.cidr_block_association_set.iter().filter(is_there);
        let blocks = there.map(|association| association.cidr_block.clone());
        blocks.filter(|block| Some(block) != self.cidr_block.as_ref()).collect()
    }

    #[cfg(test)]
    pub(super) fn with_blocks(mut self, blocks: &[&str]) -> Self {
        let association = |block: &&str| Association {
            association_id: format!("vpc-cidr-assoc-{block}"),
            cidr_block: (*block).to_owned(),
            cidr_block_state: BlockState { state: "associated".into() },
        };
        self.cidr_block_association_set = blocks.iter().map(association).collect();
        self
    }
}

impl Tagged for Vpc {
    fn id(&self) -> &str {
        &self.vpc_id
    }

    fn tags(&self) -> &Tags {
        &self.tags
    }
}

impl RemoteObject for Vpc {
    fn phase(&self) -> Phase {
        if self.state == "pending" { Phase::Settling(self.state.clone()) } else { Phase::Up }
    }
}

fn vpc(vpc: types::Vpc) -> Vpc {
    let association = |association: types::VpcCidrBlockAssociation| Association {
        association_id: association.association_id.unwrap_or_default(),
        cidr_block: association.cidr_block.unwrap_or_default(),
        cidr_block_state: BlockState {
            state: association
                .cidr_block_state
                .and_then(|state| state.state)
                .map(|state| state.as_str().to_owned())
                .unwrap_or_default(),
        },
    };
    let associations = vpc.cidr_block_association_set.unwrap_or_default();
    Vpc {
        vpc_id: vpc.vpc_id.unwrap_or_default(),
        cidr_block: vpc.cidr_block,
        state: vpc.state.map(|state| state.as_str().to_owned()).unwrap_or_default(),
        cidr_block_association_set: associations.into_iter().map(association).collect(),
        is_default: vpc.is_default,
        instance_tenancy: vpc.instance_tenancy.map(|tenancy| tenancy.as_str().to_owned()),
        dhcp_options_id: vpc.dhcp_options_id,
        owner_id: vpc.owner_id,
        tags: tags::from_sdk(&vpc.tags.unwrap_or_default()),
        dns_support: None,
        dns_hostnames: None,
    }
}

impl AwsResource for Vpcs {
    type Kind = VPC;
    type Desired = Desired;
    type RemoteObject = Vpc;
    type Change = Change;
    const NOUN: &'static str = "VPC";
    const STATE_KEY: &'static str = "vpc";
    const SECRET_FIELD_PATHS: &[(&str, &[&str])] = &[
        ("cidrBlock", &["vpc.CidrBlock", "vpc.CidrBlockAssociationSet"]),
        ("secondaryCIDRBlocks", &["vpc.CidrBlockAssociationSet"]),
        ("enableDNSSupport", &[]),
        ("enableDNSHostnames", &[]),
        ("instanceTenancy", &["vpc.InstanceTenancy"]),
    ];
    const SUMMARY: &[(&str, &str)] = &[("CIDR", "vpc.CidrBlock"), ("State", "vpc.State")];

    fn desired(spec: &VPCSpec, values: &mut Resolver<'_>) -> Option<Desired> {
        desired::desired(spec, values)
    }

    fn tags(spec: &VPCSpec) -> &TagOptions {
        &spec.tags
    }

    fn differences(desired: &Desired, vpc: &Vpc) -> Vec<Difference<Change>> {
        desired::differences(desired, vpc)
    }

    fn needs_deep_observation(desired: &Desired) -> bool {
        desired.dns_support.is_some() || desired.dns_hostnames.is_some()
    }

    async fn read(aws: &Aws, query: DescribeQuery) -> Result<Vec<Vpc>, Failure> {
        let call = aws.ec2().describe_vpcs().set_vpc_ids(query.ids).set_filters(query.filters);
        let pages =
            aws.pages("DescribeVpcs", "failed to describe VPCs", call.into_paginator().send()).await?;
        Ok(pages.into_iter().flat_map(|page| page.vpcs.unwrap_or_default()).map(vpc).collect())
    }

    async fn complete(aws: &Aws, vpc: &mut Vpc, deep: bool) -> Result<(), Failure> {
        if deep {
            vpc.dns_support = attribute(aws, &vpc.vpc_id, VpcAttributeName::EnableDnsSupport).await?;
            vpc.dns_hostnames = attribute(aws, &vpc.vpc_id, VpcAttributeName::EnableDnsHostnames).await?;
        }
        Ok(())
    }

    async fn create(aws: &Aws, desired: &Desired, creation: &Creation<'_>) -> Result<Vpc, Failure> {
        let tenancy =
            desired.instance_tenancy.as_ref().map(|tenancy| Tenancy::from(tenancy.expose().as_str()));
        let call = aws
            .ec2_once()
            .create_vpc()
            .cidr_block(desired.cidr_block.expose())
            .set_instance_tenancy(tenancy)
            .set_tag_specifications(Some(creation.specifications(ResourceType::Vpc)));
        let made = aws.call("CreateVpc", "failed to create the VPC", call.send()).await?;
        Ok(made.vpc.map(vpc).unwrap_or_default())
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
            let ids = Some(vec![id.to_owned()]);
            let found = Vpcs::read(aws, DescribeQuery { ids, filters: None }).await?;
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
