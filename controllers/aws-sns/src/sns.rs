//! The API of SNS. It has no batched reads of topics: the tags and the attributes of each topic are a call.

use aws_sdk_sns::Client;
use kraken_aws::{Aws, Tags, aws_service, missing::or_nothing};
use kraken_kind::Failure;

pub(crate) use aws_sdk_sns::types;

aws_service!(pub(crate) SnsApi, aws_sdk_sns, "sns");

/// The number of topics and subscriptions that are read concurrently.
pub(crate) const AT_ONCE: usize = 8;

/// Its clients, used like those of EC2: pass the future of a call to [`Aws::call`].
pub(crate) trait SnsClients {
    /// The client, to build a call.
    fn sns(&self) -> Client;
    /// The same for create calls, with one attempt.
    fn sns_once(&self) -> Client;
}

impl SnsClients for Aws {
    fn sns(&self) -> Client {
        self.client::<SnsApi>()
    }

    fn sns_once(&self) -> Client {
        self.client_once::<SnsApi>()
    }
}

/// Converts tags from the SDK's type.
pub(crate) fn tags(tags: Option<Vec<types::Tag>>) -> Tags {
    tags.unwrap_or_default().into_iter().map(|tag| (tag.key, tag.value)).collect()
}

/// Converts tags to the SDK's type.
pub(crate) fn to_sdk(tags: &Tags) -> Vec<types::Tag> {
    let one = |(key, value): (&String, &String)| types::Tag::builder().key(key).value(value).build().ok();
    tags.iter().filter_map(one).collect()
}

/// The tags of a topic; none if it does not exist.
pub(crate) async fn tags_of(aws: &Aws, topic: &str) -> Result<Option<Tags>, Failure> {
    let call = aws.sns().list_tags_for_resource().resource_arn(topic).send();
    let answer = aws.call("ListTagsForResource", "failed to read the tags of the topic", call).await;
    or_nothing(answer.map(|answer| Some(tags(answer.tags))))
}

/// Sets tags of a topic.
pub(crate) async fn set_tags(aws: &Aws, topic: &str, tags: &Tags) -> Result<(), Failure> {
    let call = aws.sns().tag_resource().resource_arn(topic).set_tags(Some(to_sdk(tags))).send();
    aws.call("TagResource", "failed to set tags of the topic", call).await.map(drop)
}

/// Removes tags of a topic.
pub(crate) async fn remove_tags(aws: &Aws, topic: &str, keys: &[&str]) -> Result<(), Failure> {
    let keys = keys.iter().map(|key| (*key).to_owned()).collect();
    let call = aws.sns().untag_resource().resource_arn(topic).set_tag_keys(Some(keys)).send();
    aws.call("UntagResource", "failed to remove tags of the topic", call).await.map(drop)
}
