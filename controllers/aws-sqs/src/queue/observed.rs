//! The observed queue, which is the published state.

use std::collections::BTreeMap;

use kraken_aws::{
    Tags, aws_observed,
    lookup::Tagged,
    partition,
    resource::{RemoteObject, is_generated_name},
    tags,
};

/// The end of the name of each FIFO queue, and of no other one.
pub(super) const FIFO: &str = ".fifo";

#[aws_observed]
#[allow(clippy::struct_field_names)] // AWS's names
pub(crate) struct Queue {
    pub(super) queue_url: String,
    pub(super) queue_arn: String,
    pub(super) queue_name: String,
    pub(super) fifo_queue: bool,
    /// Read only in deep observations, and therefore not published. None if they were not read.
    #[serde(skip)]
    pub(super) attributes: Option<Attributes>,
    #[serde(serialize_with = "tags::written")]
    pub(super) tags: Tags,
}

/// What one more call reads.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Attributes {
    pub(super) visibility_timeout: Option<i32>,
    pub(super) message_retention: Option<i32>,
    pub(super) delay: Option<i32>,
    pub(super) maximum_message_size: Option<i32>,
    pub(super) receive_wait_time: Option<i32>,
    pub(super) content_based_deduplication: Option<bool>,
    pub(super) is_encrypted_by_sqs: Option<bool>,
    /// Empty for none.
    pub(super) kms_key_id: Option<String>,
    pub(super) kms_data_key_reuse_period: Option<i32>,
    /// Empty for none.
    pub(super) dead_letter_target_arn: Option<String>,
    pub(super) max_receive_count: Option<i32>,
    /// JSON; empty for none.
    pub(super) policy: String,
}

/// Where a queue is, as its ARN and its URL say. A queue has several URLs, also of older forms, and one ARN.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    region: String,
    account: String,
    name: String,
}

impl Address {
    /// `arn:aws:sqs:REGION:ACCOUNT:NAME`; none if it is no ARN of a queue.
    pub(super) fn of_arn(arn: &str) -> Option<Self> {
        let parts: Vec<&str> = arn.split(':').collect();
        let ["arn", _, "sqs", region, account, name] = parts[..] else { return None };
        Some(Self { region: region.to_owned(), account: account.to_owned(), name: name.to_owned() })
    }

    /// Of a URL in this region: each ends with the account and the name.
    pub(super) fn of_url(url: &str, region: &str) -> Self {
        let mut parts = url.rsplit('/');
        let mut part = || parts.next().unwrap_or_default().to_owned();
        let (name, account) = (part(), part());
        Self { region: region.to_owned(), account, name }
    }

    fn arn(&self) -> String {
        let Self { region, account, name } = self;
        format!("arn:{}:sqs:{region}:{account}:{name}", partition(region).0)
    }

    /// The URL in the documented form. AWS finds the queue by the account and the name in it.
    pub(super) fn url(&self) -> String {
        let Self { region, account, name } = self;
        format!("https://sqs.{region}.{}/{account}/{name}", partition(region).1)
    }
}

impl Queue {
    pub(super) fn new(address: &Address, tags: Tags) -> Self {
        Self {
            queue_url: address.url(),
            queue_arn: address.arn(),
            queue_name: address.name.clone(),
            fifo_queue: address.name.ends_with(FIFO),
            attributes: None,
            tags,
        }
    }
}

impl Attributes {
    /// From AWS's texts by name.
    pub(super) fn new(texts: &BTreeMap<String, String>) -> Self {
        let text = |name: &str| texts.get(name).cloned().unwrap_or_default();
        let number = |name: &str| texts.get(name).and_then(|text| text.parse().ok());
        let is_on = |name: &str| Some(text(name) == "true");
        let redrive: serde_json::Value = serde_json::from_str(&text("RedrivePolicy")).unwrap_or_default();
        // AWS returns a number, and accepts a text.
        let count = &redrive["maxReceiveCount"];
        let count = count.as_i64().or_else(|| count.as_str()?.parse().ok());
        Self {
            visibility_timeout: number("VisibilityTimeout"),
            message_retention: number("MessageRetentionPeriod"),
            delay: number("DelaySeconds"),
            maximum_message_size: number("MaximumMessageSize"),
            receive_wait_time: number("ReceiveMessageWaitTimeSeconds"),
            content_based_deduplication: is_on("ContentBasedDeduplication"),
            is_encrypted_by_sqs: is_on("SqsManagedSseEnabled"),
            kms_key_id: Some(text("KmsMasterKeyId")),
            kms_data_key_reuse_period: number("KmsDataKeyReusePeriodSeconds"),
            dead_letter_target_arn: Some(
                redrive["deadLetterTargetArn"].as_str().unwrap_or_default().to_owned(),
            ),
            max_receive_count: count.and_then(|count| i32::try_from(count).ok()),
            policy: text("Policy"),
        }
    }
}

/// The attribute of this name, if attributes were read.
macro_rules! attributes {
    ($($name:ident: $type:ty),+ $(,)?) => {
        impl Queue {
            $(pub(super) fn $name(&self) -> Option<&$type> {
                self.attributes.as_ref()?.$name.as_ref()
            })+
        }
    };
}
attributes! {
    visibility_timeout: i32, message_retention: i32, delay: i32, maximum_message_size: i32, receive_wait_time: i32,
    content_based_deduplication: bool, is_encrypted_by_sqs: bool, kms_key_id: String, kms_data_key_reuse_period: i32,
    dead_letter_target_arn: String, max_receive_count: i32,
}

impl Tagged for Queue {
    fn id(&self) -> &str {
        &self.queue_arn
    }

    fn tags(&self) -> &Tags {
        &self.tags
    }

    /// A generated name is unique for its launch; any other name may be reused for a queue of another owner.
    fn has_own_id(&self) -> bool {
        is_generated_name(self.queue_name.trim_end_matches(FIFO))
    }
}

impl RemoteObject for Queue {}
