//! The authentication of simulated calls: the header that names the access key and the region, without a signature. The
//! simulator does not check signatures, and computing them is a twelfth of the processor time of a simulation. Calls to STS,
//! which are few, are signed in simulations, too.

use aws_sdk_ec2::config::{ConfigBag, Credentials, Region, RuntimeComponents};
use aws_smithy_runtime_api::{
    box_error::BoxError,
    client::{
        auth::{AuthScheme, AuthSchemeEndpointConfig, AuthSchemeId, Sign},
        identity::{Identity, SharedIdentityResolver},
        orchestrator::HttpRequest,
        runtime_components::GetIdentityResolver,
    },
};

/// The scheme that this one replaces: all operations of AWS's APIs use it.
const SCHEME: AuthSchemeId = AuthSchemeId::new("sigv4");

/// The auth scheme of simulated clients, with the name and the credentials of AWS's own.
#[derive(Debug)]
pub struct Unsigned;

impl AuthScheme for Unsigned {
    fn scheme_id(&self) -> AuthSchemeId {
        SCHEME
    }

    fn identity_resolver(&self, resolvers: &dyn GetIdentityResolver) -> Option<SharedIdentityResolver> {
        resolvers.identity_resolver(SCHEME)
    }

    fn signer(&self) -> &dyn Sign {
        self
    }
}

impl Sign for Unsigned {
    fn sign_http_request(
        &self,
        request: &mut HttpRequest,
        identity: &Identity,
        _: AuthSchemeEndpointConfig<'_>,
        _: &RuntimeComponents,
        config: &ConfigBag,
    ) -> Result<(), BoxError> {
        let credentials = identity.data::<Credentials>().ok_or("the identity has no access key")?;
        let region = config.load::<Region>().ok_or("the client has no region")?;
        let (key, region) = (credentials.access_key_id(), region.as_ref());
        // `insert` panics if a key from a Secret cannot be in a header, and so does the SDK's signer: a simulation shows that.
        let headers = request.headers_mut();
        headers.insert("authorization", authorization(key, region));
        if let Some(token) = credentials.session_token() {
            headers.insert("x-amz-security-token", token.to_owned());
        }
        Ok(())
    }
}

/// The header of a signed request. The date and the service are always the same, because only the key and the region are read.
fn authorization(key: &str, region: &str) -> String {
    format!(
        "AWS4-HMAC-SHA256 Credential={key}/20260101/{region}/ec2/aws4_request, SignedHeaders=host, Signature=0"
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use aws_sdk_ec2::config::{SharedCredentialsProvider, SharedHttpClient};
    use aws_smithy_runtime_api::client::{
        http::{HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector},
        result::ConnectorError,
    };
    use aws_smithy_types::{retry::RetryConfig, timeout::TimeoutConfig};
    use parking_lot::Mutex;

    use super::*;
    use crate::owner::Owner;
    use crate::{
        clients::{Clients, RateLimitScope, Settings},
        injected,
    };

    /// A server that never responds, and keeps two headers and the address of each request.
    #[derive(Clone, Debug, Default)]
    struct Recorder(Arc<Mutex<Vec<[String; 3]>>>);

    impl HttpClient for Recorder {
        fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
            SharedHttpConnector::new(self.clone())
        }
    }

    impl HttpConnector for Recorder {
        fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
            let header = |name: &str| request.headers().get(name).unwrap_or_default().to_owned();
            let [authorization, token] = ["authorization", "x-amz-security-token"].map(header);
            self.0.lock().push([authorization, token, request.uri().to_owned()]);
            HttpConnectorFuture::ready(Err(ConnectorError::user("closed".into())))
        }
    }

    /// One call of each client. `configured`: the address in the configuration of the SDK, such as that of `AWS_ENDPOINT_URL`.
    async fn calls(
        is_simulated: bool,
        region: &str,
        configured: Option<&str>,
        endpoint: Option<&str>,
    ) -> Vec<[String; 3]> {
        let recorder = Recorder::default();
        let client = SharedHttpClient::new(recorder.clone());
        let timeouts = TimeoutConfig::builder().build();
        let config = injected::config(Some(region), client, timeouts, RetryConfig::disabled());
        let keys = Credentials::new("AKIA-1", "secret", Some("token".to_owned()), None, "test");
        let mut config = config.into_builder().credentials_provider(SharedCredentialsProvider::new(keys));
        config.set_endpoint_url(configured.map(str::to_owned));
        let (config, endpoint) = (config.build(), endpoint.map(str::to_owned));
        let clients = Clients::new(
            &Settings { config, endpoint, key: None, is_simulated, owner: Owner::default() },
            RateLimitScope::Client,
        );
        for ec2 in [&clients.ec2, &clients.ec2_once] {
            ec2.describe_vpcs().send().await.unwrap_err();
        }
        recorder.0.lock().clone()
    }

    #[tokio::test(start_paused = true)]
    async fn simulated_calls_name_their_access_key_and_region_and_are_not_signed() {
        let all = calls(true, "eu-west-1", None, None).await;
        assert_eq!(all.len(), 2);
        for [authorization, token, _] in all {
            assert!(authorization.contains("Credential=AKIA-1/20260101/eu-west-1/"), "{authorization}");
            assert!(authorization.ends_with("Signature=0"), "{authorization}");
            assert_eq!(token, "token");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn other_calls_are_signed() {
        for [authorization, ..] in calls(false, "eu-west-1", None, None).await {
            let (_, signature) = authorization.split_once("Signature=").unwrap();
            assert_eq!(signature.len(), 64, "{authorization}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_address_in_the_configuration_of_the_sdk_is_used_unless_another_one_is_given() {
        let of = |endpoint| calls(false, "eu-west-1", Some("https://configured.test"), endpoint);
        for (endpoint, address) in
            [(None, "https://configured.test/"), (Some("https://given.test"), "https://given.test/")]
        {
            for [.., uri] in of(endpoint).await {
                assert_eq!(uri, address);
            }
        }
    }
}
