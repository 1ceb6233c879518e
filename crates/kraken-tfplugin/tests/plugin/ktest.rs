//! ktest, started and configured.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use kraken_tfplugin::schema::Schema;
use kraken_tfplugin::{Applied, Plan, Plugin, Protocol, ResourceState, StartOptions, Value};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::programs;

pub(crate) const FILE: &str = "ktest_file";
pub(crate) const BOTH: [Protocol; 2] = [Protocol::V5, Protocol::V6];

/// A plugin whose objects are in a folder.
pub(crate) struct Ktest {
    pub(crate) plugin: Plugin,
    objects: TempDir,
    _socket: TempDir,
}

/// How ktest is started with a protocol, and the folder of its socket.
pub(crate) fn options(protocol: Protocol) -> (StartOptions, TempDir) {
    let socket = tempfile::tempdir().unwrap();
    let number = if protocol == Protocol::V5 { "5" } else { "6" };
    (StartOptions::new(programs::ktest(), socket.path()).env("KTEST_PROTOCOL", number), socket)
}

impl Ktest {
    pub(crate) async fn start(protocol: Protocol) -> Self {
        let (options, socket) = options(protocol);
        Self::start_with(options, socket).await
    }

    pub(crate) async fn start_with(options: StartOptions, socket: TempDir) -> Self {
        let plugin = Plugin::start(&options).await.unwrap();
        let ktest = Self { plugin, objects: tempfile::tempdir().unwrap(), _socket: socket };
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
        self.plugin.apply(plan).unwrap().await.unwrap()
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
