//! A web team's first week: names, certificate, servers, database, bucket and queues, applied in any order, and read by one pod.

use std::time::Duration;

use anyhow::{Result, bail};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kraken_testing::Environment;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;

use super::common::{Demo, NAMESPACE};
use super::show;
use crate::elapsed::CommandStart;
use crate::ui;

const SAMPLES: &str = "config/samples/shop";
/// The ConfigMap that the pod reads.
const ADDRESSES: &str = "shop";
/// The Secret that the pod reads.
const CONNECTION: &str = "shop-connection";
const OTHER_PASSWORD: &str = "another-password-of-the-demo";

pub(super) struct Shop<'env> {
    demo: Demo<'env>,
}

impl<'env> Shop<'env> {
    pub(super) async fn begin(environment: &'env Environment, timeout: Duration) -> Result<Self> {
        Ok(Self { demo: Demo::begin_in_reverse(environment, SAMPLES, timeout).await? })
    }

    /// Everything is applied, the last first, and becomes Ready.
    pub(super) async fn create(&mut self, entered: CommandStart) -> Result<()> {
        self.demo.apply(SAMPLES, entered).await?;
        ui::headline("What the pod reads");
        show::config_map(ADDRESSES, &self.maps().get(ADDRESSES).await?);
        show::secret(CONNECTION, &self.secrets().get(CONNECTION).await?);
        Ok(())
    }

    /// One key changes, and with it the group and what the pod reads.
    pub(super) async fn grow(&mut self) -> Result<()> {
        self.demo.set("shop-settings", "maximum", "8").await?;
        self.demo
            .until("SERVERS is \"2 to 8\"", async || {
                let map = self.maps().get(ADDRESSES).await?;
                Ok(map.data.is_some_and(|data| data.get("SERVERS").is_some_and(|text| text == "2 to 8")))
            })
            .await?;
        self.demo.all_ready().await
    }

    /// Another password in a Secret, and with it that of the database and of the pod.
    pub(super) async fn rotate(&mut self) -> Result<()> {
        ui::headline("Another password in Secret shop-database");
        let patch = Patch::Merge(json!({"stringData": {"password": OTHER_PASSWORD}}));
        self.secrets().patch("shop-database", &PatchParams::default(), &patch).await?;
        self.demo
            .until("the connection has the new password", async || {
                let secret = self.secrets().get(CONNECTION).await?;
                let url = secret.data.and_then(|mut data| data.remove("DATABASE_URL"));
                Ok(url.is_some_and(|url| String::from_utf8_lossy(&url.0).contains(OTHER_PASSWORD)))
            })
            .await?;
        self.demo
            .until("the password of the database is changed", async || {
                Ok(self.demo.environment.proxy.calls().contains_key("ModifyDBInstance"))
            })
            .await?;
        self.demo.all_ready().await
    }

    /// Everything is deleted at once, and nothing is left in the cloud but the final snapshot of the database.
    pub(super) async fn delete(&mut self) -> Result<()> {
        self.demo.delete().await?;
        let left = self.demo.environment.proxy.left();
        if !left.is_empty() {
            bail!("everything is deleted, but the cloud still has {}", left.join(", "));
        }
        println!("Nothing is left in the cloud but the final snapshot of the database");
        show::calls(&self.demo.environment.proxy.calls());
        Ok(())
    }

    fn maps(&self) -> Api<ConfigMap> {
        Api::namespaced(self.demo.client.clone(), NAMESPACE)
    }

    fn secrets(&self) -> Api<Secret> {
        Api::namespaced(self.demo.client.clone(), NAMESPACE)
    }
}
