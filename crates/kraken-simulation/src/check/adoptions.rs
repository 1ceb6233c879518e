//! The adoptions of remote objects: from then on the owner tags of an object are known to the process that set them.

use std::time::Duration;

use super::{CallingProcess, Checks};
use crate::schedule::Controller;

/// The last adoption of a remote object.
#[derive(Clone, Debug)]
pub(super) struct Adoption {
    /// The resource that adopted it.
    uid: String,
    at: Duration,
    process: (Controller, u64),
    /// Whether no other resource ever adopted it, and may still have it on record.
    is_only: bool,
}

impl Checks {
    /// After a process set the owner tags of an object that the resource with this UID adopts.
    pub(super) fn note_adoption(&mut self, now: Duration, by: &CallingProcess, id: &str, uid: &str) {
        let is_only = self.adopted.get(id).is_none_or(|before| before.is_only && before.uid == uid);
        let adoption = Adoption { uid: uid.to_owned(), at: now, process: by.process(), is_only };
        self.adopted.insert(id.to_owned(), adoption);
    }

    /// Whether this resource was the last one that adopted the object.
    pub(super) fn was_adopted_by(&self, id: &str, uid: &str) -> bool {
        self.adopted.get(id).is_some_and(|adoption| adoption.uid == uid)
    }

    /// Whether the object has owner tags that this very process set for its only adopter, and nobody changed since. Then the
    /// process knows them, however recently a user created the object.
    pub(super) fn has_tags_of_its_adoption(&self, by: &CallingProcess, id: &str, uid: &str) -> bool {
        let is_last = |at: Duration| self.tampered.get(id).is_none_or(|tampered| *tampered < at);
        self.adopted.get(id).is_some_and(|adoption| {
            adoption.is_only
                && adoption.uid == uid
                && adoption.process == by.process()
                && is_last(adoption.at)
                && !self.launched.contains_key(id)
        })
    }
}
