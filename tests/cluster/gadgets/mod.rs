//! Tests of the reconcile loop with a toy cloud that loses responses, delays reads and panics on demand.

mod adoption;
mod approval;
mod changes;
mod creation;
mod deletion;
mod hub;
mod inputs;
mod namespace;
mod policy;
mod records;
mod safety_limits;
mod tampering;

use std::time::Duration;

use anyhow::Result;
use kraken_tests::{InProcess, TestEnv, toy::Cloud};
use serde_json::{Value, json};

fn gadget(name: &str, spec: &Value) -> String {
    json!({
        "apiVersion": "testing.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "Gadget",
        "metadata": {"name": name}, "spec": spec,
    })
    .to_string()
}

fn small() -> Value {
    json!({"size": {"value": 3}})
}

fn uid(object: &Value) -> String {
    object["metadata"]["uid"].as_str().unwrap_or_default().to_owned()
}

struct Setting {
    test_env: TestEnv,
    cloud: Cloud,
    spoke: InProcess,
}

async fn setting() -> Result<Setting> {
    setting_with(&[]).await
}

async fn setting_with(flags: &[&str]) -> Result<Setting> {
    let test_env = TestEnv::new().await?;
    let cloud = Cloud::default();
    let spoke = InProcess::with(&test_env, &cloud, flags).await?;
    Ok(Setting { test_env, cloud, spoke })
}

impl Setting {
    async fn crash_and_restart(self) -> Result<Self> {
        self.restart_with(&[]).await
    }

    async fn restart_with(mut self, flags: &[&str]) -> Result<Self> {
        drop(self.spoke);
        self.spoke = InProcess::with(&self.test_env, &self.cloud, flags).await?;
        Ok(self)
    }

    /// How many times the cloud was called so.
    fn calls(&self, operation: &str) -> usize {
        self.cloud.journal().iter().filter(|call| *call == operation).count()
    }

    /// Annotates a gadget with the time now.
    async fn annotate(&self, name: &str, key: &str) -> Result<()> {
        let now = jiff::Timestamp::now().to_string();
        let annotations = json!({format!("kraken-iac.eoinfennessy.com/{key}"): now});
        self.test_env.patch("Gadget", name, json!({"metadata": {"annotations": annotations}})).await
    }

    /// Requests a reconcile.
    async fn touch(&self, name: &str) -> Result<()> {
        self.annotate(name, "reconcile-requested-at").await
    }

    /// Creates one and waits until it is ready; returns its UID.
    async fn ready(&self, name: &str, spec: &Value) -> Result<String> {
        self.test_env.apply(&gadget(name, spec)).await?;
        Ok(uid(&self.test_env.ready("Gadget", name).await?))
    }

    /// Waits until the journal holds this call so many times.
    #[allow(clippy::panic, reason = "a test's own helper")]
    async fn called(&self, operation: &str, times: usize) {
        for _ in 0..600 {
            if self.cloud.journal().iter().filter(|call| *call == operation).count() >= times {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("{operation} was not called {times} times: {:?}", self.cloud.journal());
    }
}

/// The hash of the plan that waits.
async fn plan_hash(s: &Setting, name: &str) -> Result<String> {
    let object = s.test_env.until("Gadget", name, |object| !object["status"]["plan"].is_null()).await?;
    Ok(object["status"]["plan"]["hash"].as_str().unwrap_or_default().to_owned())
}

/// Approves the pending plan, like a user.
async fn approve(s: &Setting, name: &str) -> Result<()> {
    let hash = plan_hash(s, name).await?;
    let annotation = json!({"kraken-iac.eoinfennessy.com/approved-plan": hash});
    s.test_env.patch("Gadget", name, json!({"metadata": {"annotations": annotation}})).await
}
