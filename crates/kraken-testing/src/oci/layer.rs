//! The files of an image.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;

use anyhow::{Context as _, Result};
use flate2::{Compression, GzBuilder};
use sha2::{Digest as _, Sha256};
use tar::{Builder, EntryType};

use super::archive::{Blob, header};

/// An entry of a layer.
#[derive(Debug, Clone)]
pub enum Entry {
    /// A file with its permissions.
    File(u32, Vec<u8>),
    /// A symbolic link with its target.
    Link(String),
}

/// Files by their path, without a leading slash. Folders are added automatically.
#[derive(Debug, Clone, Default)]
pub struct Layer {
    entries: BTreeMap<String, Entry>,
    uncompressed: bool,
}

impl Layer {
    /// Adds a file.
    pub fn file(&mut self, path: &str, mode: u32, contents: Vec<u8>) {
        self.entries.insert(path.to_owned(), Entry::File(mode, contents));
    }

    /// Adds a symbolic link.
    pub fn link(&mut self, path: &str, to: &str) {
        self.entries.insert(path.to_owned(), Entry::Link(to.to_owned()));
    }

    /// Without compression: larger and faster, for images that are used on this machine only.
    #[must_use]
    pub fn uncompressed(mut self) -> Self {
        self.uncompressed = true;
        self
    }

    pub(super) fn media_type(&self) -> &'static str {
        if self.uncompressed {
            "application/vnd.oci.image.layer.v1.tar"
        } else {
            "application/vnd.oci.image.layer.v1.tar+gzip"
        }
    }

    /// The blob, and the digest of its uncompressed content.
    pub(super) fn pack(&self, created: u64) -> Result<(Blob, String)> {
        let tar = self.tar(created).context("failed to build the layer of an image")?;
        let diff_id = format!("sha256:{}", hex::encode(Sha256::digest(&tar)));
        if self.uncompressed {
            return Ok((Blob::new(tar), diff_id));
        }
        let mut packer = GzBuilder::new().mtime(0).write(Vec::new(), Compression::new(6));
        packer.write_all(&tar).context("failed to compress the layer of an image")?;
        Ok((Blob::new(packer.finish().context("failed to compress the layer of an image")?), diff_id))
    }

    fn tar(&self, created: u64) -> std::io::Result<Vec<u8>> {
        let mut builder = Builder::new(Vec::new());
        for folder in self.folders() {
            let mut header = header(EntryType::Directory, 0o755, created);
            builder.append_data(&mut header, format!("{folder}/"), std::io::empty())?;
        }
        for (path, entry) in &self.entries {
            match entry {
                Entry::File(mode, contents) => {
                    let mut header = header(EntryType::Regular, *mode, created);
                    header.set_size(contents.len() as u64);
                    builder.append_data(&mut header, path, contents.as_slice())?;
                }
                Entry::Link(to) => {
                    builder.append_link(&mut header(EntryType::Symlink, 0o777, created), path, to)?;
                }
            }
        }
        builder.into_inner()
    }

    fn folders(&self) -> BTreeSet<&str> {
        let of = |path: &'_ str| path.match_indices('/').map(|(at, _)| at).collect::<Vec<_>>();
        self.entries.keys().flat_map(|path| of(path).into_iter().map(move |at| &path[..at])).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_precede_their_files_and_belong_to_root() {
        let mut layer = Layer::default();
        layer.file("etc/ssl/certs/ca-certificates.crt", 0o644, b"text".to_vec());
        let bytes = layer.tar(7).unwrap();
        let mut archive = tar::Archive::new(bytes.as_slice());
        let mut seen = Vec::new();
        for entry in archive.entries().unwrap() {
            let entry = entry.unwrap();
            assert_eq!((entry.header().uid().unwrap(), entry.header().mtime().unwrap()), (0, 7));
            seen.push(entry.path().unwrap().display().to_string());
        }
        assert_eq!(seen, ["etc/", "etc/ssl/", "etc/ssl/certs/", "etc/ssl/certs/ca-certificates.crt"]);
    }
}
