//! What exists according to the journal, and the operations that it records.

use std::time::Duration;

use kraken_spoke::{Failure, FailureClass, Fate, Identity, ObserveRequest, runtime::clock};
use kraken_tfplugin::{Applied, Plan, ResourceState};

use super::TofuExternal;
use crate::{
    journal::{Entry, Journal, Stored},
    observed::{self, Object},
};

impl TofuExternal {
    /// What exists of one resource.
    pub(super) async fn observed(&self, request: &ObserveRequest) -> Result<observed::Observed, Failure> {
        let identity = &request.identity;
        let Some(mut journal) = self.journals.read(identity).await? else {
            return self.without_journal(request).await;
        };
        let mut fate = Fate::Known;
        for entry in journal.entries.iter_mut().filter(|entry| !entry.is_answered) {
            fate = self.resolve(identity, entry).await?;
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
            is_answered: true,
            state: Stored::of(self.schema.version, state),
        }
    }

    /// Writes the state of the provider's response. It is nowhere else, so that a failure is retried for half a minute.
    pub(super) async fn record(
        &self,
        identity: &Identity,
        epoch: i64,
        state: &ResourceState,
    ) -> Result<(), Failure> {
        let mut delays = [1, 2, 4, 8, 16].map(Duration::from_secs).into_iter();
        loop {
            let written = async {
                let mut journal = self.journals.read(identity).await?.unwrap_or_default();
                for entry in journal.entries.iter_mut().filter(|entry| entry.epoch == epoch) {
                    entry.is_answered = true;
                    entry.state = Stored::of(self.schema.version, state);
                }
                self.journals.write(identity, journal).await
            };
            match (written.await, delays.next()) {
                (Err(_), Some(delay)) => tokio::time::sleep(delay).await,
                (written, _) => return written,
            }
        }
    }

    /// Applies a plan and records the result, whatever it is.
    pub(super) async fn apply(
        &self,
        identity: &Identity,
        epoch: i64,
        verb: &str,
        plan: Plan,
    ) -> Result<ResourceState, Failure> {
        // A deletion has no configuration, and its state has the same secret values.
        let secrets = [self.secrets_of(&plan.config), self.secrets_of(&plan.prior.value)].concat();
        let action = self.action(verb);
        let failed = |error| self.provider.failed(&action, &error, &secrets);
        let operation = self.provider.plugin().await?.apply(plan).map_err(failed)?;
        let Applied { state, diagnostics } = operation.await.map_err(failed)?;
        self.record(identity, epoch, &state).await?;
        let errors: Vec<String> =
            diagnostics.iter().filter(|one| one.is_error()).map(ToString::to_string).collect();
        if errors.is_empty() {
            return Ok(state);
        }
        // With a state, an object may exist although its creation failed: observed next.
        let class = if state.exists() { FailureClass::Transient } else { FailureClass::Terminal };
        Err(self.provider.failure(&action, class, &errors.join("; "), &secrets))
    }
}

/// An object as it was just read.
pub(super) fn object(epoch: i64, state: ResourceState) -> Object {
    let id = state.value.attribute("id").as_str().unwrap_or_default().to_owned();
    Object { id, epoch, is_marked: false, state, plan: None }
}
