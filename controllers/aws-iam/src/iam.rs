//! The API of IAM. It is global: the SDK derives its endpoint from the partition of the region.

use aws_sdk_iam::Client;
pub(crate) use aws_sdk_iam::types;
use kraken_aws::{Aws, Tags, aws_service};

aws_service!(pub(crate) IamApi, aws_sdk_iam, "iam");

/// Its clients, used like those of EC2: pass the future of a call to [`Aws::call`].
pub(crate) trait IamClients {
    /// The client, to build a call.
    fn iam(&self) -> Client;
    /// The same for create calls, with one attempt.
    fn iam_once(&self) -> Client;
}

impl IamClients for Aws {
    fn iam(&self) -> Client {
        self.client::<IamApi>()
    }

    fn iam_once(&self) -> Client {
        self.client_once::<IamApi>()
    }
}

/// Converts tags to the SDK's type, without those that it cannot express.
pub(crate) fn to_sdk(tags: &Tags) -> Vec<types::Tag> {
    let one = |(key, value): (&String, &String)| types::Tag::builder().key(key).value(value).build().ok();
    tags.iter().filter_map(one).collect()
}

/// Converts tags from the SDK's type.
pub(crate) fn tags(tags: Option<Vec<types::Tag>>) -> Tags {
    tags.unwrap_or_default().into_iter().map(|tag| (tag.key, tag.value)).collect()
}
