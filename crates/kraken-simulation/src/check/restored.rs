//! Checks that a resource that came with the finalizer of its former self, as from a backup, has the remote objects of that, too: it
//! must not create others in silence.

use std::time::Duration;

use serde_json::Value;

use super::history::{Record, uid_of};
use super::policy::{is_held, ledger};
use super::remote::{place_of, remote_kind};
use super::{Checks, Class};

impl Checks {
    /// A resource that is Ready when everything has settled: nothing that its former self left remains beside its objects.
    pub(super) fn check_restored(&mut self, now: Duration, object: &Value) {
        let Some(record) = self.history.records.get(uid_of(object)) else { return };
        if !came_from_backup(record) {
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

/// Whether a resource had the finalizer when it was created, and nobody but its controller changed what belongs to that since. With
/// `adopt`, its user decides which object it has.
fn came_from_backup(record: &Record) -> bool {
    let adopts =
        record.versions.iter().any(|version| version.value["spec"]["lifecycle"]["adopt"].is_object());
    let first = record.versions.first();
    record.disturbed.is_none()
        && !adopts
        && first.is_some_and(|first| is_held(&first.value) && ledger(&first.value).is_none())
}
