//! The circuit breaker of recreation: when many remote objects of a kind vanish at once, a controller with the wrong
//! location is more likely than a deletion of all of them. Then nothing is recreated until a person confirms.
//!
//! It is kept in memory: after a restart the next sweep finds the same loss, and the status of a held resource records
//! the hold.

use std::time::Duration;

use kraken_model::policy::mass_loss::Recreation;
use kraken_runtime::{hash::HashMap, watch::ObjectKey};
use parking_lot::Mutex;
use tokio::time::Instant;

/// How long a loss waits for other losses of the same sweep.
const GATHER: Duration = Duration::from_secs(5);

/// The losses of all resources of one kind that have remote objects.
#[derive(Debug)]
pub(crate) struct Vanished {
    /// In percent.
    share: usize,
    /// The minimum number of resources with a loss.
    at_least: usize,
    resources: Mutex<HashMap<ObjectKey, Option<Loss>>>,
}

#[derive(Clone, Copy, Debug)]
struct Loss {
    since: Instant,
    held: bool,
}

impl Vanished {
    pub(crate) fn new(share: usize, at_least: usize) -> Self {
        Self { share, at_least, resources: Mutex::default() }
    }

    /// A new one with the same limits, for the resources of another connection.
    pub(crate) fn with_same_limits(&self) -> Self {
        Self::new(self.share, self.at_least)
    }

    /// Records that all remote objects of this resource were observed.
    pub(crate) fn present(&self, key: &ObjectKey) {
        let mut resources = self.resources.lock();
        match resources.get_mut(key) {
            Some(loss) => *loss = None,
            None => drop(resources.insert(key.clone(), None)),
        }
    }

    /// Forgets a resource that has no remote objects any more, or whose loss a person confirmed.
    pub(crate) fn forget(&self, key: &ObjectKey) {
        self.resources.lock().remove(key);
    }

    /// Records a loss of this resource. `was_held` means that an earlier process held it. `known` is the number of resources of the
    /// kind: after a start, not all of them are observed yet.
    pub(crate) fn lost(&self, key: &ObjectKey, was_held: bool, known: usize) -> Recreation {
        let mut resources = self.resources.lock();
        let begin = Loss { since: Instant::now(), held: was_held };
        let loss = *resources.entry(key.clone()).or_default().get_or_insert(begin);
        let (all, lost) = (resources.len(), resources.values().flatten().count());
        if loss.held {
            return Recreation::Held(lost, all);
        }
        if lost >= self.at_least && lost * 100 > self.share * all {
            // All of them, so that confirming some one by one does not release the others.
            resources.values_mut().flatten().for_each(|loss| loss.held = true);
            return Recreation::Held(lost, all);
        }
        let can_be_many = self.share < 100 && all.max(known) >= self.at_least;
        if can_be_many && loss.since.elapsed() < GATHER { Recreation::Wait } else { Recreation::Allowed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: usize) -> ObjectKey {
        ObjectKey::new("ns", &format!("r-{number}"))
    }

    fn watching(number: usize) -> Vanished {
        let vanished = Vanished::new(20, 5);
        (0..number).for_each(|number| vanished.present(&key(number)));
        vanished
    }

    #[tokio::test(start_paused = true)]
    async fn small_loss_is_recreated_after_a_delay() {
        let vanished = watching(100);
        for number in 0..20 {
            assert_eq!(vanished.lost(&key(number), false, 0), Recreation::Wait);
        }
        tokio::time::advance(GATHER).await;
        for number in 0..20 {
            assert_eq!(vanished.lost(&key(number), false, 0), Recreation::Allowed);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn large_loss_is_held_until_confirmed() {
        let vanished = watching(20);
        for number in 0..4 {
            assert_eq!(vanished.lost(&key(number), false, 0), Recreation::Wait);
        }
        assert_eq!(vanished.lost(&key(4), false, 0), Recreation::Held(5, 20));
        tokio::time::advance(GATHER).await;
        assert_eq!(vanished.lost(&key(0), false, 0), Recreation::Held(5, 20));
        // One is confirmed: the others stay held although they are few now.
        vanished.forget(&key(0));
        vanished.present(&key(0));
        assert_eq!(vanished.lost(&key(1), false, 0), Recreation::Held(4, 20));
        // An object that is visible again needs no confirmation.
        vanished.present(&key(2));
        assert_eq!(vanished.lost(&key(1), false, 0), Recreation::Held(3, 20));
    }

    #[test]
    fn loss_below_the_minimum_is_not_delayed() {
        assert_eq!(watching(4).lost(&key(0), false, 0), Recreation::Allowed);
        assert_eq!(watching(4).lost(&key(0), false, 20), Recreation::Wait, "most are not observed yet");
        let off = Vanished::new(100, 5);
        (0..9).for_each(|number| off.present(&key(number)));
        assert!((0..9).all(|number| off.lost(&key(number), false, 0) == Recreation::Allowed));
    }

    #[test]
    fn hold_survives_a_restart() {
        assert_eq!(watching(4).lost(&key(9), true, 0), Recreation::Held(1, 5));
    }
}
