//! The kinds of a process: those that are compiled in run until it ends, and others are added and removed meanwhile.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, OnceLock},
};

use futures::future::BoxFuture;
use kraken_kind::account::{AccountKind, KnownAccounts};
use kraken_runtime::{
    manager::Manager,
    task,
    watch::ObjectKey,
    webhook::{Hook, ReviewResult, Subject, Validator},
};
use parking_lot::{Mutex, RwLock};
use tokio_util::sync::CancellationToken;
use tracing::{error, info};

use super::{Common, Member, Served, release_unused, run_set};
use crate::{
    admission::Admission,
    args::LoopArgs,
    preview::{Preview, previews_of},
    shared::uses::Uses,
};

/// The kinds of a process. Clones share the same state.
///
/// Kinds that are added at once share the two watches of what their controllers write, so that a provider with a hundred types needs no
/// more of them than one with two.
#[derive(Clone)]
pub struct Kinds {
    manager: Manager,
    args: LoopArgs,
    common: Common,
    running: Arc<Mutex<BTreeMap<String, Running>>>,
    reviewers: Reviewers,
    /// Cancelled when accounts are not released any more.
    released: Arc<OnceLock<CancellationToken>>,
}

/// The controller of one kind.
#[derive(Clone)]
struct Running {
    part: Manager,
    ended: CancellationToken,
}

impl Kinds {
    /// No kinds yet.
    pub fn new(manager: Manager, args: LoopArgs) -> Self {
        Self {
            manager,
            args,
            common: Common::default(),
            running: Arc::default(),
            reviewers: Reviewers::default(),
            released: Arc::default(),
        }
    }

    /// The same with the accounts of their provider. All kinds have accounts of this kind, but for its field and its default name.
    #[must_use]
    pub fn with_accounts(mut self, kind: AccountKind, accounts: Arc<dyn KnownAccounts>) -> Self {
        let uses = Uses::new(self.manager.clone(), kind, accounts.clone());
        self.common = Common { accounts: Some(accounts), uses: Some(uses), ..self.common };
        self
    }

    /// Begins to release the accounts that no resource uses. [`Kinds::run`] does it itself, once it watches all resources: before, none
    /// would seem to be used. With kinds that are added later, the accounts must [know](KnownAccounts::users_are_known) their users.
    pub fn release_accounts(&self) {
        let Some(uses) = self.common.uses.clone() else { return };
        let ended = CancellationToken::new();
        if self.released.set(ended.clone()).is_err() {
            return;
        }
        let releasing = release_unused(self.manager.clone(), uses);
        task::spawn(async move {
            let _ended = ended.drop_guard();
            releasing.await;
        });
    }

    /// Waits until the controllers of all kinds have ended, with their operations.
    pub async fn ended(&self) {
        let running = self.running.lock().values().map(|running| running.ended.clone()).collect::<Vec<_>>();
        for ended in running.iter().chain(self.released.get()) {
            ended.cancelled().await;
        }
    }

    /// Mounts the reviews of all kinds, those of now and those to come, for the webhook of their API group.
    pub fn mount(&self, hook: &Hook) {
        self.manager.webhooks.mount(hook, self.reviewers.clone());
    }

    /// The keys ([`kraken_kind::dynamic::KindInfo::key`]) of the kinds whose controllers run.
    pub fn running(&self) -> Vec<String> {
        self.running.lock().keys().cloned().collect()
    }

    /// Whether all resources of these kinds are known: their controllers run here, and have listed them.
    pub fn are_listed<'a>(&self, keys: impl IntoIterator<Item = &'a str>) -> bool {
        let running = self.running.lock();
        keys.into_iter().all(|key| {
            // Watches are registered before the resources are added to those that use accounts.
            let is_watched = self.common.uses.as_ref().is_none_or(|uses| uses.has(key));
            is_watched && running.get(key).is_some_and(|running| running.part.health.missing().is_empty())
        })
    }

    /// Runs the controllers of these kinds, which are compiled in, until shutdown. The process is ready when it has listed all of them.
    ///
    /// # Errors
    /// If one of them panics outside of a reconcile; failures are reported as conditions of resources.
    pub async fn run(self, kinds: Vec<Served>) -> anyhow::Result<()> {
        let members = self.members(kinds, &|| self.manager.clone());
        let on_watched = || {
            self.manager.watches_registered();
            self.release_accounts();
        };
        run_set(self.manager.clone(), members, self.args.clone(), self.common.clone(), on_watched).await?;
        self.ended().await;
        Ok(())
    }

    /// Starts the controllers of these kinds. Their CRDs need not be served yet. One that runs already continues as it is: it must be
    /// [removed](Self::remove) first.
    pub fn add(&self, kinds: Vec<Served>) {
        let set = self.manager.part();
        let members = self.members(kinds, &|| set.part());
        if members.is_empty() {
            return set.stop_part();
        }
        let (args, common, process) = (self.args.clone(), self.common.clone(), self.manager.shutdown.clone());
        task::spawn(async move {
            if let Err(failed) = run_set(set, members, args, common, || {}).await {
                error!(error = %failed, "a controller ended; stopping the process, to be restarted");
                process.cancel();
            }
        });
    }

    /// The kinds that do not run yet, with their reviews. The controller of each runs until the manager of its part stops.
    fn members(&self, kinds: Vec<Served>, part: &dyn Fn() -> Manager) -> Vec<Member> {
        let mut running = self.running.lock();
        let mut members = vec![];
        for (kind, external) in kinds {
            let (key, name) = (kind.info().key.clone(), kind.info().name);
            if running.contains_key(&key) {
                continue;
            }
            let (part, ended) = (part(), CancellationToken::new());
            running.insert(key.clone(), Running { part: part.clone(), ended: ended.clone() });
            let admission = Admission::new(kind.clone())
                .with_accounts(self.common.accounts.clone())
                .with_references(self.manager.clone(), self.common.references.clone())
                .with_external(external.clone())
                .with_previews(self.common.previews.clone());
            self.reviewers.add(key, name, admission);
            info!(kind = name, "starting the controller");
            members.push(Member { manager: part, served: (kind, external), ended: ended.drop_guard() });
        }
        members
    }

    /// What each resource of this kind would have after the controller, which runs, was [replaced](Self::remove) by this one. Nothing is
    /// written. `None` if the kind does not run here.
    pub async fn previews(&self, (kind, external): Served) -> Option<Vec<(ObjectKey, Preview)>> {
        let context = self.common.previews.of(&kind.info().key)?;
        Some(previews_of(&context, kind, external).await)
    }

    /// Stops the controller of the kind with this key, and waits for its reconciles, and operations, in progress. Its resources stay as
    /// they are.
    pub async fn remove(&self, key: &str) {
        let Some(running) = self.running.lock().get(key).cloned() else { return };
        running.part.stop_part();
        running.ended.cancelled().await;
        self.running.lock().remove(key);
        self.reviewers.remove(key);
    }
}

impl fmt::Debug for Kinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Kinds").field(&self.running()).finish()
    }
}

/// The reviews of the kinds of one API group, by kind.
#[derive(Clone, Default)]
struct Reviewers(Arc<RwLock<Vec<Reviewer>>>);

/// The review of a kind, with its key and its name.
type Reviewer = (String, &'static str, Arc<Admission>);

impl Reviewers {
    fn add(&self, key: String, kind: &'static str, admission: Admission) {
        self.0.write().push((key, kind, Arc::new(admission)));
    }

    fn remove(&self, key: &str) {
        self.0.write().retain(|(known, ..)| known != key);
    }

    fn of(&self, kind: &str) -> Option<Arc<Admission>> {
        let all = self.0.read();
        all.iter().find(|(_, known, _)| *known == kind).map(|(.., admission)| admission.clone())
    }
}

impl Validator for Reviewers {
    fn review(&self, subject: Subject) -> BoxFuture<'_, ReviewResult> {
        let reviewer = self.of(&subject.kind);
        Box::pin(async move {
            match reviewer {
                Some(reviewer) => reviewer.review(subject).await,
                // Its controller does not run here any more, or not yet: a webhook is never the reason why an object cannot be changed.
                None => ReviewResult::default(),
            }
        })
    }
}
