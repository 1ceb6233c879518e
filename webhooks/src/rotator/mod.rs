//! Rotates the serving certificate: it performs the steps of the rotation in a Secret that all replicas share, and
//! keeps the `caBundle` of the ValidatingWebhookConfiguration in sync with the Secret. Client required.
//!
//! No leader is required: every write has a resourceVersion precondition, so one replica performs each step and the others
//! read the result.

mod secret;

use std::{fmt, net::IpAddr, path::PathBuf, time::Duration};

use jiff::Timestamp;
use k8s_openapi::{
    ByteString,
    api::{admissionregistration::v1::ValidatingWebhookConfiguration, core::v1::Secret},
};
use kube::{
    Api, Client,
    api::{Patch, PatchParams, PostParams},
};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use time::OffsetDateTime;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use crate::{
    certificate::{Pair, generate},
    manifests,
    rotation::{Step, Stored, Timing},
    served::{CertificateError, Served},
};
use secret::{CERTIFICATE, KEY, read, write};

/// The interval between reads of certificate files.
const FILES: Duration = Duration::from_secs(30);
/// The delay after a failure; the served certificate is still valid for weeks.
const RETRY: Duration = Duration::from_secs(5);
/// The delay after a conflict.
const AGAIN: Duration = Duration::from_millis(100);

/// The source of the certificate.
#[derive(Clone, Debug)]
pub enum CertificateSource {
    /// A Secret in this namespace, which the rotator manages.
    Secret {
        /// The namespace of the controllers.
        namespace: String,
        /// The lifetime of a certificate.
        timing: Timing,
    },
    /// Files that are managed externally, for example by cert-manager: `tls.crt` and `tls.key` in this folder. The
    /// configuration is managed externally too.
    Folder(PathBuf),
}

/// The rotator of one process.
pub struct CertRotator {
    /// The name of the binary: `kraken-hub`.
    pub component: &'static str,
    /// The client for the Secret and the configuration.
    pub client: Client,
    /// The source of the certificate.
    pub source: CertificateSource,
    /// The listen address: a loopback address is added to the names of the certificate.
    pub address: IpAddr,
    /// The served certificate.
    pub served: Served,
    /// The wall clock.
    pub now: fn() -> Timestamp,
}

impl fmt::Debug for CertRotator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CertRotator")
            .field("component", &self.component)
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}

/// A failed rotation. It is retried.
#[derive(Debug, thiserror::Error)]
enum RotationError {
    #[error("failed to {0}: {1}")]
    Kubernetes(&'static str, Box<kube::Error>),
    #[error("Secret {0} does not exist; apply config/<component>/webhook.yaml, which contains it")]
    NoSecret(String),
    #[error("failed to issue a certificate: {0}")]
    Generate(#[from] rcgen::Error),
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    #[error("the system time is out of range")]
    Time,
}

impl CertRotator {
    /// Runs until shutdown.
    pub async fn run(self, shutdown: CancellationToken) {
        let mut last_error = String::new();
        loop {
            let pause = match self.rotate().await {
                Ok(pause) => {
                    last_error.clear();
                    pause
                }
                Err(error) => {
                    let error = error.to_string();
                    if error != last_error {
                        warn!(error, "failed to rotate the webhook's certificate");
                        last_error = error;
                    }
                    RETRY
                }
            };
            tokio::select! {
                biased;
                () = shutdown.cancelled() => return,
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    async fn rotate(&self) -> Result<Duration, RotationError> {
        match &self.source {
            CertificateSource::Secret { namespace, timing } => self.rotate_secret(namespace, *timing).await,
            CertificateSource::Folder(folder) => {
                let read = |name: &str| {
                    let path = folder.join(name);
                    std::fs::read_to_string(&path)
                        .map_err(|error| CertificateError::File(path.display().to_string(), error))
                };
                let (certificate, key) = (read(CERTIFICATE)?, SecretString::from(read(KEY)?));
                self.load(&certificate, &key)?;
                Ok(FILES)
            }
        }
    }

    async fn rotate_secret(&self, namespace: &str, timing: Timing) -> Result<Duration, RotationError> {
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), namespace);
        let name = manifests::secret_name(self.component);
        let secret = secrets.get_opt(&name).await.map_err(failed("read the Secret of the certificate"))?;
        let Some(secret) = secret else { return Err(RotationError::NoSecret(name)) };
        let configurations: Api<ValidatingWebhookConfiguration> = Api::all(self.client.clone());
        let configuration = configurations
            .get_opt(self.component)
            .await
            .map_err(failed("read the ValidatingWebhookConfiguration"))?;

        let (names, now, stored) = (self.names(namespace), (self.now)(), read(&secret));
        let step = stored.step(&names, now, timing, is_trusted(configuration.as_ref(), &stored));
        let stored = if step == Step::Keep {
            stored
        } else {
            let made = match step {
                Step::Issue | Step::Publish => Some(make(&names, now, timing)?),
                _ => None,
            };
            let stored = stored.after(step, made, &names, now);
            match secrets.replace(&name, &self.written_by(), &write(&secret, &stored)).await {
                Ok(_) => info!(?step, "the webhook's certificate was rotated"),
                // Another replica wrote first.
                Err(kube::Error::Api(status)) if status.code == 409 => return Ok(AGAIN),
                Err(error) => return Err(failed("write the Secret of the certificate")(error)),
            }
            stored
        };
        if let Some(configuration) = configuration
            && !self.trust(&configurations, &configuration, &stored.bundle()).await?
        {
            return Ok(AGAIN);
        }
        if let Some(pair) = &stored.current {
            self.load(&pair.certificate, &pair.key)?;
        }
        Ok(timing.poll())
    }

    /// Writes the bundle to every webhook of the configuration that lacks it; false after a conflict.
    async fn trust(
        &self,
        api: &Api<ValidatingWebhookConfiguration>,
        found: &ValidatingWebhookConfiguration,
        bundle: &str,
    ) -> Result<bool, RotationError> {
        let bundle = ByteString(bundle.as_bytes().to_vec());
        let webhooks = found.webhooks.as_deref().unwrap_or_default();
        if webhooks.iter().all(|webhook| webhook.client_config.ca_bundle.as_ref() == Some(&bundle)) {
            return Ok(true);
        }
        let all: Vec<_> = webhooks
            .iter()
            .map(|webhook| json!({"name": webhook.name, "clientConfig": {"caBundle": bundle}}))
            .collect();
        let patch = json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": self.component, "resourceVersion": found.metadata.resource_version},
            "webhooks": all,
        });
        let params = PatchParams::apply(&self.manager()).force();
        match api.patch(self.component, &params, &Patch::Apply(&patch)).await {
            Ok(_) => {
                debug!("the caBundle of the configuration was written");
                Ok(true)
            }
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(false),
            Err(error) => Err(failed("write the caBundle")(error)),
        }
    }

    fn load(&self, certificate: &str, key: &SecretString) -> Result<(), RotationError> {
        if self.served.set(certificate, key.expose_secret())? {
            info!("the webhook serves a new certificate");
        }
        Ok(())
    }

    /// A separate field manager, because the controller applies other objects with its own and must not own fields of
    /// this one.
    fn manager(&self) -> String {
        format!("{}-webhook", self.component)
    }

    fn written_by(&self) -> PostParams {
        PostParams { field_manager: Some(self.manager()), ..PostParams::default() }
    }

    /// The host names by which the API server calls the server.
    fn names(&self, namespace: &str) -> Vec<String> {
        let mut names = vec![format!("{}.{namespace}.svc", manifests::service_name(self.component))];
        if self.address.is_loopback() {
            names.push(self.address.to_string());
        }
        names
    }
}

fn failed(verb: &'static str) -> impl Fn(kube::Error) -> RotationError {
    move |error| RotationError::Kubernetes(verb, Box::new(error))
}

fn make(names: &[String], now: Timestamp, timing: Timing) -> Result<(Pair, Timestamp), RotationError> {
    let end = now.checked_add(timing.lifetime).map_err(|_| RotationError::Time)?;
    let at = |time: Timestamp| {
        OffsetDateTime::from_unix_timestamp(time.as_second()).map_err(|_| RotationError::Time)
    };
    Ok((generate(names, at(now)?, at(end)?)?, end))
}

/// Whether the API server trusts the next CA, according to its configuration.
fn is_trusted(configuration: Option<&ValidatingWebhookConfiguration>, stored: &Stored) -> bool {
    let (Some(configuration), Some(next)) = (configuration, &stored.next) else { return true };
    configuration.webhooks.iter().flatten().all(|webhook| {
        let bundle = webhook.client_config.ca_bundle.as_ref();
        bundle.is_some_and(|bundle| String::from_utf8_lossy(&bundle.0).contains(next.authority.trim()))
    })
}

#[cfg(test)]
mod tests;
