//! The API of EC2 Auto Scaling. Launch templates belong to that of EC2.

use aws_sdk_autoscaling::Client;
pub(crate) use aws_sdk_autoscaling::types;
use kraken_aws::{Aws, aws_service};

aws_service!(pub(crate) AutoscalingApi, aws_sdk_autoscaling, "autoscaling");

/// The maximum page size, and the maximum number of names in one call.
pub(crate) const PAGE: usize = 100;
/// The same as AWS's type of numbers.
pub(crate) const MAX_RECORDS: i32 = 100;

/// Its clients, used like those of EC2: pass the future of a call to [`Aws::call`].
pub(crate) trait AutoscalingClients {
    /// The client, to build a call.
    fn autoscaling(&self) -> Client;
    /// The same for create calls, with one attempt.
    fn autoscaling_once(&self) -> Client;
}

impl AutoscalingClients for Aws {
    fn autoscaling(&self) -> Client {
        self.client::<AutoscalingApi>()
    }

    fn autoscaling_once(&self) -> Client {
        self.client_once::<AutoscalingApi>()
    }
}
