//! The client of the Kubernetes API: its configuration, and the bounds of its requests.

use std::{path::PathBuf, time::Duration};

use http::{HeaderValue, header::USER_AGENT};
use kube::{
    Client, Config,
    client::ClientBuilder,
    config::{InferConfigError, KubeConfigOptions, KubeconfigError},
};

use crate::{errors::one_line, request::Bounds};

/// An API server that does not accept a connection in this time is unreachable.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// A connection on which no byte can be written for this time is dead.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// A connection on which no byte is received for this time is dead. The server ends each watch after 290 s, so healthy
/// watches are not affected; other requests have a far shorter deadline.
const READ_TIMEOUT: Duration = Duration::from_secs(330);

/// Why a client cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The file in `KUBECONFIG` cannot be used.
    #[error("failed to read the kubeconfig named by KUBECONFIG ({path}): {source}")]
    Kubeconfig {
        /// The value of the variable.
        path: String,
        /// The cause.
        source: KubeconfigError,
    },
    /// No configuration was found.
    #[error(
        "found no Kubernetes API: KUBECONFIG is not set, and neither a pod's service account nor ~/.kube/config serves: {0}"
    )]
    Nowhere(Box<InferConfigError>),
    /// The configuration was found but no client can be created from it.
    #[error("failed to create a client for the Kubernetes API at {url}: {}", one_line(.source.as_ref()))]
    Build {
        /// The API server.
        url: String,
        /// The cause.
        source: Box<kube::Error>,
    },
}

/// Finds the API server: only `KUBECONFIG` if set; otherwise `~/.kube/config`, then the pod's service account.
///
/// # Errors
/// The error names the sources that were tried.
pub async fn config() -> Result<Config, ClientError> {
    match std::env::var_os("KUBECONFIG").filter(|path| !path.is_empty()) {
        Some(path) => {
            // Config::infer would silently fall back to the service account, hence to another cluster.
            Config::from_kubeconfig(&KubeConfigOptions::default()).await.map_err(|source| {
                ClientError::Kubeconfig { path: PathBuf::from(path).display().to_string(), source }
            })
        }
        None => Config::infer().await.map_err(|e| ClientError::Nowhere(Box::new(e))),
    }
}

/// Creates a client with the user agent `name`, whose requests are within `bounds`.
///
/// # Errors
/// When the configuration's certificates or proxy cannot be used. The API server is not called.
pub fn connect(mut config: Config, name: &'static str, bounds: &Bounds) -> Result<Client, ClientError> {
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    config.write_timeout = Some(WRITE_TIMEOUT);
    config.read_timeout = Some(READ_TIMEOUT);
    config.reset_reader_on_write = true;
    // It would retry every verb for up to 1000 s; our queue retries per object.
    config.default_retry = false;
    let agent = format!("{name}/{}", crate::version::VERSION);
    if let Ok(agent) = HeaderValue::try_from(agent) {
        config.headers.push((USER_AGENT, agent));
    }
    let url = config.cluster_url.to_string();
    match ClientBuilder::try_from(config) {
        Ok(builder) => Ok(builder.with_layer(bounds).build()),
        Err(source) => Err(ClientError::Build { url, source: Box::new(source) }),
    }
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpListener,
    };

    use super::*;
    use crate::metrics::Metrics;

    fn bounds() -> Bounds {
        Bounds::new(CONNECT_TIMEOUT, 1, Metrics::new("kraken-test"))
    }

    #[tokio::test]
    async fn a_request_has_a_user_agent() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
        let client = connect(Config::new(url), "kraken-test", &bounds()).unwrap();
        let server = async {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut seen = vec![0; 4096];
            let read = socket.read(&mut seen).await.unwrap();
            let body = r#"{"major":"1","minor":"35","gitVersion":"v1.35.4"}"#;
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
            socket.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
            String::from_utf8_lossy(&seen[..read]).into_owned()
        };
        let (seen, version) = tokio::join!(server, client.apiserver_version());
        assert!(seen.contains("user-agent: kraken-test/"), "{seen}");
        assert!(version.is_ok(), "{version:?}");
    }

    #[tokio::test]
    async fn an_unusable_proxy_is_reported_with_the_server() {
        let mut config = Config::new("https://example.invalid".parse().unwrap());
        config.proxy_url = Some("ftp://proxy.invalid".parse().unwrap());
        let error = connect(config, "kraken-test", &bounds()).err().unwrap();
        assert!(error.to_string().contains("https://example.invalid"), "{error}");
    }
}
