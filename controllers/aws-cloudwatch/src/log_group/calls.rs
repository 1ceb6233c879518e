//! The calls of log groups.

use kraken_aws::{
    Tags,
    lookup_kind::passing,
    missing::{existing, or_nothing},
    observed::WithTags as _,
    prelude::*,
};
use kraken_kind::FailureClass;

use super::{
    api::{self, Change, Desired},
    observed::LogGroup,
};
use crate::logs::{AT_ONCE, LogsClients as _};

const CREATE: &str = "failed to create the log group";
/// The maximum number of log groups in one call.
const PAGE: usize = 50;

/// The kind LogGroup.
pub(crate) struct LogGroups;

impl AwsResource for LogGroups {
    type Kind = api::LogGroup;
    /// By its name, which is unique in the account and region: AWS rejects a second one, whatever its settings are.
    const FEATURES: Features = Features {
        is_idempotent: true,
        idempotent_by_name: true,
        contains: "all log events",
        ..Features::NONE
    };
    const IN_VPC: &'static str = "";

    async fn read(aws: &Aws, query: DescribeQuery) -> Result<Vec<LogGroup>, Failure> {
        let mut found = vec![];
        if let Some(names) = query.ids {
            for some in names.chunks(PAGE) {
                found.extend(described(aws, some).await?);
            }
        } else {
            let pages = aws.logs().describe_log_groups().limit(50).into_paginator().send();
            let action = "failed to describe log groups";
            found = aws.items("DescribeLogGroups", action, pages, |page| page.log_groups).await?;
        }
        let each = found.into_iter().map(|group| with_tags(aws, group));
        Ok(passing(query.filters.as_deref(), existing(AT_ONCE, each).await?))
    }

    async fn create(aws: &Aws, desired: &Desired, creation: &Creation<'_>) -> Result<LogGroup, Failure> {
        let Desired { name, retention_days: _, kms_key_id, class } = desired; // the retention follows
        let name = exposed(name.as_ref()).unwrap_or_else(|| creation.name());
        let arn = arn(aws, &name).await?;
        let call = aws
            .logs_once()
            .create_log_group()
            .log_group_name(&name)
            .set_kms_key_id(exposed(kms_key_id.as_ref()).filter(|key| !key.is_empty()))
            .set_log_group_class(exposed(class.as_ref()).map(|class| class.as_str().into()))
            .set_tags(Some(creation.tags.clone().into_iter().collect()));
        match aws.call("CreateLogGroup", CREATE, call.send()).await {
            Err(failure) if failure.class == FailureClass::TokenUsed => {
                let mut holders = Self::read(aws, DescribeQuery::of(&name)).await?;
                match holders.pop() {
                    Some(own) if creation.has_created(&own.tags) => Ok(own),
                    holder => Err(creation.is_taken(failure, &format!("the name {name}"), holder.as_slice())),
                }
            }
            Err(failure) => Err(failure),
            // The call returns nothing, and a description may not have it yet.
            Ok(_) => Ok(LogGroup {
                log_group_arn: arn,
                log_group_name: name,
                log_group_class: exposed(class.as_ref()).unwrap_or(api::Class::Standard).to_string(),
                kms_key_id: exposed(kms_key_id.as_ref()).unwrap_or_default(),
                tags: creation.tags.clone(),
                ..LogGroup::default()
            }),
        }
    }

    async fn update(aws: &Aws, change: &Change, desired: &Desired, group: &LogGroup) -> Result<(), Failure> {
        let (logs, name) = (aws.logs(), &group.log_group_name);
        match change {
            Change::Retention => {
                let action = "failed to change the retention of the log group";
                match exposed(desired.retention_days.as_ref()) {
                    None | Some(0) => {
                        let call = logs.delete_retention_policy().log_group_name(name).send();
                        aws.call("DeleteRetentionPolicy", action, call).await.map(drop)
                    }
                    Some(days) => {
                        let call = logs.put_retention_policy().log_group_name(name).retention_in_days(days);
                        aws.call("PutRetentionPolicy", action, call.send()).await.map(drop)
                    }
                }
            }
            Change::Key => {
                let action = "failed to change the key of the log group";
                match exposed(desired.kms_key_id.as_ref()).filter(|key| !key.is_empty()) {
                    None => {
                        let call = logs.disassociate_kms_key().log_group_name(name).send();
                        aws.call("DisassociateKmsKey", action, call).await.map(drop)
                    }
                    Some(key) => {
                        let call = logs.associate_kms_key().log_group_name(name).kms_key_id(key);
                        aws.call("AssociateKmsKey", action, call.send()).await.map(drop)
                    }
                }
            }
        }
    }

    async fn delete(aws: &Aws, group: &LogGroup) -> Result<(), Failure> {
        let call = aws.logs().delete_log_group().log_group_name(&group.log_group_name).send();
        aws.call("DeleteLogGroup", "failed to delete the log group", call).await.map(drop)
    }

    async fn set_tags(aws: &Aws, id: &str, tags: &Tags) -> Result<(), Failure> {
        let tags = tags.clone().into_iter().collect();
        let call = aws.logs().tag_resource().resource_arn(id).set_tags(Some(tags)).send();
        aws.call("TagResource", "failed to set tags", call).await.map(drop)
    }

    async fn remove_tags(aws: &Aws, id: &str, keys: &[&str]) -> Result<(), Failure> {
        let keys = keys.iter().map(|key| (*key).to_owned()).collect();
        let call = aws.logs().untag_resource().resource_arn(id).set_tag_keys(Some(keys)).send();
        aws.call("UntagResource", "failed to remove tags", call).await.map(drop)
    }
}

/// The log groups with these names that exist, without tags. moto returns others too.
async fn described(aws: &Aws, names: &[String]) -> Result<Vec<LogGroup>, Failure> {
    let call = aws.logs().describe_log_groups().set_log_group_identifiers(Some(names.to_vec()));
    let (action, pages) = ("failed to describe log groups", call.into_paginator().send());
    let mut found: Vec<LogGroup> =
        aws.items("DescribeLogGroups", action, pages, |page| page.log_groups).await?;
    found.retain(|group| names.contains(&group.log_group_name));
    Ok(found)
}

/// The log group with its tags; none if it was deleted in between.
async fn with_tags(aws: &Aws, group: LogGroup) -> Result<Option<LogGroup>, Failure> {
    let call = aws.logs().list_tags_for_resource().resource_arn(&group.log_group_arn).send();
    let answer = aws.call("ListTagsForResource", "failed to read the tags of the log group", call).await;
    or_nothing(
        answer.map(|answer| Some(group.with_tags(answer.tags.unwrap_or_default().into_iter().collect()))),
    )
}

/// The ARN of a log group of the account and region.
async fn arn(aws: &Aws, name: &str) -> Result<String, Failure> {
    let region = aws.region().unwrap_or_default();
    let account = aws.location().await?.account;
    let (partition, _) = kraken_aws::partition(region);
    Ok(format!("arn:{partition}:logs:{region}:{account}:log-group:{name}"))
}
