//! The API of Secrets Manager. One call lists up to 100 secrets with their tags, but may lag by minutes; a description of one secret
//! does not.

use aws_sdk_secretsmanager::Client;
pub(crate) use aws_sdk_secretsmanager::{
    operation::describe_secret::DescribeSecretOutput,
    primitives::{DateTime, DateTimeFormat},
    types,
};
use kraken_aws::{Aws, Tags, aws_service};

aws_service!(pub(crate) SecretsApi, aws_sdk_secretsmanager, "secretsmanager");

/// The number of secrets that are read concurrently.
pub(crate) const AT_ONCE: usize = 8;

/// Its clients, used like those of EC2: pass the future of a call to [`Aws::call`].
pub(crate) trait SecretsClients {
    /// The client, to build a call.
    fn secrets(&self) -> Client;
    /// The same for create calls, with one attempt.
    fn secrets_once(&self) -> Client;
}

impl SecretsClients for Aws {
    fn secrets(&self) -> Client {
        self.client::<SecretsApi>()
    }

    fn secrets_once(&self) -> Client {
        self.client_once::<SecretsApi>()
    }
}

/// Converts tags from the SDK's type.
pub(crate) fn tags(tags: Option<Vec<types::Tag>>) -> Tags {
    let one = |tag: types::Tag| Some((tag.key?, tag.value.unwrap_or_default()));
    tags.unwrap_or_default().into_iter().filter_map(one).collect()
}

/// Converts tags to the SDK's type.
pub(crate) fn to_sdk(tags: &Tags) -> Vec<types::Tag> {
    tags.iter().map(|(key, value)| types::Tag::builder().key(key).value(value).build()).collect()
}
