//! The software bill of materials (SBOM) of a binary in CycloneDX 1.6: every crate that is linked into it, the standard library, and
//! glibc, which is linked statically.
//!
//! The same source gives the same bytes. Nothing is taken from the time or the machine of the build but its toolchain.

mod command;
mod tree;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::process::Command;

use crate::cargo;
use crate::image::Source;
use tree::{Crate, Id, Tree};

pub(crate) use command::{SbomArgs, run};

/// The input for the SBOMs of a checkout.
#[derive(Debug)]
pub(crate) struct Inventory {
    tree: Tree,
    checksums: BTreeMap<Id, String>,
    /// Name and version of the libraries that are no crates.
    toolchain: Vec<(&'static str, String)>,
}

impl Inventory {
    pub(crate) async fn read(root: &Path) -> Result<Self> {
        let tree = Tree::parse(&cargo::output_in(root, &tree::ARGUMENTS).await?)?;
        let lock = fs::read_to_string(root.join("Cargo.lock")).context("cannot read Cargo.lock")?;
        let mut toolchain = vec![("rust-std", cargo::rust_release().await?)];
        toolchain.extend(glibc().await.map(|version| ("glibc", version)));
        Ok(Self { tree, checksums: tree::checksums(&lock), toolchain })
    }

    /// The SBOM of a binary, as JSON.
    pub(crate) fn sbom(&self, binary: &str, contents: &[u8], source: &Source) -> Result<Vec<u8>> {
        let root = self.tree.local(binary)?;
        let linked = self.tree.linked(root);
        let own = format!("pkg:generic/{binary}@{}", source.version);
        let reference = |id: &Id| if id == root { own.clone() } else { purl(id, linked[id].is_local) };
        let crates = linked.iter().filter(|(id, _)| **id != root);
        let mut components: Vec<Value> = crates.map(|(id, found)| self.library(id, found)).collect();
        components.extend(self.toolchain.iter().map(|(name, version)| toolchain(name, version)));
        let mut dependencies: Vec<Value> = linked
            .iter()
            .map(|(id, found)| {
                let mut on: Vec<String> = found.dependencies.iter().map(reference).collect();
                if *id == root {
                    on.extend(self.toolchain.iter().map(|(name, version)| generic(name, version)));
                }
                on.sort();
                json!({"ref": reference(id), "dependsOn": on})
            })
            .collect();
        dependencies
            .extend(self.toolchain.iter().map(|(name, version)| json!({"ref": generic(name, version)})));
        let mut sbom = json!({
            "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
            "bomFormat": "CycloneDX",
            "specVersion": "1.6",
            "version": 1,
            "metadata": {
                "timestamp": source.date,
                "lifecycles": [{"phase": "build"}],
                "tools": {"components": [{
                    "type": "application", "name": "cargo xtask", "version": env!("CARGO_PKG_VERSION"),
                }]},
                "component": {
                    "type": "application",
                    "bom-ref": own,
                    "name": binary,
                    "version": source.version,
                    "hashes": [sha256(&hex::encode(Sha256::digest(contents)))],
                    "licenses": [{"expression": "Apache-2.0"}],
                    "purl": own,
                    "properties": [{"name": "commit", "value": source.commit}],
                },
            },
            "components": components,
            "dependencies": dependencies,
        });
        if source.date.is_empty() {
            sbom["metadata"].as_object_mut().context("metadata")?.remove("timestamp");
        }
        sbom["serialNumber"] = serial_number(&sbom)?;
        let mut text = serde_json::to_vec_pretty(&sbom).context("failed to encode the SBOM")?;
        text.push(b'\n');
        Ok(text)
    }

    fn library(&self, id: &Id, found: &Crate) -> Value {
        let (purl, (name, version)) = (purl(id, found.is_local), id);
        let mut library = json!({
            "type": "library", "bom-ref": purl, "name": name, "version": version, "scope": "required", "purl": purl,
        });
        if !found.licence.is_empty() {
            library["licenses"] = json!([{"expression": found.licence}]);
        }
        if let Some(checksum) = self.checksums.get(id) {
            library["hashes"] = json!([sha256(checksum)]);
        }
        if !found.repository.is_empty() {
            library["externalReferences"] = json!([{"type": "vcs", "url": found.repository}]);
        }
        library
    }
}

/// A crate of this workspace is not on crates.io: with a purl of the type `cargo`, scanners would take it for another crate of its name.
fn purl((name, version): &Id, is_local: bool) -> String {
    if is_local { generic(name, version) } else { format!("pkg:cargo/{name}@{}", encoded(version)) }
}

fn generic(name: &str, version: &str) -> String {
    format!("pkg:generic/{name}@{}", encoded(version))
}

/// `+`, which precedes build metadata, is the only character of a version that a purl encodes.
fn encoded(version: &str) -> String {
    version.replace('+', "%2B")
}

fn toolchain(name: &str, version: &str) -> Value {
    let reference = generic(name, version);
    let licence = if name == "glibc" { "LGPL-2.1-or-later" } else { "MIT OR Apache-2.0" };
    json!({
        "type": "library", "bom-ref": reference, "name": name, "version": version, "scope": "required",
        "licenses": [{"expression": licence}], "purl": reference,
    })
}

fn sha256(content: &str) -> Value {
    json!({"alg": "SHA-256", "content": content})
}

/// A UUID of the content (version 8 of RFC 9562), because a random one would differ in each build.
fn serial_number(sbom: &Value) -> Result<Value> {
    let text = serde_json::to_vec(sbom).context("failed to encode the SBOM")?;
    let mut digits: Vec<char> = hex::encode(Sha256::digest(text)).chars().take(32).collect();
    (digits[12], digits[16]) = ('8', '8');
    let digits: String = digits.into_iter().collect();
    let parts = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
    Ok(json!(format!("urn:uuid:{}", parts.join("-"))))
}

/// The version of glibc, such as 2.36; `None` where it is unknown.
async fn glibc() -> Option<String> {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output().await.ok()?;
    String::from_utf8(output.stdout).ok()?.trim().strip_prefix("glibc ").map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use kraken_testing::paths;

    use super::*;

    fn source() -> Source {
        Source {
            version: "1.2.3-rc.1".to_owned(),
            commit: "abc".to_owned(),
            date: "2026-01-31T00:00:00Z".to_owned(),
            time: 0,
        }
    }

    async fn sbom(binary: &str) -> Value {
        let inventory = Inventory::read(&paths::workspace_root().unwrap()).await.unwrap();
        let bytes = inventory.sbom(binary, b"contents", &source()).unwrap();
        assert_eq!(inventory.sbom(binary, b"contents", &source()).unwrap(), bytes, "it is reproducible");
        serde_json::from_slice(&bytes).unwrap()
    }

    fn names(sbom: &Value) -> BTreeSet<&str> {
        sbom["components"].as_array().unwrap().iter().map(|part| part["name"].as_str().unwrap()).collect()
    }

    #[tokio::test]
    async fn the_sbom_of_the_hub_lists_exactly_the_linked_packages() {
        let sbom = sbom("kraken-hub").await;
        let names = names(&sbom);
        for linked in ["kube", "kube-client", "rustls", "aws-lc-sys", "kraken-api", "tokio", "rust-std"] {
            assert!(names.contains(linked), "{linked} is missing: {names:?}");
        }
        // Other spokes, dev-dependencies, procedural macros, build scripts, and dependencies of other platforms.
        let others = [
            "aws-sdk-ec2",
            "aws-config",
            "kraken-aws",
            "kraken-testing",
            "tempfile",
            "proptest",
            "serde_derive",
            "cc",
            "windows-sys",
            "kraken-hub",
        ];
        for other in others {
            assert!(!names.contains(other), "{other} is not linked into the hub");
        }
    }

    #[tokio::test]
    async fn the_sbom_of_a_spoke_contains_its_cloud_sdk_and_not_the_hub() {
        let sbom = sbom("kraken-aws-vpc").await;
        let names = names(&sbom);
        assert!(names.contains("aws-sdk-ec2") && names.contains("kraken-aws"), "{names:?}");
        assert!(!names.contains("kraken-hub"));
    }

    #[tokio::test]
    async fn every_component_is_identified_and_every_reference_has_a_component() {
        let sbom = sbom("kraken-hub").await;
        assert_eq!((&sbom["bomFormat"], &sbom["specVersion"]), (&json!("CycloneDX"), &json!("1.6")));
        let serial = sbom["serialNumber"].as_str().unwrap();
        assert_eq!((serial.len(), &serial[..9]), (45, "urn:uuid:"));
        let own = &sbom["metadata"]["component"];
        assert_eq!(own["purl"], "pkg:generic/kraken-hub@1.2.3-rc.1");
        assert_eq!(own["hashes"][0]["content"], hex::encode(Sha256::digest(b"contents")));
        let mut references = BTreeSet::from([own["bom-ref"].as_str().unwrap()]);
        for part in sbom["components"].as_array().unwrap() {
            for field in ["type", "name", "version", "purl", "bom-ref"] {
                assert!(part[field].as_str().is_some_and(|text| !text.is_empty()), "{field} of {part}");
            }
            assert!(part["licenses"][0]["expression"].is_string(), "{part}");
            let purl = part["purl"].as_str().unwrap();
            assert_eq!(purl.starts_with("pkg:cargo/"), part["hashes"][0]["content"].is_string(), "{part}");
            assert!(references.insert(purl), "{purl} is a duplicate");
        }
        let mut described = BTreeSet::new();
        for dependency in sbom["dependencies"].as_array().unwrap() {
            described.insert(dependency["ref"].as_str().unwrap());
            for on in dependency["dependsOn"].as_array().into_iter().flatten() {
                assert!(references.contains(on.as_str().unwrap()), "{on} is no component");
            }
        }
        assert_eq!(described, references);
    }
}
