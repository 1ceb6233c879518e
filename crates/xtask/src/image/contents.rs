//! The content of an image: the statically linked controller, its SBOM, and the certificates of public CAs. No shell, no package manager,
//! and no library that would need updates of its own.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use k8s_openapi::ByteString;
use kraken_testing::oci::{Config, Image, Layer};

use super::build;
use super::source::Source;

/// The path at which TLS libraries expect CA certificates.
const AUTHORITIES: &str = "etc/ssl/certs/ca-certificates.crt";
/// The SBOM in the image.
const SBOM: &str = "sbom.cdx.json";
/// The label with the path of the SBOM: OCI defines none.
const SBOM_LABEL: &str = "com.eoinfennessy.kraken-iac.sbom";

/// The name of an image.
pub(super) fn name(repository: &str, controller: &str, tag: &str) -> String {
    let name = format!("kraken-{controller}:{tag}");
    match repository.trim_end_matches('/') {
        "" => name,
        repository => format!("{repository}/{name}"),
    }
}

pub(super) fn image(
    name: String,
    controller: &str,
    program: Vec<u8>,
    sbom: Vec<u8>,
    source: &Source,
) -> Result<Image> {
    let mut layer = Layer::default();
    build::check_static(&program).with_context(|| format!("kraken-{controller}"))?;
    layer.file("kraken", 0o755, program);
    layer.file(AUTHORITIES, 0o644, authorities()?.into_bytes());
    layer.file(SBOM, 0o644, sbom);
    let labels = [
        ("title", format!("kraken-{controller}")),
        ("version", source.version.clone()),
        ("revision", source.commit.clone()),
        ("created", source.date.clone()),
        ("licenses", "Apache-2.0".to_owned()),
    ];
    let mut labels =
        BTreeMap::from(labels.map(|(name, value)| (format!("org.opencontainers.image.{name}"), value)));
    labels.insert(SBOM_LABEL.to_owned(), format!("/{SBOM}"));
    Ok(Image {
        name,
        config: Config {
            entrypoint: vec!["/kraken".to_owned()],
            command: vec!["run".to_owned()],
            ports: vec![8080, 9443],
            labels,
            ..Config::default()
        },
        layer,
        created: source.time,
    })
}

/// Mozilla's CA certificates in PEM, in the version that Cargo.lock pins.
fn authorities() -> Result<String> {
    const LINE: usize = 64;
    let mut text = String::new();
    for certificate in webpki_root_certs::TLS_SERVER_ROOT_CERTS {
        let encoded = serde_json::to_value(ByteString(certificate.as_ref().to_vec()))
            .context("failed to encode a certificate")?;
        let encoded = encoded.as_str().context("an encoded certificate is not a string")?;
        text.push_str("-----BEGIN CERTIFICATE-----\n");
        for start in (0..encoded.len()).step_by(LINE) {
            text.push_str(&encoded[start..encoded.len().min(start + LINE)]);
            text.push('\n');
        }
        text.push_str("-----END CERTIFICATE-----\n");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ca_certificates_are_valid_pem() {
        let text = authorities().unwrap();
        let begins = text.matches("-----BEGIN CERTIFICATE-----\n").count();
        assert!(begins > 50, "{begins}");
        assert_eq!(begins, text.matches("-----END CERTIFICATE-----\n").count());
        assert!(text.lines().all(|line| line.len() <= 64));
    }

    #[test]
    fn a_repository_precedes_the_name() {
        assert_eq!(name("", "hub", "1"), "kraken-hub:1");
        assert_eq!(name("registry.example.com/team/", "hub", "1"), "registry.example.com/team/kraken-hub:1");
    }
}
