//! The calls for a look: a plan that a dry run asks for, on any replica, or one with a program that is not in use yet. They write neither the
//! journal nor the Secret of outputs, take no answer from the host, and remember nothing.

use async_trait::async_trait;
use futures::{StreamExt, TryStreamExt, stream};
use kraken_kind::{
    Adopt, Candidate, Failure, FailureClass, Identity, Launch, Location, ObserveRequest,
    dynamic::{Calls, Change, Desired, Observed},
};

use super::{READS, TofuExternal, journaled::object};
use crate::{journal::Entry, observed::Object};

/// The calls of one resource type, for looks.
pub(super) struct Looking(pub(super) TofuExternal);

impl Looking {
    /// What exists of one resource, as far as the journal says it.
    async fn observed(&self, request: &ObserveRequest) -> Result<Observed, Failure> {
        let mut objects = vec![];
        match self.0.journals.stored(&request.identity).await? {
            Some(journal) if journal.entries.iter().all(|entry| entry.is_answered) => {
                for entry in &journal.entries {
                    objects.extend(self.existing(entry).await?);
                }
            }
            Some(_) => return Err(self.refused("its creation has no answer yet")),
            None => {
                if let Some(id) = request.ids.first() {
                    let state = self.0.imported(id).await?;
                    objects.extend(state.map(|state| object(request.launched.max(1), state)));
                }
            }
        }
        // The newest first: it is the main one.
        Ok(objects.into_iter().rev().map(Object::observed).collect())
    }

    async fn existing(&self, entry: &Entry) -> Result<Option<Object>, Failure> {
        let Some(stored) = &entry.state else { return Ok(None) };
        let state = self.0.read(&self.0.in_form(stored).await?).await?;
        let is_marked = entry.description.is_some();
        Ok(state.map(|state| Object { is_marked, ..object(entry.epoch, state) }))
    }

    fn refused(&self, why: &str) -> Failure {
        let (action, class) = (self.0.action("look at"), FailureClass::Transient);
        self.0.provider.failure(&action, class, why, &[])
    }

    fn writes<T>(&self) -> Result<T, Failure> {
        Err(self.refused("a look changes nothing"))
    }
}

#[async_trait]
impl Calls for Looking {
    async fn location(&self) -> Result<Option<Location>, Failure> {
        self.0.location().await
    }

    async fn observe(&self, requests: &[ObserveRequest]) -> Result<Vec<Observed>, Failure> {
        let mut reads = vec![];
        for request in requests {
            reads.push(self.observed(request));
        }
        stream::iter(reads).buffered(READS).try_collect().await
    }

    async fn examine(
        &self,
        identity: &Identity,
        desired: &Desired,
        observed: &Observed,
    ) -> Result<Observed, Failure> {
        self.0.planned(identity, desired.get(), observed).await
    }

    async fn find(&self, wanted: &Adopt) -> Result<Vec<Candidate<Observed>>, Failure> {
        self.0.find(wanted).await
    }

    async fn create(&self, _: &Identity, _: &Launch, _: &Desired, _: &Observed) -> Result<Observed, Failure> {
        self.writes()
    }

    async fn update(&self, _: &Identity, _: &Change, _: &Desired, _: &Observed) -> Result<(), Failure> {
        self.writes()
    }

    async fn delete(&self, _: &Identity, _: &Observed) -> Result<Vec<String>, Failure> {
        self.writes()
    }

    async fn claim(&self, _: &Identity, _: i64, _: &Observed) -> Result<(), Failure> {
        self.writes()
    }

    async fn release(&self, _: &Identity, _: &Observed) -> Result<(), Failure> {
        self.writes()
    }
}
