//! Random numbers, in one place: keys, suffixes of names, the order of hash maps. A simulation seeds those of its thread.

use std::{
    cell::Cell,
    hash::{BuildHasher, RandomState},
};

thread_local! {
    static STATE: Cell<Option<u64>> = const { Cell::new(None) };
}

/// No random bytes can be had.
#[derive(Debug, thiserror::Error)]
#[error("the system gives no random bytes: {0}")]
pub struct NoEntropy(getrandom::Error);

/// A random number that nobody can guess, for names and hash maps. Keys are made of [`fill`].
pub fn number() -> u64 {
    // Randomly keyed by the standard library for each call.
    seeded().unwrap_or_else(|| RandomState::new().hash_one(()))
}

/// Random bytes for keys.
///
/// # Errors
/// When the system has none.
pub fn fill(bytes: &mut [u8]) -> Result<(), NoEntropy> {
    if STATE.get().is_none() {
        return getrandom::fill(bytes).map_err(NoEntropy);
    }
    for part in bytes.chunks_mut(8) {
        part.copy_from_slice(&number().to_le_bytes()[..part.len()]);
    }
    Ok(())
}

/// From here on, the random numbers of this thread follow from `seed`. Only for simulations: whoever knows the seed knows them all.
pub fn seed(seed: u64) -> Seeded {
    Seeded { before: STATE.replace(Some(seed)) }
}

/// On drop, the numbers are what they were before.
#[derive(Debug)]
#[must_use = "the seeded numbers end with it"]
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

/// Numbers that follow from a seed alone (SplitMix64: each is mixed from a counter), so that no dependency's next version changes
/// what a seed means.
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
    fn a_seed_decides_every_number_until_it_is_dropped() {
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
