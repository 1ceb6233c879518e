//! Token buckets per action, as AWS throttles its API.

use std::collections::BTreeMap;
use tokio::time::Instant;

use super::options::Limit;

/// The tokens of each bucket at its last use.
#[derive(Debug, Default)]
pub(super) struct Throttle(BTreeMap<String, (Instant, f64)>);

impl Throttle {
    /// Takes a token; false if there is none.
    pub(super) fn admits(&mut self, limits: &BTreeMap<String, Limit>, action: &str, now: Instant) -> bool {
        let Some(limit) = limits.get(action).or_else(|| limits.get("*")) else { return true };
        let (last, left) = self.0.entry(action.to_owned()).or_insert((now, limit.burst));
        let refilled = now.saturating_duration_since(*last).as_secs_f64() * limit.per_second;
        *left = (*left + refilled).min(limit.burst);
        *last = now;
        let admits = *left >= 1.0;
        if admits {
            *left -= 1.0;
        }
        admits
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_bucket_is_emptied_and_refilled_for_its_action_only() {
        let limits = BTreeMap::from([("A".to_owned(), Limit { burst: 2.0, per_second: 1.0 })]);
        let (mut throttle, start) = (Throttle::default(), Instant::now());
        let mut admits =
            |action: &str, seconds| throttle.admits(&limits, action, start + Duration::from_secs(seconds));
        assert!(admits("A", 0) && admits("A", 0) && !admits("A", 0));
        assert!(admits("B", 0));
        assert!(admits("A", 1) && !admits("A", 1));
        assert!(admits("A", 9) && admits("A", 9) && !admits("A", 9));
    }
}
