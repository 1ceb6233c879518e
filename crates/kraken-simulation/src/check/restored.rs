//! Checks that a resource that a user restored from its manifest has the remote objects of its former self, too: it must not create
//! others in silence.

use std::time::Duration;

use serde_json::Value;

use super::history::{Record, uid_of};
use super::remote::{place_of, remote_kind};
use super::{Checks, Class};
use crate::schedule::ObjectName;

/// The time within which all objects of a namespace are restored.
const RESTORES: Duration = Duration::from_secs(5);

impl Checks {
    /// A user restores an object, or what is in a namespace, from its manifests. To be called before
    /// [`after_out_of_band`](Self::after_out_of_band).
    pub fn restores(&mut self, now: Duration, object: ObjectName) {
        self.restores.insert(object, now);
    }

    /// Whether an object that others than controllers created now is one that a user restores.
    pub(super) fn is_being_restored(&self, now: Duration, object: &Value) -> bool {
        let name = ObjectName::of(object);
        let namespace = ObjectName::new("", "Namespace", &name.namespace);
        [name, namespace].iter().any(|name| self.restores.get(name).is_some_and(|at| now <= *at + RESTORES))
    }

    /// A resource that is Ready when everything has settled: nothing that its former self left remains beside its objects.
    pub(super) fn check_restored(&mut self, now: Duration, object: &Value) {
        let Some(record) = self.history.records.get(uid_of(object)) else { return };
        if !takes_over(record) {
            return;
        }
        let title = record.title();
        let is_left = |id: &str, uid: &str| {
            let former = self.history.records.get(uid).filter(|former| former.gone.is_some());
            former.is_some_and(|former| former.title() == title)
                && !self.tampered.contains_key(id)
                && !self.is_out_of_reach(record, place_of(id))
        };
        let kind = remote_kind(&record.kind);
        let left = self.cloud.0.iter().find(|(id, remote)| {
            let uid = remote.uid().filter(|_| remote.alive && Some(remote.kind) == kind);
            uid.is_some_and(|uid| is_left(id, uid))
        });
        if let Some((id, _)) = left {
            let message = format!("{title} is ready, and {id} of the former resource of its name remains");
            self.violated(now, Class::TooMany, message);
        }
    }
}

/// Whether a resource has to take over what its former self left: a user restored it, and nobody but its controller changed what belongs
/// to that since. With `adopt`, its user decides which object it has.
fn takes_over(record: &Record) -> bool {
    let adopts =
        record.versions.iter().any(|version| version.value["spec"]["lifecycle"]["adopt"].is_object());
    record.is_restored && record.disturbed.is_none() && !adopts
}
