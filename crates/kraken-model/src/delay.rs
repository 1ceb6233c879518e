//! Delays that grow with the number of attempts. Pure.

use std::time::Duration;

/// The delay after this many attempts: `first`, then twice as long after each further one, at most `most`.
pub fn doubling(first: Duration, attempts: u32, most: Duration) -> Duration {
    first.saturating_mul(1 << attempts.saturating_sub(1).min(16)).min(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delay_doubles_with_each_attempt_up_to_its_bound() {
        let after = |attempts| doubling(Duration::from_secs(1), attempts, Duration::from_mins(1)).as_secs();
        assert_eq!([0, 1, 2, 3, 6, 7, u32::MAX].map(after), [1, 1, 2, 4, 32, 60, 60]);
    }
}
