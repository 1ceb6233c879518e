//! The API of RDS. Tags are changed by ARN. Only instances are returned with their tags, and nothing can be filtered by them.

use aws_sdk_rds::Client;
use kraken_aws::{Aws, Tags, aws_service};
use kraken_kind::Failure;

pub(crate) use aws_sdk_rds::types;

aws_service!(pub(crate) RdsApi, aws_sdk_rds, "rds");

/// The maximum page size.
pub(crate) const PAGE: i32 = 100;

/// Its clients, used like those of EC2: pass the future of a call to [`Aws::call`].
pub(crate) trait RdsClients {
    /// The client, to build a call.
    fn rds(&self) -> Client;
    /// The same for create calls, with one attempt.
    fn rds_once(&self) -> Client;
}

impl RdsClients for Aws {
    fn rds(&self) -> Client {
        self.client::<RdsApi>()
    }

    fn rds_once(&self) -> Client {
        self.client_once::<RdsApi>()
    }
}

/// Converts tags from the SDK's type.
pub(crate) fn tags(tags: Option<Vec<types::Tag>>) -> Tags {
    let pair = |tag: types::Tag| (tag.key.unwrap_or_default(), tag.value.unwrap_or_default());
    tags.unwrap_or_default().into_iter().map(pair).collect()
}

/// Converts tags to the SDK's type.
pub(crate) fn to_sdk(tags: &Tags) -> Vec<types::Tag> {
    tags.iter().map(|(key, value)| types::Tag::builder().key(key).value(value).build()).collect()
}

/// For [`kraken_aws::AwsResource::set_tags`].
pub(crate) async fn set_tags(aws: &Aws, arn: &str, tags: &Tags) -> Result<(), Failure> {
    let call = aws.rds().add_tags_to_resource().resource_name(arn).set_tags(Some(to_sdk(tags)));
    aws.call("AddTagsToResource", "failed to set tags", call.send()).await.map(drop)
}

/// For [`kraken_aws::AwsResource::remove_tags`].
pub(crate) async fn remove_tags(aws: &Aws, arn: &str, keys: &[&str]) -> Result<(), Failure> {
    let keys = keys.iter().map(|key| (*key).to_owned()).collect();
    let call = aws.rds().remove_tags_from_resource().resource_name(arn).set_tag_keys(Some(keys));
    aws.call("RemoveTagsFromResource", "failed to remove tags", call.send()).await.map(drop)
}
