//! The effects of an edit or a deletion of a look-up, which has no remote objects: what it publishes changes, or is published no
//! more. Pure.

use kraken_api::effect::Effect;
use kraken_kind::{Edit, dynamic::Object};
use kube::core::object::HasStatus;

use super::{Edited, edited, shown, then};
use crate::ids::listed;

/// The effects of an edit of a look-up.
#[derive(Debug)]
pub struct OfLookup {
    published: Vec<String>,
    fields: Vec<Edited>,
}

impl OfLookup {
    /// Those of an edit that makes the one object of the other.
    pub fn new(before: &Object, after: &Object) -> Self {
        let answer = before.status().and_then(|status| status.answer.as_ref());
        let published = answer.map(|answer| answer.ids.clone()).unwrap_or_default();
        let fields = edited(&before.spec().json(), &after.spec().json(), |_| Edit::InPlace);
        Self { published, fields }
    }

    /// Whether dependents may change.
    pub fn searches_anew(&self) -> bool {
        !self.published.is_empty() && !self.fields.is_empty()
    }

    /// As a sentence about the resource.
    pub fn said(&self, dependents: &[String]) -> Vec<String> {
        if !self.searches_anew() {
            return vec![];
        }
        let (changes, published) = (Effect::Changes.words(), listed(&self.published));
        let fields = shown(self.fields.iter());
        vec![format!("{changes} {published} to what it then finds{}: {fields}", then(dependents))]
    }

    /// The effect of the deletion of a look-up.
    pub fn of_deletion(dependents: &[String]) -> Vec<String> {
        if dependents.is_empty() {
            return vec![];
        }
        let (nothing, names) = (Effect::ChangesNothing.words(), listed(dependents));
        vec![format!(
            "{nothing} in the cloud, but until it exists again, these dependents keep their remote objects and wait: {names}"
        )]
    }
}
