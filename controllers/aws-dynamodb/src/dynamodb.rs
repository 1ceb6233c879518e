//! The API of DynamoDB. Each table is described by a call, and its tags are another one: AWS has no call for several tables.

use aws_sdk_dynamodb::Client;
pub(crate) use aws_sdk_dynamodb::{primitives::DateTime, types};
use kraken_aws::{Aws, Tags, aws_service};

aws_service!(pub(crate) DynamoDbApi, aws_sdk_dynamodb, "dynamodb");

/// The number of tables that are read concurrently: an account may read the tags of ten tables per second.
pub(crate) const AT_ONCE: usize = 4;

/// Its clients, used like those of EC2: pass the future of a call to [`Aws::call`].
pub(crate) trait DynamoDbClients {
    /// The client, to build a call.
    fn dynamodb(&self) -> Client;
    /// The same for create calls, with one attempt.
    fn dynamodb_once(&self) -> Client;
}

impl DynamoDbClients for Aws {
    fn dynamodb(&self) -> Client {
        self.client::<DynamoDbApi>()
    }

    fn dynamodb_once(&self) -> Client {
        self.client_once::<DynamoDbApi>()
    }
}

/// Converts tags to the SDK's type.
pub(crate) fn to_sdk(tags: &Tags) -> Vec<types::Tag> {
    let one = |(key, value): (&String, &String)| types::Tag::builder().key(key).value(value).build().ok();
    tags.iter().filter_map(one).collect()
}
