//! Random bytes of the system, for what must differ between runs, and numbers that depend only on a seed.

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

/// Numbers that depend only on a seed: those of `kraken_runtime::random::Stream`, which a test compares. A copy, because xtask
/// depends on this crate and starts sooner without the runtime.
#[derive(Clone, Debug)]
pub(crate) struct Stream(u64);

impl Stream {
    /// The numbers of a seed, from the first.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub(crate) fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_a_seed_are_those_of_the_runtime() {
        let (mut own, mut other) = (Stream::new(7), kraken_kind::runtime::random::Stream::new(7));
        for _ in 0..100 {
            assert_eq!(own.number(), other.number());
        }
    }
}
