//! The calls of security groups, except for their rules.

use kraken_aws::{prelude::*, release::filter};

use super::{
    api::{self, Desired},
    import,
    observed::SecurityGroup,
    rule::Change,
    rule_calls,
};
use crate::dependents::{self, Of};

/// The kind SecurityGroup.
pub(crate) struct SecurityGroups;

impl AwsResource for SecurityGroups {
    type Kind = api::SecurityGroup;
    /// A name is unique in a VPC.
    const FEATURES: Features = Features { is_idempotent: true, idempotent_by_name: true, ..Features::NONE };

    fn not_importable(group: &SecurityGroup) -> Option<String> {
        import::not_importable(group)
    }

    async fn read(aws: &Aws, query: DescribeQuery) -> Result<Vec<SecurityGroup>, Failure> {
        let call = aws.ec2().describe_security_groups().set_group_ids(query.ids).set_filters(query.filters);
        let pages = call.into_paginator().send();
        let action = "failed to describe security groups";
        aws.items("DescribeSecurityGroups", action, pages, |page| page.security_groups).await
    }

    async fn create(aws: &Aws, desired: &Desired, creation: &Creation<'_>) -> Result<SecurityGroup, Failure> {
        // Rules are added by changes.
        let Desired { vpc_id, group_name, description, ingress: _, egress: _ } = desired;
        let name = exposed(group_name.as_ref()).unwrap_or_else(|| creation.name());
        let description = description.as_ref().map_or("Managed by Kraken", |text| text.expose());
        let call = aws
            .ec2_once()
            .create_security_group()
            .vpc_id(vpc_id.expose())
            .group_name(&name)
            .description(description)
            .set_tag_specifications(Some(creation.specifications(ResourceType::SecurityGroup)));
        match aws.call("CreateSecurityGroup", "failed to create the security group", call.send()).await {
            Ok(made) => {
                Ok(SecurityGroup { group_id: made.group_id.unwrap_or_default(), ..Default::default() })
            }
            Err(failure) if failure.code == "InvalidGroup.Duplicate" => {
                let filters = [("vpc-id", vpc_id.expose()), ("group-name", &name)];
                let filters = filters.map(|(key, value)| filter(key, vec![value.clone()])).into();
                let others = Self::read(aws, DescribeQuery { ids: None, filters: Some(filters) }).await?;
                let shown = group_name.as_ref().map_or(name, shown);
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
        rule_calls::change(aws, change, desired, group).await
    }

    async fn delete(aws: &Aws, group: &SecurityGroup) -> Result<(), Failure> {
        let id = &group.group_id;
        let delete = || async {
            let call = aws.ec2().delete_security_group().group_id(id);
            aws.call("DeleteSecurityGroup", "failed to delete the security group", call.send()).await
        };
        let mut result = delete().await;
        // Of two groups that name each other, neither can be deleted before one has lost its rules. A group that nothing uses needs
        // none.
        if result.as_ref().is_err_and(|failure| failure.code == "DependencyViolation")
            && group.names_others()
            && !dependents::has_interfaces(aws, id).await?
        {
            rule_calls::disconnect(aws, group).await?;
            result = delete().await;
        }
        dependents::named(aws, result, Of::SecurityGroup(id)).await
    }
}
