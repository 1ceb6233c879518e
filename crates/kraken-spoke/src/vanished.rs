//! The breaker of re-creation: when much of what a kind manages vanishes at once, the more likely cause is a controller that
//! looks in the wrong place, and not that somebody deleted it all. Nothing is created again then until a person confirms.
//!
//! It lives in memory: after a restart the next sweep finds the same, and a resource that was held says so in its status.

use std::time::Duration;

use kraken_runtime::hash::HashMap;

use kraken_api::CREATION_CONFIRMED_ANNOTATION;
use kraken_runtime::{
    mutants::{self, Mutant},
    watch::ObjectKey,
};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::outcome::listed;

/// How long a loss waits for those of the same sweep to be seen.
pub(crate) const GATHER: Duration = Duration::from_secs(5);
/// How long a confirmation holds.
pub(crate) const CONFIRMED_FOR: Duration = Duration::from_hours(1);

/// What is known of every resource of one kind that manages something.
#[derive(Debug)]
pub(crate) struct Vanished {
    /// In percent.
    share: usize,
    /// How many resources have to be concerned.
    at_least: usize,
    resources: Mutex<HashMap<ObjectKey, Option<Loss>>>,
}

#[derive(Clone, Copy, Debug)]
struct Loss {
    since: Instant,
    held: bool,
}

/// Whether what a resource lost may be created again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It may.
    Go,
    /// Others may be concerned too: look again.
    Wait,
    /// So many of so many lost something: only a person can tell.
    Hold(usize, usize),
}

/// What a person reads of it.
pub(crate) fn message(ids: &[String], lost: usize, all: usize) -> String {
    format!(
        "{} vanished together with what {} of {all} resources of this kind manage: nothing is created again before a person \
         confirms that it is gone. Check that the controller has the right credentials, region and endpoint; then annotate \
         each with {CREATION_CONFIRMED_ANNOTATION}=<the time now, such as 2026-01-31T12:00:00Z>",
        listed(ids),
        lost.saturating_sub(1)
    )
}

impl Vanished {
    pub(crate) fn new(share: usize, at_least: usize) -> Self {
        Self { share, at_least, resources: Mutex::default() }
    }

    /// Another one with the same limits, of the resources of another connection.
    pub(crate) fn like_this(&self) -> Self {
        Self::new(self.share, self.at_least)
    }

    /// Everything that this resource manages was seen.
    pub(crate) fn present(&self, key: &ObjectKey) {
        let mut resources = self.resources.lock();
        match resources.get_mut(key) {
            Some(loss) => *loss = None,
            None => drop(resources.insert(key.clone(), None)),
        }
    }

    /// It is not managed any more, or a person confirmed its loss.
    pub(crate) fn forget(&self, key: &ObjectKey) {
        self.resources.lock().remove(key);
    }

    /// Something that this resource managed is gone. `was_held` says that it was held by a process before this one.
    pub(crate) fn lost(&self, key: &ObjectKey, was_held: bool) -> Verdict {
        if mutants::active(Mutant::VanishedIgnored) {
            return Verdict::Go;
        }
        let mut resources = self.resources.lock();
        let begin = Loss { since: Instant::now(), held: was_held };
        let loss = *resources.entry(key.clone()).or_default().get_or_insert(begin);
        let (all, lost) = (resources.len(), resources.values().flatten().count());
        if loss.held {
            return Verdict::Hold(lost, all);
        }
        if lost >= self.at_least && lost * 100 > self.share * all {
            // All of them, so that those that are confirmed one by one do not let the others go.
            resources.values_mut().flatten().for_each(|loss| loss.held = true);
            return Verdict::Hold(lost, all);
        }
        let can_be_many = self.share < 100 && all >= self.at_least;
        if can_be_many && loss.since.elapsed() < GATHER { Verdict::Wait } else { Verdict::Go }
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
    async fn few_that_vanish_are_created_again_after_a_moment() {
        let vanished = watching(100);
        for number in 0..20 {
            assert_eq!(vanished.lost(&key(number), false), Verdict::Wait);
        }
        tokio::time::advance(GATHER).await;
        for number in 0..20 {
            assert_eq!(vanished.lost(&key(number), false), Verdict::Go);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn of_many_that_vanish_none_is_created_again_unless_confirmed() {
        let vanished = watching(20);
        for number in 0..4 {
            assert_eq!(vanished.lost(&key(number), false), Verdict::Wait);
        }
        assert_eq!(vanished.lost(&key(4), false), Verdict::Hold(5, 20));
        tokio::time::advance(GATHER).await;
        assert_eq!(vanished.lost(&key(0), false), Verdict::Hold(5, 20));
        // One is confirmed: the others stay held although they are few now.
        vanished.forget(&key(0));
        vanished.present(&key(0));
        assert_eq!(vanished.lost(&key(1), false), Verdict::Hold(4, 20));
        // What comes back needs no confirmation.
        vanished.present(&key(2));
        assert_eq!(vanished.lost(&key(1), false), Verdict::Hold(3, 20));
    }

    #[test]
    fn where_there_are_too_few_to_tell_nothing_waits() {
        assert_eq!(watching(4).lost(&key(0), false), Verdict::Go);
        let off = Vanished::new(100, 5);
        (0..9).for_each(|number| off.present(&key(number)));
        assert!((0..9).all(|number| off.lost(&key(number), false) == Verdict::Go));
    }

    #[test]
    fn what_was_held_before_a_restart_is_held_after_it() {
        assert_eq!(watching(4).lost(&key(9), true), Verdict::Hold(1, 5));
    }
}
