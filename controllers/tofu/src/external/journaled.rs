//! What exists according to the journal.

use kraken_spoke::{Failure, Fate, ObserveRequest, runtime::clock};
use kraken_tfplugin::ResourceState;

use super::TofuExternal;
use crate::{
    journal::{Entry, Journal, Stored},
    observed::{self, Object},
};

impl TofuExternal {
    /// What exists of one resource.
    pub(super) async fn observed(&self, request: &ObserveRequest) -> Result<observed::Observed, Failure> {
        let identity = &request.identity;
        let (journal, mut fate) = self.recalled(identity).await?;
        let Some(mut journal) = journal else { return self.without_journal(request).await };
        if fate == Fate::Known {
            for entry in journal.entries.iter_mut().filter(|entry| !entry.is_answered) {
                fate = self.resolve(identity, entry).await?;
            }
        }
        let mut objects = vec![];
        for entry in &mut journal.entries {
            let Some(stored) = &entry.state else { continue };
            let current = self.current(identity, entry.epoch, stored).await?;
            match self.read(&current).await? {
                Some(state) => {
                    let is_marked = entry.description.is_some();
                    objects.push(Object { is_marked, ..object(entry.epoch, state.clone()) });
                    entry.state = Stored::of(self.schema.version, &state);
                }
                None => entry.state = None,
            }
        }
        let is_over = journal.entries.iter().all(|entry| entry.is_answered && entry.state.is_none());
        self.journals.write(identity, journal).await?;
        if is_over {
            // The resource may be deleted next, and nothing else would free the memory.
            self.journals.forget(identity);
            self.upgraded.lock().retain(|(uid, _)| *uid != identity.uid);
        }
        // The newest first: it is the main one.
        objects.reverse();
        Ok(observed::Observed { objects, fate })
    }

    /// A journal that is lost is restored by the id on record.
    pub(super) async fn without_journal(
        &self,
        request: &ObserveRequest,
    ) -> Result<observed::Observed, Failure> {
        let mut observed = observed::Observed::default();
        if let Some(id) = request.ids.first() {
            if let Some(state) = self.imported(id).await? {
                let entry = self.answered(request.launched.max(1), &state);
                self.journals
                    .write(&request.identity, Journal { entries: vec![entry], outputs: None })
                    .await?;
                observed.objects.push(object(request.launched.max(1), state));
            }
        } else if request.launched > 0 {
            observed.fate = Fate::Unknown(format!(
                "the journal of the creation of {} is lost (a Secret of this namespace)",
                self.type_name
            ));
        }
        Ok(observed)
    }

    /// The entry of an object that is known.
    pub(super) fn answered(&self, epoch: i64, state: &ResourceState) -> Entry {
        Entry {
            epoch,
            at: clock::now(),
            description: None,
            ticket: None,
            is_answered: true,
            state: Stored::of(self.schema.version, state),
        }
    }
}

/// An object as it was just read.
pub(super) fn object(epoch: i64, state: ResourceState) -> Object {
    let id = state.value.attribute("id").as_str().unwrap_or_default().to_owned();
    Object { id, epoch, is_marked: false, state, plan: None }
}
