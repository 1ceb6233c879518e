//! A cache of values of connections, such as clients with credentials: they are dropped when their connection is no longer used.

use std::{sync::Arc, time::Duration};

use kraken_runtime::hash::HashMap;
use parking_lot::Mutex;
use tokio::time::Instant;

/// How long a value is kept after its last use: longer than the usual interval between resyncs.
pub const KEPT: Duration = Duration::from_hours(1);
/// The maximum number of values. Beyond it, the least recently used value is dropped: credentials that are
/// replaced every few minutes must not fill the memory.
const MAX_KEPT: usize = 1000;
/// How often expired values are searched.
const PERIOD: Duration = Duration::from_mins(1);

/// Values by the key of their connection. Each is dropped [`KEPT`] after its last use, or earlier if there are more than
/// a thousand.
#[derive(Debug)]
pub struct Recent<V>(Mutex<State<V>>);

#[derive(Debug)]
struct State<V> {
    /// With the time of the last use.
    values: HashMap<Arc<str>, (V, Instant)>,
    /// When expired values are searched again.
    next: Option<Instant>,
}

impl<V> Default for Recent<V> {
    fn default() -> Self {
        Self(Mutex::new(State { values: HashMap::default(), next: None }))
    }
}

impl<V: Clone> Recent<V> {
    /// The value of this key, if there is one. This is a use of it.
    pub fn get(&self, key: &str) -> Option<V> {
        let (now, mut state) = (Instant::now(), self.0.lock());
        state.expire(now);
        state.used(key, now)
    }

    /// The value of this key, which is created if there is none. This is a use of it.
    pub fn get_or_insert(&self, key: &Arc<str>, make: impl FnOnce() -> V) -> V {
        let (now, mut state) = (Instant::now(), self.0.lock());
        state.expire(now);
        if let Some(value) = state.used(key, now) {
            return value;
        }
        state.make_room();
        let value = make();
        state.values.insert(key.clone(), (value.clone(), now));
        value
    }

    /// Drops the values that have not been used recently. Every reconcile does so, because the last resource of a
    /// connection may have been deleted.
    pub fn expire(&self) {
        self.0.lock().expire(Instant::now());
    }

    /// Calls `visit` with each value. This is not a use of it.
    pub fn visit(&self, visit: impl FnMut(&V)) {
        self.0.lock().values.values().map(|(value, _)| value).for_each(visit);
    }
}

impl<V: Clone> State<V> {
    fn used(&mut self, key: &str, now: Instant) -> Option<V> {
        let (value, used) = self.values.get_mut(key)?;
        *used = now;
        Some(value.clone())
    }

    fn expire(&mut self, now: Instant) {
        if self.next.is_some_and(|next| now < next) {
            return;
        }
        self.next = Some(now + PERIOD);
        self.values.retain(|_, (_, used)| *used + KEPT > now);
    }

    fn make_room(&mut self) {
        if self.values.len() < MAX_KEPT {
            return;
        }
        let oldest = self.values.iter().min_by_key(|(_, (_, used))| *used).map(|(key, _)| key.clone());
        if let Some(oldest) = oldest {
            self.values.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Arc<str> {
        name.into()
    }

    /// How many values are in memory.
    fn count(recent: &Recent<Arc<()>>) -> usize {
        let mut count = 0;
        recent.visit(|_| count += 1);
        count
    }

    #[tokio::test(start_paused = true)]
    async fn a_value_is_dropped_an_hour_after_its_last_use() {
        let (recent, value) = (Recent::default(), Arc::new(()));
        let dropped = Arc::downgrade(&value);
        recent.get_or_insert(&key("old"), || value);
        tokio::time::advance(KEPT / 2).await;
        assert!(recent.get("old").is_some(), "this use prolongs it");
        tokio::time::advance(KEPT.saturating_sub(PERIOD)).await;
        recent.expire();
        assert!(dropped.upgrade().is_some());
        tokio::time::advance(PERIOD).await;
        // Another resource is reconciled: no resource uses the old connection.
        recent.get_or_insert(&key("new"), Arc::default);
        assert!(dropped.upgrade().is_none());
        assert_eq!(count(&recent), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_value_expires_without_another_value() {
        let (recent, value) = (Recent::default(), Arc::new(()));
        let dropped = Arc::downgrade(&value);
        recent.get_or_insert(&key("last"), || value);
        tokio::time::advance(KEPT).await;
        recent.expire();
        assert!(dropped.upgrade().is_none());
        assert!(recent.get("last").is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_has_one_value() {
        let recent = Recent::<Arc<()>>::default();
        let one = recent.get_or_insert(&key("a"), Arc::default);
        let again = recent.get_or_insert(&key("a"), Arc::default);
        assert!(Arc::ptr_eq(&one, &again));
        assert!(!Arc::ptr_eq(&one, &recent.get_or_insert(&key("b"), Arc::default)));
    }

    #[tokio::test(start_paused = true)]
    async fn the_least_recently_used_value_makes_room_for_a_new_one() {
        let recent = Recent::<Arc<()>>::default();
        for number in 0..MAX_KEPT {
            recent.get_or_insert(&key(&number.to_string()), Arc::default);
            tokio::time::advance(Duration::from_millis(1)).await;
        }
        assert!(recent.get("0").is_some(), "now the second is the least recently used");
        for number in 0..2 {
            recent.get_or_insert(&key(&format!("new {number}")), Arc::default);
            tokio::time::advance(Duration::from_millis(1)).await;
        }
        assert_eq!(count(&recent), MAX_KEPT);
        let missing: Vec<usize> =
            (0..MAX_KEPT).filter(|number| recent.get(&number.to_string()).is_none()).collect();
        assert_eq!(missing, [1, 2]);
    }
}
