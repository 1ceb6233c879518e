//! UIDs and the random part of generated names, all from the seed.

/// The letters of generated names: no vowels and nothing that looks like another letter.
const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// A source of UIDs and names: the state of the generator SplitMix64.
#[derive(Clone, Debug)]
pub(super) struct Uids(u64);

impl Uids {
    /// Restarts.
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
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
