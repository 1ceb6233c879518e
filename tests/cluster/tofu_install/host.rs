//! The process that runs providers beside the controller: what it began, it finishes, whatever happens to the controller.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, Result};
use k8s_openapi::api::core::v1::Secret;
use kraken_testing::{
    Environment, EnvironmentOptions, Shared, SuiteOptions, paths,
    process::{Process, Spec, kill_at_once},
};
use kube::{Api, api::ListParams};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    sync::{Mutex, MutexGuard},
    time::sleep,
};

use super::{KIND, setting::Setting};
use crate::tofu::programs;

/// The only environment, whose controller is killed.
static ONE: Mutex<()> = Mutex::const_new(());
/// Where the host listens: of this process of tests, because the controller's environment is made once.
static FOLDER: std::sync::LazyLock<TempDir> = std::sync::LazyLock::new(|| tempfile::tempdir().unwrap());

pub(crate) struct Hosted {
    pub(crate) s: Setting,
    host: Option<Process>,
    _one: MutexGuard<'static, ()>,
}

/// With a provider whose objects have no description, so that they cannot be found.
pub(super) async fn hosted() -> Result<Hosted> {
    let hosted = hosted_of("ktest", programs::ktest).await?;
    hosted.s.install(&json!({"environment": {"KTEST_WITHOUT": "description"}})).await?;
    let (_, status) = hosted.s.installed("Installed").await?;
    assert_eq!((status.marked, status.by_hand), (Some(0), Some(1)));
    hosted.s.usual_config().await?;
    Ok(hosted)
}

/// A controller with a host, and the program of a provider.
pub(crate) async fn hosted_of(name: &'static str, program: fn() -> PathBuf) -> Result<Hosted> {
    static SHARED: Shared<Environment> = Shared::new();
    let one = ONE.lock().await;
    let socket = FOLDER.path().join("own/socket").display().to_string();
    let env = SHARED
        .get(|| {
            let only = Some(vec!["hub".to_owned(), "tofu".to_owned()]);
            let suite = SuiteOptions { only, ..SuiteOptions::default() };
            // A process that starts again does not wait for the lease of the one that was killed.
            let suite = suite.with_env("tofu", "KRAKEN_LEADER_ELECT", "false");
            let suite = suite.with_env("tofu", "KRAKEN_TOFU_HOST_SOCKET", &socket);
            Environment::start(EnvironmentOptions { suite, ..EnvironmentOptions::default() })
        })
        .await?;
    let s = Setting::on(env, name, program, None).await?;
    let mut hosted = Hosted { s, host: None, _one: one };
    hosted.start_host()?;
    Ok(hosted)
}

impl Hosted {
    pub(crate) fn start_host(&mut self) -> Result<()> {
        let program = paths::bin_dir()?.join("kraken-tofu");
        let socket = FOLDER.path().join("own/socket").display().to_string();
        let spec = Spec::new("host", program, FOLDER.path()).args(["host", "--socket", &socket]);
        self.host = Some(Process::spawn(&spec)?);
        Ok(())
    }

    /// Kills the host as a crash does, and waits until it is gone.
    pub(crate) async fn kill_host(&mut self) -> Result<()> {
        let mut host = self.host.take().context("no host")?;
        kill_at_once(host.pid())?;
        for _ in 0..500 {
            if !host.is_running() {
                return Ok(());
            }
            sleep(Duration::from_millis(10)).await;
        }
        anyhow::bail!("the host runs")
    }

    pub(crate) async fn kill_controller(&self) -> Result<()> {
        self.s.test_env.env.suite.controller("tofu")?.kill().await
    }

    pub(crate) async fn start_controller(&self) -> Result<()> {
        self.s.test_env.env.suite.controller("tofu")?.start().await
    }

    async fn objects_are(&self, number: usize) -> Result<()> {
        for _ in 0..600 {
            if self.s.objects().len() == number {
                return Ok(());
            }
            sleep(Duration::from_millis(50)).await;
        }
        anyhow::bail!("expected {number} objects: {:?}", self.s.objects())
    }

    /// The last entry of the only journal in the namespace.
    async fn entry(&self) -> Result<Value> {
        let secrets: Api<Secret> = Api::namespaced(self.s.client(), &self.s.test_env.ns.name);
        let all = secrets.list(&ListParams::default()).await?;
        let journal =
            all.items.into_iter().find(|one| one.type_.as_deref() == Some(kraken_tofu::journal::SECRET_TYPE));
        let journal = journal.and_then(|journal| journal.data?.remove("journal")).context("no journal")?;
        let journal: Value = serde_json::from_slice(&journal.0)?;
        Ok(journal["entries"].as_array().and_then(|all| all.last()).cloned().unwrap_or_default())
    }

    pub(super) async fn end(self, names: &[&str], kept: usize) -> Result<()> {
        for name in names {
            self.s.test_env.delete(KIND, name).await?;
        }
        for name in names {
            self.s.test_env.gone(KIND, name).await?;
        }
        assert_eq!(self.s.objects().len(), kept);
        self.s.uninstall().await?;
        self.s.uninstalled().await
    }
}

fn read(path: &Path) -> Result<Value> {
    Ok(serde_json::from_slice(&fs::read(path)?)?)
}

#[tokio::test]
async fn operations_outlive_a_controller_that_was_killed() -> Result<()> {
    let h = hosted().await?;
    h.s.apply("a", &json!({"name": {"value": "web"}, "delay_ms": {"value": 3000}})).await?;
    h.objects_are(1).await?;
    h.kill_controller().await?;
    let entry = h.entry().await?;
    assert!(entry["answered"] == false && entry["ticket"]["host"].is_string(), "{entry}");
    // The answer is there before the controller is.
    sleep(Duration::from_secs(4)).await;
    h.start_controller().await?;
    let ready = h.s.test_env.ready(KIND, "a").await?;
    let object = read(&h.s.objects()[0])?;
    assert_eq!((h.s.objects().len(), &ready["status"]["externalIds"][0]), (1, &object["id"]));

    // What a provider generates during a change is in its answer only.
    let secret = json!({"secret": {"value": "a literal that is sensitive"}});
    h.s.test_env.patch(KIND, "a", json!({"spec": secret})).await?;
    let fingerprint = object["fingerprint"].clone();
    for _ in 0..200 {
        if read(&h.s.objects()[0])?["fingerprint"] != fingerprint {
            break;
        }
        sleep(Duration::from_millis(50)).await;
    }
    h.kill_controller().await?;
    h.start_controller().await?;
    // It waits for the operation of its predecessor, and begins no other one.
    let fingerprint = read(&h.s.objects()[0])?["fingerprint"].clone();
    for _ in 0..300 {
        if h.entry().await?["state"]["value"]["fingerprint"] == fingerprint {
            break;
        }
        sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(h.entry().await?["state"]["value"]["fingerprint"], fingerprint);
    h.s.test_env.ready(KIND, "a").await?;
    assert_eq!(read(&h.s.objects()[0])?["revision"], 2);

    // A deletion, while its object is gone already.
    h.s.test_env.delete(KIND, "a").await?;
    h.objects_are(0).await?;
    h.kill_controller().await?;
    h.start_controller().await?;
    h.s.test_env.gone(KIND, "a").await?;
    h.end(&[], 0).await
}

#[tokio::test]
async fn creations_are_made_once_whenever_the_controller_is_killed() -> Result<()> {
    let h = hosted().await?;
    for (index, delay) in [50, 100, 150, 200, 250, 300, 350, 400].into_iter().enumerate() {
        let name = format!("a{index}");
        h.s.apply(&name, &json!({"name": {"value": name}, "delay_ms": {"value": 300}})).await?;
        sleep(Duration::from_millis(delay)).await;
        h.kill_controller().await?;
        let existed = h.s.objects().len() > index;
        h.start_controller().await?;
        let ready = h.s.test_env.ready(KIND, &name).await?;
        println!(
            "killed after {delay} ms: the object existed: {existed}; objects now: {}",
            h.s.objects().len()
        );
        assert_eq!(h.s.objects().len(), index + 1, "{delay} ms: {ready}");
    }
    h.end(&["a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7"], 0).await
}

#[tokio::test]
async fn creation_is_unknown_if_the_host_is_killed_too() -> Result<()> {
    let mut h = hosted().await?;
    for with_controller in [true, false] {
        let name = if with_controller { "both" } else { "host" };
        let before = h.s.objects();
        h.s.apply(name, &json!({"name": {"value": name}, "delay_ms": {"value": 30_000}})).await?;
        h.objects_are(before.len() + 1).await?;
        if with_controller {
            h.kill_controller().await?;
        }
        h.kill_host().await?;
        h.start_host()?;
        if with_controller {
            h.start_controller().await?;
        }
        let message = h.s.test_env.not_ready(KIND, name, "CreationUnknown").await?;
        assert!(message.contains("lifecycle.adopt.id"), "{message}");
        assert_eq!(h.s.objects().len(), before.len() + 1);
        // A person says which object it is.
        let all = h.s.objects();
        let object = read(all.iter().find(|object| !before.contains(object)).context("no object")?)?;
        let spec = json!({"delay_ms": null, "lifecycle": {"adopt": {"id": object["id"]}}});
        h.s.test_env.patch(KIND, name, json!({"spec": spec})).await?;
        h.s.test_env.ready(KIND, name).await?;
        assert_eq!(h.s.objects().len(), before.len() + 1);
        // All works with the new host.
        let other = format!("{name}-2");
        h.s.apply(&other, &json!({"name": {"value": "other"}})).await?;
        h.s.test_env.ready(KIND, &other).await?;
    }
    // Objects that were adopted are kept.
    h.end(&["both", "both-2", "host", "host-2"], 2).await
}

/// As in a pod that is deleted: the host ends after the controller.
#[tokio::test]
async fn host_that_is_stopped_finishes_its_operations() -> Result<()> {
    let mut h = hosted().await?;
    h.s.apply("a", &json!({"name": {"value": "web"}, "delay_ms": {"value": 3000}})).await?;
    h.objects_are(1).await?;
    let mut host = h.host.take().context("no host")?;
    // SIGTERM, and SIGKILL after ten seconds.
    host.begin_stop();
    sleep(Duration::from_secs(1)).await;
    assert!(host.is_running());
    for _ in 0..200 {
        if !host.is_running() {
            break;
        }
        sleep(Duration::from_millis(50)).await;
    }
    assert!(!host.is_running(), "{}", host.log_tail());
    let entry = h.entry().await?;
    assert!(entry["answered"] == true && entry["state"].is_object(), "{entry}");
    h.start_host()?;
    h.s.test_env.patch(KIND, "a", json!({"spec": {"delay_ms": null}})).await?;
    h.s.test_env.ready(KIND, "a").await?;
    assert_eq!(h.s.objects().len(), 1);
    h.end(&["a"], 0).await
}
