//! The served certificate. It can be replaced while connections are open.

use std::{io, sync::Arc};

use parking_lot::RwLock;
use rustls::{
    ServerConfig,
    crypto::CryptoProvider,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};

/// A certificate or its key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// The PEM text is invalid.
    #[error("failed to parse the PEM text of the {0}")]
    Pem(&'static str),
    /// Certificate and key do not match, or are not supported.
    #[error("failed to use the certificate: {0}")]
    Unusable(#[from] rustls::Error),
    /// A file cannot be read.
    #[error("failed to read {0}: {1}")]
    File(String, io::Error),
}

/// The certificate for new connections. Clones share the same state.
#[derive(Clone, Debug, Default)]
pub struct Served(Arc<RwLock<Option<Loaded>>>);

#[derive(Clone, Debug)]
struct Loaded {
    certificate: String,
    key: Arc<CertifiedKey>,
}

impl Served {
    /// Serves this certificate from the next connection on.
    ///
    /// # Errors
    /// If it cannot be used; the previous one is still served.
    pub fn set(&self, certificate: &str, key: &str) -> Result<bool, CertificateError> {
        if self.0.read().as_ref().is_some_and(|loaded| loaded.certificate == certificate) {
            return Ok(false);
        }
        let chain = CertificateDer::pem_slice_iter(certificate.as_bytes())
            .collect::<Result<Vec<_>, _>>()
            .map_err(|_| CertificateError::Pem("certificate"))?;
        let private =
            PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(|_| CertificateError::Pem("key"))?;
        let key = Arc::new(CertifiedKey::from_der(chain, private, &provider())?);
        *self.0.write() = Some(Loaded { certificate: certificate.to_owned(), key });
        Ok(true)
    }

    /// Whether a certificate is set.
    pub fn is_set(&self) -> bool {
        self.0.read().is_some()
    }

    /// The TLS server configuration with it.
    ///
    /// # Errors
    /// Never with the built-in provider.
    pub(crate) fn tls(&self) -> Result<ServerConfig, CertificateError> {
        let builder = ServerConfig::builder_with_provider(Arc::new(provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth();
        let mut config = builder.with_cert_resolver(Arc::new(self.clone()));
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(config)
    }
}

/// One crypto provider for the process, the same as that of kube's client.
fn provider() -> CryptoProvider {
    rustls::crypto::aws_lc_rs::default_provider()
}

impl ResolvesServerCert for Served {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.0.read().as_ref().map(|loaded| loaded.key.clone())
    }
}
