//! The observed group, which is the published state. Its instances are not published: they change without an edit.

use std::collections::BTreeSet;

use kraken_aws::{
    Tags, aws_observed,
    items::{in_order, sorted},
    lookup::Tagged,
    observed::non_empty,
    resource::{Phase, RemoteObject, is_generated_name},
    tags,
};

use crate::autoscaling::types;

#[aws_observed(from = types::AutoScalingGroup)]
#[allow(clippy::struct_field_names)] // AWS's names
pub(crate) struct Group {
    pub(super) auto_scaling_group_name: String,
    #[serde(rename = "AutoScalingGroupARN")]
    pub(super) auto_scaling_group_arn: String,
    pub(super) launch_template: Option<Template>,
    pub(super) min_size: Option<i32>,
    pub(super) max_size: Option<i32>,
    pub(super) desired_capacity: Option<i32>,
    #[from(sorted(sdk.availability_zones))]
    pub(super) availability_zones: Vec<String>,
    #[serde(rename = "VPCZoneIdentifier")]
    #[from(subnets(sdk.vpc_zone_identifier.as_deref()))]
    pub(super) subnet_ids: Vec<String>,
    #[serde(rename = "TargetGroupARNs")]
    #[from(sorted(sdk.target_group_arns))]
    pub(super) target_group_arns: Vec<String>,
    pub(super) health_check_type: Option<String>,
    pub(super) health_check_grace_period: Option<i32>,
    pub(super) default_instance_warmup: Option<i32>,
    pub(super) max_instance_lifetime: Option<i32>,
    pub(super) capacity_rebalance: Option<bool>,
    #[from(in_order(sdk.termination_policies))]
    pub(super) termination_policies: Vec<String>,
    pub(super) status: Option<String>,
    #[serde(skip)]
    #[from(sorted(sdk.instances))]
    pub(super) instances: Vec<Member>,
    #[from(own_tags(sdk.tags))]
    #[serde(serialize_with = "tags::written")]
    pub(super) tags: Tags,
}

#[aws_observed(from = types::LaunchTemplateSpecification)]
pub(super) struct Template {
    pub(super) launch_template_id: String,
    /// Absent if none was set, which means the default version.
    #[from(non_empty(sdk.version))]
    pub(super) version: Option<String>,
}

/// An instance of the group.
#[aws_observed(from = types::Instance)]
pub(super) struct Member {
    pub(super) instance_id: String,
    pub(super) lifecycle_state: Option<String>,
    pub(super) launch_template: Option<Template>,
}

/// `subnet-1,subnet-2`
fn subnets(identifier: Option<&str>) -> Vec<String> {
    let all = identifier.unwrap_or_default().split(',').map(str::trim).filter(|id| !id.is_empty());
    let all: BTreeSet<String> = all.map(str::to_owned).collect();
    all.into_iter().collect()
}

fn own_tags(tags: Option<Vec<types::TagDescription>>) -> Tags {
    let pair = |tag: types::TagDescription| Some((tag.key?, tag.value.unwrap_or_default()));
    tags.unwrap_or_default().into_iter().filter_map(pair).collect()
}

impl Group {
    pub(super) fn template_id(&self) -> Option<&String> {
        self.launch_template.as_ref().map(|template| &template.launch_template_id)
    }

    pub(super) fn template_version(&self) -> Option<&String> {
        self.launch_template.as_ref()?.version.as_ref()
    }

    /// The instances that were launched from another version than that of the group, if it is a number. Those that are being terminated
    /// do not count.
    pub(super) fn outdated(&self) -> Vec<&str> {
        let Some(template) = self.launch_template.as_ref() else { return vec![] };
        let is_number = template.version.as_ref().is_some_and(|version| version.parse::<u64>().is_ok());
        let is_going =
            |one: &Member| one.lifecycle_state.as_deref().is_some_and(|state| state.starts_with("Terminat"));
        let others = self.instances.iter().filter(|one| one.launch_template.as_ref() != Some(template));
        others.filter(|one| is_number && !is_going(one)).map(|one| one.instance_id.as_str()).collect()
    }
}

impl Tagged for Group {
    fn id(&self) -> &str {
        &self.auto_scaling_group_name
    }

    fn tags(&self) -> &Tags {
        &self.tags
    }

    /// A generated name is unique for its launch; any other name may be reused for a group of another owner.
    fn has_own_id(&self) -> bool {
        is_generated_name(&self.auto_scaling_group_name)
    }
}

impl RemoteObject for Group {
    /// AWS has a status only while it terminates the instances of a deleted group.
    fn phase(&self) -> Phase {
        if self.status.is_some() { Phase::Deleting } else { Phase::Available }
    }
}
