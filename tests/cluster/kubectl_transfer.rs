//! `kubectl kraken paths`, `mv`, `undelete`, `drift --accept` and `lint` with the real binary: the remote objects stay the same.

use std::{fs, process::Stdio, time::Duration};

use anyhow::{Context as _, Result, ensure};
use kraken_tests::TestEnv;
use serde_json::Value;
use tokio::{process::Command, time::sleep};

use crate::kubectl_kraken::Plugin;

/// A VPC, and each form of a reference to it.
const STACK: &str = r"# the network
apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1
kind: VPC
metadata: {name: main} # its name
spec: {cidrBlock: {value: 10.66.0.0/16}, lifecycle: {drift: Report, resyncInterval: '0'}, tags: {Team: net}}
---
apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1
kind: Subnet
metadata: {name: a}
spec:
  vpcID: {valueFrom: {ref: VPC/main}}   # the VPC
  cidrBlock: {value: 10.66.1.0/24}
  tags: {Of: {valueFrom: {templateString: 'in {{ .VPC.main }}'}}}
---
apiVersion: configexport.kraken-iac.eoinfennessy.com/v1alpha1
kind: ConfigExport
metadata: {name: net}
spec: {configType: ConfigMap, configMetadata: {name: net}, entries: [{key: cidr, valueFrom: {ref: VPC/main/vpc.CidrBlock}}]}
";

async fn id(test_env: &TestEnv, kind: &str, name: &str) -> Result<String> {
    let found = test_env.get(kind, name).await?;
    Ok(found["status"]["externalIds"][0].as_str().context("no id")?.to_owned())
}

/// Starts the command and kills it after this time, as a crash does.
async fn killed(plugin: &Plugin, line: &str, after: Duration) -> Result<()> {
    let mut command = Command::new(&plugin.program);
    command
        .args(line.split_whitespace())
        .args(["-n", &plugin.namespace])
        .env("KUBECONFIG", &plugin.kubeconfig);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let mut child = command.spawn()?;
    sleep(after).await;
    // It may have ended.
    let _ = child.start_kill();
    child.wait().await?;
    Ok(())
}

#[tokio::test]
async fn a_renamed_resource_keeps_its_object_although_the_command_is_killed() -> Result<()> {
    let test_env = TestEnv::new().await?;
    let plugin = Plugin::of_admin(&test_env)?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("network.yaml");
    fs::write(&file, STACK)?;
    let file = file.display().to_string();
    plugin.prints(&format!("lint {file}"), 0, &["3 objects: no problems."]).await?;
    test_env.apply(STACK).await?;
    test_env.ready("Subnet", "a").await?;
    let (vpc, subnet) = (id(&test_env, "VPC", "main").await?, id(&test_env, "Subnet", "a").await?);
    plugin
        .prints("paths vpc/main", 0, &[&vpc, "valueFrom: {ref: VPC/main/vpc.CidrBlock}", "10.66.0.0/16"])
        .await?;
    plugin.fails("paths vpc/other", 1, &["VPC/other does not exist"]).await?;

    let nobody = plugin.answering("", &format!("mv vpc/main net -f {file}")).await?;
    ensure!(nobody.code == Some(1) && nobody.errors.contains("--yes"), "{nobody:?}");
    for text in ["Subnet/a /spec/vpcID/valueFrom/ref: \"VPC/net\"", "network.yaml:4: \"net\"", &vpc] {
        ensure!(nobody.out.contains(text), "{text} is not in the plan: {}", nobody.out);
    }
    assert_eq!(fs::read_to_string(&file)?, STACK, "nothing is changed without an answer");
    let line = format!("mv vpc/main net --yes -f {file}");
    for millis in [150, 300, 500] {
        killed(&plugin, &line, Duration::from_millis(millis)).await?;
    }
    if test_env
        .get("VPC", "net")
        .await
        .is_ok_and(|vpc| vpc["metadata"]["annotations"].to_string().contains("/transfer"))
    {
        plugin.prints(&line, 0, &[&format!("VPC/net manages {vpc}.")]).await?;
    } else {
        // It may not have begun, or be complete.
        plugin.answering("", &line).await?;
    }
    let renamed = test_env.ready("VPC", "net").await?;
    assert_eq!(renamed["spec"]["lifecycle"]["adopt"], Value::Null);
    assert_eq!(renamed["status"]["adopted"], Value::Null, "it still counts as created by Kraken");
    test_env.ready("Subnet", "a").await?;
    let after = (id(&test_env, "VPC", "net").await?, id(&test_env, "Subnet", "a").await?);
    assert_eq!(after, (vpc, subnet), "nothing was created again");
    assert_eq!(test_env.get("VPC", "main").await?, Value::Null, "the former resource is gone");
    let expected = STACK
        .replace("{name: main}", "{name: net}")
        .replace("VPC/main", "VPC/net")
        .replace(".VPC.main", ".VPC.net");
    assert_eq!(fs::read_to_string(&file)?, expected);
    plugin.fails("mv vpc/main net", 1, &["VPC/net exists"]).await
}

#[tokio::test]
async fn a_deletion_is_cancelled_and_drift_is_accepted() -> Result<()> {
    let test_env = TestEnv::new().await?;
    let plugin = Plugin::of_admin(&test_env)?;
    test_env.apply(STACK).await?;
    test_env.ready("Subnet", "a").await?;
    let vpc = id(&test_env, "VPC", "main").await?;
    let tag = [("ResourceId.1", vpc.as_str()), ("Tag.1.Key", "Team"), ("Tag.1.Value", "other")];
    test_env.env.moto.ec2("CreateTags", &tag).await?;
    plugin.prints("reconcile vpc/main", 0, &[]).await?;
    test_env.until("VPC", "main", |vpc| vpc["status"]["drift"][0].is_object()).await?;
    plugin.prints("drift --accept vpc/main", 0, &["\"Team\": \"other\""]).await?;
    plugin.prints("drift --accept vpc/main --apply", 0, &["VPC/main patched"]).await?;
    test_env.until("VPC", "main", |vpc| vpc["status"]["drift"][0].is_null()).await?;

    plugin.fails("undelete vpc/main", 1, &["is not being deleted"]).await?;
    test_env.api("VPC").delete("main", &kube::api::DeleteParams::default()).await?;
    test_env.not_ready("VPC", "main", "DeletionBlocked").await?;
    let nobody = plugin.answering("", "undelete vpc/main").await?;
    ensure!(
        nobody.code == Some(1) && nobody.out.contains("it still counts as created by Kraken"),
        "{nobody:?}"
    );
    for millis in [200, 400] {
        killed(&plugin, "undelete vpc/main --yes", Duration::from_millis(millis)).await?;
    }
    let again = plugin.answering("", "undelete vpc/main --yes").await?;
    ensure!(again.code == Some(0) || again.errors.contains("is not being deleted"), "{again:?}");
    let kept = test_env.ready("VPC", "main").await?;
    assert_eq!(kept["status"]["externalIds"][0].as_str(), Some(vpc.as_str()));
    assert_eq!(
        (&kept["spec"]["lifecycle"]["adopt"], &kept["spec"]["lifecycle"]["deletion"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(kept["status"]["adopted"], Value::Null);

    // Once more at once: the adoption just before was of a resource that does not exist any more.
    test_env.api("VPC").delete("main", &kube::api::DeleteParams::default()).await?;
    test_env.not_ready("VPC", "main", "DeletionBlocked").await?;
    plugin.prints("undelete vpc/main --yes --timeout 45", 0, &[]).await?;
    test_env.ready("Subnet", "a").await.map(drop)
}
