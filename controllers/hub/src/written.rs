//! Which status was last written to what, so that a watch that lags, or a server that stores a value in another spelling,
//! does not make the same write happen again and again.

use std::hash::{DefaultHasher, Hash, Hasher};

use kraken_runtime::hash::HashMap;

use parking_lot::Mutex;
use serde::Serialize;

use crate::index::Asker;

/// The last write of each status.
#[derive(Debug, Default)]
pub struct Written {
    last: Mutex<HashMap<Asker, Write>>,
    /// What was sent last, whether it has arrived or not: its event may come before its answer.
    sent: Mutex<HashMap<Asker, u64>>,
}

#[derive(Debug)]
struct Write {
    digest: u64,
    /// The resourceVersions of the object before and after.
    versions: [Option<String>; 2],
}

impl Written {
    /// Whether this very status was the last one written, and nobody has changed the object since.
    pub fn is_current(&self, asker: &Asker, status: &impl Serialize, version: Option<&str>) -> bool {
        let digest = digest(status);
        let last = self.last.lock();
        last.get(asker).is_some_and(|write| {
            write.digest == digest && write.versions.iter().any(|known| known.as_deref() == version)
        })
    }

    /// Takes note of what is about to be written.
    pub fn sending(&self, asker: &Asker, status: &impl Serialize) {
        self.sent.lock().insert(asker.clone(), digest(status));
    }

    /// Whether a status that a watch shows is the one that was sent last: such an event needs no reconcile.
    pub fn is_own(&self, asker: &Asker, status: &impl Serialize) -> bool {
        self.sent.lock().get(asker) == Some(&digest(status))
    }

    /// Whether the object may hold another status than this one, which a watch has shown: what was sent last is something else,
    /// and either has not been shown yet or did not arrive.
    pub fn is_uncertain(&self, asker: &Asker, shown: Option<&impl Serialize>) -> bool {
        let sent = self.sent.lock().get(asker).copied();
        sent.is_some_and(|sent| shown.map(digest) != Some(sent))
    }

    /// Takes note of a write.
    pub fn note(&self, asker: Asker, status: &impl Serialize, before: Option<String>, after: Option<String>) {
        self.last.lock().insert(asker, Write { digest: digest(status), versions: [before, after] });
    }

    /// Forgets an object that is gone.
    pub fn forget(&self, asker: &Asker) {
        self.last.lock().remove(asker);
        self.sent.lock().remove(asker);
    }
}

/// A status holds no value of a Secret, so this is a digest of none.
fn digest(status: &impl Serialize) -> u64 {
    let mut hasher = DefaultHasher::new();
    // A status that cannot be written as JSON cannot be written at all, and is refused then.
    serde_json::to_string(status).unwrap_or_default().hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use kraken_runtime::watch::ObjectKey;

    use super::*;

    fn asker() -> Asker {
        Asker::Request(ObjectKey::new("ns", "a"))
    }

    #[test]
    fn the_event_of_a_write_is_known_before_its_answer() {
        let written = Written::default();
        assert!(!written.is_own(&asker(), &"x"));
        written.sending(&asker(), &"x");
        assert!(written.is_own(&asker(), &"x"));
        assert!(!written.is_own(&asker(), &"y"), "somebody else's");
        written.forget(&asker());
        assert!(!written.is_own(&asker(), &"x"));
    }

    #[test]
    fn a_status_is_uncertain_while_a_watch_shows_another_than_was_sent() {
        let written = Written::default();
        assert!(!written.is_uncertain(&asker(), Some("x").as_ref()), "of an earlier process");
        written.sending(&asker(), &"x");
        assert!(!written.is_uncertain(&asker(), Some("x").as_ref()));
        written.sending(&asker(), &"y");
        assert!(written.is_uncertain(&asker(), Some("x").as_ref()), "the watch lags, or the answer was lost");
        assert!(written.is_uncertain(&asker(), None::<&&str>));
    }

    #[test]
    fn a_lagging_watch_and_a_normalising_server_cause_no_second_write() {
        let written = Written::default();
        assert!(!written.is_current(&asker(), &"x", Some("1")));
        written.note(asker(), &"x", Some("1".into()), Some("2".into()));
        assert!(written.is_current(&asker(), &"x", Some("1")), "the watch lags");
        assert!(written.is_current(&asker(), &"x", Some("2")), "the server spells it differently");
        assert!(!written.is_current(&asker(), &"y", Some("2")), "another status");
        assert!(!written.is_current(&asker(), &"x", Some("3")), "somebody changed it");
        written.forget(&asker());
        assert!(!written.is_current(&asker(), &"x", Some("2")));
    }
}
