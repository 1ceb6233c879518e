//! The ledger of a resource, and the age of its last launch. Pure.
//!
//! It is in the status, which only controllers may write, and is written with a resourceVersion precondition before the provider call
//! is made. After a crash it shows that the call may have been made, and with which token.

use std::time::Duration;

use jiff::Timestamp;
use kraken_api::LEDGER_ANNOTATION;
use kraken_kind::dynamic::Object;
use kube::{Resource, core::object::HasStatus};
use tokio::time::Instant;

use crate::in_place;

pub use kraken_api::Ledger;

/// The ledger of a resource. That of another one, which came with a status that was restored from a backup, is none, and neither is one
/// that was edited by hand.
pub fn of(object: &Object) -> Option<Ledger> {
    let uid = object.meta().uid.as_deref()?;
    let stored = object.status().and_then(|status| status.ledger.as_ref());
    if let Some(own) = stored.filter(|ledger| is_own(ledger, uid)) {
        return Some(own.clone());
    }
    let ids = object.status().map(|status| status.external_ids.clone());
    earlier(uid, annotation(object)?, ids.unwrap_or_default())
}

/// The ledger with the digest by which an edit is noticed. It protects from mistakes, not from a client that computes the digest.
pub fn sealed(ledger: Ledger) -> Ledger {
    let open = Ledger { digest: String::new(), ..ledger };
    let members = serde_json::to_string(&open).unwrap_or_default();
    Ledger { digest: in_place::digest(&open.uid, &members, 8), ..open }
}

/// Whether a controller wrote it for the resource with this UID.
pub fn is_own(ledger: &Ledger, uid: &str) -> bool {
    ledger.uid == uid && sealed(ledger.clone()).digest == ledger.digest
}

/// The ledger of the former resource of this name, the `owner`, with which a resource came from a backup.
pub fn of_former<'o>(object: &'o Object, owner: &str) -> Option<&'o Ledger> {
    let ledger = object.status()?.ledger.as_ref()?;
    let is_own = Some(&ledger.uid) == object.meta().uid.as_ref();
    (!is_own && ledger.resource == owner).then_some(ledger)
}

/// The annotation in which earlier versions kept the ledger.
pub fn annotation(object: &Object) -> Option<&str> {
    object.meta().annotations.as_ref()?.get(LEDGER_ANNOTATION).map(String::as_str)
}

/// The ledger in the annotation of an earlier version. It begins with a digest of the rest and of the UID, so that an edit, or a copy to
/// another resource, counts for nothing. Whether its launch is complete was recorded elsewhere: it is searched for once more.
fn earlier(uid: &str, text: &str, objects: Vec<String>) -> Option<Ledger> {
    let (digest, members) = text.strip_prefix("{\"digest\":\"")?.split_once("\",")?;
    if digest != in_place::digest(uid, members, 8) {
        return None;
    }
    let ledger: Ledger = serde_json::from_str(&format!("{{{members}")).ok()?;
    Some(Ledger { uid: uid.to_owned(), objects, ..ledger })
}

/// The reference for the age of a launch, and of an observation: it is read before the observation begins, because the reconcile
/// may continue long after the response, when it gets a slot again.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// The time of day.
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
    pub fn is_within_window(self, created: Timestamp) -> bool {
        let age = self.now.as_millisecond().saturating_sub(created.as_millisecond());
        // A clock that is set back only extends the wait.
        age < i64::try_from(self.window.as_millis()).unwrap_or(i64::MAX)
    }

    /// Whether the objects of the last launch may not be visible yet.
    pub fn may_hide(self, ledger: &Ledger) -> bool {
        // Rejected calls may delay the successful call long after the ledger was written.
        self.is_within_window(ledger.at.max(self.last_create))
    }

    /// The time until what was created or changed at this time is visible, if it need not be visible yet.
    pub fn left_of_window(self, created: Timestamp) -> Option<Duration> {
        let age = Duration::try_from(self.now.duration_since(created)).unwrap_or_default();
        self.is_within_window(created).then(|| self.window.saturating_sub(age))
    }

    /// The delay until the next read for an object or a change of this age that is not visible yet: 1, 2, 4 s and so on, at most
    /// until the window ends. Zero after that.
    pub fn next_read(self, age: Duration) -> Duration {
        const LEAST: Duration = Duration::from_secs(1);
        self.window.saturating_sub(age).min(age.max(LEAST))
    }
}

#[cfg(test)]
mod tests {
    use kraken_api::{Lifecycle, ResourceStatus};
    use kube::api::ObjectMeta;

    use super::*;
    use crate::policy::undecoded::Undecoded;

    /// As version 0.1 wrote it for the resource with the UID `u-1`.
    fn annotated(uid: &str, text: &str) -> Object {
        let meta = ObjectMeta {
            uid: Some(uid.to_owned()),
            annotations: Some([(LEDGER_ANNOTATION.to_owned(), text.to_owned())].into()),
            ..ObjectMeta::default()
        };
        Object::new(meta, Undecoded::default(), None)
    }

    fn earlier_text() -> String {
        let members =
            r#""epoch":3,"resource":"Disk/ns/a","at":"2026-01-01T00:00:00Z","hash":"h","adopted":["i-1"]}"#;
        format!("{{\"digest\":\"{}\",{members}", in_place::digest("u-1", members, 8))
    }

    #[test]
    fn the_annotation_of_an_earlier_version_is_read() {
        let ledger = of(&annotated("u-1", &earlier_text())).unwrap();
        assert_eq!((&*ledger.uid, ledger.epoch, &*ledger.resource), ("u-1", 3, "Disk/ns/a"));
        assert_eq!(ledger.adopted, ["i-1"]);
        assert_eq!(of(&annotated("u-2", &earlier_text())), None, "a copy");
        assert_eq!(of(&annotated("u-1", &earlier_text().replace(":3", ":4"))), None, "an edit");
        assert_eq!(of(&annotated("u-1", r#"{"epoch":1,"at":"2026-01-01T00:00:00Z","hash":"h"}"#)), None);
    }

    #[test]
    fn a_restored_status_is_the_record_of_a_former_resource() {
        let ledger =
            sealed(Ledger { uid: "u-0".into(), resource: "Disk/ns/a".into(), epoch: 2, ..Ledger::default() });
        let status = ResourceStatus {
            external_ids: vec!["i-1".into()],
            ledger: Some(ledger.clone()),
            ..ResourceStatus::default()
        };
        let object = |uid: &str| {
            let meta = ObjectMeta { uid: Some(uid.to_owned()), ..ObjectMeta::default() };
            Object::new(meta, Undecoded::default(), Some(status.clone()))
        };
        let own = object("u-0");
        assert_eq!((of(&own), of_former(&own, "Disk/ns/a")), (Some(ledger.clone()), None));
        assert_eq!(own.status.unwrap().external_ids, ["i-1"]);
        let restored = object("u-1");
        assert_eq!((of(&restored), of_former(&restored, "Disk/ns/a")), (None, Some(&ledger)));
        assert_eq!(of_former(&restored, "Disk/other/a"), None, "of a namespace that may still exist");
        assert!(restored.status.as_ref().unwrap().external_ids.is_empty(), "they are not its own");
        assert_eq!(restored.lifecycle(), &Lifecycle::default());
    }
}
