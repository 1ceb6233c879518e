//! The API of Elastic Load Balancing.

use aws_sdk_elasticloadbalancingv2::Client;
pub(crate) use aws_sdk_elasticloadbalancingv2::{operation, types};
use kraken_aws::{Aws, aws_service};

aws_service!(pub(crate) ElbApi, aws_sdk_elasticloadbalancingv2, "elb");

/// Its clients, used like those of EC2: pass the future of a call to [`Aws::call`].
pub(crate) trait ElbClients {
    /// The client, to build a call.
    fn elb(&self) -> Client;
    /// The same for create calls, with one attempt.
    fn elb_once(&self) -> Client;
}

impl ElbClients for Aws {
    fn elb(&self) -> Client {
        self.client::<ElbApi>()
    }

    fn elb_once(&self) -> Client {
        self.client_once::<ElbApi>()
    }
}
