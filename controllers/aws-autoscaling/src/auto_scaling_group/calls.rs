//! The calls of Auto Scaling groups.

use kraken_aws::{Tags, prelude::*, tags::PREFIX};
use kraken_kind::FailureClass;

use super::{
    api::{self, Change, Desired},
    observed::Group,
    refresh,
};
use crate::autoscaling::{
    AutoscalingClients as _, MAX_RECORDS, PAGE,
    types::{Filter, LaunchTemplateSpecification, Tag},
};

const CREATE: &str = "failed to create the Auto Scaling group";
const RESOURCE_TYPE: &str = "auto-scaling-group";

/// The kind AutoScalingGroup.
pub(crate) struct AutoScalingGroups;

impl AwsResource for AutoScalingGroups {
    type Kind = api::AutoScalingGroup;
    /// By its name, which is unique in the account and region.
    const FEATURES: Features = Features {
        is_idempotent: true,
        idempotent_by_name: true,
        contains: "all instances",
        ..Features::NONE
    };
    const IN_VPC: &'static str = "";

    fn not_importable(group: &Group) -> Option<String> {
        let why = "it has a launch configuration or a mixed instances policy, which are not supported";
        group.launch_template.is_none().then(|| why.to_owned())
    }

    /// Names that do not exist are left out by AWS.
    async fn read(aws: &Aws, query: DescribeQuery) -> Result<Vec<Group>, Failure> {
        let call = aws.autoscaling().describe_auto_scaling_groups().max_records(MAX_RECORDS);
        let filter = |filter: kraken_aws::ec2::types::Filter| {
            Filter::builder().set_name(filter.name).set_values(filter.values).build()
        };
        let calls = match query.ids {
            Some(names) => names
                .chunks(PAGE)
                .map(|names| call.clone().set_auto_scaling_group_names(Some(names.to_vec())))
                .collect(),
            None => vec![call.set_filters(query.filters.map(|all| all.into_iter().map(filter).collect()))],
        };
        let mut found = vec![];
        for call in calls {
            let (action, pages) = ("failed to describe Auto Scaling groups", call.into_paginator().send());
            let groups: Vec<Group> = aws
                .items("DescribeAutoScalingGroups", action, pages, |page| page.auto_scaling_groups)
                .await?;
            found.extend(groups);
        }
        Ok(found)
    }

    /// The name is read before: an error that it is in use does not say by whom.
    async fn create(aws: &Aws, desired: &Desired, creation: &Creation<'_>) -> Result<Group, Failure> {
        let name = exposed(desired.name.as_ref()).unwrap_or_else(|| creation.name());
        let holders = Self::read(aws, DescribeQuery::of(&name)).await?;
        if let Some(holder) = holders.first() {
            if creation.has_created(&holder.tags) {
                return Ok(holder.clone());
            }
            let refusal = kraken_aws::errors::terminal(CREATE, "");
            return Err(creation.is_taken(refusal, &format!("the name {name}"), &holders));
        }
        let call = aws
            .autoscaling_once()
            .create_auto_scaling_group()
            .auto_scaling_group_name(&name)
            .launch_template(template(desired, None))
            .set_min_size(Some(*desired.min_size.expose()))
            .set_max_size(Some(*desired.max_size.expose()))
            .set_desired_capacity(exposed(desired.desired_capacity.as_ref()))
            .vpc_zone_identifier(desired.subnet_ids.expose().join(","))
            .set_target_group_arns(exposed(desired.target_group_arns.as_ref()))
            .set_health_check_type(exposed(desired.health_check_type.as_ref()).map(|kind| kind.to_string()))
            .set_health_check_grace_period(exposed(desired.health_check_grace_period_seconds.as_ref()))
            .set_default_instance_warmup(exposed(desired.default_instance_warmup_seconds.as_ref()))
            .set_max_instance_lifetime(
                exposed(desired.max_instance_lifetime_seconds.as_ref()).filter(|one| *one > 0),
            )
            .set_capacity_rebalance(exposed(desired.capacity_rebalance.as_ref()))
            .set_termination_policies(exposed(desired.termination_policies.as_ref()))
            .set_tags(Some(to_sdk(&name, creation.tags)));
        aws.call("CreateAutoScalingGroup", CREATE, call.send()).await?;
        Ok(Group { auto_scaling_group_name: name, tags: creation.tags.clone(), ..Group::default() })
    }

    async fn update(aws: &Aws, change: &Change, desired: &Desired, group: &Group) -> Result<(), Failure> {
        let (autoscaling, name) = (aws.autoscaling(), &group.auto_scaling_group_name);
        match change {
            Change::Settings => {
                let call = autoscaling
                    .update_auto_scaling_group()
                    .auto_scaling_group_name(name)
                    .launch_template(template(desired, Some(group)))
                    .set_min_size(Some(*desired.min_size.expose()))
                    .set_max_size(Some(*desired.max_size.expose()))
                    .set_desired_capacity(exposed(desired.desired_capacity.as_ref()))
                    .vpc_zone_identifier(desired.subnet_ids.expose().join(","))
                    .set_health_check_type(
                        exposed(desired.health_check_type.as_ref()).map(|kind| kind.to_string()),
                    )
                    .set_health_check_grace_period(exposed(
                        desired.health_check_grace_period_seconds.as_ref(),
                    ))
                    .set_default_instance_warmup(exposed(desired.default_instance_warmup_seconds.as_ref()))
                    .set_max_instance_lifetime(exposed(desired.max_instance_lifetime_seconds.as_ref()))
                    .set_capacity_rebalance(exposed(desired.capacity_rebalance.as_ref()))
                    .set_termination_policies(exposed(desired.termination_policies.as_ref()));
                aws.call("UpdateAutoScalingGroup", "failed to change the Auto Scaling group", call.send())
                    .await
                    .map(drop)
            }
            Change::Attach(arn) => {
                let call = autoscaling.attach_load_balancer_target_groups().auto_scaling_group_name(name);
                let action = "failed to attach a target group";
                let call = call.target_group_arns(arn).send();
                aws.call("AttachLoadBalancerTargetGroups", action, call).await.map(drop)
            }
            Change::Detach(arn) => {
                let call = autoscaling.detach_load_balancer_target_groups().auto_scaling_group_name(name);
                let action = "failed to detach a target group";
                let call = call.target_group_arns(arn).send();
                aws.call("DetachLoadBalancerTargetGroups", action, call).await.map(drop)
            }
            Change::Refresh => refresh::refresh(aws, desired, group).await,
        }
    }

    /// With its instances, which AWS terminates before the group disappears.
    async fn delete(aws: &Aws, group: &Group) -> Result<(), Failure> {
        let call = aws.autoscaling().delete_auto_scaling_group().force_delete(true);
        let call = call.auto_scaling_group_name(&group.auto_scaling_group_name);
        let action = "failed to delete the Auto Scaling group";
        aws.call("DeleteAutoScalingGroup", action, call.send()).await.map(drop).map_err(protected)
    }

    async fn set_tags(aws: &Aws, id: &str, tags: &Tags) -> Result<(), Failure> {
        let call = aws.autoscaling().create_or_update_tags().set_tags(Some(to_sdk(id, tags)));
        aws.call("CreateOrUpdateTags", "failed to set tags", call.send()).await.map(drop)
    }

    async fn remove_tags(aws: &Aws, id: &str, keys: &[&str]) -> Result<(), Failure> {
        let tag = |key: &&str| Tag::builder().resource_id(id).resource_type(RESOURCE_TYPE).key(*key).build();
        let call = aws.autoscaling().delete_tags().set_tags(Some(keys.iter().map(tag).collect()));
        aws.call("DeleteTags", "failed to remove tags", call.send()).await.map(drop)
    }
}

/// The tags of users are passed on to the instances. Those of Kraken are not: an instance with the owner tags of the group would be an object
/// of its resource.
pub(super) fn to_sdk(name: &str, tags: &Tags) -> Vec<Tag> {
    let tag = |(key, value): (&String, &String)| {
        let tag = Tag::builder().resource_id(name).resource_type(RESOURCE_TYPE).key(key).value(value);
        tag.propagate_at_launch(!key.starts_with(PREFIX)).build()
    };
    tags.iter().map(tag).collect()
}

/// With the version of the group, if the spec has none: a call without one sets the default version.
fn template(desired: &Desired, group: Option<&Group>) -> LaunchTemplateSpecification {
    let id = desired.launch_template_id.expose();
    let current = group.filter(|group| group.template_id() == Some(id)).and_then(Group::template_version);
    let version = exposed(desired.launch_template_version.as_ref()).map(|version| version.0);
    let version = version.or(current.cloned());
    LaunchTemplateSpecification::builder().launch_template_id(id).set_version(version).build()
}

/// AWS's own deletion protection of a group.
fn protected(failure: Failure) -> Failure {
    if !failure.message.to_lowercase().contains("deletion protection") {
        return failure;
    }
    let message = format!(
        "{}: the group is protected in AWS and not by Kraken; turn its protection off there",
        failure.message
    );
    Failure { class: FailureClass::Protected, message, ..failure }
}
