//! Hash maps and sets whose order is determined by [`crate::random`]: unpredictable for an attacker who chooses the keys,
//! and determined by the seed in a simulation.

use std::hash::{BuildHasher, DefaultHasher, Hasher};

use crate::random;

/// An unordered map. `HashMap::default()` is empty.
pub type HashMap<K, V> = std::collections::HashMap<K, V, Keyed>;
/// An unordered set. `HashSet::default()` is empty.
pub type HashSet<T> = std::collections::HashSet<T, Keyed>;

/// Creates hashers with a random key.
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
    fn the_seed_determines_the_order_of_a_map() {
        let order = |seed| {
            let _seeded = random::seed(seed);
            (0..100).map(|number| (number, number)).collect::<HashMap<_, _>>().into_keys().collect::<Vec<_>>()
        };
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
    }
}
