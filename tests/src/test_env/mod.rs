//! A namespace on the shared control plane, with the real controllers running.

mod cloud;

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use kraken_testing::process::log_tail;
use kraken_testing::{Environment, EnvironmentOptions, SuiteOptions, TestNamespace, manifests, namespace};
use kube::{
    Api, Client,
    api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams},
    core::{ApiResource, GroupVersionKind},
};
use serde_json::{Value, json};

use crate::widgets;

/// The group of the kinds of OpenTofu providers.
const TOFU_GROUP: &str = "tofu.kraken-iac.eoinfennessy.com";
/// How the kinds of the providers of these tests start.
const TOFU_KINDS: [&str; 5] = ["Ktest", "DataKtest", "Openstack", "DataOpenstack", "Time"];
/// The timeout of waits. It is generous for a busy machine.
pub const TIMEOUT: Duration = Duration::from_secs(90);

/// One test's view of the cluster and the cloud.
#[derive(Debug)]
pub struct TestEnv {
    /// The test's own namespace.
    pub ns: TestNamespace,
    /// The environment, which ends after the last test that uses it.
    pub env: Arc<Environment>,
}

impl TestEnv {
    /// A new namespace on the shared environment.
    ///
    /// # Errors
    /// When the environment does not start.
    pub async fn new() -> Result<Self> {
        Self::on(Environment::shared().await?).await
    }

    /// A new namespace on a separate environment.
    ///
    /// # Errors
    /// When the environment does not start.
    pub async fn with(suite: SuiteOptions) -> Result<Self> {
        let options = EnvironmentOptions { suite, ..EnvironmentOptions::default() };
        Self::on(Arc::new(Environment::start(options).await?)).await
    }

    /// A new namespace on an existing environment.
    ///
    /// # Errors
    /// If the API server does not respond.
    pub async fn on(env: Arc<Environment>) -> Result<Self> {
        // A client belongs to the runtime of its test.
        let client = env.control_plane.client().await?;
        Ok(Self { ns: namespace(&client).await?, env })
    }

    /// This test's client.
    pub fn client(&self) -> Client {
        self.ns.client.clone()
    }

    /// The API of a kind, as `EC2Instance`, `ConfigMap` and so on; an unknown kind is an AWS kind.
    pub fn api(&self, kind: &str) -> Api<DynamicObject> {
        let (group, version) = match kind {
            tofu if TOFU_KINDS.iter().any(|start| tofu.starts_with(start)) => (TOFU_GROUP, "v1alpha1"),
            widget if widget.starts_with("Widget") => (widgets::GROUP, "v1alpha1"),
            "ConfigMap" | "Secret" => ("", "v1"),
            "Event" => ("events.k8s.io", "v1"),
            "Deployment" | "StatefulSet" | "DaemonSet" => ("apps", "v1"),
            "ConfigExport" => ("configexport.kraken-iac.eoinfennessy.com", "v1alpha1"),
            "StateDeclaration" | "DependencyRequest" | "ReferenceGrant" => {
                ("core.kraken-iac.eoinfennessy.com", "v1alpha1")
            }
            "ProviderConfig" => ("providers.kraken-iac.eoinfennessy.com", "v1alpha1"),
            "Gadget" => ("testing.kraken-iac.eoinfennessy.com", "v1alpha1"),
            _ => ("aws.kraken-iac.eoinfennessy.com", "v1alpha1"),
        };
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        Api::namespaced_with(self.client(), &self.ns.name, &resource)
    }

    /// A value for a Secret, with the environment's marker and this word in it. The end of each test searches for it.
    pub fn secret_value(&self, word: &str) -> String {
        self.env.secret_value(word)
    }

    /// Applies YAML documents as a user would with `kubectl apply --server-side`.
    ///
    /// # Errors
    /// The API server's error.
    pub async fn apply(&self, yaml: &str) -> Result<()> {
        let documents = manifests::parse("the test's YAML", yaml)?;
        manifests::apply(&self.client(), &documents, &self.ns.name).await.map(drop)
    }

    /// Creates an object from raw JSON, which Rust types may be unable to decode.
    ///
    /// # Errors
    /// The API server's error.
    pub async fn raw_create(&self, group: &str, plural: &str, body: &str) -> Result<()> {
        let uri = format!("/apis/{group}/namespaces/{}/{plural}", self.ns.name);
        let request =
            http::Request::post(uri).header("Content-Type", "application/json").body(body.into())?;
        self.client().request_text(request).await?;
        Ok(())
    }

    /// The API server's error for a request that must be rejected.
    ///
    /// # Errors
    /// When it is accepted.
    pub async fn refused(&self, yaml: &str) -> Result<String> {
        match self.apply(yaml).await {
            Ok(()) => bail!("accepted, and should not be:\n{yaml}"),
            Err(error) => Ok(format!("{error:#}")),
        }
    }

    /// Changes some fields of an object.
    ///
    /// # Errors
    /// The API server's error.
    pub async fn patch(&self, kind: &str, name: &str, patch: Value) -> Result<()> {
        let params = PatchParams::default();
        self.api(kind).patch(name, &params, &Patch::Merge(patch)).await?;
        Ok(())
    }

    /// Changes some fields of an object's status.
    ///
    /// # Errors
    /// The API server's error.
    pub async fn patch_status(&self, kind: &str, name: &str, status: Value) -> Result<()> {
        let params = PatchParams { field_manager: Some("kubectl-edit".to_owned()), ..PatchParams::default() };
        let patch = Patch::Merge(json!({"status": status}));
        self.api(kind).patch_status(name, &params, &patch).await?;
        Ok(())
    }

    /// The events about an object, as reason and note.
    ///
    /// # Errors
    /// If the API server does not respond.
    pub async fn events_of(&self, name: &str) -> Result<Vec<(String, String)>> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let list = self.api("Event").list(&ListParams::default()).await?;
        let events = list.items.into_iter().map(|event| json!(event));
        Ok(events
            .filter(|event| event["regarding"]["name"] == name)
            .map(|event| (text(&event["reason"]), text(&event["note"])))
            .collect())
    }

    /// Waits for an event about objects of this name, and returns its note. Events are published after what they are about.
    ///
    /// # Errors
    /// The events, after the timeout.
    pub async fn event(&self, name: &str, wanted: impl Fn(&str, &str) -> bool) -> Result<String> {
        let start = Instant::now();
        loop {
            let events = self.events_of(name).await?;
            if let Some((_, note)) = events.iter().find(|(reason, note)| wanted(reason, note)) {
                return Ok(note.clone());
            }
            if start.elapsed() > TIMEOUT {
                bail!("no such event of {name}: {events:#?}");
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Requests the deletion of an object.
    ///
    /// # Errors
    /// The API server's error.
    pub async fn delete(&self, kind: &str, name: &str) -> Result<()> {
        self.api(kind).delete(name, &DeleteParams::default()).await?;
        Ok(())
    }

    /// The object as JSON, or null.
    ///
    /// # Errors
    /// If the API server does not respond.
    pub async fn get(&self, kind: &str, name: &str) -> Result<Value> {
        let object = self.api(kind).get_opt(name).await?;
        Ok(object.map_or(Value::Null, |object| json!(object)))
    }

    /// Every object of a kind in the namespace, as one text.
    ///
    /// # Errors
    /// If the API server does not respond.
    pub async fn all(&self, kind: &str) -> Result<String> {
        let list = self.api(kind).list(&ListParams::default()).await?;
        Ok(serde_json::to_string(&list.items)?)
    }

    /// Waits until `wanted` is true for an object, and returns it.
    ///
    /// # Errors
    /// The last observed object and the last lines of each controller's log, after the timeout.
    pub async fn until(&self, kind: &str, name: &str, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
        let start = Instant::now();
        loop {
            let object = self.get(kind, name).await?;
            if wanted(&object) {
                return Ok(object);
            }
            if start.elapsed() > TIMEOUT {
                bail!(
                    "{kind} {name} did not reach the expected state{}; it is:\n{}\n{}",
                    self.env.suite.ended(),
                    serde_json::to_string_pretty(&object)?,
                    self.logs()
                );
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Waits until an object's Ready condition is true for its newest generation.
    ///
    /// # Errors
    /// As [`TestEnv::until`].
    pub async fn ready(&self, kind: &str, name: &str) -> Result<Value> {
        self.until(kind, name, |object| ready_status(object) == "True").await
    }

    /// Waits until Ready is false for this reason in the newest generation, and returns the message.
    ///
    /// # Errors
    /// As [`TestEnv::until`].
    pub async fn not_ready(&self, kind: &str, name: &str, reason: &str) -> Result<String> {
        let object = self
            .until(kind, name, |object| {
                ready_status(object) == "False" && condition(object, "Ready")["reason"] == reason
            })
            .await?;
        Ok(condition(&object, "Ready")["message"]
            .as_str()
            .context("a condition without a message")?
            .to_owned())
    }

    /// Waits until an object is deleted.
    ///
    /// # Errors
    /// As [`TestEnv::until`].
    pub async fn gone(&self, kind: &str, name: &str) -> Result<()> {
        self.until(kind, name, Value::is_null).await.map(drop)
    }

    /// The last lines of each controller's log, for the error of a wait.
    fn logs(&self) -> String {
        let controllers = self.env.suite.controllers();
        controllers.map(|controller| log_tail(&controller.log())).collect::<Vec<_>>().join("\n")
    }
}

impl Drop for TestEnv {
    /// Every test ends with a search for values of Secrets, in everything that its environment added since the last search.
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        let env = self.env.clone();
        // A separate thread: this one may belong to the test's runtime, which must not be blocked.
        let searched = std::thread::spawn(move || -> Result<()> {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(env.search())
        });
        let found = searched.join().map_err(|_| anyhow::anyhow!("the search panicked")).flatten();
        assert!(found.is_ok(), "{found:?}");
    }
}

/// One condition of an object.
pub fn condition<'a>(object: &'a Value, kind: &str) -> &'a Value {
    static NONE: Value = Value::Null;
    let conditions = object["status"]["conditions"].as_array();
    conditions.into_iter().flatten().find(|condition| condition["type"] == kind).unwrap_or(&NONE)
}

/// The Ready condition's status, if it is of the newest generation.
fn ready_status(object: &Value) -> &str {
    let ready = condition(object, "Ready");
    if ready["observedGeneration"] == object["metadata"]["generation"] && !ready.is_null() {
        ready["status"].as_str().unwrap_or_default()
    } else {
        ""
    }
}
