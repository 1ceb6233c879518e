//! The served certificates. Each can be replaced while connections are open.

use std::{collections::BTreeMap, io, sync::Arc};

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

/// The certificate of one Service for new connections. Clones share the same state.
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

    fn key(&self) -> Option<Arc<CertifiedKey>> {
        self.0.read().as_ref().map(|loaded| loaded.key.clone())
    }
}

/// The certificates of a server, by the name of the Service that a client asks for.
#[derive(Clone, Debug)]
pub struct Certificates(Arc<BTreeMap<String, Served>>);

impl FromIterator<(String, Served)> for Certificates {
    fn from_iter<T: IntoIterator<Item = (String, Served)>>(services: T) -> Self {
        Self(Arc::new(services.into_iter().collect()))
    }
}

impl Certificates {
    /// The TLS server configuration with them.
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

impl ResolvesServerCert for Certificates {
    /// The API server asks for `<service>.<namespace>.svc`. A client that asks for no name, because it calls an address, gets the
    /// first one.
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let service = hello.server_name().and_then(|name| name.split('.').next());
        service.and_then(|service| self.0.get(service)).or_else(|| self.0.values().next())?.key()
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use rustls::{ClientConfig, RootCertStore, pki_types::ServerName};
    use secrecy::ExposeSecret as _;
    use time::{Duration, OffsetDateTime};
    use tokio_rustls::{TlsAcceptor, TlsConnector};

    use super::*;
    use crate::certificate::{Pair, generate};

    const SERVICES: [&str; 2] = ["kraken-a-webhook", "kraken-b-webhook"];

    fn name(service: &str) -> String {
        format!("{service}.kraken-system.svc")
    }

    fn pair(service: &str) -> Pair {
        let now = OffsetDateTime::from_unix_timestamp(Timestamp::now().as_second()).unwrap();
        generate(&[name(service), "127.0.0.1".to_owned()], now, now + Duration::hours(1)).unwrap()
    }

    /// Whether a client that trusts this authority accepts what the server presents to it.
    async fn accepts(certificates: &Certificates, authority: &str, asked: &str) -> bool {
        let mut roots = RootCertStore::empty();
        let trusted = CertificateDer::from_pem_slice(authority.as_bytes()).unwrap();
        roots.add(trusted).unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let (near, far) = tokio::io::duplex(16 * 1024);
        let acceptor = TlsAcceptor::from(Arc::new(certificates.tls().unwrap()));
        let asked = ServerName::try_from(asked.to_owned()).unwrap();
        let connector = TlsConnector::from(Arc::new(config));
        let (client, _) = tokio::join!(connector.connect(asked, near), acceptor.accept(far));
        client.is_ok()
    }

    #[tokio::test]
    async fn each_service_of_a_process_has_its_own_certificate() {
        let pairs = SERVICES.map(pair);
        let served = || Served::default();
        let certificates: Certificates =
            SERVICES.map(|service| (service.to_owned(), served())).into_iter().collect();
        for (service, pair) in SERVICES.iter().zip(&pairs) {
            certificates.0[*service].set(&pair.certificate, pair.key.expose_secret()).unwrap();
        }
        for (service, pair) in SERVICES.iter().zip(&pairs) {
            assert!(accepts(&certificates, &pair.authority, &name(service)).await, "{service}");
        }
        assert!(!accepts(&certificates, &pairs[0].authority, &name(SERVICES[1])).await);
        // By address, without a name.
        assert!(accepts(&certificates, &pairs[0].authority, "127.0.0.1").await);
    }

    #[tokio::test]
    async fn without_a_certificate_nothing_is_served() {
        let service = SERVICES[0];
        let certificates: Certificates = [(service.to_owned(), Served::default())].into_iter().collect();
        assert!(!accepts(&certificates, &pair(service).authority, &name(service)).await);
    }
}
