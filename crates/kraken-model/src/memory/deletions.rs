//! Which objects are deleted, of those whose deletion this process requested.

use kraken_kind::dynamic::{Kind, Observed};

use crate::{
    ids::{union, without},
    ledger::Clock,
    memory::Memory,
};

impl Memory {
    /// Records which objects the provider returns as existing, although they were gone, and which as deleted: later responses need
    /// not contain these.
    pub fn note_shown(&mut self, kind: &dyn Kind, observed: &Observed) {
        if !self.absent.gone_ids.is_empty() {
            self.absent.gone_ids = without(&self.absent.gone_ids, &observed.ids());
        }
        if !kind.info().shows_deleted || self.absent.deleted_ids.is_empty() {
            return;
        }
        let mut shown = observed.deleted();
        shown.retain(|id| self.absent.deleted_ids.contains(id));
        self.absent.shown_as_deleted = union(std::mem::take(&mut self.absent.shown_as_deleted), &shown);
    }

    /// Whether an object that a response does not contain is deleted: its deletion was requested, and it was returned as
    /// deleted if the kind [shows deleted objects](kraken_kind::Features::shows_deleted). Otherwise, a read that lags may hide it.
    pub fn is_deleted(&self, kind: &dyn Kind, id: &str) -> bool {
        let is_in = |ids: &[String]| ids.iter().any(|other| other == id);
        is_in(&self.absent.deleted_ids)
            && (!kind.info().shows_deleted || is_in(&self.absent.shown_as_deleted))
    }

    /// Whether an object whose owner tags were restored lately may exist although a response does not contain it: the tags are not
    /// visible yet, so that no search finds it, and the record of its id was removed.
    pub fn is_claim_hidden(&self, kind: &dyn Kind, shown: &[String], clock: Clock) -> bool {
        let Some(claimed) = &self.owned.claimed else { return false };
        let is_hidden = |id: &&String| {
            !shown.contains(id)
                && !self.is_deleted(kind, id)
                && ![&self.absent.gone_ids, &self.absent.released_ids, &self.deletion.releasing_ids]
                    .iter()
                    .any(|ids| ids.contains(id))
        };
        clock.instant.saturating_duration_since(claimed.at) < clock.window
            && claimed.ids.iter().any(|id| is_hidden(&id))
    }
}
