//! Random choices for requests, which follow from a seed.

use kraken_runtime::random::Stream;

/// A stream of random choices.
#[derive(Clone, Debug)]
pub struct Random(Stream);

impl Random {
    /// The stream of this seed.
    pub fn new(seed: u64) -> Self {
        Self(Stream::new(seed))
    }

    /// A number below `limit`; 0 if that is 0.
    pub fn below(&mut self, limit: usize) -> usize {
        let limit = u64::try_from(limit).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.0.number() % limit).unwrap_or_default()
    }

    /// True in this many of 100 cases.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of these, which must not be empty.
    pub fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }

    /// The index of one of these weights, each as likely as it is heavy.
    pub fn weighted(&mut self, weights: &[usize]) -> usize {
        let mut left = self.below(weights.iter().sum());
        for (index, weight) in weights.iter().enumerate() {
            if left < *weight {
                return index;
            }
            left -= weight;
        }
        0
    }
}
