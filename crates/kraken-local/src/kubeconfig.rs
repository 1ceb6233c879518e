//! Kubeconfig files: written for `kubectl` and the controllers, read for clients that start and test them.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use k8s_openapi::ByteString;
use kube::Client;
use kube::config::{Config, KubeConfigOptions, Kubeconfig};

use crate::pki::write_private;

/// Long enough for a watch, which gets a bookmark about once a minute; short enough to end a test that hangs.
const READ_TIMEOUT: Duration = Duration::from_secs(100);

/// Writes a kubeconfig that only its owner can read.
///
/// # Errors
/// When the file cannot be written.
pub fn write(path: &Path, server: &str, ca_pem: &str, user: &str, token: &str) -> Result<()> {
    let ca = serde_json::to_value(ByteString(ca_pem.as_bytes().to_vec())).context("cannot encode the CA")?;
    let text = format!(
        "apiVersion: v1
kind: Config
current-context: kraken
contexts:
- name: kraken
  context: {{cluster: kraken, user: {user}, namespace: default}}
clusters:
- name: kraken
  cluster:
    server: {server}
    certificate-authority-data: {}
users:
- name: {user}
  user: {{token: {token}}}
",
        ca.as_str().unwrap_or_default()
    );
    write_private(path, &text)
}

/// A client for the kubeconfig in `path`, bound to the runtime that calls this. It does not repeat requests.
///
/// # Errors
/// When the file cannot be read.
pub async fn client(path: &Path) -> Result<Client> {
    let problem = || format!("cannot use the kubeconfig {}", path.display());
    let kubeconfig = Kubeconfig::read_from(path).with_context(problem)?;
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .with_context(problem)?;
    config.connect_timeout = Some(Duration::from_secs(10));
    config.read_timeout = Some(READ_TIMEOUT);
    config.reset_reader_on_write = true;
    config.default_retry = false; // who waits for a start, or tests, must get the original response at once
    Client::try_from(config).with_context(problem)
}
