//! The call of a data source to its provider.

use std::sync::Arc;

use async_trait::async_trait;
use futures::{StreamExt, TryStreamExt, stream};
use kraken_kind::{
    Adopt, Candidate, Failure, FailureClass, Identity, Launch, Location, ObserveRequest,
    account::{Connection, OnChange, Refusal},
    dynamic::{Calls, Change, Desired, Observed, Spec},
    runtime::webhook::ReviewResult,
};
use kraken_tfplugin::schema::Schema;

use super::DataKind;
use crate::{
    config::OfInstall,
    external::READS,
    observed,
    provider::{Provider, collect_secrets},
    review::{self, Reviewer},
};

/// The calls of one data source.
#[derive(Clone)]
pub(crate) struct DataExternal {
    provider: Arc<Provider>,
    type_name: String,
    schema: Arc<Schema>,
    configs: Option<OfInstall>,
    reviewer: Reviewer,
}

impl DataExternal {
    pub(crate) fn new(
        provider: Arc<Provider>,
        kind: &DataKind,
        configs: Option<OfInstall>,
        reviewer: Reviewer,
    ) -> Self {
        let (type_name, schema) = (kind.type_name().to_owned(), kind.schema().clone());
        Self { provider, type_name, schema, configs, reviewer }
    }

    async fn read(&self, request: &ObserveRequest) -> Result<Observed, Failure> {
        let Some(wanted) = &request.wanted else { return Ok(Observed::default()) };
        let config = &wanted.get::<observed::Desired>().config;
        let read = self.provider.plugin().await?.read_data_source(&self.type_name, config).await;
        let found = read.map_err(|error| {
            let mut secrets = vec![];
            collect_secrets(&self.schema.block, config, &mut secrets);
            self.provider.failed(
                &format!("failed to read the data source {}", self.type_name),
                &error,
                &secrets,
            )
        })?;
        Ok(super::found(&self.type_name, found.value))
    }

    /// No step of a look-up makes such a call.
    fn never(&self) -> Failure {
        let text = "a data source changes nothing: please report this";
        self.provider.failure(
            &format!("failed to change {}", self.type_name),
            FailureClass::Terminal,
            text,
            &[],
        )
    }
}

#[async_trait]
impl Calls for DataExternal {
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
        self.reviewer.review(review::Of::Data, &self.type_name, &self.schema, &spec.json()).await
    }

    async fn observe(&self, requests: &[ObserveRequest]) -> Result<Vec<Observed>, Failure> {
        let mut reads = vec![];
        for request in requests {
            reads.push(self.read(request));
        }
        stream::iter(reads).buffered(READS).try_collect().await
    }

    async fn create(&self, _: &Identity, _: &Launch, _: &Desired, _: &Observed) -> Result<Observed, Failure> {
        Err(self.never())
    }

    async fn update(&self, _: &Identity, _: &Change, _: &Desired, _: &Observed) -> Result<(), Failure> {
        Err(self.never())
    }

    async fn delete(&self, _: &Identity, _: &Observed) -> Result<Vec<String>, Failure> {
        Err(self.never())
    }

    async fn find(&self, _: &Adopt) -> Result<Vec<Candidate<Observed>>, Failure> {
        Err(self.never())
    }

    async fn claim(&self, _: &Identity, _: i64, _: &Observed) -> Result<(), Failure> {
        Err(self.never())
    }

    async fn release(&self, _: &Identity, _: &Observed) -> Result<(), Failure> {
        Err(self.never())
    }
}
