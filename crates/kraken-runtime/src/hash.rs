//! Hash maps and sets whose order is decided by [`crate::random`]: unknown to whoever chooses the keys, and by the seed in a
//! simulation.

use std::hash::{BuildHasher, DefaultHasher, Hasher};

use crate::random;

/// A map in no order. `HashMap::default()` makes an empty one.
pub type HashMap<K, V> = std::collections::HashMap<K, V, Keyed>;
/// A set in no order. `HashSet::default()` makes an empty one.
pub type HashSet<T> = std::collections::HashSet<T, Keyed>;

/// Makes hashers with a random key.
#[derive(Clone, Debug)]
pub struct Keyed {
    key: u64,
}

impl Default for Keyed {
    fn default() -> Self {
        Self { key: random::number() }
    }
}

impl BuildHasher for Keyed {
    type Hasher = DefaultHasher;

    fn build_hasher(&self) -> DefaultHasher {
        let mut hasher = DefaultHasher::new();
        hasher.write_u64(self.key);
        hasher
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_of_a_map_is_decided_by_the_seed() {
        let order = |seed| {
            let _seeded = random::seed(seed);
            (0..100).map(|number| (number, ())).collect::<HashMap<_, _>>().into_keys().collect::<Vec<_>>()
        };
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
    }
}
