//! Which resource of a group may stop an object for a change: one at a time, so that the targets of a group that serve each other's load are
//! not stopped together.
//!
//! The permits are in memory: one process manages a kind. What a former process stopped is known when its resource is observed: for one
//! visibility window, no permit is given while a resource of the group was not.

use std::time::Duration;

use kraken_runtime::hash::{HashMap, HashSet};
use parking_lot::Mutex;
use tokio::time::Instant;

/// How long after a disruption the next one of the group may begin: an instance that runs again needs time to be healthy in the target
/// groups that it is registered in.
const PAUSE: Duration = Duration::from_mins(1);
/// How long a permit is valid without a reconcile of its resource, which may have been deleted.
const ABANDONED: Duration = Duration::from_mins(15);

/// How soon a resource asks again.
const RETRY: Duration = Duration::from_secs(10);

/// The permits of all groups of a kind.
#[derive(Debug, Default)]
pub(crate) struct Disruptions {
    permits: Mutex<HashMap<Group, Permit>>,
    /// The UIDs of the resources that this process observed in its first visibility window.
    observed: Mutex<HashSet<String>>,
}

/// The namespace, and the value of the label of the resource.
pub(crate) type Group = (String, String);

#[derive(Debug)]
struct Permit {
    uid: String,
    name: String,
    /// When it was used last.
    at: Instant,
    is_done: bool,
}

impl Permit {
    /// How long it still prevents others.
    fn left(&self) -> Option<Duration> {
        let lasts = if self.is_done { PAUSE } else { ABANDONED };
        lasts.checked_sub(self.at.elapsed()).filter(|left| !left.is_zero())
    }
}

/// Why a disruption must wait.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Busy {
    /// What it waits for.
    pub why: String,
    /// When to try again.
    pub left: Duration,
}

impl Disruptions {
    /// Records that a resource was observed.
    pub(crate) fn observed(&self, uid: &str) {
        self.observed.lock().insert(uid.to_owned());
    }

    /// Whether it was.
    pub(crate) fn is_observed(&self, uid: &str) -> bool {
        self.observed.lock().contains(uid)
    }

    /// The permit to begin a disruption. `opens_in`: how long to wait because a former process may have stopped what was not observed
    /// yet.
    pub(crate) fn begin(
        &self,
        group: &Group,
        uid: &str,
        name: &str,
        opens_in: Option<Duration>,
    ) -> Result<(), Busy> {
        let mut permits = self.permits.lock();
        let other = permits.get(group).filter(|permit| permit.uid != uid);
        if let Some((permit, left)) = other.and_then(|permit| Some((permit, permit.left()?))) {
            let what = if permit.is_done { "was stopped for a change just now" } else { "is being changed" };
            let why = format!(
                "{} {what}, and one resource of a disruption group is stopped at a time",
                permit.name
            );
            return Err(Busy { why, left: if permit.is_done { left } else { left.min(RETRY) } });
        }
        if let Some(left) = opens_in {
            let why =
                "the controller was started just now, and first observes what is stopped already".to_owned();
            return Err(Busy { why, left: left.min(RETRY) });
        }
        permits.insert(group.clone(), permit(uid, name));
        Ok(())
    }

    /// Records that objects of the resource are stopped for a change, also by a former process.
    pub(crate) fn going_on(&self, group: &Group, uid: &str, name: &str) {
        self.permits.lock().insert(group.clone(), permit(uid, name));
    }

    /// Records that a disruption failed before it stopped anything: others need not wait.
    pub(crate) fn returned(&self, group: &Group, uid: &str) {
        self.permits.lock().retain(|of, permit| of != group || permit.uid != uid || permit.is_done);
    }

    /// Records that no object of the resource is stopped for a change.
    pub(crate) fn ended(&self, group: &Group, uid: &str) {
        let mut permits = self.permits.lock();
        permits.retain(|_, permit| permit.left().is_some());
        if let Some(permit) = permits.get_mut(group).filter(|permit| permit.uid == uid && !permit.is_done) {
            (permit.at, permit.is_done) = (Instant::now(), true);
        }
    }
}

fn permit(uid: &str, name: &str) -> Permit {
    Permit { uid: uid.to_owned(), name: name.to_owned(), at: Instant::now(), is_done: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(name: &str) -> Group {
        ("ns".to_owned(), name.to_owned())
    }

    #[tokio::test(start_paused = true)]
    async fn one_resource_of_a_group_is_disrupted_at_a_time_with_a_pause() {
        let disruptions = Disruptions::default();
        let begin = |of: &str, uid: &str| {
            disruptions.begin(&group(of), uid, uid, None).map_err(|busy| busy.left.as_secs())
        };
        assert_eq!(begin("", "a"), Ok(()));
        assert_eq!(begin("", "a"), Ok(()), "it goes on");
        assert_eq!(begin("", "b"), Err(10));
        assert_eq!(begin("batch", "b"), Ok(()), "another group");
        disruptions.ended(&group(""), "b");
        assert_eq!(begin("", "b"), Err(10), "it is not its permit");
        disruptions.ended(&group(""), "a");
        assert_eq!(begin("", "b"), Err(60));
        tokio::time::advance(PAUSE).await;
        assert_eq!(begin("", "b"), Ok(()));
        disruptions.returned(&group(""), "a");
        assert_eq!(begin("", "a"), Err(10), "it is not its permit");
        disruptions.returned(&group(""), "b");
        assert_eq!(begin("", "c"), Ok(()), "nothing was stopped");
        // The resource is deleted.
        tokio::time::advance(ABANDONED).await;
        assert_eq!(begin("", "a"), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_new_process_observes_first_what_is_stopped() {
        let disruptions = Disruptions::default();
        let begin = |uid: &str, opens_in| disruptions.begin(&group(""), uid, uid, opens_in);
        let soon = Some(Duration::from_secs(90));
        assert_eq!(begin("a", soon).unwrap_err().left, RETRY);
        disruptions.going_on(&group(""), "b", "b");
        assert!(begin("a", None).unwrap_err().why.starts_with("b is being changed"));
        assert_eq!(begin("b", None), Ok(()));
    }
}
