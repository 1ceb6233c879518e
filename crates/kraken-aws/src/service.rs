//! The APIs of AWS that spokes call: each has an SDK crate of its own, which takes up to minutes to compile. This crate has that of
//! EC2; a spoke brings the others with one line, so that no spoke compiles the API of another one.

use std::fmt;

use aws_config::SdkConfig;
use aws_sdk_ec2::config::retry::RetryPartition;
use aws_smithy_types::retry::RetryConfig;

pub use crate::unsigned::Unsigned;

/// An API of AWS. [`aws_service!`](crate::aws_service) implements it for an SDK crate.
pub trait Service: 'static {
    /// The client of the SDK. Clones share its connections.
    type Client: Clone + fmt::Debug + Send + Sync + 'static;
    /// The name of its rate limit.
    const NAME: &'static str;
    /// Creates the client.
    fn client(settings: ServiceSettings<'_>) -> Self::Client;
}

/// The settings of one client.
#[derive(Debug)]
pub struct ServiceSettings<'a> {
    /// Credentials, region, timeouts and retries.
    pub config: &'a SdkConfig,
    /// The address of the API; none for that of `config`, or of AWS.
    pub endpoint: Option<&'a str>,
    /// The scope of its rate limit and retry budget; none for the one that all clients of the process share.
    pub retry_partition: Option<RetryPartition>,
    /// Retries other than those of `config`.
    pub retries: Option<RetryConfig>,
    /// The auth scheme of simulated calls.
    pub auth_scheme: Option<Unsigned>,
}

/// Declares an API of AWS for [`Aws::client`](crate::Aws::client): the name of a new type, the SDK crate, and the name of the rate limit.
///
/// ```ignore
/// aws_service!(pub(crate) ElbApi, aws_sdk_elasticloadbalancingv2, "elb");
/// ```
///
/// Settings that only one API has follow as a closure over the builder of its configuration and the common settings:
///
/// ```ignore
/// aws_service!(pub(crate) S3Api, aws_sdk_s3, "s3", |builder, settings| builder.force_path_style(settings.endpoint.is_some()));
/// ```
#[macro_export]
macro_rules! aws_service {
    ($visibility:vis $service:ident, $sdk:ident, $name:literal) => {
        $crate::aws_service!($visibility $service, $sdk, $name, |builder, _settings| builder);
    };
    ($visibility:vis $service:ident, $sdk:ident, $name:literal, |$builder:ident, $settings:ident| $configured:expr) => {
        #[doc = concat!("The API `", $name, "` of AWS.")]
        #[derive(Clone, Copy, Debug)]
        $visibility struct $service;

        impl $crate::service::Service for $service {
            type Client = $sdk::Client;
            const NAME: &'static str = $name;

            fn client(settings: $crate::service::ServiceSettings<'_>) -> $sdk::Client {
                // The endpoint is not in the configuration, because the STS that may issue its credentials must not use it.
                let ($builder, $settings) = ($sdk::config::Builder::from(settings.config), &settings);
                let mut builder = $configured;
                if let Some(endpoint) = settings.endpoint {
                    builder = builder.endpoint_url(endpoint);
                }
                builder.set_retry_partition(settings.retry_partition);
                if let Some(retries) = settings.retries {
                    builder.set_retry_config(Some(retries));
                }
                if let Some(auth_scheme) = settings.auth_scheme {
                    builder = builder.push_auth_scheme(auth_scheme);
                }
                $sdk::Client::from_conf(builder.build())
            }
        }
    };
}
