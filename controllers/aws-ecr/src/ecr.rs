//! The API of Elastic Container Registry. One call describes up to 100 repositories; the tags and the policies of each are calls.

use aws_sdk_ecr::Client;
pub(crate) use aws_sdk_ecr::types;
use kraken_aws::{Aws, Tags, aws_service};

aws_service!(pub(crate) EcrApi, aws_sdk_ecr, "ecr");

/// The number of repositories whose tags are read concurrently.
pub(crate) const AT_ONCE: usize = 8;

/// Its clients, used like those of EC2: pass the future of a call to [`Aws::call`].
pub(crate) trait EcrClients {
    /// The client, to build a call.
    fn ecr(&self) -> Client;
    /// The same for create calls, with one attempt.
    fn ecr_once(&self) -> Client;
}

impl EcrClients for Aws {
    fn ecr(&self) -> Client {
        self.client::<EcrApi>()
    }

    fn ecr_once(&self) -> Client {
        self.client_once::<EcrApi>()
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
