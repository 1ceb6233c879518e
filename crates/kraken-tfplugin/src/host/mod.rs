//! The owner of plugins and of their operations.
//!
//! A host passes calls on to plugins without reading them. An operation that was begun is finished whatever happens to the one who asked
//! for it, and its answer is kept until it is acknowledged. A host runs in the process of its only user, or in one of its own behind a
//! Unix socket ([`serve`]), which survives its user; [`HostLink`] is either.
//!
//! ```text
//! reserve -> (the ticket is recorded) -> operate -> (the answer is recorded) -> acknowledge
//! recall: running, answered, never begun, or nothing known
//! ```

mod frame;
mod link;
mod messages;
mod operations;
mod raw;
mod server;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::join_all;
pub use link::{Asked, HostLink, Reach, Recalled, Replied};
use messages::{Ask, Call, Operate, Recall, Reply, Started};
pub use messages::{StartRequest, Ticket};
use operations::Operations;
use raw::RawPlugin;
pub use raw::Service;
pub use server::serve;
use tracing::{info, warn};

use crate::plugin::CallError;
use crate::process::{StartError, StartOptions};
use crate::rpc::Protocol;

/// How long a plugin may take to end.
const GRACE: Duration = Duration::from_secs(5);
/// How long a host that is being ended waits for acknowledgments, after the last operation.
const ACKNOWLEDGMENTS: Duration = Duration::from_secs(30);
/// How often idle plugins are searched for.
const PERIOD: Duration = Duration::from_secs(15);
/// After this time without a call, a plugin that made its calls is replaced.
const REST: Duration = Duration::from_secs(10);

/// How a host works.
#[derive(Clone, Debug)]
pub struct HostOptions {
    /// A random name, by which its users notice that it was started again.
    pub instance: String,
    /// A command that becomes the plugin with [`exec_plugin`](crate::exec_plugin), to which arguments are added. Without one, a plugin
    /// outlives this process if that is killed and is not the first process of its container.
    pub launcher: Vec<OsString>,
    /// The time until a plugin must listen; 30 seconds by default.
    pub deadline: Duration,
    /// After this time without a call, a plugin ends; 10 minutes by default.
    pub idle: Duration,
    /// After so many calls, a plugin is replaced by another process when it is not used: those made with the newer of the two libraries
    /// of providers leak memory. 1,000 by default.
    pub calls: u64,
    /// The provider that runs in this process instead of any program; without one, programs are started.
    pub service: Option<Arc<dyn Service>>,
}

impl HostOptions {
    /// A host with this name, and defaults.
    pub fn new(instance: impl Into<String>) -> Self {
        let instance = instance.into();
        let (deadline, idle) = (Duration::from_secs(30), Duration::from_mins(10));
        Self { instance, launcher: vec![], deadline, idle, calls: 1_000, service: None }
    }
}

/// The owner of plugins and their operations. They are killed when it is dropped and no operation runs.
#[derive(Debug)]
pub struct Host {
    options: HostOptions,
    plugins: Mutex<Plugins>,
    operations: Arc<Operations>,
}

#[derive(Debug, Default)]
struct Plugins {
    started: u64,
    all: BTreeMap<u64, Entry>,
    is_closed: bool,
}

#[derive(Debug)]
struct Entry {
    raw: Arc<RawPlugin>,
    key: Option<String>,
    /// Whether the next one who wants this key gets it.
    is_shared: bool,
}

impl Host {
    /// A host without plugins.
    pub fn new(options: HostOptions) -> Arc<Self> {
        let operations = Operations::new(options.instance.clone());
        Arc::new(Self { options, plugins: Mutex::default(), operations })
    }

    fn plugins(&self) -> MutexGuard<'_, Plugins> {
        self.plugins.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn plugin(&self, id: u64) -> Result<Arc<RawPlugin>, CallError> {
        let plugin = self.plugins().all.get(&id).map(|entry| entry.raw.clone());
        plugin.ok_or_else(|| CallError::Ended("it was idle".to_owned()))
    }

    /// Answers what was asked for on another [way](Reach). Dropping the future cancels a call, and never an operation.
    ///
    /// # Errors
    /// The failure of what was asked for.
    pub async fn replied(&self, asked: Asked) -> Result<Replied, CallError> {
        self.answer(asked.0).await.map(Replied)
    }

    /// Answers one request. Dropping the future cancels a call, and never an operation.
    async fn answer(&self, ask: Ask) -> Result<Reply, CallError> {
        let done = Reply::default();
        match ask {
            Ask::Start(request) => {
                let started = self.started(request).await;
                let started = started.map_err(|error| CallError::NotStarted(error.to_string()))?;
                Ok(Reply { started: Some(started), ..done })
            }
            Ask::Share(id) => {
                self.plugins().all.entry(id).and_modify(|entry| entry.is_shared = entry.key.is_some());
                Ok(done)
            }
            Ask::Call(Call { plugin, path, body }) => {
                Ok(Reply { body: self.plugin(plugin)?.call(&path, body).await?, ..done })
            }
            Ask::End(id) => {
                let entry = self.plugins().all.remove(&id);
                if let Some(entry) = entry {
                    entry.raw.shut_down(GRACE).await;
                }
                Ok(done)
            }
            Ask::Reserve(uid) => Ok(Reply { ticket: Some(self.operations.reserve(&uid)?), ..done }),
            Ask::Operate(operate) => Ok(Reply { body: self.operate(operate).await?, ..done }),
            Ask::Recall(Recall { uid, ticket }) => {
                let (kept, is_unused) = self.operations.recall(&uid, ticket.as_ref());
                Ok(Reply { kept, is_unused, ..done })
            }
            Ask::Acknowledge(ticket) => {
                self.operations.acknowledge(&ticket);
                Ok(done)
            }
        }
    }

    /// The plugin of this key, or a new one.
    async fn started(&self, request: StartRequest) -> Result<Started, StartError> {
        let StartRequest { program, sha256, environment, key } = request;
        if let Some(shared) = key.as_deref().and_then(|key| self.shared(key)) {
            return Ok(shared);
        }
        if let Some(service) = &self.options.service {
            return self.insert(RawPlugin::own(service.clone()), key);
        }
        let folder = tempfile::Builder::new().prefix("kraken-").tempdir();
        let folder = folder.map_err(|error| StartError::Folder(std::env::temp_dir(), error.to_string()))?;
        let options = StartOptions {
            sha256,
            env: environment.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
            launcher: self.options.launcher.clone(),
            deadline: self.options.deadline,
            ..StartOptions::new(program, folder.path())
        };
        let raw = RawPlugin::start(&options, Some(folder)).await?;
        let process = raw.id();
        let started = self.insert(raw, key)?;
        info!(program = %options.program.display(), process, "started a provider");
        Ok(started)
    }

    fn insert(&self, raw: RawPlugin, key: Option<String>) -> Result<Started, StartError> {
        let mut plugins = self.plugins();
        if plugins.is_closed {
            return Err(CallError::Stopping.into());
        }
        plugins.started += 1;
        let (id, started) = (plugins.started, of(plugins.started, &raw, false));
        plugins.all.insert(id, Entry { raw: Arc::new(raw), key, is_shared: false });
        Ok(started)
    }

    fn shared(&self, key: &str) -> Option<Started> {
        let plugins = self.plugins();
        let is_usable = |entry: &Entry| {
            entry.is_shared
                && entry.key.as_deref() == Some(key)
                && !entry.raw.has_ended()
                && entry.raw.usage().calls < self.options.calls
        };
        let (id, entry) = plugins.all.iter().find(|(_, entry)| is_usable(entry))?;
        entry.raw.used(0);
        Some(of(*id, &entry.raw, true))
    }

    async fn operate(&self, operate: Operate) -> Result<Vec<u8>, CallError> {
        let Operate { ticket, call, label } = operate;
        let Call { plugin, path, body } = call.unwrap_or_default();
        let ticket = ticket.unwrap_or_default();
        let (awaited, execution) = self.operations.begin(&ticket, label)?;
        if let Some(execution) = execution {
            match self.plugin(plugin).and_then(|plugin| Ok((plugin.operate()?, plugin))) {
                Err(error) => execution.complete(Err(CallError::NotBegun(error.to_string()))),
                Ok((guard, plugin)) => drop(tokio::spawn(async move {
                    let answer = plugin.call(&path, body).await;
                    if answer.is_err() {
                        warn!(resource = ticket.uid, "an operation has no answer of its provider");
                    }
                    execution.complete(answer);
                    drop(guard);
                })),
            }
        }
        awaited.answer().await
    }

    /// Ends the plugins that are idle, that made their calls, or that ended by themselves.
    async fn rest(&self) {
        let is_done = |entry: &Entry| {
            let usage = entry.raw.usage();
            let (idle, calls) = (self.options.idle, self.options.calls);
            let rest = if usage.calls >= calls { REST.min(idle) } else { idle };
            entry.raw.has_ended() || (entry.raw.is_idle() && usage.last.elapsed() >= rest)
        };
        let done: Vec<Entry> = {
            let mut plugins = self.plugins();
            let ids: Vec<u64> =
                plugins.all.iter().filter(|(_, entry)| is_done(entry)).map(|(id, _)| *id).collect();
            ids.iter().filter_map(|id| plugins.all.remove(id)).collect()
        };
        join_all(done.iter().map(|entry| async {
            entry.raw.shut_down(GRACE).await;
            info!(process = entry.raw.id(), "a provider ended");
        }))
        .await;
    }

    /// Ends plugins when they are idle; never returns.
    pub async fn tend(&self) {
        loop {
            tokio::time::sleep(PERIOD.min(self.options.idle)).await;
            self.rest().await;
        }
    }

    /// Ends the host: nothing new starts, operations that run are waited for without a limit, then all plugins end. Answers are kept
    /// until they are acknowledged, or for half a minute.
    pub async fn close(&self) {
        self.operations.close();
        let all: Vec<Arc<RawPlugin>> = {
            let mut plugins = self.plugins();
            plugins.is_closed = true;
            plugins.all.values().map(|entry| entry.raw.clone()).collect()
        };
        join_all(all.iter().map(|raw| raw.shut_down(GRACE))).await;
        if tokio::time::timeout(ACKNOWLEDGMENTS, self.operations.acknowledged()).await.is_err() {
            warn!("answers were not acknowledged, and are lost");
        }
    }
}

fn of(plugin: u64, raw: &RawPlugin, is_shared: bool) -> Started {
    let protocol = if raw.protocol() == Protocol::V5 { 5 } else { 6 };
    Started { plugin, protocol, process: raw.id(), is_shared }
}
