//! The calls of scaling policies.

use kraken_aws::{Tags, errors::terminal, lookup_kind::passing, prelude::*};

use super::{
    api::{self, Change, Desired},
    desired::label,
    name,
    observed::Policy,
};
use crate::autoscaling::{
    AutoscalingClients as _, MAX_RECORDS,
    types::{PredefinedMetricSpecification, TargetTrackingConfiguration},
};

const TYPE: &str = "TargetTrackingScaling";
/// The maximum number of names in one call.
const NAMES: usize = 50;

/// The kind ScalingPolicy.
pub(crate) struct ScalingPolicies;

impl AwsResource for ScalingPolicies {
    type Kind = api::ScalingPolicy;
    /// By its name, which is that of its launch.
    const FEATURES: Features = Features { is_idempotent: true, ..Features::NONE };
    const IN_VPC: &'static str = "";

    fn not_importable(_: &Policy) -> Option<String> {
        Some(
            "scaling policies have no tags, and cannot be adopted: delete it, and let Kraken create its own"
                .to_owned(),
        )
    }

    async fn read(aws: &Aws, query: DescribeQuery) -> Result<Vec<Policy>, Failure> {
        let Some(arns) = query.ids else {
            return Ok(passing(query.filters.as_deref(), described(aws, None).await?));
        };
        let names: Vec<String> = arns.iter().filter_map(|arn| name::in_arn(arn)).map(str::to_owned).collect();
        let mut found = vec![];
        for names in names.chunks(NAMES) {
            found.extend(described(aws, Some(names.to_vec())).await?);
        }
        // Policies of several groups can have one name.
        found.retain(|policy| arns.contains(&policy.policy_arn));
        Ok(found)
    }

    async fn create(aws: &Aws, desired: &Desired, creation: &Creation<'_>) -> Result<Policy, Failure> {
        let policy_name = name::of(creation.tags);
        let made = put(aws, &policy_name, desired, "failed to create the scaling policy").await?;
        let policy = match made {
            Some(policy_arn) => Policy { policy_arn, policy_name, ..Policy::default() },
            // moto does not return it.
            None => described(aws, Some(vec![policy_name])).await?.pop().unwrap_or_default(),
        };
        Ok(Policy { tags: creation.tags.clone(), ..policy })
    }

    async fn update(aws: &Aws, change: &Change, desired: &Desired, policy: &Policy) -> Result<(), Failure> {
        let Change::Put = change;
        put(aws, &policy.policy_name, desired, "failed to change the scaling policy").await.map(drop)
    }

    async fn delete(aws: &Aws, policy: &Policy) -> Result<(), Failure> {
        let call = aws.autoscaling().delete_policy().auto_scaling_group_name(&policy.auto_scaling_group_name);
        let call = call.policy_name(&policy.policy_name).send();
        let answer = aws.call("DeletePolicy", "failed to delete the scaling policy", call).await;
        match answer {
            // The group took its policies with it.
            Err(failure) if failure.code == "ValidationError" && failure.message.contains("not found") => {
                Ok(())
            }
            answer => answer.map(drop),
        }
    }

    async fn set_tags(_: &Aws, id: &str, _: &Tags) -> Result<(), Failure> {
        Err(terminal(
            "failed to adopt the scaling policy",
            format!("{id} has no tags: delete it, and let Kraken create its own"),
        ))
    }

    /// Its name keeps its owner.
    async fn remove_tags(_: &Aws, _: &str, _: &[&str]) -> Result<(), Failure> {
        Ok(())
    }
}

/// The target tracking policies with these names, or all.
async fn described(aws: &Aws, names: Option<Vec<String>>) -> Result<Vec<Policy>, Failure> {
    let call = aws.autoscaling().describe_policies().set_policy_names(names).max_records(MAX_RECORDS);
    let (action, pages) = ("failed to describe scaling policies", call.into_paginator().send());
    let mut found: Vec<Policy> =
        aws.items("DescribePolicies", action, pages, |page| page.scaling_policies).await?;
    found.retain(|policy| policy.policy_type == TYPE);
    Ok(found)
}

async fn put(aws: &Aws, name: &str, desired: &Desired, action: &str) -> Result<Option<String>, Failure> {
    let Desired {
        group_name,
        metric,
        target_value,
        load_balancer_arn: _,
        target_group_arn: _,
        disable_scale_in,
        estimated_instance_warmup_seconds,
    } = desired;
    let metric = PredefinedMetricSpecification::builder()
        .predefined_metric_type(metric.expose().as_str().into())
        .set_resource_label(label(desired));
    let tracking = TargetTrackingConfiguration::builder()
        .predefined_metric_specification(metric.build())
        .target_value(*target_value.expose())
        .set_disable_scale_in(exposed(disable_scale_in.as_ref()));
    let call = aws
        .autoscaling_once()
        .put_scaling_policy()
        .auto_scaling_group_name(group_name.expose())
        .policy_name(name)
        .policy_type(TYPE)
        .target_tracking_configuration(tracking.build())
        .set_estimated_instance_warmup(exposed(estimated_instance_warmup_seconds.as_ref()));
    Ok(aws.call("PutScalingPolicy", action, call.send()).await?.policy_arn)
}
