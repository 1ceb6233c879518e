//! Security groups in AWS.

use kraken_aws::{
    Aws, AwsResource, AwsSpec, TagOptions, Tags,
    ec2::types::{self, ResourceType},
    fields::shown,
    lookup::Tagged,
    release::filter,
    resolved::exposed,
    resource::{Creation, DescribeQuery, RemoteObject},
    tags,
};
use kraken_spoke::{Difference, Failure, Resolver};
use serde::Serialize;

use crate::dependents::{self, Of};

use super::{
    api::{SecurityGroup as Resource, SecurityGroupSpec},
    calls,
    desired::{self, Desired},
    permission::{IpPermission, permissions},
    rule::Entry,
    rule_changes::{Change, Direction},
};

/// The kind SecurityGroup.
pub(crate) struct SecurityGroups;

/// An observed security group, which is the published state. Its rules are sorted, because AWS's order varies.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct SecurityGroup {
    pub(super) group_id: String,
    pub(super) group_name: Option<String>,
    pub(super) security_group_arn: Option<String>,
    pub(super) vpc_id: Option<String>,
    pub(super) description: Option<String>,
    pub(super) owner_id: Option<String>,
    pub(super) ip_permissions: Vec<IpPermission>,
    pub(super) ip_permissions_egress: Vec<IpPermission>,
    #[serde(serialize_with = "tags::written")]
    pub(super) tags: Tags,
}

impl SecurityGroup {
    /// Its rules as single permissions.
    pub(super) fn entries(&self, direction: Direction) -> Vec<Entry> {
        let all = match direction {
            Direction::Ingress => &self.ip_permissions,
            Direction::Egress => &self.ip_permissions_egress,
        };
        all.iter().flat_map(IpPermission::entries).collect()
    }

    #[cfg(test)]
    pub(super) fn with_rules(id: &str, vpc_id: &str, ingress: impl Iterator<Item = Entry>) -> Self {
        Self {
            group_id: id.to_owned(),
            vpc_id: Some(vpc_id.to_owned()),
            ip_permissions: permissions(ingress.map(|entry| super::permission::to_sdk(&entry)).collect()),
            ..Self::default()
        }
    }
}

impl Tagged for SecurityGroup {
    fn id(&self) -> &str {
        &self.group_id
    }

    fn tags(&self) -> &Tags {
        &self.tags
    }
}

impl RemoteObject for SecurityGroup {}

fn group(group: types::SecurityGroup) -> SecurityGroup {
    SecurityGroup {
        group_id: group.group_id.unwrap_or_default(),
        group_name: group.group_name,
        security_group_arn: group.security_group_arn,
        vpc_id: group.vpc_id,
        description: group.description,
        owner_id: group.owner_id,
        ip_permissions: permissions(group.ip_permissions.unwrap_or_default()),
        ip_permissions_egress: permissions(group.ip_permissions_egress.unwrap_or_default()),
        tags: tags::from_sdk(&group.tags.unwrap_or_default()),
    }
}

impl AwsSpec for SecurityGroupSpec {
    type Desired = Desired;
    type Observed = SecurityGroup;
    type Change = Change;
    const NOUN: &'static str = "security group";
    const STATE_KEY: &'static str = "securityGroup";
    const SECRET_FIELD_PATHS: &[(&str, &[&str])] = &[
        ("vpcID", &["securityGroup.VpcId"]),
        ("description", &["securityGroup.Description"]),
        ("ingress", &["securityGroup.IpPermissions"]),
        ("egress", &["securityGroup.IpPermissionsEgress"]),
    ];
    const SUMMARY: &[(&str, &str)] =
        &[("Group Name", "securityGroup.GroupName"), ("VPC", "securityGroup.VpcId")];
    const DRIFT_PATHS: &[&str] = &["ingress.description", "egress.description"];

    fn desired(&self, values: &mut Resolver<'_>) -> Option<Desired> {
        desired::desired(self, values)
    }

    fn tags(&self) -> &TagOptions {
        &self.tags
    }

    fn differences(desired: &Desired, group: &SecurityGroup) -> Vec<Difference<Change>> {
        desired::differences(desired, group)
    }
}

impl AwsResource for SecurityGroups {
    type Kind = Resource;
    /// A name is unique in a VPC.
    const IS_IDEMPOTENT: bool = true;
    const IDEMPOTENT_BY_NAME: bool = true;

    async fn read(aws: &Aws, query: DescribeQuery) -> Result<Vec<SecurityGroup>, Failure> {
        let call = aws.ec2().describe_security_groups().set_group_ids(query.ids).set_filters(query.filters);
        let pages = call.into_paginator().send();
        let pages = aws.pages("DescribeSecurityGroups", "failed to describe security groups", pages).await?;
        Ok(pages.into_iter().flat_map(|page| page.security_groups.unwrap_or_default()).map(group).collect())
    }

    async fn create(aws: &Aws, desired: &Desired, creation: &Creation<'_>) -> Result<SecurityGroup, Failure> {
        let name = exposed(desired.group_name.as_ref()).unwrap_or_else(|| creation.name());
        let description = desired.description.as_ref().map_or("Managed by Kraken", |text| text.expose());
        let call = aws
            .ec2_once()
            .create_security_group()
            .vpc_id(desired.vpc_id.expose())
            .group_name(&name)
            .description(description)
            .set_tag_specifications(Some(creation.specifications(ResourceType::SecurityGroup)));
        match aws.call("CreateSecurityGroup", "failed to create the security group", call.send()).await {
            Ok(made) => {
                Ok(SecurityGroup { group_id: made.group_id.unwrap_or_default(), ..Default::default() })
            }
            Err(failure) if failure.code == "InvalidGroup.Duplicate" => {
                let filters = [("vpc-id", desired.vpc_id.expose()), ("group-name", &name)];
                let filters = filters.map(|(key, value)| filter(key, vec![value.clone()])).into();
                let others = Self::read(aws, DescribeQuery { ids: None, filters: Some(filters) }).await?;
                let shown = desired.group_name.as_ref().map_or(name, shown);
                Err(creation.is_taken(failure, &format!("groupName {shown}"), &others))
            }
            Err(failure) => Err(failure),
        }
    }

    async fn update(
        aws: &Aws,
        change: &Change,
        desired: &Desired,
        group: &SecurityGroup,
    ) -> Result<(), Failure> {
        calls::change(aws, change, desired, group).await
    }

    async fn delete(aws: &Aws, group: &SecurityGroup) -> Result<(), Failure> {
        let call = aws.ec2().delete_security_group().group_id(&group.group_id);
        let result =
            aws.call("DeleteSecurityGroup", "failed to delete the security group", call.send()).await;
        dependents::named(aws, result, Of::SecurityGroup(&group.group_id)).await
    }
}
