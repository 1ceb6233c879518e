//! The calls of subnet groups.

use kraken_aws::{Tags, prelude::*};

use super::{
    api::{self, Change, DBSubnetGroupSpec, Desired, PartialDesired},
    observed::SubnetGroup,
};
use crate::{
    named::{self, Named},
    rds::{self, PAGE, RdsClients as _, to_sdk},
};

/// The kind DBSubnetGroup.
pub(crate) struct SubnetGroups;

impl DBSubnetGroupSpec {
    pub(super) fn between_fields(&self, partial: &PartialDesired, validator: &mut SpecValidator<'_, '_>) {
        if partial.name.as_ref().and_then(Option::as_ref).is_some_and(|name| name.expose() == "default") {
            validator.problem("name", "must not be default, which is reserved for AWS");
        }
        if partial.subnet_ids.as_ref().is_some_and(|ids| ids.expose().is_empty()) {
            validator.problem("subnetIDs", "must have at least 1 item");
        }
    }
}

impl Named for SubnetGroup {
    async fn describe(aws: &Aws, name: Option<String>) -> Result<Vec<Self>, Failure> {
        let call = aws.rds().describe_db_subnet_groups().set_db_subnet_group_name(name).max_records(PAGE);
        let (action, pages) = ("failed to describe subnet groups", call.into_paginator().send());
        aws.items("DescribeDBSubnetGroups", action, pages, |page| page.db_subnet_groups).await
    }
}

impl AwsResource for SubnetGroups {
    type Kind = api::DBSubnetGroup;
    /// By its name, which is unique in the account and region.
    const FEATURES: Features = Features { is_idempotent: true, idempotent_by_name: true, ..Features::NONE };
    const NAMED_BY: &'static str = "dbSubnetGroupName";

    async fn within(aws: &Aws, place: &str) -> Result<Vec<SubnetGroup>, Failure> {
        let mut found = Self::read(aws, DescribeQuery { ids: None, filters: None }).await?;
        found.retain(|group| group.vpc_id.as_deref() == Some(place));
        Ok(found)
    }

    async fn read(aws: &Aws, query: DescribeQuery) -> Result<Vec<SubnetGroup>, Failure> {
        named::read(aws, query).await
    }

    async fn create(aws: &Aws, desired: &Desired, creation: &Creation<'_>) -> Result<SubnetGroup, Failure> {
        let Desired { name, description, subnet_ids } = desired;
        let name = exposed(name.as_ref()).unwrap_or_else(|| creation.name());
        let call = aws
            .rds_once()
            .create_db_subnet_group()
            .db_subnet_group_name(&name)
            .db_subnet_group_description(exposed(description.as_ref()).unwrap_or_else(|| name.clone()))
            .set_subnet_ids(Some(subnet_ids.expose().clone()))
            .set_tags(Some(to_sdk(creation.tags)));
        let made = aws.call("CreateDBSubnetGroup", "failed to create the subnet group", call.send()).await;
        let made = made.map(|made| made.db_subnet_group.map(SubnetGroup::from).unwrap_or_default());
        named::created(aws, &name, creation, made).await
    }

    /// The call needs the subnets, and keeps a description that it does not have.
    async fn update(
        aws: &Aws,
        change: &Change,
        desired: &Desired,
        group: &SubnetGroup,
    ) -> Result<(), Failure> {
        let (description, subnet_ids) = match change {
            Change::Description => (exposed(desired.description.as_ref()), group.subnet_ids()),
            Change::Subnets => (None, desired.subnet_ids.expose().clone()),
        };
        let call = aws
            .rds()
            .modify_db_subnet_group()
            .db_subnet_group_name(&group.db_subnet_group_name)
            .set_db_subnet_group_description(description)
            .set_subnet_ids(Some(subnet_ids));
        aws.call("ModifyDBSubnetGroup", "failed to change the subnet group", call.send()).await.map(drop)
    }

    async fn delete(aws: &Aws, group: &SubnetGroup) -> Result<(), Failure> {
        let call = aws.rds().delete_db_subnet_group().db_subnet_group_name(&group.db_subnet_group_name);
        aws.call("DeleteDBSubnetGroup", "failed to delete the subnet group", call.send()).await.map(drop)
    }

    async fn set_tags(aws: &Aws, id: &str, tags: &Tags) -> Result<(), Failure> {
        rds::set_tags(aws, id, tags).await
    }

    async fn remove_tags(aws: &Aws, id: &str, keys: &[&str]) -> Result<(), Failure> {
        rds::remove_tags(aws, id, keys).await
    }
}
