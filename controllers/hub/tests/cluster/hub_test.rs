//! A namespace on a real control plane, with the hub running in this process.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use clap::Parser;
use kraken_api::{CONTENT_HASH_ANNOTATION, StateDeclarationSpec};
use kraken_hub::{Hub, HubArgs};
use kraken_runtime::{Bounds, Manager, Metrics, Program, RunArgs, client::connect};
use kraken_testing::{ControlPlane, TestNamespace, manifests, namespace};
use kraken_tests::toy::Gadget;
use kube::{
    Api, Client, Config,
    api::{ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

/// The timeout of a wait.
pub(crate) const TIMEOUT: Duration = Duration::from_mins(1);

#[derive(Debug, Parser)]
struct Cli {
    #[command(flatten)]
    args: RunArgs,
}

/// The hub that all tests share, in a runtime that outlives the tests' runtimes.
async fn hub() -> Result<&'static Metrics> {
    static HUB: OnceCell<(Metrics, tokio::runtime::Runtime)> = OnceCell::const_new();
    let start = async || {
        let control_plane = ControlPlane::shared().await?;
        let crds: Vec<_> = Hub::crds().into_iter().chain([kraken_api::crd::spoke_kind::<Gadget>()]).collect();
        let yaml = crds.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>()?.join("\n---\n");
        manifests::apply(&control_plane.client().await?, &manifests::parse("the CRDs", &yaml)?, "default")
            .await?;
        control_plane.restart_controller_manager().await?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let metrics = Metrics::new(Hub::NAME);
        let counted = metrics.clone();
        runtime.spawn(async move {
            let kubeconfig = Kubeconfig::read_from(control_plane.admin_kubeconfig())?;
            let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
            let bounds = Bounds::new(Duration::from_secs(15), 64, counted.clone());
            let client = connect(config, Hub::NAME, &bounds)?;
            let args = Cli::try_parse_from([Hub::NAME, "--lease-namespace", "default"])?.args;
            let mut manager = Manager::detached(Hub::NAME, client, args, "cluster".into());
            manager.metrics = counted;
            Hub::run(manager, HubArgs {}).await
        });
        anyhow::Ok((metrics, runtime))
    };
    Ok(&HUB.get_or_try_init(start).await?.0)
}

/// The namespace and client of one test.
pub(crate) struct HubTest {
    pub(crate) ns: TestNamespace,
    metrics: &'static Metrics,
}

impl HubTest {
    pub(crate) async fn new() -> Result<Self> {
        let metrics = hub().await?;
        let client = ControlPlane::shared().await?.client().await?;
        Ok(Self { ns: namespace(&client).await?, metrics })
    }

    pub(crate) fn client(&self) -> Client {
        self.ns.client.clone()
    }

    pub(crate) fn api(&self, kind: &str) -> Api<DynamicObject> {
        Api::namespaced_with(self.client(), &self.ns.name, &resource(kind))
    }

    /// Applies an object; `rest` contains all fields except its type and name.
    pub(crate) async fn apply(&self, kind: &str, name: &str, mut rest: Value) -> Result<Value> {
        rest["apiVersion"] = resource(kind).api_version.into();
        rest["kind"] = kind.into();
        rest["metadata"]["name"] = name.into();
        let params = PatchParams::apply("test").force();
        let applied = self.api(kind).patch(name, &params, &Patch::Apply(&rest)).await;
        Ok(json!(applied.with_context(|| format!("{kind} {name}"))?))
    }

    pub(crate) async fn map(&self, name: &str, data: Value) -> Result<Value> {
        self.apply("ConfigMap", name, json!({"data": data})).await
    }

    /// A request of the gadget `name`, in the form of its spoke.
    pub(crate) async fn request(&self, name: &str, spec: Value) -> Result<()> {
        let rest = json!({"metadata": {"ownerReferences": [self.gadget(name).await?]}, "spec": spec});
        self.apply("DependencyRequest", &format!("gadget.testing.{name}"), rest).await.map(drop)
    }

    /// The state of the gadget `name`, in the form of its spoke.
    pub(crate) async fn state(&self, name: &str, data: Value) -> Result<()> {
        self.state_spec(name, json!({"data": data})).await
    }

    /// The whole state of the gadget `name`, including its id.
    pub(crate) async fn state_spec(&self, name: &str, spec: Value) -> Result<()> {
        let content: StateDeclarationSpec = serde_json::from_value(spec.clone())?;
        let annotations = json!({CONTENT_HASH_ANNOTATION: content.content_hash()});
        let metadata = json!({"ownerReferences": [self.gadget(name).await?], "annotations": annotations});
        let rest = json!({"metadata": metadata, "spec": spec});
        self.apply("StateDeclaration", &format!("gadget.testing.{name}"), rest).await.map(drop)
    }

    /// A gadget, as an owner.
    pub(crate) async fn gadget(&self, name: &str) -> Result<Value> {
        let gadget = self.apply("Gadget", name, json!({"spec": {"size": {"value": 1}}})).await?;
        Ok(owner(name, &gadget["metadata"]["uid"]))
    }

    /// The API server's error for an export.
    pub(crate) async fn refused(&self, target: &str, entries: Value) -> Result<String> {
        match self.export("refused", "ConfigMap", target, entries).await {
            Ok(()) => bail!("accepted, but must be rejected"),
            Err(error) => Ok(format!("{error:#}")),
        }
    }

    pub(crate) async fn export(
        &self,
        name: &str,
        config_type: &str,
        target: &str,
        entries: Value,
    ) -> Result<()> {
        let spec = json!({"configType": config_type, "configMetadata": {"name": target}, "entries": entries});
        self.apply("ConfigExport", name, json!({"spec": spec})).await.map(drop)
    }

    /// Changes some fields, like a user.
    pub(crate) async fn patch(&self, kind: &str, name: &str, patch: Value) -> Result<()> {
        self.api(kind).patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
        Ok(())
    }

    pub(crate) async fn get(&self, kind: &str, name: &str) -> Result<Value> {
        Ok(self.api(kind).get_opt(name).await?.map_or(Value::Null, |object| json!(object)))
    }

    pub(crate) async fn delete(&self, kind: &str, name: &str) -> Result<()> {
        self.api(kind).delete(name, &DeleteParams::default()).await?;
        Ok(())
    }

    pub(crate) async fn until(
        &self,
        kind: &str,
        name: &str,
        wanted: impl Fn(&Value) -> bool,
    ) -> Result<Value> {
        let start = Instant::now();
        loop {
            let object = self.get(kind, name).await?;
            if wanted(&object) {
                return Ok(object);
            }
            if start.elapsed() > TIMEOUT {
                bail!("{kind} {name} is {}", serde_json::to_string_pretty(&object)?);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits until Ready has this reason for the latest generation.
    pub(crate) async fn reason(&self, kind: &str, name: &str, reason: &str) -> Result<Value> {
        self.until(kind, name, |object| {
            ready(object)["reason"] == reason
                && object["status"]["observedGeneration"] == object["metadata"]["generation"]
        })
        .await
    }

    /// The number of requests with this verb and resource that the hub has sent.
    pub(crate) fn requests(&self, verb: &str, resource: &str) -> u64 {
        let line = format!("kraken_kubernetes_requests_total{{verb=\"{verb}\",resource=\"{resource}\"");
        let text = self.metrics.encode();
        let counts = text
            .lines()
            .filter(|l| l.starts_with(&line))
            .filter_map(|l| l.rsplit(' ').next()?.parse::<u64>().ok());
        counts.sum()
    }
}

fn resource(kind: &str) -> ApiResource {
    let (group, version) = match kind {
        "ConfigMap" | "Secret" => ("", "v1"),
        "Event" => ("events.k8s.io", "v1"),
        "ConfigExport" => ("configexport.kraken-iac.eoinfennessy.com", "v1alpha1"),
        "Gadget" => ("testing.kraken-iac.eoinfennessy.com", "v1alpha1"),
        _ => ("core.kraken-iac.eoinfennessy.com", "v1alpha1"),
    };
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
}

/// An owner reference to the gadget `name` as controller.
fn owner(name: &str, uid: &Value) -> Value {
    let api_version = resource("Gadget").api_version;
    json!({"apiVersion": api_version, "kind": "Gadget", "name": name, "uid": uid, "controller": true})
}

/// The Ready condition.
pub(crate) fn ready(object: &Value) -> &Value {
    let conditions = object["status"]["conditions"].as_array();
    conditions.and_then(|list| list.iter().find(|c| c["type"] == "Ready")).unwrap_or(&Value::Null)
}

/// The message of the Ready condition.
pub(crate) fn message(object: &Value) -> &str {
    ready(object)["message"].as_str().unwrap_or_default()
}
