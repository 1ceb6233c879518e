//! A serving certificate and the CA that signed it. Pure, except for the random keys.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PKCS_ECDSA_P256_SHA256,
};
use secrecy::SecretString;
use time::{Duration, OffsetDateTime};

/// The maximum clock skew between nodes.
const SKEW: Duration = Duration::hours(1);

/// A serving certificate, its key, and its CA certificate, as PEM. The CA key signed only this certificate and is not
/// stored: a reader of the Secret cannot sign others.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    pub(crate) certificate: String,
    pub(crate) key: SecretString,
    pub(crate) authority: String,
}

/// Issues a certificate for these names and addresses.
pub(crate) fn generate(
    names: &[String],
    now: OffsetDateTime,
    not_after: OffsetDateTime,
) -> Result<Pair, rcgen::Error> {
    let authority_key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
    let mut authority = CertificateParams::default();
    authority.not_before = now - SKEW;
    authority.not_after = not_after;
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let common = names.first().cloned().unwrap_or_default();
    // A unique name for each, so that a verifier that finds a CA by name finds the correct one of two.
    authority
        .distinguished_name
        .push(DnType::CommonName, format!("{} {}", &cut(&common), not_after.unix_timestamp()));
    let authority_certificate = authority.self_signed(&authority_key)?;

    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
    let mut serving = CertificateParams::new(names)?;
    serving.not_before = now - SKEW;
    serving.not_after = not_after;
    serving.distinguished_name.push(DnType::CommonName, cut(&common));
    serving.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    serving.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    serving.use_authority_key_identifier_extension = true;
    let certificate = serving.signed_by(&key, &Issuer::from_params(&authority, &authority_key))?;
    Ok(Pair {
        certificate: certificate.pem(),
        key: key.serialize_pem().into(),
        authority: authority_certificate.pem(),
    })
}

/// A common name has at most 64 characters, including the timestamp.
fn cut(name: &str) -> String {
    name.chars().take(48).collect()
}
