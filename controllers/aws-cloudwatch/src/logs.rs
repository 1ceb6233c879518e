//! The API of CloudWatch Logs. One call describes up to 50 log groups; the tags of each are a call.

use aws_sdk_cloudwatchlogs::Client;
pub(crate) use aws_sdk_cloudwatchlogs::types;
use kraken_aws::{Aws, aws_service};

aws_service!(pub(crate) LogsApi, aws_sdk_cloudwatchlogs, "logs");

/// The number of log groups whose tags are read concurrently.
pub(crate) const AT_ONCE: usize = 8;

/// Its clients, used like those of EC2: pass the future of a call to [`Aws::call`].
pub(crate) trait LogsClients {
    /// The client, to build a call.
    fn logs(&self) -> Client;
    /// The same for create calls, with one attempt.
    fn logs_once(&self) -> Client;
}

impl LogsClients for Aws {
    fn logs(&self) -> Client {
        self.client::<LogsApi>()
    }

    fn logs_once(&self) -> Client {
        self.client_once::<LogsApi>()
    }
}
