//! The API of CloudWatch. Descriptions have no tags: those of each alarm are a call.

use aws_sdk_cloudwatch::Client;
pub(crate) use aws_sdk_cloudwatch::types;
use kraken_aws::{Aws, Tags, aws_service};

aws_service!(pub(crate) CloudWatchApi, aws_sdk_cloudwatch, "monitoring");

/// Its clients, used like those of EC2: pass the future of a call to [`Aws::call`].
pub(crate) trait CloudWatchClients {
    /// The client, to build a call.
    fn cloudwatch(&self) -> Client;
    /// The same for create calls, with one attempt.
    fn cloudwatch_once(&self) -> Client;
}

impl CloudWatchClients for Aws {
    fn cloudwatch(&self) -> Client {
        self.client::<CloudWatchApi>()
    }

    fn cloudwatch_once(&self) -> Client {
        self.client_once::<CloudWatchApi>()
    }
}

/// Converts tags from the SDK's type.
pub(crate) fn tags(tags: Option<Vec<types::Tag>>) -> Tags {
    let pair = |tag: types::Tag| tag.key.zip(tag.value);
    tags.unwrap_or_default().into_iter().filter_map(pair).collect()
}

/// Converts tags to the SDK's type.
pub(crate) fn to_sdk(tags: &Tags) -> Vec<types::Tag> {
    tags.iter().map(|(key, value)| types::Tag::builder().key(key).value(value).build()).collect()
}
