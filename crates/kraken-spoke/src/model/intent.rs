//! The persisted intent of a launch, and the decision about an existing one.
//!
//! It is written to the resource, with a resourceVersion precondition, before the provider call is made. After a crash
//! it shows that the call may have been made, and with which token.

use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;
use kraken_api::{INTENT_ANNOTATION, Location, ResourceStatus};
use kube::{Resource, core::object::HasStatus};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::{
    model::{record_digest, sealed},
    policy::launch_limit::History,
};

/// A launch that was or may have been requested, and the necessary record of earlier ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Intent {
    /// The number of this launch of the resource, from 1.
    pub epoch: i64,
    /// `Kind/namespace/name` of the resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// When it was persisted.
    pub at: Timestamp,
    /// A digest of the public parameters: the same token must not be sent with other parameters.
    pub hash: String,
    /// The maximum number of objects that a call under this epoch requests, if it is known: as many are visible when all are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested: Option<usize>,
    /// The epoch from which objects are current: objects of earlier epochs are outgoing. Set when a replacement starts,
    /// and copied to every later launch, regardless of how many the replacement needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced_before: Option<i64>,
    /// The ids of the objects that existed when the replacement started.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outgoing: Vec<String>,
    /// Whether it adopts an existing object, and launches nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub adopts: bool,
    /// The ids that were adopted by this intent or an earlier one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub adopted: Vec<String>,
    /// The ids that were taken back: this cluster created and released them, so that they are not adopted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taken_back: Vec<String>,
    /// The location of the launch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<Location>,
    /// The fields of the spec whose value in the launched objects came from a Secret, with the generation that they were
    /// recorded for: a controller that restarts before it writes the status must not show these values, see
    /// [`crate::model::secrecy::recorded`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub secret_fields: BTreeMap<String, i64>,
    /// The intent with which the resource came, and which is not its own: that of a former resource of this name, of which objects
    /// may exist, see [`crate::steps::connect`], or one that a client edited. Not set by a launch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub former: Option<String>,
    /// The last launches, for the circuit breaker.
    #[serde(default, skip_serializing_if = "History::is_empty")]
    pub launches: History,
}

/// The text of the annotation.
fn text_of(object: &impl Resource) -> Option<&str> {
    object.meta().annotations.as_ref()?.get(INTENT_ANNOTATION).map(String::as_str)
}

/// Whether a resource can have launched as often. Clients can write other numbers into a status, and into the tags of an object.
pub(crate) fn is_plausible(epoch: i64) -> bool {
    const MOST: i64 = 1 << 40;
    (0..=MOST).contains(&epoch)
}

impl Intent {
    /// The intent in the annotation of a resource. One that a client edited, or copied from another resource, counts as removed: its
    /// numbers could lead to another launch, and its ids to the deletion of an object.
    pub(crate) fn of(object: &impl Resource) -> Option<Self> {
        Self::opened(object.meta().uid.as_deref()?, text_of(object)?)
    }

    /// The intent in the annotation of the resource that had this UID.
    pub(crate) fn opened(uid: &str, text: &str) -> Option<Self> {
        serde_json::from_str(&sealed::verified(uid, text)?).ok()
    }

    /// The text of an intent with which a resource came from a backup: the record is not its own. Its location prevents a launch in
    /// another one, and nothing else is taken from it.
    pub(crate) fn foreign<K: Resource + HasStatus<Status = ResourceStatus>>(
        object: &K,
        owner: &str,
    ) -> Option<(String, Option<Location>)> {
        #[derive(Deserialize)]
        struct Written {
            resource: Option<String>,
            location: Option<Location>,
        }
        let (uid, text) = (object.meta().uid.as_deref()?, text_of(object)?);
        let is_own = object.status().is_some_and(|status| {
            status.record_digest.is_some() && status.record_digest == record_digest::of(uid, status)
        });
        if is_own || Self::opened(uid, text).is_some() {
            return None;
        }
        let Written { resource, location } = serde_json::from_str(text).ok()?;
        // A copy of another resource has its annotations, too. A former version did not write the name.
        let is_of_name = resource.as_ref().is_none_or(|resource| resource == owner);
        is_of_name.then(|| (text.to_owned(), location.filter(|_| resource.is_some())))
    }

    /// The text for the annotation of the resource with this UID.
    pub(crate) fn text(&self, uid: &str) -> String {
        sealed::with_digest(uid, &serde_json::to_string(self).unwrap_or_default())
    }

    /// Whether it was lost, and rebuilt from other records.
    pub(crate) fn is_rebuilt(&self) -> bool {
        self.hash.is_empty()
    }

    /// Whether no other launch can have been made after this one: it was not rebuilt from other records, and the status does not
    /// name a later one. Then a repeated call has the token of the last launch.
    pub(crate) fn is_last(&self, status: Option<&ResourceStatus>) -> bool {
        !self.is_rebuilt() && status.is_none_or(|status| status.epoch <= Some(self.epoch))
    }

    /// The intent of another launch: it inherits the record of the resource.
    pub(crate) fn next(before: Option<&Self>, epoch: i64, at: Timestamp, hash: String) -> Self {
        Self { epoch, at, hash, adopts: false, former: None, ..before.cloned().unwrap_or_default() }
    }

    /// Whether the launched objects may not be visible yet.
    pub(crate) fn may_be_invisible(&self, clock: Clock) -> bool {
        // Rejected calls may delay the successful call long after the intent.
        clock.is_within_window(self.at.max(clock.last_create))
    }
}

/// The reference for the age of a launch, and of an observation: it is read before the observation begins, because the reconcile
/// may continue long after the response, when it gets a slot again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    pub now: Timestamp,
    /// The same time on the monotonic clock.
    pub instant: Instant,
    /// When this process, as far as it knows, last made a create call; initially when this process started, because an
    /// earlier process may have made one until then.
    pub last_create: Timestamp,
    /// How long a new object may be missing from responses.
    pub window: Duration,
}

impl Clock {
    /// Whether an object that was created at this time may be missing from responses.
    pub(crate) fn is_within_window(self, created: Timestamp) -> bool {
        let age = self.now.as_millisecond().saturating_sub(created.as_millisecond());
        // A clock that is set back only extends the wait.
        age < i64::try_from(self.window.as_millis()).unwrap_or(i64::MAX)
    }

    /// The time until what was created or changed at this time is visible, if it need not be visible yet.
    pub(crate) fn left_of_window(self, created: Timestamp) -> Option<Duration> {
        let age = Duration::try_from(self.now.duration_since(created)).unwrap_or_default();
        self.is_within_window(created).then(|| self.window.saturating_sub(age))
    }

    /// The delay until the next read for an object or a change of this age that is not visible yet: 1, 2, 4 s and so on, at most
    /// until the window ends. Zero after that.
    pub(crate) fn next_read(self, age: Duration) -> Duration {
        const LEAST: Duration = Duration::from_secs(1);
        self.window.saturating_sub(age).min(age.max(LEAST))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn intent(epoch: i64, age: i64) -> Intent {
        Intent { epoch, at: at(1_000_000 - age), hash: "h".into(), ..Intent::default() }
    }

    #[test]
    fn later_launch_of_a_replacement_keeps_its_boundary() {
        let begun = Intent { replaced_before: Some(3), outgoing: vec!["i-1".into()], ..intent(3, 5) };
        let second = Intent::next(Some(&begun), 4, at(1_000_000), "other".into());
        assert_eq!((second.epoch, second.replaced_before), (4, Some(3)));
        assert_eq!(second.outgoing, ["i-1"]);
    }

    #[test]
    fn intent_round_trips_through_json() {
        let location = Location { account: "1".into(), region: "r".into() };
        let full = Intent {
            replaced_before: Some(2),
            outgoing: vec!["i-1".into()],
            adopted: vec!["i-2".into()],
            location: Some(location),
            secret_fields: [("image".to_owned(), 2)].into(),
            launches: History::default().with(Some(7), at(5)),
            ..intent(3, 5)
        };
        let text = serde_json::to_string(&full).unwrap();
        assert_eq!(serde_json::from_str::<Intent>(&text).unwrap(), full);
    }
}
