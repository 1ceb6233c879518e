//! UIDs and the random part of generated names, all from the seed.

use kraken_runtime::random::Stream;

/// The letters of generated names: no vowels and nothing that looks like another letter.
const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// A source of UIDs and names.
#[derive(Clone, Debug)]
pub(super) struct Uids(Stream);

impl Uids {
    /// Restarts.
    pub(super) fn new(seed: u64) -> Self {
        Self(Stream::new(seed))
    }

    fn next(&mut self) -> u64 {
        self.0.number()
    }

    /// A number below `bound`.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    /// A version 4 UUID.
    pub(super) fn uid(&mut self) -> String {
        let (high, low) = (self.next(), self.next());
        format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xfff,
            (low >> 48) & 0x3fff | 0x8000,
            low & 0xffff_ffff_ffff
        )
    }

    /// What is added to a `generateName`.
    pub(super) fn suffix(&mut self) -> String {
        let count = LETTERS.len() as u64;
        let letter = |number: u64| usize::try_from(number % count).ok().and_then(|index| LETTERS.get(index));
        (0..5).filter_map(|_| letter(self.next())).map(|&letter| char::from(letter)).collect()
    }
}
