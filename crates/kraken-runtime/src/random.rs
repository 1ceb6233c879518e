//! The only module that uses random numbers: keys, suffixes of names, the order of hash maps. A simulation seeds those
//! of its thread.

use std::{
    cell::Cell,
    hash::{BuildHasher, RandomState},
};

thread_local! {
    static STATE: Cell<Option<u64>> = const { Cell::new(None) };
}

/// The system provides no random bytes.
#[derive(Debug, thiserror::Error)]
#[error("the system provides no random bytes: {0}")]
pub struct NoEntropy(getrandom::Error);

/// An unpredictable random number, for names and hash maps. Use [`fill`] for keys.
pub fn number() -> u64 {
    // Randomly keyed by the standard library for each call.
    seeded().unwrap_or_else(|| RandomState::new().hash_one(()))
}

/// Random bytes for keys.
///
/// # Errors
/// If the system provides none.
pub fn fill(bytes: &mut [u8]) -> Result<(), NoEntropy> {
    if STATE.get().is_none() {
        return getrandom::fill(bytes).map_err(NoEntropy);
    }
    for part in bytes.chunks_mut(8) {
        part.copy_from_slice(&number().to_le_bytes()[..part.len()]);
    }
    Ok(())
}

/// Derives all further random numbers of this thread from `seed`. Only for simulations, because the seed makes them
/// predictable.
pub fn seed(seed: u64) -> Seeded {
    Seeded { before: STATE.replace(Some(seed)) }
}

/// Restores the previous generator on drop.
#[derive(Debug)]
#[must_use = "dropping it ends the seeded numbers"]
pub struct Seeded {
    before: Option<u64>,
}

impl Drop for Seeded {
    fn drop(&mut self) {
        STATE.set(self.before);
    }
}

fn seeded() -> Option<u64> {
    let mut stream = Stream(STATE.get()?);
    let number = stream.number();
    STATE.set(Some(stream.0));
    Some(number)
}

/// Numbers that depend only on a seed (SplitMix64: each is mixed from a counter), so that no update of a dependency changes the
/// meaning of a seed.
#[derive(Clone, Debug)]
pub struct Stream(u64);

impl Stream {
    /// The numbers of a seed, from the first.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some() -> (u64, [u8; 12]) {
        let mut bytes = [0; 12];
        fill(&mut bytes).unwrap();
        (number(), bytes)
    }

    #[test]
    fn a_seed_determines_every_number_until_it_is_dropped() {
        let of = |number| {
            let _seeded = seed(number);
            (some(), some())
        };
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
        assert_ne!(of(1).0, of(1).1);
        assert_ne!(some(), some());
    }
}
