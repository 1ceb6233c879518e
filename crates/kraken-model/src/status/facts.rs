//! What a reconcile determined for the status, in addition to its outcome. Pure.

use std::collections::BTreeMap;

use kraken_api::{InPlace, Location};

use crate::{followed::Followed, secrecy::SecretFields};

/// What a reconcile determined in addition to its outcome.
#[derive(Clone, Debug, Default)]
pub struct ReconcileFacts {
    /// The UID of the resource.
    pub uid: String,
    /// The ids of the remote objects, if they were observed.
    pub ids: Option<Vec<String>>,
    /// The ids that were created after that observation.
    pub created: Vec<String>,
    /// The number of remote objects, of a kind that scales.
    pub replicas: Option<i32>,
    /// The highest epoch known to have taken effect.
    pub epoch: Option<i64>,
    /// The record of what is in place if the outcome is `InPlace`.
    pub in_place: Option<InPlace>,
    /// An addition to the message of a paused resource.
    pub note: Option<String>,
    /// Whether changes of the references have an effect.
    pub followed: Followed,
    /// The fields that must not be shown, if the spec was resolved.
    pub secret_fields: Option<SecretFields>,
    /// Whether a change was made because of an edit: the record of what was in place before is void.
    pub edit_under_way: bool,
    /// The values of fields that are applied only at creation, as digests.
    pub at_creation: BTreeMap<String, String>,
    /// Selected public values of the remote objects, if they are published.
    pub summary: Option<BTreeMap<String, String>>,
    /// The adopted ids among them.
    pub adopted: Vec<String>,
    /// What a look-up publishes.
    pub answer: Option<Answered>,
    /// Their location.
    pub location: Option<Location>,
    /// The result of the last launch or adoption of this process, for a reconcile that observes nothing.
    pub launched: Option<Launched>,
}

/// What a look-up publishes.
#[derive(Clone, Debug, Default)]
pub struct Answered {
    /// The ids of the objects.
    pub ids: Vec<String>,
    /// The objects in words.
    pub words: String,
    /// The ids of a newer answer that is not published.
    pub newer: Vec<String>,
}

/// Remote objects that a process created or adopted.
#[derive(Clone, Debug, Default)]
pub struct Launched {
    /// The ids of all objects of the resource.
    pub ids: Vec<String>,
    /// The adopted ids among them.
    pub adopted: Vec<String>,
    /// Where they are.
    pub location: Option<Location>,
    /// The fields whose values came from a Secret.
    pub secret_fields: Vec<String>,
}

impl ReconcileFacts {
    /// Sets the ids of the remote objects, and which of them were adopted.
    pub fn of(&mut self, ids: &[String], mut adopted: Vec<String>) {
        adopted.retain(|id| ids.contains(id));
        self.adopted = adopted;
        self.ids = Some(ids.to_vec());
    }
}
