//! Overlays on the default installation, which is restored afterwards. The bridge network of the local node does not enforce NetworkPolicies: only other clusters test
//! whether connections are allowed.

use anyhow::Result;
use kraken_testing::paths;
use serde_json::json;

use crate::site::{Site, cluster, mistaken, rolled_out, system, system_json, until};

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

#[tokio::test]
#[ignore = "cargo xtask e2e"]
async fn controllers_of_aws_share_a_process_and_separate_again() -> Result<()> {
    let folder =
        |name: &str| Ok::<_, anyhow::Error>(paths::workspace_root()?.join(name).display().to_string());
    let apply = async |name: &str| {
        cluster(&["apply", "--server-side", "--force-conflicts", "-k", &folder(name)?]).await
    };
    let site = Site::new("shared").await?;
    let vpc = "apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1\nkind: VPC\nmetadata: {name: a}\n\
               spec: {cidrBlock: {value: 10.8.0.0/16}}\n";
    site.apply(vpc).await?;
    site.ready(&["vpc/a"]).await?;

    apply("config/overlays/one-process").await?;
    let mut separate = paths::controllers()?;
    separate.retain(|controller| controller.starts_with("aws-"));
    for controller in &separate {
        system(&["delete", "deployment", &format!("kraken-{controller}")]).await?;
    }
    rolled_out("kraken-aws-all").await?;
    // By the Services of two controllers, each with its own certificate.
    for (kind, field) in [("VPC", "cidrBlock"), ("Queue", "name")] {
        let mistaken = mistaken(kind, field);
        let refused = until("the rejection", async || site.refused(&mistaken).await, |_| true).await?;
        assert!(refused.contains(&format!("spec.{field}.valueFrom.templateString")), "{refused}");
    }
    site.apply(&vpc.replace("{name: a}", "{name: b}").replace("10.8", "10.9")).await?;
    site.ready(&["vpc/a", "vpc/b"]).await?;
    assert_eq!(site.in_cloud("DescribeVpcs", "vpcSet").await?.len(), 2);

    apply("config/default").await?;
    for kind in ["deployment", "serviceaccount"] {
        system(&["delete", kind, "kraken-aws-all"]).await?;
    }
    for controller in &separate {
        rolled_out(&format!("kraken-{controller}")).await?;
    }
    site.kubectl(&["delete", "kraken", "--all", "--timeout=120s"]).await?;
    assert!(site.in_cloud("DescribeVpcs", "vpcSet").await?.is_empty());
    site.end().await
}
