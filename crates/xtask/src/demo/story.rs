//! What the demo does, chapter by chapter. A chapter ends when the cluster and the cloud show what it promised.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kraken_testing::manifests::{self, Document};
use kraken_testing::{Environment, paths};
use kube::api::{Api, Patch, PatchParams};
use kube::{Client, core::GroupVersionKind};
use serde_json::json;

use super::show;
use crate::board::{Board, View};
use crate::ui;

const NAMESPACE: &str = "default";
const SAMPLES: &str = "config/samples/quickstart";
/// The ConfigMap that the samples read.
const SETTINGS: &str = "quickstart";
/// The key that the samples name and the ConfigMap lacks at first.
const MISSING_KEY: &str = "batch-type";
/// The resource that waits for it.
const WAITING: &str = "batch";
/// The resource whose number of instances comes from the ConfigMap.
const SCALED: &str = "worker";

pub(super) struct Story<'stage> {
    environment: &'stage Environment,
    client: Client,
    board: Board,
    samples: Vec<Document>,
    timeout: Duration,
    deadline: Instant,
}

impl<'stage> Story<'stage> {
    pub(super) async fn begin(environment: &'stage Environment, timeout: Duration) -> Result<Self> {
        let client = environment.control_plane.client().await?;
        let samples = manifests::read(&paths::workspace_root()?.join(SAMPLES))?;
        let mut kinds: Vec<GroupVersionKind> = samples.iter().map(|sample| sample.gvk.clone()).collect();
        kinds.retain(|gvk| gvk.group.ends_with(".kraken-iac.eoinfennessy.com"));
        kinds.sort_by(|a, b| a.kind.cmp(&b.kind));
        kinds.dedup();
        let board = Board::start(&client, NAMESPACE, &kinds, show::changes());
        Ok(Self { environment, client, board, samples, timeout, deadline: Instant::now() + timeout })
    }

    /// Everything becomes Ready but the one resource whose reference names nothing, and that says so.
    pub(super) async fn create(&mut self) -> Result<()> {
        ui::headline(&format!("Applying {SAMPLES}"));
        manifests::apply(&self.client, &self.samples, NAMESPACE).await?;
        let expected = self.expected();
        let what =
            "every resource becoming Ready, and the one with a missing reference saying what is missing";
        self.board
            .wait(what, self.deadline, |views| {
                let ready = views.iter().filter(|view| view.name != WAITING && view.is_ready()).count();
                let told =
                    views.iter().any(|view| view.name == WAITING && view.message.contains(MISSING_KEY));
                ready == expected - 1 && told
            })
            .await
    }

    /// The missing key appears, and nobody has to touch the resource that waited for it.
    pub(super) async fn supply_what_is_missing(&mut self) -> Result<()> {
        self.set(MISSING_KEY, "t3.small").await?;
        let expected = self.expected();
        self.board
            .wait("every resource becoming Ready", self.deadline, |views| {
                views.iter().filter(|view| view.is_ready()).count() == expected
            })
            .await
    }

    /// A number in the ConfigMap goes from 1 to 2, and so does the number of instances.
    pub(super) async fn scale(&mut self) -> Result<()> {
        self.set("count", "2").await?;
        let has = |views: &[View], ids: usize| {
            views.iter().any(|view| view.name == SCALED && view.is_ready() && view.external_ids.len() == ids)
        };
        self.board.wait("the second instance of the worker", self.deadline, |views| has(views, 2)).await
    }

    /// Shows what came out of it.
    pub(super) async fn results(&self) -> Result<()> {
        ui::headline("What is there now");
        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), NAMESPACE);
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), NAMESPACE);
        for export in self.samples.iter().filter(|sample| sample.gvk.kind == "ConfigExport") {
            let target = export.value.pointer("/spec/configMetadata/name").and_then(|name| name.as_str());
            let target = target.with_context(|| format!("{} has no configMetadata.name", export.source))?;
            if export.value["spec"]["configType"] == "Secret" {
                let secret = secrets.get(target).await.with_context(|| format!("Secret {target}"))?;
                show::secret(target, &secret);
            } else {
                let map = maps.get(target).await.with_context(|| format!("ConfigMap {target}"))?;
                show::config_map(target, &map);
            }
        }
        show::instances(&self.environment.moto.instances().await?, &self.board.views());
        show::calls(&self.environment.proxy.calls());
        Ok(())
    }

    /// All samples are deleted, and the cloud is empty afterwards.
    pub(super) async fn delete(&mut self) -> Result<()> {
        ui::headline("Deleting everything");
        let deadline = Instant::now() + self.timeout;
        manifests::delete(&self.client, &self.samples, NAMESPACE).await?;
        self.board.wait("the deletion of every resource", deadline, <[View]>::is_empty).await?;
        let instances = self.environment.moto.instances().await?;
        let alive: Vec<&str> = instances
            .iter()
            .filter(|instance| instance.is_alive())
            .map(|instance| instance.id.as_str())
            .collect();
        if !alive.is_empty() {
            bail!("all resources are gone, but moto still runs {}", alive.join(", "));
        }
        println!("moto holds {} instances, all terminated", instances.len());
        Ok(())
    }

    /// How many resources of Kraken's kinds the samples hold.
    fn expected(&self) -> usize {
        self.samples.iter().filter(|sample| !sample.gvk.group.is_empty()).count()
    }

    async fn set(&self, key: &str, value: &str) -> Result<()> {
        ui::headline(&format!("Setting {key}: \"{value}\" in ConfigMap {SETTINGS}"));
        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), NAMESPACE);
        let patch = json!({"data": {key: value}});
        maps.patch(SETTINGS, &PatchParams::default(), &Patch::Merge(&patch))
            .await
            .with_context(|| format!("cannot change ConfigMap {SETTINGS}"))?;
        Ok(())
    }
}
