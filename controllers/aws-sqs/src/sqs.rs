//! The API of SQS. It has no batched reads of queues: the tags and the attributes of each queue are a call.

use aws_sdk_sqs::Client;
pub(crate) use aws_sdk_sqs::types;
use kraken_aws::{Aws, aws_service};

aws_service!(pub(crate) SqsApi, aws_sdk_sqs, "sqs");

/// The number of queues that are read concurrently.
pub(crate) const AT_ONCE: usize = 8;

/// Its clients, used like those of EC2: pass the future of a call to [`Aws::call`].
pub(crate) trait SqsClients {
    /// The client, to build a call.
    fn sqs(&self) -> Client;
    /// The same for create calls, with one attempt.
    fn sqs_once(&self) -> Client;
}

impl SqsClients for Aws {
    fn sqs(&self) -> Client {
        self.client::<SqsApi>()
    }

    fn sqs_once(&self) -> Client {
        self.client_once::<SqsApi>()
    }
}
