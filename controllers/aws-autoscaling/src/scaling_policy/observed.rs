//! The observed policy, which is the published state.

use kraken_aws::{Tags, aws_observed};

use super::name::identity;
use crate::autoscaling::types;

#[aws_observed(from = types::ScalingPolicy, id = policy_arn)]
#[allow(clippy::struct_field_names)] // AWS's names
pub(crate) struct Policy {
    #[serde(rename = "PolicyARN")]
    pub(super) policy_arn: String,
    pub(super) policy_name: String,
    pub(super) policy_type: String,
    pub(super) auto_scaling_group_name: String,
    pub(super) estimated_instance_warmup: Option<i32>,
    #[from(sdk.target_tracking_configuration.as_ref().and_then(|tracking| tracking.target_value))]
    pub(super) target_value: Option<f64>,
    #[from(sdk.target_tracking_configuration.as_ref().and_then(|tracking| tracking.disable_scale_in))]
    pub(super) disable_scale_in: Option<bool>,
    #[from(metric(&sdk).map(|metric| metric.predefined_metric_type().map(|kind| kind.as_str().to_owned()).unwrap_or_default()))]
    pub(super) predefined_metric_type: Option<String>,
    #[from(metric(&sdk).and_then(|metric| metric.resource_label().map(str::to_owned)))]
    pub(super) resource_label: Option<String>,
    /// From the name.
    #[serde(skip)]
    #[from(identity(sdk.policy_name.as_deref().unwrap_or_default()))]
    pub(super) tags: Tags,
}

fn metric(policy: &types::ScalingPolicy) -> Option<&types::PredefinedMetricSpecification> {
    policy.target_tracking_configuration.as_ref()?.predefined_metric_specification.as_ref()
}
