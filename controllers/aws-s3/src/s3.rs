//! The API of S3. It has no batched reads of buckets: each attribute of each bucket is a call.

use aws_sdk_s3::Client;
pub(crate) use aws_sdk_s3::types;
use kraken_aws::{Aws, aws_service};

// A server that is no AWS, such as a test's, has no domain for each bucket.
aws_service!(pub(crate) S3Api, aws_sdk_s3, "s3", |builder, settings| {
    builder.force_path_style(settings.endpoint.is_some())
});

/// The number of buckets that are read concurrently.
pub(crate) const AT_ONCE: usize = 8;

/// Its clients, used like those of EC2: pass the future of a call to [`Aws::call`].
pub(crate) trait S3Clients {
    /// The client, to build a call.
    fn s3(&self) -> Client;
    /// The same for create calls, with one attempt.
    fn s3_once(&self) -> Client;
}

impl S3Clients for Aws {
    fn s3(&self) -> Client {
        self.client::<S3Api>()
    }

    fn s3_once(&self) -> Client {
        self.client_once::<S3Api>()
    }
}
