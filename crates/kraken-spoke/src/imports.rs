//! Answers the ImportRequests about the kinds of this process, each once, and deletes old ones. Client required.
//!
//! A request is no resource: it has no finalizer, no retries and no status that follows anything. A user repeats one that failed.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures::{FutureExt, StreamExt, stream};
use kraken_api::{
    ImportRequest,
    import_request::{ImportAnswer, ImportRequestSpec},
};
use kraken_kind::{
    account::{Connected, Connection, Rules},
    dynamic::{Calls, Served},
    import::Scope,
};
use kraken_model::imports::{Asked, answer};
use kraken_runtime::{
    Manager, clock,
    hash::HashSet,
    patch::{ApiError, apply_status, within},
    watch::{Change, Store},
};
use kube::{Api, Resource, ResourceExt, api::DeleteParams};
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::Notify;
use tracing::{info, warn};

/// The age at which a request is deleted.
const EXPIRES: Duration = Duration::from_mins(10);
/// How often the ages are checked while there are requests.
const CHECK: Duration = Duration::from_mins(1);
/// The time for one answer.
const DEADLINE: Duration = Duration::from_mins(2);
/// The number of requests that are answered at the same time.
const AT_ONCE: usize = 4;

/// The requests of users and the kinds that this process answers for.
pub(crate) struct Imports {
    manager: Manager,
    kinds: Vec<Served>,
    requests: Store<ImportRequest>,
    changed: Arc<Notify>,
    /// The UIDs of requests that were answered: the watch may not show the answer yet.
    answered: Mutex<HashSet<String>>,
}

impl Imports {
    /// Watches the requests. Their kind comes with the hub, which may be older than this process.
    pub(crate) fn watch(manager: &Manager, kinds: Vec<Served>) -> Self {
        let changed = Arc::new(Notify::new());
        let seen = {
            let changed = changed.clone();
            move |change: Change<ImportRequest>| {
                if matches!(change, Change::Applied(..)) {
                    changed.notify_one();
                }
            }
        };
        let (requests, _) = manager.watches().optional_objects::<ImportRequest>("ImportRequest", false, seen);
        let answered = Mutex::default();
        Self { manager: manager.clone(), kinds, requests, changed, answered }
    }

    /// Answers until shutdown, while this process leads.
    pub(crate) async fn run(self) {
        let synced = self.manager.shutdown.run_until_cancelled(self.manager.health.ready()).await.is_some();
        if !synced || !self.manager.leading().await {
            return;
        }
        let shutdown = self.manager.shutdown.clone();
        while shutdown.run_until_cancelled(self.turn()).await.is_some() {
            let next = async {
                if self.requests.is_empty() {
                    self.changed.notified().await;
                } else {
                    // A timeout means that the ages are due.
                    let _ = tokio::time::timeout(CHECK, self.changed.notified()).await;
                }
            };
            if shutdown.run_until_cancelled(next).await.is_none() {
                return;
            }
        }
    }

    /// Answers what is unanswered, and deletes what is old.
    async fn turn(&self) {
        let all = self.requests.all();
        let uids: HashSet<String> = all.iter().filter_map(|request| request.uid()).collect();
        self.answered.lock().retain(|uid| uids.contains(uid));
        stream::iter(&all).for_each_concurrent(AT_ONCE, |request| self.one(request)).await;
    }

    async fn one(&self, request: &ImportRequest) {
        let (namespace, name) = (request.namespace().unwrap_or_default(), request.name_any());
        let api: Api<ImportRequest> = Api::namespaced(self.manager.client.clone(), &namespace);
        let done = if is_old(request) {
            // Of any kind: one that no controller serves is not kept either.
            let deleted = within("delete an old request", api.delete(&name, &DeleteParams::default())).await;
            deleted.map(drop)
        } else if let Some(kind) = self.unanswered(request) {
            self.answer(&api, request, kind).await
        } else {
            Ok(())
        };
        match done {
            Err(error) if !error.is_not_found() => {
                warn!(namespace, name, %error, "failed to answer an ImportRequest");
            }
            _ => {}
        }
    }

    /// The kind that it is about, if this process must answer.
    fn unanswered(&self, request: &ImportRequest) -> Option<&Served> {
        let is_answered = request.status.as_ref().is_some_and(|status| status.answer.is_some())
            || request.uid().is_some_and(|uid| self.answered.lock().contains(&uid))
            || request.metadata.deletion_timestamp.is_some();
        let is_of = |(kind, _): &&Served| {
            let resource = &kind.info().resource;
            resource.kind == request.spec.kind && resource.group == request.spec.group
        };
        self.kinds.iter().find(is_of).filter(|_| !is_answered)
    }

    async fn answer(
        &self,
        api: &Api<ImportRequest>,
        request: &ImportRequest,
        (kind, external): &Served,
    ) -> Result<(), ApiError> {
        let (namespace, name) = (request.namespace().unwrap_or_default(), request.name_any());
        // A panic ends this answer only, and not the controllers of the process.
        let answered =
            AssertUnwindSafe(self.answer_of(&namespace, &request.spec, &**external)).catch_unwind();
        let answer = match tokio::time::timeout(DEADLINE, answered).await {
            Ok(Ok(Ok(answer))) => answer,
            Ok(Ok(Err(problem))) => problem_of(problem),
            Ok(Err(_)) => problem_of("internal error; see the controller log".to_owned()),
            Err(_) => problem_of(format!("the provider did not answer in {} s", DEADLINE.as_secs())),
        };
        let (objects, problem) = (answer.objects.len(), answer.problem.as_deref().unwrap_or_default());
        info!(kind = kind.info().name, namespace, name, objects, problem, "answering an ImportRequest");
        let status = json!({
            "apiVersion": ImportRequest::api_version(&()),
            "kind": ImportRequest::kind(&()),
            "metadata": {"name": name, "uid": request.uid()},
            "status": {"answer": answer},
        });
        apply_status::<ImportRequest>(api, self.manager.name, &name, &status).await?;
        self.answered.lock().extend(request.uid());
        Ok(())
    }

    /// The answer, or why there is none.
    async fn answer_of(
        &self,
        namespace: &str,
        spec: &ImportRequestSpec,
        own: &dyn Calls,
    ) -> Result<ImportAnswer, String> {
        let account = spec.account.as_ref().map(|account| account.name.as_str());
        let connection = own.connect(namespace, account).await.map_err(|refusal| refusal.to_string())?;
        let (connected, rules) = match connection {
            Some(Connection { connected, rules }) => (connected, Some(rules)),
            None => (None, None),
        };
        let external = connected.as_ref().map_or(own, |Connected { external, .. }| &**external);
        let here = external.location().await.map_err(|failure| failure.to_string())?;
        let rules: Option<&dyn Rules> = rules.as_deref();
        if let Some(violation) =
            rules.zip(here.as_ref()).and_then(|(rules, here)| rules.location_violation(here))
        {
            return Err(violation);
        }
        let scope = match (&spec.within, &spec.tags) {
            (Some(id), _) => Scope::Within(id.clone()),
            (None, tags) if tags.is_empty() => Scope::Account,
            (None, tags) => Scope::Tags(tags.clone()),
        };
        let import = external.import(&scope).await.map_err(|failure| failure.to_string())?;
        let import = import.ok_or_else(|| format!("{} cannot be imported", spec.kind))?;
        let asked = Asked { cluster: &self.manager.cluster_id, namespace, after: spec.after.as_deref() };
        let location = here.map(|here| here.to_string());
        Ok(ImportAnswer { location, ..answer(import, asked, rules) })
    }
}

fn problem_of(problem: String) -> ImportAnswer {
    ImportAnswer { problem: Some(problem), ..ImportAnswer::default() }
}

fn is_old(request: &ImportRequest) -> bool {
    let Some(created) = &request.metadata.creation_timestamp else { return false };
    let age = clock::now().duration_since(created.0);
    age.as_secs() > i64::try_from(EXPIRES.as_secs()).unwrap_or(i64::MAX)
}
