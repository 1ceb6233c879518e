//! A resource type as a kind of the loop: the calls to its provider.
//!
//! The journal is written before a creation and after each operation, so that an object is never unknown to both the provider's answer
//! and the journal; see [`Fate`] for what happens in between.

mod find;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use futures::{StreamExt, TryStreamExt, stream};
use kraken_spoke::{
    Adopt, Candidate, Failure, FailureClass, Fate, Identity, Launch, Location, ObserveRequest,
    account::{Connection, OnChange, Refusal},
    dynamic::{Change, Desired, DynExternal, DynKind, Observed},
    runtime::clock,
};
use kraken_tfplugin::{Applied, CallError, Plan, ResourceState, Value, schema::Schema};
use kube::Client;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::{
    config::OfInstall,
    journal::{Entry, Journal, Journals, Stored},
    kind::TofuKind,
    marker,
    observed::{self, Object},
    provider::{Provider, collect_secrets},
};

/// How long an object that is not found may still appear: its request may have reached the provider's service just before its process
/// ended.
const SETTLES: Duration = Duration::from_secs(30);

/// The number of resources that are read at the same time.
const READS: usize = 16;

/// The calls of one resource type.
#[derive(Clone)]
pub struct TofuExternal {
    provider: Arc<Provider>,
    type_name: String,
    schema: Arc<Schema>,
    is_marked: bool,
    journals: Arc<Journals>,
    /// Since when nothing was found of the creations without a response, by UID.
    nothing_since: Arc<Mutex<BTreeMap<String, Instant>>>,
    /// The objects whose states were upgraded, by the UID of their resource and their launch.
    upgraded: Arc<Mutex<BTreeSet<(String, i64)>>>,
    /// The configurations of namespaces, with which calls are made instead.
    configs: Option<OfInstall>,
}

impl TofuExternal {
    /// The calls of the type of this kind. `manager` is the field manager of the journals.
    pub fn new(provider: Arc<Provider>, kind: &TofuKind, client: Client, manager: &'static str) -> Self {
        let (type_name, schema, info) = (kind.type_name().to_owned(), kind.schema().clone(), kind.info());
        Self {
            is_marked: marker::is_marked(provider.schema(), &type_name),
            journals: Arc::new(Journals::new(client, manager, info.resource.clone(), info.key.clone())),
            nothing_since: Arc::default(),
            upgraded: Arc::default(),
            provider,
            type_name,
            schema,
            configs: None,
        }
    }

    /// The same, whose calls are made with the ProviderConfigs of namespaces.
    #[must_use]
    pub(crate) fn configured_by(self, configs: OfInstall) -> Self {
        Self { configs: Some(configs), ..self }
    }

    /// Whether a creation without a response is found again.
    pub fn is_marked(&self) -> bool {
        self.is_marked
    }

    /// The configuration as it is sent, with the marker of the launch if it has one.
    fn sent(is_marked: bool, identity: &Identity, epoch: i64, config: &Value) -> Value {
        if is_marked { marker::with(config, &marker::of(identity, epoch)) } else { config.clone() }
    }

    fn action(&self, verb: &str) -> String {
        format!("failed to {verb} {}", self.type_name)
    }

    /// The failure of a call about an object with these values.
    fn failed(&self, verb: &str, error: &CallError, values: &[&Value]) -> Failure {
        let secrets: Vec<String> = values.iter().flat_map(|value| self.secrets_of(value)).collect();
        self.provider.failed(&self.action(verb), error, &secrets)
    }

    /// The provider's plan from this state to this configuration.
    async fn plan(&self, verb: &str, prior: &ResourceState, config: &Value) -> Result<Plan, Failure> {
        let plan = self.provider.plugin().await?.plan(&self.type_name, prior, config).await;
        plan.map_err(|error| self.failed(verb, &error, &[&prior.value, config]))
    }

    fn secrets_of(&self, value: &Value) -> Vec<String> {
        let mut secrets = vec![];
        collect_secrets(&self.schema.block, value, &mut secrets);
        secrets
    }

    /// The stored state in the form of the provider's version. A provider is asked once per process: what it returned since has it.
    async fn current(
        &self,
        identity: &Identity,
        epoch: i64,
        stored: &Stored,
    ) -> Result<ResourceState, Failure> {
        if stored.version == self.schema.version
            && self.upgraded.lock().contains(&(identity.uid.clone(), epoch))
            && let Ok(value) = Value::from_json(&stored.value, &self.schema.value_type)
        {
            return Ok(ResourceState { value, private: stored.private.clone() });
        }
        let plugin = self.provider.plugin().await?;
        let upgraded = plugin.upgrade(&self.type_name, stored.version, &stored.value).await;
        let upgraded = upgraded.map_err(|error| self.failed("upgrade the state of", &error, &[]))?;
        self.upgraded.lock().insert((identity.uid.clone(), epoch));
        Ok(ResourceState { value: upgraded.value, private: stored.private.clone() })
    }

    /// The object with this state, if it still exists.
    async fn read(&self, state: &ResourceState) -> Result<Option<ResourceState>, Failure> {
        let plugin = self.provider.plugin().await?;
        let read = plugin.read(&self.type_name, state).await;
        let read = read.map_err(|error| self.failed("read", &error, &[&state.value]))?.value;
        Ok(read.exists().then_some(read))
    }

    /// The object with this id, completely read; `None` if it does not exist.
    async fn imported(&self, id: &str) -> Result<Option<ResourceState>, Failure> {
        let plugin = self.provider.plugin().await?;
        let imported = plugin.import(&self.type_name, id).await;
        let imported = imported.map_err(|error| self.failed("import", &error, &[]))?;
        self.read(&imported.value).await
    }

    /// What exists of one resource.
    async fn observed(&self, request: &ObserveRequest) -> Result<observed::Observed, Failure> {
        let identity = &request.identity;
        let Some(mut journal) = self.journals.read(identity).await? else {
            return self.without_journal(request).await;
        };
        let mut fate = Fate::Known;
        for entry in journal.iter_mut().filter(|entry| !entry.is_answered) {
            fate = self.resolve(identity, entry).await?;
        }
        let mut objects = vec![];
        for entry in &mut journal {
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
        let is_over = journal.iter().all(|entry| entry.is_answered && entry.state.is_none());
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
    async fn without_journal(&self, request: &ObserveRequest) -> Result<observed::Observed, Failure> {
        let mut observed = observed::Observed::default();
        if let Some(id) = request.ids.first() {
            if let Some(state) = self.imported(id).await? {
                let entry = self.answered(request.launched.max(1), &state);
                self.journals.write(&request.identity, vec![entry]).await?;
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
    fn answered(&self, epoch: i64, state: &ResourceState) -> Entry {
        Entry {
            epoch,
            at: clock::now(),
            description: None,
            is_answered: true,
            state: Stored::of(self.schema.version, state),
        }
    }

    /// Writes the state of the provider's response. It is nowhere else, so that a failure is retried for half a minute.
    async fn record(&self, identity: &Identity, epoch: i64, state: &ResourceState) -> Result<(), Failure> {
        let mut delays = [1, 2, 4, 8, 16].map(Duration::from_secs).into_iter();
        loop {
            let written = async {
                let mut journal = self.journals.read(identity).await?.unwrap_or_default();
                for entry in journal.iter_mut().filter(|entry| entry.epoch == epoch) {
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
    async fn apply(
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

impl std::fmt::Debug for TofuExternal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TofuExternal").field("type_name", &self.type_name).finish_non_exhaustive()
    }
}

/// An object as it was just read.
fn object(epoch: i64, state: ResourceState) -> Object {
    let id = state.value.attribute("id").as_str().unwrap_or_default().to_owned();
    Object { id, epoch, is_marked: false, state, plan: None }
}

#[async_trait]
impl DynExternal for TofuExternal {
    async fn connect(
        &self,
        namespace: &str,
        account: Option<&str>,
    ) -> Result<Option<Connection<Arc<dyn DynExternal>>>, Refusal> {
        let Some(configs) = &self.configs else { return Ok(None) };
        let connection = configs.connect(self.provider.program(), namespace, account).await?;
        let with =
            |provider| -> Arc<dyn DynExternal> { Arc::new(Self { provider, configs: None, ..self.clone() }) };
        Ok(Some(connection.map(with)))
    }

    fn on_account_change(&self, on_change: OnChange) {
        if let Some(configs) = &self.configs {
            configs.on_change(on_change);
        }
    }

    async fn location(&self) -> Result<Option<Location>, Failure> {
        Ok(self.provider.location().cloned())
    }

    async fn observe(&self, requests: &[ObserveRequest]) -> Result<Vec<Observed>, Failure> {
        let mut reads = vec![];
        for request in requests {
            reads.push(self.observed(request));
        }
        stream::iter(reads).buffered(READS).map_ok(Observed::new).try_collect().await
    }

    /// Adds the provider's own plan.
    async fn examine(
        &self,
        identity: &Identity,
        desired: &Desired,
        observed: &Observed,
    ) -> Result<Observed, Failure> {
        let (config, observed) =
            (&desired.get::<observed::Desired>().config, observed::Observed::of(observed));
        let mut objects = observed.objects.clone();
        if let Some(object) = objects.first_mut() {
            let config = Self::sent(object.is_marked, identity, object.epoch, config);
            let plan = self.plan("plan a change of", &object.state, &config).await?;
            object.plan = Some(Arc::new(plan));
        }
        Ok(observed.with(objects))
    }

    async fn create(
        &self,
        identity: &Identity,
        launch: &Launch,
        desired: &Desired,
        _: &Observed,
    ) -> Result<Observed, Failure> {
        let config = &desired.get::<observed::Desired>().config;
        let config = Self::sent(self.is_marked, identity, launch.epoch, config);
        let plan = self.plan("plan", &ResourceState::default(), &config).await?;
        let mut journal: Journal = self.journals.read(identity).await?.unwrap_or_default();
        // What does not exist any more, and what a person says was not created.
        journal.retain(|entry| entry.state.is_some());
        let description = self.is_marked.then(|| marker::description(&config)).flatten();
        journal.push(Entry {
            epoch: launch.epoch,
            at: clock::now(),
            description,
            is_answered: false,
            state: None,
        });
        self.journals.write(identity, journal).await?;
        let state = self.apply(identity, launch.epoch, "create", plan).await?;
        let created = observed::Observed { objects: vec![object(launch.epoch, state)], fate: Fate::Known };
        Ok(Observed::new(created))
    }

    async fn update(
        &self,
        identity: &Identity,
        _: &Change,
        _: &Desired,
        observed: &Observed,
    ) -> Result<(), Failure> {
        let Some(object) = observed::Observed::of(observed).objects.first() else { return Ok(()) };
        let Some(plan) = &object.plan else { return Ok(()) };
        self.apply(identity, object.epoch, "change", (**plan).clone()).await.map(drop)
    }

    async fn delete(&self, identity: &Identity, observed: &Observed) -> Result<Vec<String>, Failure> {
        for object in &observed::Observed::of(observed).objects {
            let plan = self.plan("plan the deletion of", &object.state, &Value::Null).await?;
            self.apply(identity, object.epoch, "delete", plan).await?;
        }
        Ok(vec![])
    }

    async fn find(&self, wanted: &Adopt) -> Result<Vec<Candidate<Observed>>, Failure> {
        let Adopt::Id(wanted) = wanted else {
            let text = "objects of OpenTofu providers are adopted by id: set lifecycle.adopt.id";
            return Err(self.provider.failure(&self.action("find"), FailureClass::Terminal, text, &[]));
        };
        let found = self.imported(&wanted.id).await?.map(|state| {
            let observed = observed::Observed { objects: vec![object(0, state)], fate: Fate::Known };
            Candidate {
                id: wanted.id.clone(),
                owner: None,
                created_by: None,
                observed: Observed::new(observed),
            }
        });
        Ok(found.into_iter().collect())
    }

    async fn claim(&self, identity: &Identity, epoch: i64, found: &Observed) -> Result<(), Failure> {
        let objects = &observed::Observed::of(found).objects;
        // Without a description, so that no marker is expected in the object.
        let entries = objects.iter().map(|object| self.answered(epoch, &object.state)).collect();
        self.journals.write(identity, entries).await
    }

    async fn release(&self, identity: &Identity, _: &Observed) -> Result<(), Failure> {
        self.journals.delete(identity).await
    }
}
