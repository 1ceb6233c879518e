//! ktest, started and configured.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kraken_tfplugin::schema::Schema;
use kraken_tfplugin::{
    Applied, CallError, Host, HostLink, HostOptions, Plan, Plugin, Protocol, ResourceState, StartRequest,
    Value,
};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::programs;

pub(crate) const FILE: &str = "ktest_file";
pub(crate) const BOTH: [Protocol; 2] = [Protocol::V5, Protocol::V6];

/// A plugin whose objects are in a folder.
pub(crate) struct Ktest {
    pub(crate) plugin: Plugin,
    objects: TempDir,
}

/// How ktest is started with a protocol.
pub(crate) fn request(protocol: Protocol) -> StartRequest {
    let number = if protocol == Protocol::V5 { "5" } else { "6" };
    with(request_of(&programs::ktest()), "KTEST_PROTOCOL", number)
}

/// How a program is started.
pub(crate) fn request_of(program: &Path) -> StartRequest {
    StartRequest { program: program.display().to_string(), ..StartRequest::default() }
}

/// The same with an environment variable.
pub(crate) fn with(mut request: StartRequest, name: &str, value: &str) -> StartRequest {
    request.environment.insert(name.to_owned(), value.to_owned());
    request
}

/// A host in this process.
pub(crate) fn host() -> HostLink {
    HostLink::Own(Host::new(HostOptions::new("test")))
}

/// Applies a plan of a resource that has no other operation.
pub(crate) async fn apply(plugin: &Plugin, plan: Plan) -> Result<Applied, CallError> {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let uid = NEXT.fetch_add(1, Ordering::SeqCst).to_string();
    let ticket = plugin.host().reserve(&uid).await?;
    plugin.apply(ticket, String::new(), plan).await
}

impl Ktest {
    pub(crate) async fn start(protocol: Protocol) -> Self {
        Self::start_in(&host(), request(protocol)).await
    }

    pub(crate) async fn start_in(host: &HostLink, request: StartRequest) -> Self {
        let plugin = Plugin::start(host, request).await.unwrap();
        let ktest = Self { plugin, objects: tempfile::tempdir().unwrap() };
        let answer = ktest.plugin.configure(&ktest.provider_config("right")).await.unwrap();
        assert_eq!(answer.warnings[0].to_string(), "ktest is for tests");
        ktest
    }

    pub(crate) fn provider_config(&self, token: &str) -> Value {
        let config = json!({"folder": self.folder(), "token": token});
        Value::from_config(&config, &self.plugin.schema().provider.value_type).unwrap()
    }

    pub(crate) fn folder(&self) -> &Path {
        self.objects.path()
    }

    pub(crate) fn schema(&self) -> Arc<Schema> {
        self.plugin.schema().resources[FILE].clone()
    }

    pub(crate) fn config(&self, config: &Json) -> Value {
        Value::from_config(config, &self.schema().value_type).unwrap()
    }

    pub(crate) async fn plan(&self, prior: &ResourceState, config: &Json) -> Plan {
        self.plugin.plan(FILE, prior, &self.config(config)).await.unwrap()
    }

    pub(crate) async fn apply(&self, plan: Plan) -> Applied {
        apply(&self.plugin, plan).await.unwrap()
    }

    /// Plans and applies without errors.
    pub(crate) async fn make(&self, prior: &ResourceState, config: &Json) -> ResourceState {
        let applied = self.apply(self.plan(prior, config).await).await;
        assert!(!applied.is_failed(), "{:?}", applied.diagnostics);
        applied.state
    }

    pub(crate) async fn create(&self, config: &Json) -> ResourceState {
        self.make(&ResourceState::default(), config).await
    }

    /// Changes an attribute of all objects without the plugin.
    pub(crate) fn change_out_of_band(&self, attribute: &str, value: &Json) {
        for entry in fs::read_dir(self.folder()).unwrap() {
            let path = entry.unwrap().path();
            let mut file: Json = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
            file[attribute] = value.clone();
            fs::write(&path, file.to_string()).unwrap();
        }
    }

    pub(crate) fn objects(&self) -> usize {
        fs::read_dir(self.folder()).unwrap().count()
    }
}

/// The paths of the differences.
pub(crate) fn paths(plan: &Plan) -> Vec<String> {
    plan.differences.iter().map(|difference| difference.path.to_string()).collect()
}
