//! The calls of alarms.

use kraken_aws::{
    Tags,
    errors::{invisible, undecided},
    lookup_kind::passing,
    missing::{existing, or_nothing},
    observed::WithTags as _,
    prelude::*,
};

use super::{
    api::{self, Change, Desired},
    desired::wanted,
    observed::{Alarm, SEPARATOR},
};
use crate::{
    cloudwatch::{self, CloudWatchClients as _, types},
    logs::AT_ONCE,
};

const CREATE: &str = "failed to create the alarm";
/// The maximum number of alarms in one call.
const PAGE: usize = 100;

/// The kind Alarm.
pub(crate) struct Alarms;

impl AwsResource for Alarms {
    type Kind = api::Alarm;
    /// By its name, which is that of its launch.
    const FEATURES: Features = Features { is_idempotent: true, ..Features::NONE };
    const IN_VPC: &'static str = "";

    async fn read(aws: &Aws, query: DescribeQuery) -> Result<Vec<Alarm>, Failure> {
        let mut found = vec![];
        if let Some(names) = query.ids {
            for some in names.chunks(PAGE) {
                found.extend(described(aws, Some(some.to_vec())).await?);
            }
        } else {
            found = described(aws, None).await?;
        }
        let each = found.into_iter().map(|alarm| with_tags(aws, alarm));
        Ok(passing(query.filters.as_deref(), existing(AT_ONCE, each).await?))
    }

    /// The call creates an alarm, or replaces the one with its name: a repeated one of this launch, because no other one has this name.
    async fn create(aws: &Aws, desired: &Desired, creation: &Creation<'_>) -> Result<Alarm, Failure> {
        let prefix =
            exposed(desired.name_prefix.as_ref()).map(|prefix| prefix + SEPARATOR).unwrap_or_default();
        let new =
            Alarm { alarm_name: prefix + &creation.name(), tags: creation.tags.clone(), ..Alarm::default() };
        put(aws, desired, &new, CREATE).await?;
        let found = described(aws, Some(vec![new.alarm_name.clone()])).await.map_err(undecided)?;
        let invisible = || invisible(CREATE, &format!("the new alarm {}", new.alarm_name));
        Ok(found.into_iter().next().ok_or_else(invisible)?.with_tags(new.tags))
    }

    async fn update(aws: &Aws, change: &Change, desired: &Desired, alarm: &Alarm) -> Result<(), Failure> {
        let Change::Put = change;
        put(aws, desired, alarm, "failed to change the alarm").await
    }

    async fn delete(aws: &Aws, alarm: &Alarm) -> Result<(), Failure> {
        let call = aws.cloudwatch().delete_alarms().alarm_names(&alarm.alarm_name).send();
        aws.call("DeleteAlarms", "failed to delete the alarm", call).await.map(drop)
    }

    async fn set_tags(aws: &Aws, id: &str, tags: &Tags) -> Result<(), Failure> {
        let tags = cloudwatch::to_sdk(tags);
        let call = aws.cloudwatch().tag_resource().resource_arn(id).set_tags(Some(tags)).send();
        aws.call("TagResource", "failed to set tags", call).await.map(drop)
    }

    async fn remove_tags(aws: &Aws, id: &str, keys: &[&str]) -> Result<(), Failure> {
        let keys = keys.iter().map(|key| (*key).to_owned()).collect();
        let call = aws.cloudwatch().untag_resource().resource_arn(id).set_tag_keys(Some(keys)).send();
        aws.call("UntagResource", "failed to remove tags", call).await.map(drop)
    }
}

/// The metric alarms with these names, or all, without tags.
async fn described(aws: &Aws, names: Option<Vec<String>>) -> Result<Vec<Alarm>, Failure> {
    let call =
        aws.cloudwatch().describe_alarms().set_alarm_names(names).alarm_types(types::AlarmType::MetricAlarm);
    let (action, pages) = ("failed to describe alarms", call.max_records(100).into_paginator().send());
    aws.items("DescribeAlarms", action, pages, |page| page.metric_alarms).await
}

/// The alarm with its tags; none if it was deleted in between.
async fn with_tags(aws: &Aws, alarm: Alarm) -> Result<Option<Alarm>, Failure> {
    let call = aws.cloudwatch().list_tags_for_resource().resource_arn(&alarm.alarm_arn).send();
    let answer = aws.call("ListTagsForResource", "failed to read the tags of the alarm", call).await;
    or_nothing(answer.map(|answer| Some(alarm.with_tags(cloudwatch::tags(answer.tags)))))
}

/// Sets all of an alarm. What the spec does not have stays as it is in `alarm`. AWS ignores the tags of an alarm that exists; one that somebody
/// deleted in between is created by this call, and has its owner then.
async fn put(aws: &Aws, desired: &Desired, alarm: &Alarm, action: &str) -> Result<(), Failure> {
    let Desired {
        name_prefix: _,
        description,
        namespace,
        metric_name,
        dimensions,
        statistic,
        period_seconds,
        evaluation_periods,
        datapoints_to_alarm,
        threshold,
        comparison_operator,
        treat_missing_data,
        unit,
        actions_enabled,
        alarm_actions,
        ok_actions,
        insufficient_data_actions,
    } = desired;
    let text = |have: &Option<String>, wanted: Option<String>| wanted.or_else(|| have.clone());
    let all = if dimensions.is_some() { wanted(desired) } else { alarm.dimensions.clone() };
    let dimension = |(name, value)| types::Dimension::builder().name(name).value(value).build();
    // A percentile has a field of its own.
    let is_simple = types::Statistic::values().contains(&statistic.expose().as_str());
    let (simple, extended) = if is_simple { (Some(statistic), None) } else { (None, Some(statistic)) };
    let call = aws
        .cloudwatch_once()
        .put_metric_alarm()
        .alarm_name(&alarm.alarm_name)
        .set_alarm_description(text(&alarm.alarm_description, exposed(description.as_ref())))
        .namespace(namespace.expose())
        .metric_name(metric_name.expose())
        .set_dimensions(Some(all.into_iter().map(dimension).collect()))
        .set_statistic(simple.map(|one| one.expose().as_str().into()))
        .set_extended_statistic(extended.map(|one| one.expose().clone()))
        .period(*period_seconds.expose())
        .evaluation_periods(*evaluation_periods.expose())
        .set_datapoints_to_alarm(exposed(datapoints_to_alarm.as_ref()).or(alarm.datapoints_to_alarm))
        .threshold(*threshold.expose())
        .comparison_operator(comparison_operator.expose().as_str().into())
        .set_treat_missing_data(text(
            &alarm.treat_missing_data,
            exposed(treat_missing_data.as_ref()).map(|one| one.to_string()),
        ))
        .set_unit(
            text(&alarm.unit, exposed(unit.as_ref()).map(|one| one.to_string()))
                .map(|unit| unit.as_str().into()),
        )
        .set_actions_enabled(exposed(actions_enabled.as_ref()).or(alarm.actions_enabled))
        .set_alarm_actions(exposed(alarm_actions.as_ref()).or_else(|| Some(alarm.alarm_actions.clone())))
        .set_ok_actions(exposed(ok_actions.as_ref()).or_else(|| Some(alarm.ok_actions.clone())))
        .set_insufficient_data_actions(
            exposed(insufficient_data_actions.as_ref())
                .or_else(|| Some(alarm.insufficient_data_actions.clone())),
        )
        .set_tags(Some(cloudwatch::to_sdk(&alarm.tags)));
    aws.call("PutMetricAlarm", action, call.send()).await.map(drop)
}
