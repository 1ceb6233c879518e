//! Tests: what the connections of Accounts share. After a throttled call, the SDK sends calls at the rate that AWS
//! accepted, which takes seconds; a connection that is not concerned sends them at once.

use std::{sync::Arc, time::Duration};

use aws_sdk_ec2::config::SharedHttpClient;
use aws_smithy_runtime_api::client::{
    http::{HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector},
    orchestrator::{HttpRequest, HttpResponse},
    result::ConnectorError,
    runtime_components::RuntimeComponents,
};
use aws_smithy_types::{body::SdkBody, retry::RetryConfig, timeout::TimeoutConfig};
use http::{Request, Response};
use kraken_kind::{Failure, FailureClass, account::KEPT, runtime::metrics::Metrics};
use kube::client::Body;
use tokio::time::Instant;
use tower::service_fn;

use super::*;
use crate::{Aws, clients::RateLimitScope, injected};

const WEST: &str = "eu-west-1";
const NORTH: &str = "eu-north-1";

/// AWS, which throttles the calls with one access key. The account of an access key is its last 12 characters.
#[derive(Clone, Debug, Default)]
struct Cloud {
    throttled: Arc<Mutex<Option<String>>>,
}

impl Cloud {
    fn answer(&self, request: &HttpRequest) -> (u16, String) {
        let authorization = request.headers().get("authorization").unwrap_or_default();
        let (_, credential) = authorization.split_once("Credential=").unwrap();
        let (key, _) = credential.split_once('/').unwrap();
        let body = String::from_utf8_lossy(request.body().bytes().unwrap_or_default());
        if body.contains("Action=GetCallerIdentity") {
            let account = &key[key.len() - 12..];
            let body = format!(
                "<GetCallerIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><GetCallerIdentityResult>\
                 <Arn>arn:aws:iam::{account}:user/kraken</Arn><Account>{account}</Account></GetCallerIdentityResult>\
                 <ResponseMetadata><RequestId>r</RequestId></ResponseMetadata></GetCallerIdentityResponse>"
            );
            return (200, body);
        }
        if self.throttled.lock().as_deref() == Some(key) {
            let body = "<Response><Errors><Error><Code>RequestLimitExceeded</Code><Message>Request limit exceeded.</Message>\
                        </Error></Errors><RequestID>r</RequestID></Response>";
            return (503, body.to_owned());
        }
        let body = "<DescribeVpcsResponse xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\"><requestId>r</requestId>\
                    <vpcSet/></DescribeVpcsResponse>";
        (200, body.to_owned())
    }
}

impl HttpClient for Cloud {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

impl HttpConnector for Cloud {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let (status, body) = self.answer(&request);
        HttpConnectorFuture::new(async move {
            let status = status.try_into().map_err(|error| ConnectorError::other(Box::new(error), None))?;
            Ok(HttpResponse::new(status, SdkBody::from(body)))
        })
    }
}

/// The controller's own connection, with the rate limits of a controller that is not simulated.
fn own(cloud: &Cloud) -> Aws {
    let retries = RetryConfig::adaptive().with_max_attempts(2);
    let client = SharedHttpClient::new(cloud.clone());
    let config = injected::config(Some(WEST), client, TimeoutConfig::builder().build(), retries);
    Aws::with(config, None, Metrics::new("testing"), RateLimitScope::Process)
}

fn access_key(id: &str) -> AccessKey {
    AccessKey { id: id.into(), secret: "secret".into(), token: None }
}

/// A connection with this access key to this region. No two tests use the same account: rate limits belong to the process.
async fn connect(own: &Aws, key: &str, region: &str) -> Aws {
    let digest: Arc<str> = format!("{key}/{region}").into();
    let keys = access_key(key);
    let aws = Box::pin(own.with_credentials(Some(&keys), None, Some(region), &digest)).await;
    aws.location().await.unwrap();
    aws
}

async fn describe(aws: &Aws) -> Result<(), Failure> {
    let call = aws.ec2().describe_vpcs();
    aws.call("DescribeVpcs", "failed to describe VPCs", call.send()).await.map(drop)
}

/// A call with this access key is throttled, with its retry.
async fn throttle(cloud: &Cloud, aws: &Aws, key: &str) {
    *cloud.throttled.lock() = Some(key.to_owned());
    assert_eq!(describe(aws).await.unwrap_err().class, FailureClass::Throttled);
    *cloud.throttled.lock() = None;
}

/// Whether calls are delayed.
async fn is_slow(aws: &Aws) -> bool {
    let start = Instant::now();
    for _ in 0..5 {
        describe(aws).await.unwrap();
    }
    start.elapsed() > Duration::from_secs(1)
}

#[tokio::test(start_paused = true)]
async fn a_throttled_account_does_not_slow_another() {
    let cloud = Cloud::default();
    let own = own(&cloud);
    let one = connect(&own, "AKIAONE100000000001", WEST).await;
    let other = connect(&own, "AKIATWO100000000002", WEST).await;
    throttle(&cloud, &one, "AKIAONE100000000001").await;
    assert!(!is_slow(&other).await);
    assert!(is_slow(&one).await);
}

#[tokio::test(start_paused = true)]
async fn a_throttled_region_does_not_slow_another_of_the_account() {
    let cloud = Cloud::default();
    let own = own(&cloud);
    let west = connect(&own, "AKIAONE200000000001", WEST).await;
    let north = connect(&own, "AKIAONE200000000001", NORTH).await;
    throttle(&cloud, &west, "AKIAONE200000000001").await;
    assert!(!is_slow(&north).await);
    assert!(is_slow(&west).await);
}

#[tokio::test(start_paused = true)]
async fn different_credentials_of_one_account_and_region_share_its_rate_limit() {
    let cloud = Cloud::default();
    let own = own(&cloud);
    let one = connect(&own, "AKIAONE300000000001", WEST).await;
    let other = connect(&own, "AKIATWO300000000001", WEST).await;
    assert!(!is_slow(&other).await);
    throttle(&cloud, &one, "AKIAONE300000000001").await;
    assert!(is_slow(&other).await, "AWS limits the account, and not the access key");
}

#[tokio::test(start_paused = true)]
async fn throttled_create_calls_do_not_slow_reads() {
    let (cloud, key) = (Cloud::default(), "AKIAONE400000000001");
    let aws = connect(&own(&cloud), key, WEST).await;
    *cloud.throttled.lock() = Some(key.to_owned());
    let call = aws.ec2_once().create_vpc().cidr_block("10.0.0.0/16");
    let created = aws.call("CreateVpc", "failed to create the VPC", call.send()).await;
    assert_eq!(created.unwrap_err().class, FailureClass::Throttled);
    *cloud.throttled.lock() = None;
    assert!(!is_slow(&aws).await);
}

/// Accounts that no watch fills.
fn accounts() -> Accounts {
    let service =
        service_fn(|_: Request<Body>| async { Ok::<_, std::io::Error>(Response::new(Body::empty())) });
    Accounts {
        client: Client::new(service, "ns"),
        known: Store::default(),
        served: None,
        invalid: Invalid::default(),
        listeners: Listeners::default(),
        secrets: Secrets::default(),
        is_required: false,
    }
}

#[tokio::test(start_paused = true)]
async fn accounts_with_the_same_credentials_and_region_share_one_connection() {
    let own = own(&Cloud::default());
    let connected = async |id: &str, region: &str, spec: &AccountSpec| {
        own.connected(Some(access_key(id)), spec, Some(region)).await
    };
    let tags = [("Team".to_owned(), "shop".to_owned())].into();
    let (bare, tagged) =
        (AccountSpec::default(), AccountSpec { default_tags: tags, ..AccountSpec::default() });
    let one = connected("AKIAONE500000000001", WEST, &bare).await;
    let same = connected("AKIAONE500000000001", WEST, &tagged).await;
    assert_eq!(one.key, same.key);
    assert!(Arc::ptr_eq(&one.external.clients, &same.external.clients));
    for other in [
        connected("AKIATWO500000000001", WEST, &bare).await,
        connected("AKIAONE500000000001", NORTH, &bare).await,
    ] {
        assert_ne!(one.key, other.key);
        assert!(!Arc::ptr_eq(&one.external.clients, &other.external.clients));
    }
}

#[tokio::test(start_paused = true)]
async fn clients_of_rotated_credentials_are_dropped_an_hour_after_their_last_use() {
    let own = Aws { accounts: Some(accounts()), ..own(&Cloud::default()) };
    let spec = AccountSpec::default();
    let connected = async |id: &str| own.connected(Some(access_key(id)), &spec, Some(WEST)).await.external;
    let old = Arc::downgrade(&connected("AKIAOLD600000000001").await.settings);
    tokio::time::advance(KEPT / 2).await;
    let new = Arc::downgrade(&connected("AKIANEW600000000001").await.settings);
    assert!(old.upgrade().is_some(), "reconciles that began before the rotation still use them");
    tokio::time::advance(KEPT / 2).await;
    // A reconcile of a resource without an Account.
    assert!(own.connect_named("ns", None).await.unwrap().is_none());
    assert!(old.upgrade().is_none());
    assert!(new.upgrade().is_some());
}

/// Credentials that a test changes, as a mounted file is.
#[derive(Clone, Debug)]
struct Mounted(Arc<Mutex<String>>);

impl aws_credential_types::provider::ProvideCredentials for Mounted {
    fn provide_credentials<'a>(&'a self) -> aws_credential_types::provider::future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        let key = self.0.lock().clone();
        let keys = aws_credential_types::Credentials::new(key, "secret", None, None, "test");
        aws_credential_types::provider::future::ProvideCredentials::ready(Ok(keys))
    }
}

#[tokio::test]
async fn credentials_that_change_to_another_account_are_noticed_before_the_next_call() {
    let cloud = Cloud::default();
    let mounted = Mounted(Arc::new(Mutex::new("AKIA777777777777".to_owned())));
    let client = SharedHttpClient::new(cloud.clone());
    let retries = RetryConfig::adaptive().with_max_attempts(2);
    let config = injected::config(Some(WEST), client, TimeoutConfig::builder().build(), retries);
    let provider = aws_credential_types::provider::SharedCredentialsProvider::new(mounted.clone());
    let config = config.into_builder().credentials_provider(provider).build();
    let aws = Aws::with(config, None, Metrics::new("testing"), RateLimitScope::Process);
    assert_eq!(aws.location().await.unwrap().account, "777777777777");
    describe(&aws).await.unwrap();

    // Another key of the same account, as roles have it every hour: no call fails.
    *mounted.0.lock() = "ASIA777777777777".to_owned();
    describe(&aws).await.unwrap();
    assert_eq!(aws.location().await.unwrap().account, "777777777777");

    // A key of another account: the reconcile that has identified the former one makes no call with it.
    *mounted.0.lock() = "AKIA888888888888".to_owned();
    let failure = describe(&aws).await.unwrap_err();
    assert_eq!(failure.class, FailureClass::Credentials, "{failure}");
    assert!(failure.message.contains("another account"), "{failure}");
    assert_eq!(aws.location().await.unwrap().account, "888888888888");
    describe(&aws).await.unwrap();
}
