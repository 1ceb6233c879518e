//! The common parts of the demos: samples, a board that prints the changes of their conditions, and a deadline.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use k8s_openapi::api::core::v1::ConfigMap;
use kraken_testing::manifests::{self, Document};
use kraken_testing::{Environment, paths};
use kube::api::{Api, Patch, PatchParams};
use kube::{Client, core::GroupVersionKind};
use serde_json::json;

use super::show;
use crate::board::{Board, View};
use crate::elapsed::CommandStart;
use crate::ui;

pub(super) const NAMESPACE: &str = "default";

pub(super) struct Demo<'env> {
    pub(super) environment: &'env Environment,
    pub(super) client: Client,
    pub(super) board: Board,
    pub(super) samples: Vec<Document>,
    timeout: Duration,
    pub(super) deadline: Instant,
}

impl<'env> Demo<'env> {
    /// Reads the samples of a folder and follows their kinds.
    pub(super) async fn begin(
        environment: &'env Environment,
        folder: &str,
        timeout: Duration,
    ) -> Result<Self> {
        let client = environment.control_plane.client().await?;
        let samples = manifests::read(&paths::workspace_root()?.join(folder))?;
        let mut kinds: Vec<GroupVersionKind> =
            samples.iter().filter(|sample| is_of_kraken(sample)).map(|sample| sample.gvk.clone()).collect();
        kinds.sort_by(|a, b| a.kind.cmp(&b.kind));
        kinds.dedup();
        let board = Board::start(&client, Some(NAMESPACE), &kinds, show::changes());
        Ok(Self { environment, client, board, samples, timeout, deadline: Instant::now() + timeout })
    }

    /// The same with dependents first: resources can be applied in any order.
    pub(super) async fn begin_in_reverse(
        environment: &'env Environment,
        folder: &str,
        timeout: Duration,
    ) -> Result<Self> {
        let mut demo = Self::begin(environment, folder, timeout).await?;
        demo.samples.reverse();
        Ok(demo)
    }

    /// Applies the samples of this folder, which [begin in reverse](Self::begin_in_reverse), until all are Ready.
    pub(super) async fn apply(&mut self, folder: &str, entered: CommandStart) -> Result<()> {
        ui::headline(&format!("Applying {folder}, in reverse order of the references"));
        manifests::apply(&self.client, &self.samples, NAMESPACE).await?;
        self.first_ready(entered).await?;
        self.all_ready().await
    }

    /// Lets what follows take as long as what was before.
    pub(super) fn extend(&mut self) {
        self.deadline = Instant::now() + self.timeout;
    }

    /// Waits until this is true, and prints it.
    pub(super) async fn until(&self, what: &str, is_true: impl AsyncFn() -> Result<bool>) -> Result<()> {
        while !is_true().await.with_context(|| format!("waiting until {what}"))? {
            if Instant::now() > self.deadline {
                bail!("not in time: {what}");
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        println!("{what}");
        Ok(())
    }

    /// How many resources of Kraken's kinds the samples hold.
    pub(super) fn expected(&self) -> usize {
        self.samples.iter().filter(|sample| is_of_kraken(sample)).count()
    }

    /// Waits until a resource is Ready, and prints the time since the command was entered.
    pub(super) async fn first_ready(&mut self, entered: CommandStart) -> Result<()> {
        self.board
            .wait("the first resource to become Ready", self.deadline, |views| {
                views.iter().any(View::is_ready)
            })
            .await?;
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        println!("First resource Ready: {} after the command was entered ({cores} cores)", entered.ago());
        Ok(())
    }

    /// Waits until every resource is Ready.
    pub(super) async fn all_ready(&mut self) -> Result<()> {
        let expected = self.expected();
        self.board
            .wait("all resources to become Ready", self.deadline, |views| {
                views.iter().filter(|view| view.is_ready()).count() == expected
            })
            .await
    }

    /// Sets a key of a ConfigMap, as a user would.
    pub(super) async fn set(&self, map: &str, key: &str, value: &str) -> Result<()> {
        ui::headline(&format!("Setting {key}: \"{value}\" in ConfigMap {map}"));
        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), NAMESPACE);
        let patch = json!({"data": {key: value}});
        maps.patch(map, &PatchParams::default(), &Patch::Merge(&patch))
            .await
            .with_context(|| format!("cannot change ConfigMap {map}"))?;
        Ok(())
    }

    /// Deletes all samples and waits until Kraken's resources are deleted.
    pub(super) async fn delete(&mut self) -> Result<()> {
        ui::headline("Deleting everything");
        let deadline = Instant::now() + self.timeout;
        manifests::delete(&self.client, &self.samples, NAMESPACE).await?;
        self.board.wait("the deletion of every resource", deadline, <[View]>::is_empty).await
    }
}

fn is_of_kraken(sample: &Document) -> bool {
    sample.gvk.group.ends_with(".kraken-iac.eoinfennessy.com")
}
