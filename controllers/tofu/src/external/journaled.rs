//! What exists according to the journal.

use kraken_kind::{Failure, Fate, Identity, ObserveRequest, dynamic::Observed, runtime::clock};
use kraken_tfplugin::{ResourceState, Ticket, Value};

use super::{TofuExternal, operation::Verb};
use crate::{
    journal::{Entry, Journal, Stored},
    marker,
    observed::Object,
};

impl TofuExternal {
    /// What exists of one resource.
    pub(super) async fn observed(&self, request: &ObserveRequest) -> Result<Observed, Failure> {
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
        self.journals.write(identity, journal).await?;
        // The newest first: it is the main one.
        Ok(objects.into_iter().rev().map(Object::observed).collect::<Observed>().with_fate(fate))
    }

    /// The permission for the creation of this launch, which the journal names from now on.
    pub(super) async fn requested(
        &self,
        identity: &Identity,
        epoch: i64,
        config: &Value,
    ) -> Result<Ticket, Failure> {
        let mut journal = self.journals.begin(identity).await?;
        let description = self.is_marked.then(|| marker::description(config)).flatten();
        // What does not exist any more, and what a person says was not created.
        journal.entries.retain(|entry| entry.state.is_some());
        let ticket = self.ticket(identity, Verb::Create).await?;
        let (at, of_host) = (clock::now(), Some(ticket.clone()));
        journal.entries.push(Entry {
            epoch,
            at,
            description,
            ticket: of_host,
            is_answered: false,
            state: None,
        });
        self.journals.write(identity, journal).await?;
        Ok(ticket)
    }

    /// Records that the requested creation of this launch was not begun. If that fails, it is asked of the host later, while that still
    /// knows it.
    pub(super) async fn not_begun(&self, identity: &Identity, epoch: i64) {
        let Ok(Some(mut journal)) = self.journals.read(identity).await else { return };
        journal.entries.retain(|entry| !entry.is_open(epoch));
        let _ = self.journals.write(identity, journal).await;
    }

    /// A journal that is lost is restored by the id on record.
    pub(super) async fn without_journal(&self, request: &ObserveRequest) -> Result<Observed, Failure> {
        if let Some(id) = request.ids.first() {
            if let Some(state) = self.imported(id).await? {
                let entry = self.answered(request.launched.max(1), &state);
                self.journals
                    .write(&request.identity, Journal { entries: vec![entry], outputs: None })
                    .await?;
                return Ok(object(request.launched.max(1), state).observed().into());
            }
        } else if request.launched > 0 && !request.is_own_record {
            // It may be restored, too.
            self.journals.unlearn(&request.identity);
            return Ok(Observed::default().with_fate(Fate::Unknown(format!(
                "the journal of the creation of {} is lost (the Secret {} of this namespace, which a backup may have)",
                self.type_name,
                self.journals.name(&request.identity)
            ))));
        }
        Ok(Observed::default())
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
