//! Which resources of a group may stop an object for a change: one at a time, or `lifecycle.maxUnavailable`, so that the targets of a group that
//! serve each other's load are not stopped together.
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
    permits: Mutex<HashMap<Group, Vec<Permit>>>,
    /// The UIDs of the resources that this process observed in its first visibility window.
    observed: Mutex<HashSet<String>>,
}

/// The namespace, and the value of the label of the resource.
pub(crate) type Group = (String, String);

/// A resource that stops its objects, or is about to.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    /// The UID.
    pub uid: String,
    /// Kind and name, for messages.
    pub name: String,
    /// How many resources of the group may be stopped, itself included, at least 1.
    pub max: usize,
}

#[derive(Debug)]
struct Permit {
    of: Member,
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
        member: Member,
        opens_in: Option<Duration>,
    ) -> Result<(), Busy> {
        let mut permits = self.permits.lock();
        let of_group = permits.entry(group.clone()).or_default();
        of_group.retain(|permit| permit.left().is_some());
        let others: Vec<_> = of_group.iter().filter(|permit| permit.of.uid != member.uid).collect();
        let max = others.iter().map(|permit| permit.of.max).fold(member.max, usize::min).max(1);
        if others.len() >= max {
            return Err(busy(&others, max));
        }
        if let Some(left) = opens_in {
            let why =
                "the controller was started just now, and first observes what is stopped already".to_owned();
            return Err(Busy { why, left: left.min(RETRY) });
        }
        replace(of_group, member);
        Ok(())
    }

    /// Records that objects of the resource are stopped for a change, also by a former process.
    pub(crate) fn going_on(&self, group: &Group, member: Member) {
        replace(self.permits.lock().entry(group.clone()).or_default(), member);
    }

    /// Records that a disruption failed before it stopped anything: others need not wait.
    pub(crate) fn returned(&self, group: &Group, uid: &str) {
        if let Some(of_group) = self.permits.lock().get_mut(group) {
            of_group.retain(|permit| permit.of.uid != uid || permit.is_done);
        }
    }

    /// Records that no object of the resource is stopped for a change.
    pub(crate) fn ended(&self, group: &Group, uid: &str) {
        let mut permits = self.permits.lock();
        permits.retain(|_, of_group| {
            of_group.retain(|permit| permit.left().is_some());
            !of_group.is_empty()
        });
        let of_group = permits.get_mut(group).into_iter().flatten();
        for permit in of_group.filter(|permit| permit.of.uid == uid && !permit.is_done) {
            (permit.at, permit.is_done) = (Instant::now(), true);
        }
    }
}

/// Gives the member a new permit.
fn replace(of_group: &mut Vec<Permit>, member: Member) {
    of_group.retain(|permit| permit.of.uid != member.uid);
    of_group.push(Permit { of: member, at: Instant::now(), is_done: false });
}

/// Names those that must end first: as many are stopped as may be.
fn busy(others: &[&Permit], max: usize) -> Busy {
    let what = |is_done: bool, what: &str| {
        let names = others.iter().filter(|permit| permit.is_done == is_done).map(|permit| &*permit.of.name);
        let names = names.collect::<Vec<_>>().join(", ");
        (!names.is_empty()).then(|| format!("{names} {what}"))
    };
    let parts = [what(false, "is being changed"), what(true, "was stopped for a change just now")];
    let parts = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let limit = if max == 1 {
        "one resource of a disruption group is stopped at a time (lifecycle.maxUnavailable)".to_owned()
    } else {
        format!(
            "at most {max} resources of the disruption group are stopped at a time (lifecycle.maxUnavailable)"
        )
    };
    let left =
        |permit: &&Permit| permit.left().map(|left| if permit.is_done { left } else { left.min(RETRY) });
    let left = others.iter().filter_map(left).min().unwrap_or(RETRY);
    Busy { why: format!("{parts}, and {limit}"), left }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(name: &str) -> Group {
        ("ns".to_owned(), name.to_owned())
    }

    fn member(uid: &str, max: usize) -> Member {
        Member { uid: uid.to_owned(), name: uid.to_owned(), max }
    }

    #[tokio::test(start_paused = true)]
    async fn one_resource_of_a_group_is_disrupted_at_a_time_with_a_pause() {
        let disruptions = Disruptions::default();
        let begin = |of: &str, uid: &str| {
            disruptions.begin(&group(of), member(uid, 1), None).map_err(|busy| busy.left.as_secs())
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
    async fn as_many_are_disrupted_as_each_of_them_accepts() {
        let disruptions = Disruptions::default();
        let begin =
            |uid: &str, max| disruptions.begin(&group(""), member(uid, max), None).map_err(|busy| busy.why);
        assert_eq!((begin("a", 2), begin("b", 2)), (Ok(()), Ok(())));
        let why = begin("c", 2).unwrap_err();
        assert!(why.starts_with("a, b is being changed, and at most 2 resources"), "{why}");
        assert!(begin("c", 1).unwrap_err().contains("one resource"));
        disruptions.returned(&group(""), "b");
        assert!(begin("c", 1).is_err(), "it accepts no other one beside it");
        assert_eq!(begin("c", 3), Ok(()));
        disruptions.returned(&group(""), "a");
        disruptions.ended(&group(""), "c");
        assert_eq!(begin("d", 2), Ok(()));
        let why = begin("e", 2).unwrap_err();
        assert!(why.starts_with("d is being changed, c was stopped for a change just now"), "{why}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_new_process_observes_first_what_is_stopped() {
        let disruptions = Disruptions::default();
        let begin = |uid: &str, opens_in| disruptions.begin(&group(""), member(uid, 1), opens_in);
        let soon = Some(Duration::from_secs(90));
        assert_eq!(begin("a", soon).unwrap_err().left, RETRY);
        disruptions.going_on(&group(""), member("b", 1));
        assert!(begin("a", None).unwrap_err().why.starts_with("b is being changed"));
        assert_eq!(begin("b", None), Ok(()));
    }
}
