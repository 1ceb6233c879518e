//! The API of Systems Manager. One call reads up to ten parameters.

use aws_sdk_ssm::Client;
pub(crate) use aws_sdk_ssm::types;
use kraken_aws::{Aws, aws_service};

aws_service!(pub(crate) SsmApi, aws_sdk_ssm, "ssm");

/// Its client, used like that of EC2: pass the future of a call to [`Aws::call`].
pub(crate) trait SsmClients {
    /// The client, to build a call.
    fn ssm(&self) -> Client;
}

impl SsmClients for Aws {
    fn ssm(&self) -> Client {
        self.client::<SsmApi>()
    }
}
