//! `kubectl kraken` in a release: the static binary, an archive of it, and the manifest by which krew installs that.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use flate2::{Compression, GzBuilder};
use sha2::{Digest as _, Sha256};
use tar::{Builder, EntryType, Header};

use crate::image::Executable;
use crate::plugin::NAME;

/// The manifest in the release; krew requires the name of the plugin.
const MANIFEST: &str = "kraken.yaml";
/// In the place of a URL that is not known.
const UNKNOWN: &str = "https://downloads.example.com";

/// What the manifest says.
pub(super) struct Release<'a> {
    pub(super) version: &'a str,
    /// The time of the commit, in seconds.
    pub(super) time: u64,
    /// The folder from which the archive is downloaded; empty if it is not known.
    pub(super) downloads: &'a str,
}

/// Writes the binary, its SBOM, the archive and the manifest; returns their names.
pub(super) fn write(
    root: &Path,
    out: &Path,
    Executable { contents, sbom }: &Executable,
    release: &Release<'_>,
) -> Result<Vec<String>> {
    let name = format!("{NAME}-{}-linux-{}", release.version, kraken_testing::oci::architecture());
    let (archive, bill) = (format!("{name}.tar.gz"), format!("{name}.cdx.json"));
    let license = fs::read(root.join("LICENSE")).context("cannot read LICENSE")?;
    let packed = packed(&[(NAME, contents, 0o755), ("LICENSE", &license, 0o644)], release.time)
        .with_context(|| format!("cannot pack {archive}"))?;
    let manifest = manifest(release, &archive, &hex::encode(Sha256::digest(&packed)));
    let write = || {
        fs::write(out.join(&name), contents)?;
        fs::write(out.join(&bill), sbom)?;
        fs::write(out.join(&archive), &packed)?;
        fs::write(out.join(MANIFEST), manifest)
    };
    write().with_context(|| format!("cannot write {name} to {}", out.display()))?;
    Ok(vec![name, bill, archive, MANIFEST.to_owned()])
}

/// The same files give the same bytes.
fn packed(files: &[(&str, &[u8], u32)], time: u64) -> Result<Vec<u8>> {
    let mut builder = Builder::new(Vec::new());
    for (path, contents, mode) in files {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Regular);
        header.set_mode(*mode);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(time);
        header.set_size(contents.len() as u64);
        builder.append_data(&mut header, path, *contents)?;
    }
    let mut packer = GzBuilder::new().mtime(0).write(Vec::new(), Compression::new(6));
    packer.write_all(&builder.into_inner()?)?;
    Ok(packer.finish()?)
}

/// krew's description of the plugin, for the platform of this release.
fn manifest(Release { version, downloads, .. }: &Release<'_>, archive: &str, digest: &str) -> String {
    let (downloads, note) = match downloads.trim_end_matches('/') {
        "" => (UNKNOWN, "# Replace the host: the release was made without --downloads.\n"),
        known => (known, ""),
    };
    let architecture = kraken_testing::oci::architecture();
    format!(
        "{note}apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: kraken
spec:
  version: v{version}
  shortDescription: See and change infrastructure that Kraken manages
  description: |
    Says what an apply will do in the cloud, what is not ready and why, what depends on what, what
    awaits approval and what drifted. Checks files without a cluster.
  platforms:
  - selector:
      matchLabels: {{os: linux, arch: {architecture}}}
    uri: {downloads}/{archive}
    sha256: {digest}
    bin: {NAME}
"
    )
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::GzDecoder;
    use serde_json::Value;

    use super::*;

    fn written(downloads: &str) -> (tempfile::TempDir, Vec<String>) {
        let out = tempfile::tempdir().unwrap();
        let root = kraken_testing::paths::workspace_root().unwrap();
        let executable = Executable { contents: b"program".to_vec(), sbom: b"{}".to_vec() };
        let release = Release { version: "0.1.0-rc.1", time: 9, downloads };
        let files = write(&root, out.path(), &executable, &release).unwrap();
        (out, files)
    }

    #[test]
    fn the_manifest_names_the_archive_and_its_digest() {
        let (out, files) = written("https://example.org/v0.1.0-rc.1/");
        let manifest = fs::read_to_string(out.path().join(MANIFEST)).unwrap();
        let manifest: Value = serde_saphyr::from_str(&manifest).unwrap();
        let platform = &manifest["spec"]["platforms"][0];
        let archive = files.iter().find(|file| file.ends_with(".tar.gz")).unwrap();
        assert_eq!(platform["uri"], format!("https://example.org/v0.1.0-rc.1/{archive}"));
        let bytes = fs::read(out.path().join(archive)).unwrap();
        assert_eq!(platform["sha256"], hex::encode(Sha256::digest(&bytes)));
        assert_eq!(
            (&manifest["metadata"]["name"], &manifest["spec"]["version"]),
            (&"kraken".into(), &"v0.1.0-rc.1".into())
        );
        let mut unpacked = tar::Archive::new(GzDecoder::new(bytes.as_slice()));
        let mut entries = unpacked.entries().unwrap();
        let mut program = entries.next().unwrap().unwrap();
        let mut contents = String::new();
        program.read_to_string(&mut contents).unwrap();
        assert_eq!((contents.as_str(), program.header().mode().unwrap()), ("program", 0o755));
        assert_eq!(*program.path().unwrap(), *Path::new(platform["bin"].as_str().unwrap()));
    }

    #[test]
    fn the_files_of_a_release_are_reproducible() {
        let ((one, files), (two, _)) = (written(""), written(""));
        for file in files {
            let read = |folder: &Path| fs::read(folder.join(&file)).unwrap();
            assert_eq!(read(one.path()), read(two.path()), "{file}");
        }
        let manifest = fs::read_to_string(one.path().join(MANIFEST)).unwrap();
        assert!(manifest.starts_with("# Replace the host") && manifest.contains(UNKNOWN), "{manifest}");
    }
}
