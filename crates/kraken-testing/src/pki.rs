//! Keys and certificates of one control plane: generated in memory in milliseconds, valid for this run only.

use anyhow::{Context as _, Result};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

/// PEM texts.
pub(crate) struct Pki {
    pub(crate) ca: String,
    pub(crate) serving_certificate: String,
    pub(crate) serving_key: String,
    /// Signs service account tokens.
    pub(crate) service_account_key: String,
    /// Checks them.
    pub(crate) service_account_public_key: String,
}

impl Pki {
    pub(crate) fn generate() -> Result<Self> {
        generate().context("cannot generate the certificates of the control plane")
    }
}

fn generate() -> Result<Pki, rcgen::Error> {
    let ca_key = KeyPair::generate()?;
    let mut ca = CertificateParams::default();
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    ca.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    ca.distinguished_name.push(DnType::CommonName, "kraken-testing");
    let ca_certificate = ca.self_signed(&ca_key)?;

    let serving_key = KeyPair::generate()?;
    let names = ["127.0.0.1", "localhost", "kubernetes.default.svc"].map(str::to_owned);
    let mut serving = CertificateParams::new(names)?;
    serving.distinguished_name.push(DnType::CommonName, "kube-apiserver");
    serving.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    serving.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    serving.use_authority_key_identifier_extension = true;
    let serving_certificate = serving.signed_by(&serving_key, &Issuer::from_params(&ca, &ca_key))?;

    let service_account_key = KeyPair::generate()?;
    Ok(Pki {
        ca: ca_certificate.pem(),
        serving_certificate: serving_certificate.pem(),
        serving_key: serving_key.serialize_pem(),
        service_account_key: service_account_key.serialize_pem(),
        service_account_public_key: service_account_key.public_key_pem(),
    })
}
