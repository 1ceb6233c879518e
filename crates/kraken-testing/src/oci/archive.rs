//! The archive of an image: an OCI layout with blobs, and the index of Docker.

use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tar::{Builder, EntryType, Header};

/// Content-addressed bytes.
pub(super) struct Blob {
    pub(super) digest: String,
    bytes: Vec<u8>,
}

impl Blob {
    pub(super) fn new(bytes: Vec<u8>) -> Self {
        Self { digest: format!("sha256:{}", hex::encode(Sha256::digest(&bytes))), bytes }
    }

    pub(super) fn json(value: &Value) -> Result<Self> {
        Ok(Self::new(serde_json::to_vec(value).context("failed to encode a part of an image")?))
    }

    pub(super) fn size(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn descriptor(&self, media_type: &str) -> Value {
        json!({"mediaType": media_type, "digest": self.digest, "size": self.bytes.len()})
    }

    /// The path in the archive.
    pub(super) fn path(&self) -> String {
        self.digest.replacen("sha256:", "blobs/sha256/", 1)
    }
}

/// All files belong to root, so that the container's user cannot change them.
pub(super) fn header(kind: EntryType, mode: u32, created: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_uid(0);
    header.set_gid(0);
    header.set_size(0);
    header.set_mtime(created);
    header
}

/// Writes the archive atomically.
pub(super) fn write(path: &Path, created: u64, index: &Value, docker: &Value, blobs: &[Blob]) -> Result<()> {
    let unfinished = path.with_extension("tmp");
    let mut builder = Builder::new(BufWriter::new(File::create(&unfinished)?));
    let mut add = |name: &str, bytes: &[u8]| {
        let mut header = header(EntryType::Regular, 0o644, created);
        header.set_size(bytes.len() as u64);
        builder.append_data(&mut header, name, bytes)
    };
    add("oci-layout", br#"{"imageLayoutVersion":"1.0.0"}"#)?;
    add("index.json", &serde_json::to_vec(index)?)?;
    add("manifest.json", &serde_json::to_vec(docker)?)?;
    for blob in blobs {
        add(&blob.path(), &blob.bytes)?;
    }
    builder.into_inner()?.flush()?;
    fs::rename(&unfinished, path)?;
    Ok(())
}
