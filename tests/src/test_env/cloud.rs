//! The objects of a test in moto.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::Value;

use super::{TIMEOUT, TestEnv};

impl TestEnv {
    /// The objects of this namespace in moto: the items of a Describe action's list that one of its resources owns.
    ///
    /// # Errors
    /// If moto does not respond.
    pub async fn in_cloud(&self, action: &str, list: &str) -> Result<Vec<Value>> {
        let marker = format!("/{}/", self.ns.name);
        let answer = self.env.moto.ec2(action, &[]).await?;
        let is_own = |item: &&Value| {
            let tags = item["tagSet"].as_array().into_iter().flatten();
            tags.filter(|tag| tag["key"] == "kraken-iac.eoinfennessy.com/owner")
                .any(|tag| tag["value"].as_str().is_some_and(|owner| owner.contains(&marker)))
        };
        Ok(answer[list].as_array().into_iter().flatten().filter(is_own).cloned().collect())
    }

    /// Waits until `wanted` is true for the objects of a kind in moto.
    ///
    /// # Errors
    /// The last objects in moto and the last lines of each controller's log, after the timeout.
    pub async fn until_cloud(
        &self,
        action: &str,
        list: &str,
        wanted: impl Fn(&[Value]) -> bool,
    ) -> Result<Vec<Value>> {
        let start = Instant::now();
        loop {
            let items = self.in_cloud(action, list).await?;
            if wanted(&items) {
                return Ok(items);
            }
            if start.elapsed() > TIMEOUT {
                bail!(
                    "{action} did not reach the expected state{}; it is:\n{}\n{}",
                    self.env.suite.ended(),
                    serde_json::to_string_pretty(&items)?,
                    self.logs()
                );
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// moto's live instances that belong to a resource of this namespace.
    ///
    /// # Errors
    /// If moto does not respond.
    pub async fn alive(&self, name: &str) -> Result<Vec<kraken_simulator::Instance>> {
        let owner = format!("EC2Instance/{}/{name}", self.ns.name);
        let mine = |instance: &kraken_simulator::Instance| {
            instance.is_alive() && instance.tags.get("kraken-iac.eoinfennessy.com/owner") == Some(&owner)
        };
        Ok(self.env.moto.instances().await?.into_iter().filter(mine).collect())
    }
}
