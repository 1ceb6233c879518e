//! Overlays on the default installation. The bridge network of the local node does not enforce NetworkPolicies: only other clusters test
//! whether connections are allowed.

use anyhow::Result;
use kraken_testing::paths;
use serde_json::json;

use crate::site::{Site, cluster, rolled_out, system, system_json};

#[tokio::test]
#[ignore = "cargo xtask e2e"]
async fn controllers_work_under_the_network_policy() -> Result<()> {
    let overlay = paths::workspace_root()?.join("config/overlays/network-policy").display().to_string();
    cluster(&["apply", "--server-side", "--force-conflicts", "-k", &overlay]).await?;
    let policy = system_json(&["get", "networkpolicy", "kraken"]).await?;
    assert_eq!(policy["spec"]["podSelector"]["matchLabels"], json!({"app.kubernetes.io/part-of": "kraken"}));
    for controller in paths::controllers()? {
        rolled_out(&format!("kraken-{controller}")).await?;
    }
    let site = Site::new("policy").await?;
    site.apply(
        "apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1\nkind: VPC\nmetadata: {name: a}\n\
         spec: {cidrBlock: {value: 10.6.0.0/16}}\n",
    )
    .await?;
    site.ready(&["vpc/a"]).await?;
    system(&["delete", "networkpolicy", "kraken"]).await?;
    site.end().await
}
