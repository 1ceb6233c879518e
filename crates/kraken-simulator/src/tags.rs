//! Delayed tags, and the tag index.

use std::collections::{BTreeMap, BTreeSet};
use tokio::time::Instant;

/// Tags by key.
pub(super) type Tags = BTreeMap<String, String>;

/// The tags of one object: current, and as described during a delay.
#[derive(Debug, Clone)]
pub(super) struct History(Vec<(Instant, Tags)>);

impl History {
    pub(super) fn new(now: Instant, tags: Tags) -> Self {
        Self(vec![(now, tags)])
    }

    /// The current tags.
    pub(super) fn latest(&self) -> &Tags {
        static NONE: Tags = Tags::new();
        self.0.last().map_or(&NONE, |(_, tags)| tags)
    }

    /// The tags in Describe calls.
    pub(super) fn described(&self, now: Instant) -> &Tags {
        let seen = self.0.iter().rev().find(|(from, _)| *from <= now);
        seen.map_or_else(|| self.latest(), |(_, tags)| tags)
    }

    /// Changes them; described from `from` on.
    pub(super) fn set(&mut self, from: Instant, tags: Tags) {
        self.0.push((from, tags));
    }

    /// Removes history that is no longer described.
    pub(super) fn settle(&mut self, now: Instant) {
        if let Some(current) = self.0.iter().rposition(|(from, _)| *from <= now) {
            self.0.drain(..current);
        }
    }

    /// Every tag that is or was described.
    pub(super) fn all(&self) -> BTreeSet<(String, String)> {
        let each = self.0.iter().flat_map(|(_, tags)| tags);
        each.map(|(key, value)| (key.clone(), value.clone())).collect()
    }
}

/// Numbers of objects by tag. A result may only have had the tag before: the caller checks again.
#[derive(Debug, Default)]
pub(super) struct TagIndex {
    values: BTreeMap<String, BTreeMap<String, BTreeSet<u64>>>,
    keys: BTreeMap<String, BTreeSet<u64>>,
}

impl TagIndex {
    pub(super) fn replace(
        &mut self,
        number: u64,
        before: &BTreeSet<(String, String)>,
        after: &BTreeSet<(String, String)>,
    ) {
        for (key, value) in before.difference(after) {
            if let Some(values) = self.values.get_mut(key) {
                remove(values, value, number);
            }
            if !after.iter().any(|(kept, _)| kept == key)
                && let Some(numbers) = self.keys.get_mut(key)
            {
                numbers.remove(&number);
            }
        }
        for (key, value) in after.difference(before) {
            self.values.entry(key.clone()).or_default().entry(value.clone()).or_default().insert(number);
            self.keys.entry(key.clone()).or_default().insert(number);
        }
    }

    /// The objects with this tag.
    pub(super) fn with(&self, key: &str, value: &str) -> Option<&BTreeSet<u64>> {
        self.values.get(key)?.get(value)
    }

    /// The objects with a tag with this key.
    pub(super) fn with_key(&self, key: &str) -> Option<&BTreeSet<u64>> {
        self.keys.get(key)
    }
}

fn remove(values: &mut BTreeMap<String, BTreeSet<u64>>, value: &str, number: u64) {
    if let Some(numbers) = values.get_mut(value) {
        numbers.remove(&number);
        if numbers.is_empty() {
            values.remove(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn tags(pairs: &[(&str, &str)]) -> Tags {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_delayed_change_is_described_later_and_found_by_both_values_until_then() {
        let now = Instant::now();
        let later = now + Duration::from_secs(1);
        let (mut history, mut index) = (History::new(now, tags(&[("a", "1")])), TagIndex::default());
        index.replace(7, &BTreeSet::new(), &history.all());
        let before = history.all();
        history.set(later, tags(&[("a", "2")]));
        index.replace(7, &before, &history.all());
        assert_eq!((&history.described(now)["a"][..], &history.latest()["a"][..]), ("1", "2"));
        assert!(index.with("a", "1").is_some() && index.with("a", "2").is_some());

        let before = history.all();
        history.settle(later);
        index.replace(7, &before, &history.all());
        assert_eq!(&history.described(later)["a"], "2");
        assert!(index.with("a", "1").is_none() && index.with_key("a").is_some_and(|all| all.contains(&7)));
    }
}
