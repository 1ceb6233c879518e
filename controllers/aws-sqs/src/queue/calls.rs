//! The calls of queues.

use kraken_aws::{
    Tags,
    errors::{invisible, terminal, undecided},
    lookup_kind::passing,
    missing::{existing, or_nothing},
    prelude::*,
};
use kraken_kind::FailureClass;

use super::{
    api::{self, Change, Desired},
    desired::attributes,
    observed::{Address, Attributes, FIFO, Queue},
};
use crate::sqs::{AT_ONCE, SqsClients as _, types::QueueAttributeName};

const CREATE: &str = "failed to create the queue";
/// The maximum page size.
const PAGE: i32 = 1_000;

/// The kind Queue.
pub(crate) struct Queues;

impl AwsResource for Queues {
    type Kind = api::Queue;
    /// By its name, which is unique in the account and region.
    const FEATURES: Features = Features { is_idempotent: true, idempotent_by_name: true, ..Features::NONE };
    const IN_VPC: &'static str = "";

    async fn read(aws: &Aws, query: DescribeQuery) -> Result<Vec<Queue>, Failure> {
        let addresses: Vec<Address> = if let Some(arns) = query.ids {
            // What is no ARN of a queue names no queue.
            arns.iter().filter_map(|arn| Address::of_arn(arn)).collect()
        } else {
            let pages = aws.sqs().list_queues().max_results(PAGE).into_paginator().send();
            let pages = aws.pages("ListQueues", "failed to list queues", pages).await?;
            let urls = pages.into_iter().flat_map(|page| page.queue_urls.unwrap_or_default());
            urls.map(|url| Address::of_url(&url, region(aws))).collect()
        };
        let each = addresses.into_iter().map(|address| read(aws, address));
        Ok(passing(query.filters.as_deref(), existing(AT_ONCE, each).await?))
    }

    async fn complete(aws: &Aws, queue: &mut Queue, deep: bool) -> Result<(), Failure> {
        if deep {
            let call = aws.sqs().get_queue_attributes().queue_url(&queue.queue_url);
            let call = call.attribute_names(QueueAttributeName::All).send();
            let answer =
                aws.call("GetQueueAttributes", "failed to read the attributes of the queue", call).await?;
            let texts = answer.attributes.unwrap_or_default().into_iter();
            let texts = texts.map(|(name, text)| (name.as_str().to_owned(), text)).collect();
            queue.attributes = Some(Attributes::new(&texts));
        }
        Ok(())
    }

    /// The name is read before: the call succeeds for a queue with the same attributes, whoever created it.
    async fn create(aws: &Aws, desired: &Desired, creation: &Creation<'_>) -> Result<Queue, Failure> {
        let is_fifo = exposed(desired.fifo_queue.as_ref()) == Some(true);
        let generated = || format!("{}{}", creation.name(), if is_fifo { FIFO } else { "" });
        let name = exposed(desired.name.as_ref()).unwrap_or_else(generated);
        if let Some(queue) = found(aws, &name, creation).await? {
            return Ok(queue);
        }
        let attributes = attributes(desired, None).into_iter().map(|(name, value)| (name.into(), value));
        let fifo = is_fifo.then(|| (QueueAttributeName::FifoQueue, "true".to_owned()));
        let tags = creation.tags.clone().into_iter().collect();
        let call = aws.sqs_once().create_queue().queue_name(&name).set_tags(Some(tags));
        let call = call.set_attributes(Some(attributes.chain(fifo).collect())).send();
        let answer = match aws.call("CreateQueue", CREATE, call).await {
            Err(failure) if is(&failure, &["QueueAlreadyExists", "QueueNameExists"]) => {
                return found(aws, &name, creation).await?.ok_or_else(|| undecided(failure));
            }
            Err(failure) if is(&failure, &["QueueDeletedRecently"]) => {
                let message = format!(
                    "a queue {name} was deleted less than 60 seconds ago; AWS then accepts the name again"
                );
                return Err(Failure { class: FailureClass::NotYet, message, ..failure });
            }
            answer => answer?,
        };
        let address = Address::of_url(answer.queue_url.as_deref().unwrap_or_default(), region(aws));
        let queue = read(aws, address).await.map_err(undecided)?;
        let invisible = || invisible(CREATE, &format!("the new queue {name}"));
        owned(queue.ok_or_else(invisible)?, creation)
    }

    async fn update(aws: &Aws, change: &Change, desired: &Desired, queue: &Queue) -> Result<(), Failure> {
        let Change::Attributes = change;
        let attributes =
            attributes(desired, Some(queue)).into_iter().map(|(name, value)| (name.into(), value));
        let call = aws.sqs().set_queue_attributes().queue_url(&queue.queue_url);
        let call = call.set_attributes(Some(attributes.collect())).send();
        aws.call("SetQueueAttributes", "failed to change the attributes of the queue", call).await.map(drop)
    }

    async fn delete(aws: &Aws, queue: &Queue) -> Result<(), Failure> {
        let call = aws.sqs().delete_queue().queue_url(&queue.queue_url).send();
        aws.call("DeleteQueue", "failed to delete the queue", call).await.map(drop)
    }

    async fn set_tags(aws: &Aws, id: &str, tags: &Tags) -> Result<(), Failure> {
        let tags = tags.clone().into_iter().collect();
        let call = aws.sqs().tag_queue().queue_url(url(id)).set_tags(Some(tags)).send();
        aws.call("TagQueue", "failed to set tags", call).await.map(drop)
    }

    async fn remove_tags(aws: &Aws, id: &str, keys: &[&str]) -> Result<(), Failure> {
        let keys = keys.iter().map(|key| (*key).to_owned()).collect();
        let call = aws.sqs().untag_queue().queue_url(url(id)).set_tag_keys(Some(keys)).send();
        aws.call("UntagQueue", "failed to remove tags", call).await.map(drop)
    }
}

fn region(aws: &Aws) -> &str {
    aws.region().unwrap_or_default()
}

/// Whether it has one of these codes, which older responses prefix.
fn is(failure: &Failure, codes: &[&str]) -> bool {
    let code = failure.code.rsplit('.').next().unwrap_or_default();
    codes.contains(&code)
}

/// The URL of an id, which is an ARN that AWS returned or a person wrote.
fn url(id: &str) -> String {
    Address::of_arn(id).map_or_else(|| id.to_owned(), |address| address.url())
}

/// The queue with its tags; none if it does not exist.
async fn read(aws: &Aws, address: Address) -> Result<Option<Queue>, Failure> {
    let call = aws.sqs().list_queue_tags().queue_url(address.url()).send();
    let answer = aws.call("ListQueueTags", "failed to read the tags of the queue", call).await;
    or_nothing(answer.map(|answer| {
        let tags = answer.tags.unwrap_or_default().into_iter().collect();
        Some(Queue::new(&address, tags))
    }))
}

/// The queue with the name; none if there is none, and a failure if this launch did not create it.
async fn found(aws: &Aws, name: &str, creation: &Creation<'_>) -> Result<Option<Queue>, Failure> {
    let call = aws.sqs().get_queue_url().queue_name(name).send();
    let answer = aws.call("GetQueueUrl", "failed to read the queue", call).await;
    let Some(url) = or_nothing(answer.map(|answer| answer.queue_url))? else { return Ok(None) };
    let queue = read(aws, Address::of_url(&url, region(aws))).await?;
    queue.map(|queue| owned(queue, creation)).transpose()
}

fn owned(queue: Queue, creation: &Creation<'_>) -> Result<Queue, Failure> {
    if creation.has_created(&queue.tags) {
        return Ok(queue);
    }
    Err(creation.is_taken(terminal(CREATE, ""), &format!("the name {}", queue.queue_name), &[queue]))
}
