//! Random bytes of the system, for what must differ between runs.

use std::fs::File;
use std::io::Read as _;

use anyhow::{Context as _, Result};

/// Random bytes.
///
/// # Errors
/// When `/dev/urandom` cannot be read.
pub(crate) fn random_bytes<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut bytes))
        .context("cannot read /dev/urandom")?;
    Ok(bytes)
}
