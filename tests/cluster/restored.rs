//! Resources that return under another UID, as Velero restores them, or as Git applies them again: they take over their objects.

use std::time::Duration;

use anyhow::{Context as _, Result};
use kraken_testing::SuiteOptions;
use kraken_tests::TestEnv;
use serde_json::{Value, json};

/// A VPC and an instance.
async fn stack(test_env: &TestEnv) -> Result<()> {
    let aws = "aws.kraken-iac.eoinfennessy.com/v1alpha1";
    let vpc = json!({
        "apiVersion": aws, "kind": "VPC", "metadata": {"name": "net"},
        "spec": {"cidrBlock": {"value": "10.61.0.0/16"}},
    });
    let instance = json!({
        "apiVersion": aws, "kind": "EC2Instance", "metadata": {"name": "i"},
        "spec": {
            "imageID": {"value": "ami-12c6146b"}, "instanceType": {"value": "t3.micro"},
            "minCount": {"value": 2}, "maxCount": {"value": 2},
        },
    });
    test_env.apply(&vpc.to_string()).await?;
    test_env.apply(&instance.to_string()).await
}

/// The ids of the objects of the namespace, the VPC first.
async fn in_cloud(test_env: &TestEnv) -> Result<Vec<String>> {
    let vpcs = test_env.in_cloud("DescribeVpcs", "vpcSet").await?;
    let mut ids: Vec<_> = vpcs.iter().filter_map(|vpc| vpc["vpcId"].as_str().map(str::to_owned)).collect();
    let mut instances: Vec<_> = test_env.alive("i").await?.into_iter().map(|instance| instance.id).collect();
    instances.sort();
    ids.extend(instances);
    Ok(ids)
}

/// The object as Velero stores it.
fn backup(mut object: Value) -> Value {
    let meta = object["metadata"].as_object_mut().into_iter();
    for meta in meta {
        for field in ["uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"] {
            meta.remove(field);
        }
    }
    if let Some(object) = object.as_object_mut() {
        object.remove("status");
    }
    object
}

/// Deletes an object of the API server without a deletion in the cloud.
async fn lose(test_env: &TestEnv, kind: &str, name: &str) -> Result<()> {
    test_env.patch(kind, name, json!({"spec": {"lifecycle": {"paused": true}}})).await?;
    test_env.delete(kind, name).await?;
    test_env.patch(kind, name, json!({"metadata": {"finalizers": null}})).await?;
    test_env.gone(kind, name).await
}

#[tokio::test]
async fn a_restored_backup_takes_over_its_objects() -> Result<()> {
    // The deletion of what was taken over waits for the visibility window.
    let suite = SuiteOptions::default();
    let suite = suite.with_env("aws-vpc", "KRAKEN_VISIBILITY_WINDOW", "5s");
    let suite = suite.with_env("aws-ec2-instance", "KRAKEN_VISIBILITY_WINDOW", "5s");
    let test_env = TestEnv::with(suite).await?;
    stack(&test_env).await?;
    let all = [("VPC", "net"), ("EC2Instance", "i")];
    let mut backups = vec![];
    for (kind, name) in all {
        backups.push(backup(test_env.ready(kind, name).await?));
    }
    let before = in_cloud(&test_env).await?;
    assert_eq!(before.len(), 3);
    for (kind, name) in all {
        lose(&test_env, kind, name).await?;
    }
    for object in &backups {
        test_env.apply(&object.to_string()).await?;
    }
    for (kind, name) in all {
        test_env.ready(kind, name).await?;
        let note = test_env.event(name, |reason, _| reason == "TakenOver").await?;
        assert!(note.contains("a former resource of this name"), "{note}");
    }
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(in_cloud(&test_env).await?, before);
    // They were created by the former resources, and so are deleted.
    for (kind, name) in all {
        test_env.delete(kind, name).await?;
        test_env.gone(kind, name).await?;
    }
    assert_eq!(in_cloud(&test_env).await?, Vec::<String>::new());
    Ok(())
}

#[tokio::test]
async fn an_object_of_a_resource_that_is_gone_is_adopted_with_kubectl_alone() -> Result<()> {
    let test_env = TestEnv::new().await?;
    stack(&test_env).await?;
    let vpc = test_env.ready("VPC", "net").await?;
    let id = vpc["status"]["externalIds"][0].as_str().context("no id")?;
    let other = |name: &str| {
        json!({
            "apiVersion": "aws.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "VPC", "metadata": {"name": name},
            "spec": {"cidrBlock": {"value": "10.61.0.0/16"}, "lifecycle": {"adopt": {"id": id}, "deletion": "Delete"}},
        })
        .to_string()
    };
    test_env.apply(&other("other")).await?;
    let why = test_env.not_ready("VPC", "other", "AdoptionRefused").await?;
    assert!(why.contains("kubectl delete vpc net"), "{why}");
    lose(&test_env, "VPC", "net").await?;
    test_env.ready("VPC", "other").await?;
    test_env.delete("VPC", "other").await?;
    test_env.gone("VPC", "other").await?;
    test_env.delete("EC2Instance", "i").await?;
    test_env.gone("EC2Instance", "i").await
}

#[tokio::test]
async fn what_this_cluster_created_is_taken_back_and_not_adopted() -> Result<()> {
    let test_env = TestEnv::new().await?;
    let vpc = |lifecycle: Value| {
        let spec = json!({"cidrBlock": {"value": "10.61.0.0/16"}, "tags": {"Name": test_env.ns.name}, "lifecycle": lifecycle});
        json!({
            "apiVersion": "aws.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "VPC", "metadata": {"name": "net"},
            "spec": spec,
        })
        .to_string()
    };
    test_env.apply(&vpc(json!({"deletion": "Retain"}))).await?;
    let id = test_env.ready("VPC", "net").await?["status"]["externalIds"][0].clone();
    test_env.delete("VPC", "net").await?;
    test_env.gone("VPC", "net").await?;
    test_env.apply(&vpc(json!({"adopt": {"id": id}}))).await?;
    let adopted = test_env.ready("VPC", "net").await?;
    assert_eq!(adopted["status"]["externalIds"], json!([id]));
    assert!(adopted["status"]["adopted"].is_null(), "{}", adopted["status"]);
    test_env.delete("VPC", "net").await?;
    test_env.gone("VPC", "net").await?;
    let vpcs = test_env.env.moto.ec2("DescribeVpcs", &[]).await?;
    let left = vpcs["vpcSet"].as_array().into_iter().flatten().any(|vpc| vpc["vpcId"] == id);
    assert!(!left, "{id} is deleted");
    Ok(())
}
