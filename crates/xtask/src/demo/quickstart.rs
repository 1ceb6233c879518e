//! The steps of the quickstart demo. A step ends when the cluster and the cloud have the expected state.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kraken_testing::{Environment, manifests};
use kube::api::Api;

use super::common::{Demo, NAMESPACE};
use super::show;
use crate::board::View;
use crate::elapsed::CommandStart;
use crate::ui;

const SAMPLES: &str = "config/samples/quickstart";
/// The ConfigMap that the samples read.
const SETTINGS: &str = "quickstart";
/// The key that the samples name and the ConfigMap lacks at first.
const MISSING_KEY: &str = "batch-type";
/// The resource that waits for it.
const WAITING: &str = "batch";
/// The resource whose number of instances comes from the ConfigMap.
const SCALED: &str = "worker";

/// Three mistakes that no schema detects: a path, a template, and an ignored path that is no field of the kind.
const MISTAKEN: &str = "
apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1
kind: EC2Instance
metadata: {name: mistaken}
spec:
  imageID: {valueFrom: {krakenResource: {kind: ec2instance, name: web, path: 'instances[0'}}}
  instanceType: {value: t2.nano}
  minCount: {value: 1}
  maxCount: {value: 1}
  userData: {valueFrom: {templateString: 'http://{{ .ConfigMap.quickstart }}/'}}
  lifecycle: {ignoreChanges: [tgas.Team]}
";

pub(super) struct Quickstart<'env> {
    demo: Demo<'env>,
}

impl<'env> Quickstart<'env> {
    pub(super) async fn begin(environment: &'env Environment, timeout: Duration) -> Result<Self> {
        Ok(Self { demo: Demo::begin(environment, SAMPLES, timeout).await? })
    }

    /// An invalid object is rejected, with all its problems at once.
    pub(super) async fn reject(&self) -> Result<()> {
        ui::headline("Applying an EC2Instance with three mistakes");
        let mistaken = manifests::parse("the invalid EC2Instance", MISTAKEN)?;
        let Err(rejection) = manifests::apply(&self.demo.client, &mistaken, NAMESPACE).await else {
            bail!("the invalid EC2Instance was stored");
        };
        // kubectl prints the message; the causes in it are one for each field.
        let Some(kube::Error::Api(status)) = rejection.downcast_ref::<kube::Error>() else {
            return Err(rejection.context("the invalid EC2Instance was not rejected but failed"));
        };
        let causes = status.details.iter().flat_map(|details| &details.causes);
        let causes: Vec<String> = causes.map(|cause| format!("{}: {}", cause.field, cause.message)).collect();
        let rejection = causes.join("\n   ");
        for field in ["imageID", "userData", "lifecycle.ignoreChanges[0]"] {
            if !rejection.contains(&format!("spec.{field}")) {
                bail!("the error does not name {field}: {rejection}");
            }
        }
        println!("   {rejection}");
        Ok(())
    }

    /// All resources become Ready except the one with a missing dependency, which reports it.
    pub(super) async fn create(&mut self, entered: CommandStart) -> Result<()> {
        ui::headline(&format!("Applying {SAMPLES}"));
        manifests::apply(&self.demo.client, &self.demo.samples, NAMESPACE).await?;
        self.demo.first_ready(entered).await?;
        let expected = self.demo.expected();
        let what = "all resources to become Ready, and the one with a missing dependency to report it";
        self.demo
            .board
            .wait(what, self.demo.deadline, |views| {
                let ready = views.iter().filter(|view| view.name != WAITING && view.is_ready()).count();
                let is_reported =
                    views.iter().any(|view| view.name == WAITING && view.message.contains(MISSING_KEY));
                ready == expected - 1 && is_reported
            })
            .await
    }

    /// The missing key is added, and the waiting resource is reconciled.
    pub(super) async fn add_missing_key(&mut self) -> Result<()> {
        self.demo.set(SETTINGS, MISSING_KEY, "t3.small").await?;
        self.demo.all_ready().await
    }

    /// A count in the ConfigMap changes from 1 to 2, and so does the number of instances.
    pub(super) async fn scale(&mut self) -> Result<()> {
        self.demo.set(SETTINGS, "count", "2").await?;
        let has = |views: &[View], ids: usize| {
            views.iter().any(|view| view.name == SCALED && view.is_ready() && view.external_ids.len() == ids)
        };
        self.demo
            .board
            .wait("the second instance of the worker", self.demo.deadline, |views| has(views, 2))
            .await
    }

    /// Shows the exported values, the instances and the calls.
    pub(super) async fn results(&self) -> Result<()> {
        ui::headline("Current state");
        let maps: Api<ConfigMap> = Api::namespaced(self.demo.client.clone(), NAMESPACE);
        let secrets: Api<Secret> = Api::namespaced(self.demo.client.clone(), NAMESPACE);
        for export in self.demo.samples.iter().filter(|sample| sample.gvk.kind == "ConfigExport") {
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
        show::instances(&self.demo.environment.moto.instances().await?, &self.demo.board.views());
        show::calls(&self.demo.environment.proxy.calls());
        Ok(())
    }

    /// All samples are deleted, and the cloud is empty afterwards.
    pub(super) async fn delete(&mut self) -> Result<()> {
        self.demo.delete().await?;
        let instances = self.demo.environment.moto.instances().await?;
        let alive: Vec<&str> = instances
            .iter()
            .filter(|instance| instance.is_alive())
            .map(|instance| instance.id.as_str())
            .collect();
        if !alive.is_empty() {
            bail!("all resources are deleted, but moto still runs {}", alive.join(", "));
        }
        println!("moto holds {} instances, all terminated", instances.len());
        Ok(())
    }
}
