//! A web tier: applied in any order, its address in a ConfigMap, changed by one key, and deleted at once.

use std::time::Duration;

use anyhow::{Result, bail};
use k8s_openapi::api::core::v1::ConfigMap;
use kraken_testing::Environment;
use kube::api::Api;

use super::common::{Demo, NAMESPACE};
use super::show;
use crate::elapsed::CommandStart;
use crate::ui;

const SAMPLES: &str = "config/samples/web-tier";
const SETTINGS: &str = "web-tier";
/// The ConfigMap that a Deployment mounts.
const ADDRESS: &str = "web-address";
const OTHER_PORT: &str = "8080";

pub(super) struct WebTier<'env> {
    demo: Demo<'env>,
}

impl<'env> WebTier<'env> {
    pub(super) async fn begin(environment: &'env Environment, timeout: Duration) -> Result<Self> {
        Ok(Self { demo: Demo::begin_in_reverse(environment, SAMPLES, timeout).await? })
    }

    /// Everything is applied, the last first, and becomes Ready.
    pub(super) async fn create(&mut self, entered: CommandStart) -> Result<()> {
        self.demo.apply(SAMPLES, entered).await?;
        ui::headline("The exported values");
        self.address().await.map(drop)
    }

    /// One key changes, and with it the rule of the security group, the listener and the address.
    pub(super) async fn move_port(&mut self) -> Result<()> {
        self.demo.set(SETTINGS, "port", OTHER_PORT).await?;
        let maps: Api<ConfigMap> = Api::namespaced(self.demo.client.clone(), NAMESPACE);
        let what = format!("ConfigMap {ADDRESS} has port {OTHER_PORT}");
        self.demo.until(&what, async || Ok(port(&maps.get(ADDRESS).await?) == Some(OTHER_PORT))).await?;
        self.demo.all_ready().await?;
        self.address().await.map(drop)
    }

    /// Everything is deleted at once, in the order of the references.
    pub(super) async fn delete(&mut self) -> Result<()> {
        self.demo.delete().await?;
        let in_vain = self.demo.environment.proxy.rejected_deletions();
        if !in_vain.is_empty() {
            bail!("everything is deleted, but AWS rejected {}", in_vain.join(", "));
        }
        println!("AWS rejected no deletion: no deletion was requested too early");
        show::calls(&self.demo.environment.proxy.calls());
        Ok(())
    }

    async fn address(&self) -> Result<ConfigMap> {
        let maps: Api<ConfigMap> = Api::namespaced(self.demo.client.clone(), NAMESPACE);
        let map = maps.get(ADDRESS).await?;
        show::config_map(ADDRESS, &map);
        Ok(map)
    }
}

fn port(map: &ConfigMap) -> Option<&str> {
    map.data.as_ref()?.get("port").map(String::as_str)
}
