//! When the attributes that need one call per object are read.

use std::time::Duration;

use kraken_kind::Comparison;
use tokio::time::Instant;

/// The deep observations of a resource by this process.
#[derive(Debug, Default)]
pub struct Deep {
    /// When the next deep resync is due.
    due: Option<Instant>,
    /// Whether attributes may differ that were not read since; `None` before the first deep observation of all objects.
    pub open: Option<bool>,
}

impl Deep {
    /// Whether a deep resync is due. The time of the first one after a restart depends on the UID, so that the deep
    /// resyncs of many resources are spread over the interval.
    pub fn is_due(&mut self, interval: Duration, uid: &str) -> bool {
        if interval.is_zero() {
            return false;
        }
        let share =
            uid.bytes().fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into())) % 1000;
        let first = || Instant::now() + interval.saturating_mul(share) / 1000;
        *self.due.get_or_insert_with(first) <= Instant::now()
    }

    /// Records a deep observation.
    pub fn observed(&mut self, interval: Duration) {
        self.due = Some(Instant::now() + interval);
    }

    /// Records the differences that an observation shows. Until a deep one shows none, each observation is deep: an
    /// attribute that is not read never differs, and a difference that was not removed would count as in place.
    pub fn compared<C>(&mut self, comparison: &Comparison<C>, is_deep: bool) {
        if comparison.missing.is_some() {
            // Many attributes of a new object can only be set after its creation.
            self.open = Some(true);
        } else if is_deep && comparison.settling.is_none() {
            self.open = Some(!comparison.differences.is_empty());
        }
    }
}

#[cfg(test)]
mod tests {
    use kraken_api::FieldDiff;
    use kraken_kind::{Difference, Remedy};

    use super::*;

    #[test]
    fn difference_is_open_until_a_deep_observation_shows_none() {
        let field = FieldDiff::new("dns", "true", "false");
        let differs = || Comparison {
            differences: vec![Difference { field: field.clone(), remedy: Remedy::Change(()) }],
            ..Comparison::default()
        };
        let settling = || Comparison { settling: Some("pending".to_owned()), ..Comparison::default() };
        let mut deep = Deep::default();
        for (comparison, is_deep, open) in [
            (Comparison::default(), false, None),
            (settling(), true, None),
            (differs(), true, Some(true)),
            (Comparison::default(), false, Some(true)),
            (settling(), true, Some(true)),
            (Comparison::default(), true, Some(false)),
            (Comparison { missing: Some("1 disk".to_owned()), ..Comparison::default() }, false, Some(true)),
        ] {
            deep.compared(&comparison, is_deep);
            assert_eq!(deep.open, open, "{comparison:?}");
        }
    }
}
