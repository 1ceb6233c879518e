//! The journal of a resource: what was requested from the provider, and the states that it returned. It is a Secret, because states contain
//! the values of sensitive attributes, and it is written **before** anything is created.
//!
//! One entry per creation. An entry without a response is a creation whose result is not known: its process ended meanwhile.
//!
//! The journal has the name of its resource. One that a former resource of the name left (a backup was restored, or somebody removed its
//! finalizer and applied it again) is taken over, with the objects in it.

mod content;
mod failures;
mod store;

use jiff::Timestamp;
use kraken_tfplugin::{Applied, ResourceState, Ticket};
use serde_json::Value as Json;

pub(crate) use store::{Journals, owner_of};

/// The type of the Secret.
pub const SECRET_TYPE: &str = "kraken-iac.eoinfennessy.com/tofu-state";
/// Keeps the Secret while an object exists, or may exist: a namespace that is deleted, and a deletion of dependents first, delete all
/// Secrets at once, and without its journal an object cannot be deleted.
pub const JOURNAL_FINALIZER: &str = "kraken-iac.eoinfennessy.com/tofu-state";
/// One creation of a resource, or its adoption.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    /// The launch.
    pub(crate) epoch: i64,
    /// When it was requested.
    pub(crate) at: Timestamp,
    /// The description with the marker that was sent, for types whose objects can be found by it.
    pub(crate) description: Option<String>,
    /// The permission with which the host of providers executes it; none for an adoption, and after the host had no answer.
    pub(crate) ticket: Option<Ticket>,
    /// Whether the provider answered.
    pub(crate) is_answered: bool,
    /// The state of the object, if there is one.
    pub(crate) state: Option<Stored>,
}

impl Entry {
    /// Whether it is the creation of this launch, and has no response yet.
    pub(crate) fn is_open(&self, epoch: i64) -> bool {
        self.epoch == epoch && !self.is_answered
    }
}

/// A state as it is stored.
#[derive(Clone, PartialEq)]
pub(crate) struct Stored {
    /// The version of the schema.
    pub(crate) version: i64,
    /// The value.
    pub(crate) value: Json,
    /// Data of the provider.
    pub(crate) private: Vec<u8>,
}

/// Without the value, which may be secret.
impl std::fmt::Debug for Stored {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stored").field("version", &self.version).finish_non_exhaustive()
    }
}

impl Stored {
    /// The stored form of a state; `None` if there is no object.
    pub(crate) fn of(version: i64, state: &ResourceState) -> Option<Self> {
        let value = state.value.to_json().ok().filter(|value| !value.is_null())?;
        Some(Self { version, value, private: state.private.clone() })
    }
}

/// What is recorded of a resource.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Journal {
    /// The oldest first.
    pub(crate) entries: Vec<Entry>,
    /// The name of the Secret with its sensitive outputs, if one was written.
    pub(crate) outputs: Option<String>,
}

impl Journal {
    /// Whether nothing exists any more, and nothing is being created.
    pub(crate) fn is_over(&self) -> bool {
        self.entries.iter().all(|entry| entry.is_answered && entry.state.is_none())
    }

    /// Completes the entry of this launch with the provider's answer. If it has no state, the object is as before.
    pub(crate) fn complete(&mut self, epoch: i64, version: i64, applied: &Applied, now: Timestamp) {
        if !self.entries.iter().any(|entry| entry.epoch == epoch) {
            // The journal was lost meanwhile.
            let (description, ticket, state) = (None, None, None);
            self.entries.push(Entry { epoch, at: now, description, ticket, is_answered: true, state });
        }
        for entry in self.entries.iter_mut().filter(|entry| entry.epoch == epoch) {
            entry.is_answered = true;
            if applied.state.exists() || !applied.is_failed() {
                entry.state = Stored::of(version, &applied.state);
            }
        }
    }
}
