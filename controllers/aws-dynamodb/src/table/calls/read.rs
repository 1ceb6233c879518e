//! Reads tables, each with a call for its description and one for its tags.

use futures::try_join;
use kraken_aws::{
    Tags,
    ec2::types::Filter,
    lookup_kind::{passes, tag},
    missing::{existing, or_nothing},
    observed::WithTags as _,
    partition,
    prelude::*,
};

use crate::{
    dynamodb::{
        AT_ONCE, DynamoDbClients as _,
        types::{PointInTimeRecoveryStatus, TimeToLiveStatus},
    },
    table::observed::{Settings, Table},
};

/// The maximum page size.
const PAGE: i32 = 100;

/// The tables of a query. In a search, tags are read first, so that few tables are described.
pub(super) async fn tables(aws: &Aws, query: DescribeQuery) -> Result<Vec<Table>, Failure> {
    let arns = match query.ids {
        Some(arns) => arns,
        None => all(aws).await?,
    };
    let filters = query.filters.unwrap_or_default();
    let each = arns.into_iter().map(|arn| one(aws, arn, &filters));
    existing(AT_ONCE, each).await
}

/// The table with this ARN, if its tags pass.
async fn one(aws: &Aws, arn: String, filters: &[Filter]) -> Result<Option<Table>, Failure> {
    // What is no ARN of a table names no table.
    let Some(name) = Table::name_of(&arn) else { return Ok(None) };
    let Some(tags) = tags_of(aws, &arn).await? else { return Ok(None) };
    if !passes(filters, |name| tag(&tags, name)) {
        return Ok(None);
    }
    let table = described(aws, name).await?;
    // A table of this name in another region or account has another ARN.
    Ok(table.filter(|table| table.table_arn == arn).map(|table| table.with_tags(tags)))
}

/// The ARNs of all tables. AWS lists their names.
async fn all(aws: &Aws) -> Result<Vec<String>, Failure> {
    let pages = aws.dynamodb().list_tables().limit(PAGE).into_paginator().send();
    let pages = aws.pages("ListTables", "failed to list tables", pages).await?;
    let location = aws.location().await?;
    let (region, account) = (&location.region, &location.account);
    let arn = |name: String| format!("arn:{}:dynamodb:{region}:{account}:table/{name}", partition(region).0);
    Ok(pages.into_iter().flat_map(|page| page.table_names.unwrap_or_default()).map(arn).collect())
}

/// The table with this name, with its tags.
pub(super) async fn by_name(aws: &Aws, name: &str) -> Result<Option<Table>, Failure> {
    let Some(table) = described(aws, name).await? else { return Ok(None) };
    let tags = tags_of(aws, &table.table_arn).await?;
    Ok(tags.map(|tags| table.with_tags(tags)))
}

/// The table with this name, without tags; none if it does not exist.
pub(super) async fn described(aws: &Aws, name: &str) -> Result<Option<Table>, Failure> {
    let call = aws.dynamodb().describe_table().table_name(name).send();
    let answer = aws.call("DescribeTable", "failed to describe the table", call).await;
    or_nothing(answer.map(|answer| answer.table.map(Table::from)))
}

/// None if there is no such table.
async fn tags_of(aws: &Aws, arn: &str) -> Result<Option<Tags>, Failure> {
    let (mut tags, mut next) = (Tags::new(), None);
    loop {
        let call = aws.dynamodb().list_tags_of_resource().resource_arn(arn).set_next_token(next).send();
        let answer = aws.call("ListTagsOfResource", "failed to read the tags of the table", call).await;
        let Some(page) = or_nothing(answer.map(Some))? else { return Ok(None) };
        tags.extend(page.tags.into_iter().flatten().map(|tag| (tag.key, tag.value)));
        next = page.next_token.filter(|token| !token.is_empty());
        if next.is_none() {
            return Ok(Some(tags));
        }
    }
}

/// What the description of a table does not have.
pub(super) async fn settings(aws: &Aws, table: &Table) -> Result<Settings, Failure> {
    let (client, name) = (aws.dynamodb(), &table.table_name);
    let time_to_live = client.describe_time_to_live().table_name(name).send();
    let backups = client.describe_continuous_backups().table_name(name).send();
    let policy = client.get_resource_policy().resource_arn(&table.table_arn).send();
    let (time_to_live, backups, policy) = try_join!(
        aws.call("DescribeTimeToLive", "failed to read the time to live of the table", time_to_live),
        aws.call("DescribeContinuousBackups", "failed to read the backups of the table", backups),
        async {
            let answer =
                aws.call("GetResourcePolicy", "failed to read the policy of the table", policy).await;
            match answer {
                Err(failure) if failure.code == "PolicyNotFoundException" => Ok(None),
                answer => answer.map(|answer| answer.policy),
            }
        },
    )?;
    let time_to_live = time_to_live.time_to_live_description;
    let status = time_to_live.as_ref().and_then(|one| one.time_to_live_status.clone());
    let is_on = matches!(status, Some(TimeToLiveStatus::Enabled | TimeToLiveStatus::Enabling));
    let recovery =
        backups.continuous_backups_description.and_then(|one| one.point_in_time_recovery_description);
    let recovery =
        recovery.filter(|one| one.point_in_time_recovery_status == Some(PointInTimeRecoveryStatus::Enabled));
    Ok(Settings {
        time_to_live: time_to_live.and_then(|one| one.attribute_name).filter(|_| is_on).unwrap_or_default(),
        is_time_to_live_ending: status == Some(TimeToLiveStatus::Disabling),
        point_in_time_recovery: recovery.is_some(),
        recovery_period: recovery.and_then(|one| one.recovery_period_in_days),
        policy: policy.unwrap_or_default(),
    })
}
