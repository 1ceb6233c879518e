//! An installation with Roles only: controllers that watch some namespaces and have no cluster-wide permissions.

use anyhow::Result;
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kraken_testing::{ControlPlane, Moto, Suite, SuiteOptions, namespace};
use kube::{
    Api, Client,
    api::{DynamicObject, ListParams},
    core::{ApiResource, GroupVersionKind},
};
use serde_json::{Value, json};

const AWS: &str = "aws.kraken-iac.eoinfennessy.com";
/// The value of the Secret must be a zone, so it has no marker.
const STACK: &str = "
{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {cidr: 10.7.0.0/16}}
---
{apiVersion: v1, kind: Secret, metadata: {name: tags}, stringData: {zone: us-east-1a}}
---
{apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1, kind: VPC, metadata: {name: main},
 spec: {cidrBlock: {valueFrom: {configMap: {name: settings, key: cidr}}}}}
---
{apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1, kind: Subnet, metadata: {name: a}, spec: {vpcID: {valueFrom: {ref: VPC/main}},
 cidrBlock: {value: 10.7.1.0/24}, availabilityZone: {valueFrom: {secret: {name: tags, key: zone}}}}}
---
{apiVersion: configexport.kraken-iac.eoinfennessy.com/v1alpha1, kind: ConfigExport, metadata: {name: ids},
 spec: {configType: ConfigMap, configMetadata: {name: ids}, entries: [{key: vpc, valueFrom: {ref: VPC/main}}]}}";

async fn get(client: &Client, namespace: &str, group: &str, kind: &str, name: &str) -> Result<Value> {
    let version = if group.is_empty() { "v1" } else { "v1alpha1" };
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &resource);
    Ok(api.get_opt(name).await?.map_or(Value::Null, |object| json!(object)))
}

/// A reference between watched namespaces needs a grant; one to another namespace is impossible, whatever that grants.
async fn references_between_namespaces(client: &Client, [own, partner, other]: [&str; 3]) -> Result<()> {
    const CORE: &str = "core.kraken-iac.eoinfennessy.com/v1alpha1";
    for namespace in [own, other] {
        let spec = json!({"from": [{"namespace": partner}], "to": [{"kind": "VPC"}]});
        let grant =
            json!({"apiVersion": CORE, "kind": "ReferenceGrant", "metadata": {"name": "g"}, "spec": spec});
        let grant = kraken_testing::manifests::parse("the grant", &grant.to_string())?;
        kraken_testing::manifests::apply(client, &grant, namespace).await?;
    }
    for (name, of) in [("granted", own), ("outside", other)] {
        let block = json!({"valueFrom": {"ref": format!("VPC/{of}:main/vpc.CidrBlock")}});
        let vpc = json!({"apiVersion": format!("{AWS}/v1alpha1"), "kind": "VPC", "metadata": {"name": name}, "spec": {"cidrBlock": block}});
        let vpc = kraken_testing::manifests::parse("the VPC", &vpc.to_string())?;
        kraken_testing::manifests::apply(client, &vpc, partner).await?;
    }
    let why = format!("the hub does not serve namespace {other} (--namespaces)");
    for (name, status, message) in [("granted", "True", ""), ("outside", "False", why.as_str())] {
        for attempt in 0.. {
            let vpc = get(client, partner, AWS, "VPC", name).await?;
            let ready = kraken_tests::test_env::condition(&vpc, "Ready");
            if ready["status"] == status && ready["message"].as_str().unwrap_or_default().contains(message) {
                break;
            }
            anyhow::ensure!(attempt < 900, "{vpc}");
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(AWS, "v1alpha1", "VPC"));
        let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), partner, &resource);
        api.delete(name, &kube::api::DeleteParams::default()).await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_stack_works_with_roles_only_and_other_namespaces_are_not_changed() -> Result<()> {
    let (control_plane, moto) = tokio::try_join!(ControlPlane::start(), Moto::start())?;
    let client = control_plane.client().await?;
    let (own, other) = (namespace(&client).await?, namespace(&client).await?);
    let partner = namespace(&client).await?;
    let options = SuiteOptions {
        namespaces: Some(vec![own.name.clone(), partner.name.clone()]),
        only: Some(vec!["hub".to_owned(), "aws-vpc".to_owned()]),
        ..SuiteOptions::default()
    };
    let suite = Suite::start(&control_plane, &moto, options).await?;
    let bindings: Api<ClusterRoleBinding> = Api::all(client.clone());
    for binding in bindings.list(&ListParams::default()).await? {
        let of_kraken = binding.subjects.iter().flatten().any(|subject| subject.name.starts_with("kraken-"));
        assert!(!of_kraken, "{:?}", binding.metadata.name);
    }
    let documents = kraken_testing::manifests::parse("the stack", STACK)?;
    for namespace in [&own.name, &other.name] {
        kraken_testing::manifests::apply(&client, &documents, namespace).await?;
    }
    let mut ids = Value::Null;
    for _ in 0..900 {
        ids = get(&client, &own.name, "", "ConfigMap", "ids").await?;
        let subnet = get(&client, &own.name, AWS, "Subnet", "a").await?;
        if kraken_tests::test_env::condition(&subnet, "Ready")["status"] == "True" && !ids.is_null() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    let vpc = get(&client, &own.name, AWS, "VPC", "main").await?;
    assert_eq!(ids["data"]["vpc"], vpc["status"]["externalIds"][0], "{vpc}");
    let elsewhere = get(&client, &other.name, AWS, "VPC", "main").await?;
    assert!(
        elsewhere["metadata"]["finalizers"].is_null() && elsewhere["status"]["externalIds"].is_null(),
        "{elsewhere}"
    );
    references_between_namespaces(&client, [&own.name, &partner.name, &other.name]).await?;
    // Its deletion works as usual.
    for (kind, name) in [("Subnet", "a"), ("VPC", "main")] {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(AWS, "v1alpha1", kind));
        let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), &own.name, &resource);
        api.delete(name, &kube::api::DeleteParams::default()).await?;
        for attempt in 0.. {
            if api.get_opt(name).await?.is_none() {
                break;
            }
            anyhow::ensure!(attempt < 900, "{kind} {name} is not deleted");
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
    }
    for controller in suite.controllers() {
        let log = controller.log_text()?;
        let refused: Vec<&str> = log.lines().filter(|line| line.contains("forbidden")).collect();
        assert!(refused.is_empty(), "{refused:?}");
    }
    Ok(())
}
