//! A resource type as a kind of the loop: the calls to its provider.
//!
//! The journal is written before a creation and after each operation, and the host of providers keeps an answer until it is written; see
//! [`kraken_kind::Fate`] for what happens if both end in between.

mod calls;
mod find;
mod journaled;
mod looking;
mod operation;
mod outputs;
mod provided;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use futures::{StreamExt, TryStreamExt, stream};
use journaled::object;
use kraken_kind::{
    Adopt, Candidate, Failure, FailureClass, Identity, Launch, Location, ObserveRequest,
    account::{Connection, OnChange, Refusal},
    dynamic::{Calls, Change, Desired, Observed, Spec},
    runtime::webhook::ReviewResult,
};
use kraken_tfplugin::{ResourceState, Value};
use looking::Looking;
use operation::{Label, Verb};

use crate::{
    journal::Journal,
    observed::{self, Object, main_object},
    review,
};

pub(crate) use provided::READS;
pub use provided::TofuExternal;

/// How long an object that is not found may still appear: its request may have reached the provider's service just before its process
/// ended.
const SETTLES: Duration = Duration::from_secs(30);

#[async_trait]
impl Calls for TofuExternal {
    async fn connect(&self, namespace: &str, account: Option<&str>) -> Result<Option<Connection>, Refusal> {
        let Some(configs) = &self.configs else { return Ok(None) };
        let with = |provider| Self { provider, configs: None, ..self.clone() };
        configs.connect(self.provider.program(), namespace, account, with).await.map(Some)
    }

    fn on_account_change(&self, on_change: OnChange) {
        self.configs.iter().for_each(|configs| configs.on_change(on_change.clone()));
    }

    async fn location(&self) -> Result<Option<Location>, Failure> {
        Ok(self.provider.location().cloned())
    }

    async fn review(&self, spec: &dyn Spec) -> ReviewResult {
        match &self.reviewer {
            Some(reviewer) => {
                reviewer.review(review::Of::Resource, &self.type_name, &self.schema, &spec.json()).await
            }
            None => ReviewResult::default(),
        }
    }

    fn looking(&self) -> Option<Arc<dyn Calls>> {
        Some(Arc::new(Looking(self.clone())))
    }

    async fn observe(&self, requests: &[ObserveRequest]) -> Result<Vec<Observed>, Failure> {
        let mut reads = vec![];
        for request in requests {
            reads.push(self.observed(request));
        }
        stream::iter(reads).buffered(READS).try_collect().await
    }

    /// Adds the provider's own plan.
    async fn examine(
        &self,
        identity: &Identity,
        desired: &Desired,
        observed: &Observed,
    ) -> Result<Observed, Failure> {
        let desired: &observed::Desired = desired.get();
        let planned = self.planned(identity, desired, observed).await?;
        if let Some(object) = main_object(&planned) {
            self.write_outputs(identity, desired, &object.state).await?;
        }
        Ok(planned)
    }

    async fn create(
        &self,
        identity: &Identity,
        launch: &Launch,
        desired: &Desired,
        _: &Observed,
    ) -> Result<Observed, Failure> {
        let desired: &observed::Desired = desired.get();
        let config = Self::sent(self.is_marked, identity, launch.epoch, &desired.config);
        let plan = self.plan("plan", &ResourceState::default(), &config).await?;
        let ticket = self.requested(identity, launch.epoch, &config).await?;
        let label = Label::now(Verb::Create, launch.epoch);
        let state = self.apply(identity, ticket, label, plan).await?;
        self.write_outputs(identity, desired, &state).await?;
        Ok(object(launch.epoch, state).observed().into())
    }

    async fn update(
        &self,
        identity: &Identity,
        _: &Change,
        desired: &Desired,
        observed: &Observed,
    ) -> Result<(), Failure> {
        let Some(object) = main_object(observed) else { return Ok(()) };
        let Some(plan) = &object.plan else { return Ok(()) };
        let ticket = self.ticket(identity, Verb::Change).await?;
        let label = Label::now(Verb::Change, object.epoch);
        let state = self.apply(identity, ticket, label, (**plan).clone()).await?;
        self.write_outputs(identity, desired.get(), &state).await
    }

    async fn delete(&self, identity: &Identity, observed: &Observed) -> Result<Vec<String>, Failure> {
        for object in observed.all::<Object>() {
            let plan = self.plan("plan the deletion of", &object.state, &Value::Null).await?;
            let ticket = self.ticket(identity, Verb::Delete).await?;
            self.apply(identity, ticket, Label::now(Verb::Delete, object.epoch), plan).await?;
        }
        Ok(vec![])
    }

    async fn find(&self, wanted: &Adopt) -> Result<Vec<Candidate<Observed>>, Failure> {
        let Adopt::Id(wanted) = wanted else {
            let text = "objects of OpenTofu providers are adopted by id: set lifecycle.adopt.id";
            return Err(self.provider.failure(&self.action("find"), FailureClass::Terminal, text, &[]));
        };
        let found = self.imported(&wanted.id).await?.map(|state| {
            let observed = object(0, state).observed().into();
            Candidate { id: wanted.id.clone(), owner: None, created_by: None, observed }
        });
        Ok(found.into_iter().collect())
    }

    async fn claim(&self, identity: &Identity, epoch: i64, found: &Observed) -> Result<(), Failure> {
        let objects = found.all::<Object>();
        // Without a description, so that no marker is expected in the object.
        let entries = objects.into_iter().map(|object| self.answered(epoch, &object.state)).collect();
        self.journals.write(identity, Journal { entries, outputs: None }).await
    }

    async fn release(&self, identity: &Identity, _: &Observed) -> Result<(), Failure> {
        self.release_outputs(identity).await?;
        self.journals.delete(identity).await
    }

    async fn forget(&self, identity: &Identity) -> Result<(), Failure> {
        self.nothing_since.lock().remove(&identity.uid);
        self.upgraded.lock().retain(|(uid, _)| *uid != identity.uid);
        self.journals.forget(identity).await
    }
}
