//! The calls of topics.

use kraken_aws::{
    Tags,
    errors::{invisible, terminal, undecided},
    lookup_kind::passing,
    missing::existing,
    prelude::*,
};

use super::{
    api::{self, Change, Desired},
    desired::attributes,
    observed::{Attributes, FIFO, Topic},
};
use crate::sns::{self, AT_ONCE, SnsClients as _, to_sdk};

const CREATE: &str = "failed to create the topic";

/// The kind Topic.
pub(crate) struct Topics;

impl AwsResource for Topics {
    type Kind = api::Topic;
    /// By its name, which is unique in the account and region.
    const FEATURES: Features = Features {
        is_idempotent: true,
        idempotent_by_name: true,
        contains: "all its subscriptions",
        ..Features::NONE
    };
    const IN_VPC: &'static str = "";

    async fn read(aws: &Aws, query: DescribeQuery) -> Result<Vec<Topic>, Failure> {
        let arns = if let Some(arns) = query.ids {
            arns
        } else {
            let pages = aws.sns().list_topics().into_paginator().send();
            let pages = aws.pages("ListTopics", "failed to list topics", pages).await?;
            let topics = pages.into_iter().flat_map(|page| page.topics.unwrap_or_default());
            topics.filter_map(|topic| topic.topic_arn).collect()
        };
        let each = arns.into_iter().map(|arn| async move { read(aws, &arn).await });
        Ok(passing(query.filters.as_deref(), existing(AT_ONCE, each).await?))
    }

    async fn complete(aws: &Aws, topic: &mut Topic, deep: bool) -> Result<(), Failure> {
        if deep {
            let call = aws.sns().get_topic_attributes().topic_arn(&topic.topic_arn).send();
            let action = "failed to read the attributes of the topic";
            let answer = aws.call("GetTopicAttributes", action, call).await?;
            let texts = answer.attributes.unwrap_or_default().into_iter().collect();
            topic.attributes = Some(Attributes::new(&texts));
        }
        Ok(())
    }

    /// The name is read before, so that its holder is named. AWS rejects the call for a topic with other tags or attributes.
    async fn create(aws: &Aws, desired: &Desired, creation: &Creation<'_>) -> Result<Topic, Failure> {
        let is_fifo = exposed(desired.fifo_topic.as_ref()) == Some(true);
        let generated = || format!("{}{}", creation.name(), if is_fifo { FIFO } else { "" });
        let name = exposed(desired.name.as_ref()).unwrap_or_else(generated);
        let arn = arn(aws, &name).await?;
        if let Some(topic) = found(aws, &arn, creation).await? {
            return Ok(topic);
        }
        let attributes = attributes(desired).into_iter().map(|(_, name, value)| (name.to_owned(), value));
        let fifo = is_fifo.then(|| ("FifoTopic".to_owned(), "true".to_owned()));
        let call = aws.sns_once().create_topic().name(&name).set_tags(Some(to_sdk(creation.tags)));
        let call = call.set_attributes(Some(attributes.chain(fifo).collect())).send();
        if let Err(failure) = aws.call("CreateTopic", CREATE, call).await {
            // Somebody else was faster, or a former attempt of this launch.
            let is_taken = failure.message.contains("already exists");
            let holder = if is_taken { found(aws, &arn, creation).await? } else { None };
            return holder.ok_or(failure);
        }
        let topic = read(aws, &arn).await.map_err(undecided)?;
        let invisible = || invisible(CREATE, &format!("the new topic {name}"));
        owned(topic.ok_or_else(invisible)?, creation)
    }

    async fn update(aws: &Aws, change: &Change, desired: &Desired, topic: &Topic) -> Result<(), Failure> {
        let Some((_, name, value)) = attributes(desired).into_iter().find(|(one, ..)| one == change) else {
            return Ok(());
        };
        let call = aws.sns().set_topic_attributes().topic_arn(&topic.topic_arn);
        let call = call.attribute_name(name).attribute_value(value).send();
        aws.call("SetTopicAttributes", "failed to change the topic", call).await.map(drop)
    }

    async fn delete(aws: &Aws, topic: &Topic) -> Result<(), Failure> {
        let call = aws.sns().delete_topic().topic_arn(&topic.topic_arn).send();
        aws.call("DeleteTopic", "failed to delete the topic", call).await.map(drop)
    }

    async fn set_tags(aws: &Aws, id: &str, tags: &Tags) -> Result<(), Failure> {
        sns::set_tags(aws, id, tags).await
    }

    async fn remove_tags(aws: &Aws, id: &str, keys: &[&str]) -> Result<(), Failure> {
        sns::remove_tags(aws, id, keys).await
    }
}

/// The topic with its tags; none if it does not exist, or if it is no ARN of a topic.
async fn read(aws: &Aws, arn: &str) -> Result<Option<Topic>, Failure> {
    let Some(topic) = Topic::new(arn, Tags::new()) else { return Ok(None) };
    let tags = sns::tags_of(aws, arn).await?;
    Ok(tags.map(|tags| Topic { tags, ..topic }))
}

/// The topic with the ARN; none if there is none, and a failure if this launch did not create it.
async fn found(aws: &Aws, arn: &str, creation: &Creation<'_>) -> Result<Option<Topic>, Failure> {
    read(aws, arn).await?.map(|topic| owned(topic, creation)).transpose()
}

fn owned(topic: Topic, creation: &Creation<'_>) -> Result<Topic, Failure> {
    if creation.has_created(&topic.tags) {
        return Ok(topic);
    }
    Err(creation.is_taken(terminal(CREATE, ""), &format!("the name {}", topic.topic_name), &[topic]))
}

/// The ARN of a topic of the account and region.
async fn arn(aws: &Aws, name: &str) -> Result<String, Failure> {
    let region = aws.region().unwrap_or_default();
    let account = aws.location().await?.account;
    let (partition, _) = kraken_aws::partition(region);
    Ok(format!("arn:{partition}:sns:{region}:{account}:{name}"))
}
