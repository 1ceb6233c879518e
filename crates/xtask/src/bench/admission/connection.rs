//! A connection to a webhook, as the API server opens it: TLS with the authority of the configuration, kept alive.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use kube::{Api, Client};
use rustls::pki_types::{CertificateDer, ServerName, pem::PemObject as _};
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// The timeout of the API server for these webhooks.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The address of a webhook, and how it is trusted.
pub(super) struct Endpoint {
    address: String,
    /// The path of its URL.
    pub(super) path: String,
    tls: Arc<ClientConfig>,
}

/// One open connection.
pub(super) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    address: String,
    path: String,
}

impl Endpoint {
    /// The webhook of this name in this configuration.
    pub(super) async fn of(client: &Client, configuration: &str, webhook: &str) -> Result<Self> {
        let api: Api<ValidatingWebhookConfiguration> = Api::all(client.clone());
        let found = api
            .get(configuration)
            .await
            .with_context(|| format!("cannot read the webhooks of {configuration}"))?;
        let found = found.webhooks.into_iter().flatten().find(|found| found.name == webhook);
        let found = found.with_context(|| format!("{configuration} has no webhook {webhook}"))?.client_config;
        let url = found.url.with_context(|| format!("{webhook} has no URL"))?;
        let url = url.strip_prefix("https://").with_context(|| format!("{url} is not an https URL"))?;
        let (address, path) = url.split_once('/').with_context(|| format!("{url} has no path"))?;
        let authority = found.ca_bundle.with_context(|| format!("{webhook} has no caBundle"))?;
        Ok(Self { address: address.to_owned(), path: format!("/{path}"), tls: trusting(&authority.0)? })
    }

    /// Opens a connection.
    pub(super) async fn connect(&self) -> Result<Connection> {
        let (host, _) = self.address.rsplit_once(':').context("an address without a port")?;
        let name = ServerName::try_from(host.to_owned()).context("the host is not a valid name")?;
        let socket = TcpStream::connect(&self.address).await.context("cannot connect")?;
        socket.set_nodelay(true).context("cannot set TCP_NODELAY")?;
        let stream =
            TlsConnector::from(self.tls.clone()).connect(name, socket).await.context("no TLS session")?;
        let (sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.context("no HTTP connection")?;
        // It ends with the sender.
        tokio::spawn(connection);
        Ok(Connection { sender, address: self.address.clone(), path: self.path.clone() })
    }

    /// Whether it rejects this review.
    pub(super) async fn rejects(&self, review: &Value) -> Result<bool> {
        Ok(!self.connect().await?.allows(Bytes::from(review.to_string())).await?)
    }
}

fn trusting(authority: &[u8]) -> Result<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(authority) {
        roots.add(certificate.context("the caBundle is not PEM")?).context("the caBundle is not usable")?;
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.context("no version of TLS")?;
    Ok(Arc::new(builder.with_root_certificates(roots).with_no_client_auth()))
}

impl Connection {
    /// Sends a review; whether it is allowed.
    pub(super) async fn allows(&mut self, review: Bytes) -> Result<bool> {
        let request = Request::post(&self.path)
            .header("host", &self.address)
            .header("content-type", "application/json")
            .body(Full::new(review))
            .context("no request")?;
        let exchange = async {
            self.sender.ready().await?;
            let response = self.sender.send_request(request).await?;
            let status = response.status();
            ensure!(status.is_success(), "the webhook returned {status}");
            anyhow::Ok(response.into_body().collect().await?.to_bytes())
        };
        let body = tokio::time::timeout(TIMEOUT, exchange).await.context("the webhook did not respond")??;
        let answer: Value = serde_json::from_slice(&body).context("the answer is not JSON")?;
        answer["response"]["allowed"]
            .as_bool()
            .context("the answer is not an AdmissionReview with a response")
    }
}
