//! The observed alarm, which is the published state.

use std::{cmp::Ordering, collections::BTreeMap};

use kraken_aws::{
    Tags, aws_observed,
    lookup::Tagged,
    observed::WithTags,
    resource::{RemoteObject, is_generated_name},
    tags,
};
use serde::Serialize;

use crate::cloudwatch::types;

#[aws_observed(from = types::MetricAlarm)]
#[allow(clippy::struct_field_names)] // AWS's names
pub(crate) struct Alarm {
    pub(super) alarm_name: String,
    /// From the name.
    #[serde(skip)]
    #[from(sdk.alarm_name.as_deref().and_then(prefix))]
    pub(super) name_prefix: Option<String>,
    pub(super) alarm_arn: String,
    pub(super) alarm_description: Option<String>,
    pub(super) namespace: Option<String>,
    pub(super) metric_name: Option<String>,
    #[from(sdk.dimensions.iter().flatten().filter_map(pair).collect())]
    pub(super) dimensions: BTreeMap<String, String>,
    /// Of a percentile, AWS has another field.
    #[from(sdk.statistic.as_ref().map(|one| one.as_str().to_owned()).or_else(|| sdk.extended_statistic.clone()))]
    pub(super) statistic: Option<String>,
    pub(super) period: Option<i32>,
    pub(super) evaluation_periods: Option<i32>,
    pub(super) datapoints_to_alarm: Option<i32>,
    #[from(sdk.threshold.map(Threshold))]
    pub(super) threshold: Option<Threshold>,
    #[from(sdk.comparison_operator.as_ref().map(|one| one.as_str().to_owned()))]
    pub(super) comparison_operator: Option<String>,
    pub(super) treat_missing_data: Option<String>,
    #[from(sdk.unit.as_ref().map(|one| one.as_str().to_owned()))]
    pub(super) unit: Option<String>,
    pub(super) actions_enabled: Option<bool>,
    pub(super) alarm_actions: Vec<String>,
    #[serde(rename = "OKActions")]
    pub(super) ok_actions: Vec<String>,
    pub(super) insufficient_data_actions: Vec<String>,
    #[from(sdk.state_value.as_ref().map(|one| one.as_str().to_owned()))]
    pub(super) state_value: Option<String>,
    #[from(Tags::new())]
    #[serde(serialize_with = "tags::written")]
    pub(super) tags: Tags,
}

fn pair(dimension: &types::Dimension) -> Option<(String, String)> {
    dimension.name.clone().zip(dimension.value.clone())
}

/// With an order, which objects have: that of the numbers.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(transparent)]
pub(super) struct Threshold(f64);

impl Ord for Threshold {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Threshold {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Threshold {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Threshold {}

/// What is between the beginning and the generated end of a name.
pub(super) const SEPARATOR: &str = "-";

/// The name without its generated end, which the name of an adopted alarm does not have.
fn prefix(name: &str) -> Option<String> {
    if is_generated_name(name) {
        return None;
    }
    Some(beginning(name).unwrap_or(name).to_owned())
}

/// What is before the generated end of a name; none if it has no such end.
fn beginning(name: &str) -> Option<&str> {
    let mut parts = name.match_indices(SEPARATOR).map(|(at, _)| (&name[..at], &name[at + SEPARATOR.len()..]));
    parts.find_map(|(beginning, end)| is_generated_name(end).then_some(beginning))
}

impl Alarm {
    pub(super) fn threshold(&self) -> Option<&f64> {
        self.threshold.as_ref().map(|Threshold(value)| value)
    }
}

impl Tagged for Alarm {
    fn id(&self) -> &str {
        &self.alarm_name
    }

    fn tags(&self) -> &Tags {
        &self.tags
    }

    /// A generated name is unique for its launch; any other name may be reused for an alarm of another owner.
    fn has_own_id(&self) -> bool {
        is_generated_name(&self.alarm_name) || beginning(&self.alarm_name).is_some()
    }
}

impl WithTags for Alarm {
    fn with_tags(self, tags: Tags) -> Self {
        Self { tags, ..self }
    }
}

impl RemoteObject for Alarm {
    fn tagged_as(&self) -> &str {
        &self.alarm_arn
    }
}
