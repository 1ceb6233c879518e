//! Keys and certificates of one control plane: generated in memory in milliseconds, valid for this control plane only.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

/// The authority of a control plane. Its key exists in memory only.
#[derive(Debug)]
pub struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate and its key, as PEM.
#[derive(Debug)]
pub struct Pair {
    /// The certificate.
    pub certificate: String,
    /// Its key.
    pub key: String,
}

impl Authority {
    /// A new one with this name.
    ///
    /// # Errors
    /// When no key can be generated.
    pub fn new(name: &str) -> Result<Self> {
        let generate = || -> Result<Self, rcgen::Error> {
            let key = KeyPair::generate()?;
            let mut params = CertificateParams::default();
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
            params.distinguished_name.push(DnType::CommonName, name);
            let pem = params.self_signed(&key)?.pem();
            Ok(Self { pem, issuer: Issuer::new(params, key) })
        };
        generate().context("cannot generate the authority of the control plane")
    }

    /// Its certificate, as PEM.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// The certificate of a server at these names and addresses.
    ///
    /// # Errors
    /// When no key can be generated.
    pub fn server(&self, names: Vec<String>, common: &str) -> Result<Pair> {
        self.signed(names, &[(DnType::CommonName, common)], ExtendedKeyUsagePurpose::ServerAuth)
    }

    /// The certificate of a client: a user and its group.
    ///
    /// # Errors
    /// When no key can be generated.
    pub fn client(&self, user: &str, group: &str) -> Result<Pair> {
        let name = [(DnType::CommonName, user), (DnType::OrganizationName, group)];
        self.signed(Vec::new(), &name, ExtendedKeyUsagePurpose::ClientAuth)
    }

    fn signed(
        &self,
        names: Vec<String>,
        name: &[(DnType, &str)],
        usage: ExtendedKeyUsagePurpose,
    ) -> Result<Pair> {
        let generate = || -> Result<Pair, rcgen::Error> {
            let mut params = CertificateParams::new(names)?;
            for (part, value) in name {
                params.distinguished_name.push(part.clone(), *value);
            }
            params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
            params.extended_key_usages = vec![usage];
            params.use_authority_key_identifier_extension = true;
            let key = KeyPair::generate()?;
            Ok(Pair { certificate: params.signed_by(&key, &self.issuer)?.pem(), key: key.serialize_pem() })
        };
        generate().context("cannot generate a certificate of the control plane")
    }

    /// Writes what [`crate::control_plane::apiserver`] reads: its certificate, for loopback and these other addresses, and the keys of
    /// service accounts.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write(&self, folder: &Path, others: impl IntoIterator<Item = String>) -> Result<()> {
        let mut names = ["127.0.0.1", "localhost", "kubernetes.default.svc"].map(str::to_owned).to_vec();
        names.extend(others);
        let serving = self.server(names, "kube-apiserver")?;
        let accounts = KeyPair::generate().context("cannot generate the key of service accounts")?;
        write_private(&folder.join("serving.key"), &serving.key)?;
        write_private(&folder.join("serving.crt"), &serving.certificate)?;
        write_private(&folder.join("service-account.key"), &accounts.serialize_pem())?;
        write_private(&folder.join("service-account.pub"), &accounts.public_key_pem())
    }
}

impl Authority {
    /// Writes the certificates of etcd and of its only client, which are of an authority of their own.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write_etcd(folder: &Path) -> Result<()> {
        let authority = Self::new("etcd")?;
        // As a peer, etcd is a client of itself.
        let names = ["127.0.0.1", "localhost"].map(str::to_owned).to_vec();
        let server = authority.server(names, "etcd")?;
        let client = authority.client("kube-apiserver", "kraken")?;
        write_private(&folder.join("etcd-ca.crt"), authority.pem())?;
        write_private(&folder.join("etcd.crt"), &server.certificate)?;
        write_private(&folder.join("etcd.key"), &server.key)?;
        write_private(&folder.join("etcd-client.crt"), &client.certificate)?;
        write_private(&folder.join("etcd-client.key"), &client.key)
    }
}

/// A token of 128 random bits of the system, as hexadecimal digits.
///
/// # Errors
/// When the system has no random numbers.
pub fn token() -> Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).ok().context("the system has no random numbers")?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Replaces a file by one that only its owner can read.
///
/// # Errors
/// When it cannot be written.
pub fn write_private(path: &Path, text: &str) -> Result<()> {
    let unfinished = path.with_extension("new");
    let _ = std::fs::remove_file(&unfinished); // the mode below counts only for a file that is created
    let mut options = File::options();
    options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&unfinished)
        .and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        })
        .and_then(|()| std::fs::rename(&unfinished, path))
        .with_context(|| format!("cannot write {}", path.display()))
}
