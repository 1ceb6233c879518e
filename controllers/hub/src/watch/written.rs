//! The last written status of each object, so that a delayed watch, or a server that normalizes a value, does not cause
//! repeated writes.

use std::hash::{DefaultHasher, Hash, Hasher};

use kraken_runtime::hash::HashMap;

use parking_lot::Mutex;
use serde::Serialize;

use crate::store::index::Dependent;

/// The last write of each status.
#[derive(Debug, Default)]
pub(crate) struct Written {
    last: Mutex<HashMap<Dependent, Write>>,
    /// The last sent status, even if it has not arrived: its event may precede its response.
    sent: Mutex<HashMap<Dependent, u64>>,
}

#[derive(Debug)]
struct Write {
    digest: u64,
    /// The resourceVersions of the object before and after.
    versions: [Option<String>; 2],
}

impl Written {
    /// Whether this status was the last one written, and the object is unchanged since.
    pub(crate) fn is_current(
        &self,
        dependent: &Dependent,
        status: &impl Serialize,
        version: Option<&str>,
    ) -> bool {
        let digest = digest(status);
        let last = self.last.lock();
        last.get(dependent).is_some_and(|write| {
            write.digest == digest && write.versions.iter().any(|written| written.as_deref() == version)
        })
    }

    /// Records the status before it is written.
    pub(crate) fn sending(&self, dependent: &Dependent, status: &impl Serialize) {
        self.sent.lock().insert(dependent.clone(), digest(status));
    }

    /// Whether an observed status is the last sent one: such an event needs no reconcile.
    pub(crate) fn is_own(&self, dependent: &Dependent, status: &impl Serialize) -> bool {
        self.sent.lock().get(dependent) == Some(&digest(status))
    }

    /// Whether the object may have another status than the observed one: the last sent status differs, and was not observed yet
    /// or did not arrive.
    pub(crate) fn is_uncertain(&self, dependent: &Dependent, shown: Option<&impl Serialize>) -> bool {
        let sent = self.sent.lock().get(dependent).copied();
        sent.is_some_and(|sent| shown.map(digest) != Some(sent))
    }

    /// Whether a new list has the version from before the last write: a backup was restored before the watch returned the write.
    /// Without the list, the watch would seem to be delayed forever.
    pub(crate) fn is_lost(&self, dependent: &Dependent, listed: Option<&str>) -> bool {
        self.last.lock().get(dependent).is_some_and(|Write { versions: [before, after], .. }| {
            before.as_deref() == listed && after.as_deref() != listed
        })
    }

    /// Records a write.
    pub(crate) fn note(
        &self,
        dependent: Dependent,
        status: &impl Serialize,
        before: Option<String>,
        after: Option<String>,
    ) {
        self.last.lock().insert(dependent, Write { digest: digest(status), versions: [before, after] });
    }

    /// Removes a deleted object.
    pub(crate) fn forget(&self, dependent: &Dependent) {
        self.last.lock().remove(dependent);
        self.sent.lock().remove(dependent);
    }
}

/// The digest of a status or a spec. Neither contains a value of a Secret, so neither does this digest.
pub(crate) fn digest(content: &impl Serialize) -> u64 {
    let mut hasher = DefaultHasher::new();
    // A status that cannot be serialized fails in the write. A spec was decoded from JSON.
    serde_json::to_string(content).unwrap_or_default().hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use kraken_runtime::watch::ObjectKey;

    use super::*;

    fn dependent() -> Dependent {
        Dependent::Request(ObjectKey::new("ns", "a"))
    }

    #[test]
    fn the_event_of_a_write_is_recognised_before_its_response() {
        let written = Written::default();
        assert!(!written.is_own(&dependent(), &"x"));
        written.sending(&dependent(), &"x");
        assert!(written.is_own(&dependent(), &"x"));
        assert!(!written.is_own(&dependent(), &"y"), "written by another");
        written.forget(&dependent());
        assert!(!written.is_own(&dependent(), &"x"));
    }

    #[test]
    fn a_status_is_uncertain_while_the_observed_one_differs_from_the_sent_one() {
        let written = Written::default();
        assert!(!written.is_uncertain(&dependent(), Some("x").as_ref()), "of an earlier process");
        written.sending(&dependent(), &"x");
        assert!(!written.is_uncertain(&dependent(), Some("x").as_ref()));
        written.sending(&dependent(), &"y");
        assert!(
            written.is_uncertain(&dependent(), Some("x").as_ref()),
            "the watch is delayed, or the response was lost"
        );
        assert!(written.is_uncertain(&dependent(), None::<&&str>));
    }

    #[test]
    fn a_delayed_watch_and_a_normalizing_server_cause_no_second_write() {
        let written = Written::default();
        assert!(!written.is_current(&dependent(), &"x", Some("1")));
        written.note(dependent(), &"x", Some("1".into()), Some("2".into()));
        assert!(written.is_current(&dependent(), &"x", Some("1")), "the watch is delayed");
        assert!(written.is_current(&dependent(), &"x", Some("2")), "the server normalizes it");
        assert!(!written.is_current(&dependent(), &"y", Some("2")), "another status");
        assert!(!written.is_current(&dependent(), &"x", Some("3")), "it was changed by another");
        written.forget(&dependent());
        assert!(!written.is_current(&dependent(), &"x", Some("2")));
    }

    #[test]
    fn a_write_is_lost_if_a_later_list_has_the_version_from_before_it() {
        let written = Written::default();
        assert!(!written.is_lost(&dependent(), Some("1")), "of an earlier process");
        written.note(dependent(), &"x", Some("1".into()), Some("2".into()));
        assert!(written.is_lost(&dependent(), Some("1")));
        assert!(!written.is_lost(&dependent(), Some("2")));
        written.note(dependent(), &"x", Some("2".into()), Some("2".into()));
        assert!(!written.is_lost(&dependent(), Some("2")), "the write changed nothing");
    }
}
