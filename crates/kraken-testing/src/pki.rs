//! Keys and certificates of one control plane: generated in memory in milliseconds, valid for this run only.

use anyhow::{Context as _, Result};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

use crate::node::{self, API_SERVICE, Network};

/// PEM texts.
pub(crate) struct Pki {
    pub(crate) ca: String,
    pub(crate) serving_certificate: String,
    pub(crate) serving_key: String,
    /// Signs service account tokens.
    pub(crate) service_account_key: String,
    /// Verifies service account tokens.
    pub(crate) service_account_public_key: String,
    /// The certificates of a node, if there is one.
    pub(crate) node: Option<NodePki>,
}

/// The certificates for connections between API server and kubelet.
pub(crate) struct NodePki {
    pub(crate) kubelet_certificate: String,
    pub(crate) kubelet_key: String,
    pub(crate) client_certificate: String,
    pub(crate) client_key: String,
}

impl Pki {
    pub(crate) fn generate(network: Option<Network>) -> Result<Self> {
        generate(network).context("cannot generate the certificates of the control plane")
    }
}

fn generate(network: Option<Network>) -> Result<Pki, rcgen::Error> {
    let ca_key = KeyPair::generate()?;
    let mut ca = CertificateParams::default();
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    ca.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    ca.distinguished_name.push(DnType::CommonName, "kraken-testing");
    let ca_certificate = ca.self_signed(&ca_key)?;

    let issuer = Issuer::from_params(&ca, &ca_key);
    let mut names = ["127.0.0.1", "localhost", "kubernetes.default.svc"].map(str::to_owned).to_vec();
    names.extend(network.map(|network| network.host().to_string()));
    names.extend(network.map(|_| API_SERVICE.to_string()));
    let serving = leaf(names, "kube-apiserver", ExtendedKeyUsagePurpose::ServerAuth)?;
    let (serving_certificate, serving_key) = signed(&serving, &issuer)?;
    let node = network.map(|network| node_pki(network, &issuer)).transpose()?;

    let service_account_key = KeyPair::generate()?;
    Ok(Pki {
        ca: ca_certificate.pem(),
        serving_certificate,
        serving_key,
        service_account_key: service_account_key.serialize_pem(),
        service_account_public_key: service_account_key.public_key_pem(),
        node,
    })
}

fn node_pki(network: Network, issuer: &Issuer<'_, &KeyPair>) -> Result<NodePki, rcgen::Error> {
    let names = vec![network.node().to_string(), node::NAME.to_owned()];
    let kubelet = leaf(names, "kubelet", ExtendedKeyUsagePurpose::ServerAuth)?;
    let (kubelet_certificate, kubelet_key) = signed(&kubelet, issuer)?;
    let mut client = leaf(Vec::new(), "kube-apiserver", ExtendedKeyUsagePurpose::ClientAuth)?;
    client.distinguished_name.push(DnType::OrganizationName, "system:masters"); // the permission to call the kubelet
    let (client_certificate, client_key) = signed(&client, issuer)?;
    Ok(NodePki { kubelet_certificate, kubelet_key, client_certificate, client_key })
}

fn leaf(
    names: Vec<String>,
    common: &str,
    usage: ExtendedKeyUsagePurpose,
) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name.push(DnType::CommonName, common);
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![usage];
    params.use_authority_key_identifier_extension = true;
    Ok(params)
}

/// The certificate and its key.
fn signed(
    params: &CertificateParams,
    issuer: &Issuer<'_, &KeyPair>,
) -> Result<(String, String), rcgen::Error> {
    let key = KeyPair::generate()?;
    Ok((params.clone().signed_by(&key, issuer)?.pem(), key.serialize_pem()))
}
