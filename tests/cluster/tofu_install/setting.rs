//! An environment with the program of a provider, and what users do with it.

use std::{fs, path::PathBuf, sync::Arc, time::Duration};

use anyhow::Result;
use kraken_testing::{Environment, EnvironmentOptions, Shared, SuiteOptions};
use kraken_tests::TestEnv;
use kraken_tofu::{
    api::{ProviderInstall, ProviderInstallStatus},
    names::GROUP,
};
use kube::{
    Api, Client,
    api::{DeleteParams, Patch, PatchParams},
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tempfile::TempDir;
use tokio::sync::{Mutex, MutexGuard};

use super::KIND;
use crate::tofu::programs;

/// Kinds belong to the whole cluster.
static ONE: Mutex<()> = Mutex::const_new(());

pub(crate) struct Setting {
    pub(crate) test_env: TestEnv,
    pub(super) files: TempDir,
    /// The name of the ProviderInstall, and of the program.
    name: &'static str,
    pub(super) sha256: String,
    _one: Option<MutexGuard<'static, ()>>,
}

pub(super) async fn setting() -> Result<Setting> {
    setting_of("ktest", programs::ktest).await
}

/// An environment that has the program of a provider.
pub(crate) async fn setting_of(name: &'static str, program: fn() -> PathBuf) -> Result<Setting> {
    static SHARED: Shared<Environment> = Shared::new();
    let one = ONE.lock().await;
    let env = SHARED
        .get(|| {
            let only = Some(vec!["hub".to_owned(), "tofu".to_owned()]);
            let suite = SuiteOptions { only, webhooks: true, ..SuiteOptions::default() };
            Environment::start(EnvironmentOptions { suite, ..EnvironmentOptions::default() })
        })
        .await?;
    Setting::on(env, name, program, Some(one)).await
}

impl Setting {
    pub(super) async fn on(
        env: Arc<Environment>,
        name: &'static str,
        program: fn() -> PathBuf,
        one: Option<MutexGuard<'static, ()>>,
    ) -> Result<Self> {
        let test_env = TestEnv::on(env).await?;
        let program = tokio::task::spawn_blocking(program).await?;
        let folder = test_env.env.suite.providers();
        fs::create_dir_all(&folder)?;
        // Renamed, because a program that runs cannot be written.
        fs::copy(&program, folder.join("new"))?;
        fs::rename(folder.join("new"), folder.join(name))?;
        let sha256 = hex::encode(Sha256::digest(fs::read(program)?));
        Ok(Self { test_env, files: tempfile::tempdir()?, name, sha256, _one: one })
    }

    /// Another provider in the same environment, with a namespace of its own.
    pub(super) async fn beside(&self, name: &'static str, program: fn() -> PathBuf) -> Result<Self> {
        Self::on(self.test_env.env.clone(), name, program, None).await
    }

    pub(super) fn client(&self) -> Client {
        self.test_env.client()
    }

    pub(super) fn installs(&self) -> Api<ProviderInstall> {
        Api::all(self.client())
    }

    /// Applies the ProviderInstall with these fields of its spec instead of the usual ones.
    pub(crate) async fn install(&self, changes: &Value) -> Result<()> {
        let mut spec =
            json!({"path": self.name, "sha256": self.sha256, "resources": [format!("{}_*", self.name)]});
        for (field, value) in changes.as_object().into_iter().flatten() {
            spec[field] = value.clone();
        }
        let install = json!({
            "apiVersion": "providers.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "ProviderInstall",
            "metadata": {"name": self.name}, "spec": spec,
        });
        self.installs()
            .patch(self.name, &PatchParams::apply("test").force(), &Patch::Apply(&install))
            .await?;
        Ok(())
    }

    /// Waits for this reason of the current generation, and returns the message.
    pub(crate) async fn installed(&self, reason: &str) -> Result<(String, ProviderInstallStatus)> {
        let mut last = String::new();
        for _ in 0..600 {
            let install = self.installs().get(self.name).await?;
            let status = install.status.unwrap_or_default();
            let ready = status.conditions.iter().find(|condition| condition.type_ == "Ready").cloned();
            if let Some(ready) = ready {
                if ready.reason == reason && status.observed_generation == install.metadata.generation {
                    return Ok((ready.message, status));
                }
                last = format!("{}: {}", ready.reason, ready.message);
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        anyhow::bail!("the ProviderInstall is not {reason} but {last}")
    }

    /// Deletes the ProviderInstall.
    pub(crate) async fn uninstall(&self) -> Result<()> {
        self.installs().delete(self.name, &DeleteParams::default()).await?;
        Ok(())
    }

    pub(crate) async fn uninstalled(&self) -> Result<()> {
        for _ in 0..600 {
            if self.installs().get_opt(self.name).await?.is_none() {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        anyhow::bail!("the ProviderInstall still exists: {:?}", self.installs().get(self.name).await?.status)
    }

    /// Applies the ProviderConfig of this namespace.
    pub(super) async fn configure(&self, config: &Value) -> Result<()> {
        let config = json!({
            "apiVersion": "providers.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "ProviderConfig",
            "metadata": {"name": "ktest"}, "spec": {"provider": "ktest", "config": config, "location": ["folder"]},
        });
        self.test_env.apply(&config.to_string()).await
    }

    pub(super) async fn usual_config(&self) -> Result<()> {
        let value = self.test_env.secret_value("token");
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "cloud"}, "stringData": {"token": value},
        });
        self.test_env.apply(&secret.to_string()).await?;
        let token = json!({"valueFrom": {"secret": {"name": "cloud", "key": "token"}}});
        self.configure(&json!({"folder": {"value": self.files.path()}, "token": token})).await
    }

    pub(super) fn objects(&self) -> Vec<PathBuf> {
        fs::read_dir(self.files.path()).unwrap().map(|file| file.unwrap().path()).collect()
    }

    pub(super) async fn apply(&self, name: &str, spec: &Value) -> Result<()> {
        let file = json!({"apiVersion": format!("{GROUP}/v1alpha1"), "kind": KIND, "metadata": {"name": name}, "spec": spec});
        self.test_env.apply(&file.to_string()).await
    }
}
