//! The control plane is a real one: versions, tokens, RBAC, garbage collection, namespaces.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret, ServiceAccount};
use kraken_testing::{ControlPlane, ControlPlaneOptions, manifests, namespace};
use kube::api::{DeleteParams, PostParams};
use kube::{Api, Client, ResourceExt as _};
use serde_json::json;

fn config_map(value: &serde_json::Value) -> ConfigMap {
    serde_json::from_value(value.clone()).unwrap_or_default()
}

async fn gone<K>(api: &Api<K>, name: &str) -> Result<()>
where
    K: Clone + std::fmt::Debug + serde::de::DeserializeOwned,
{
    let started = Instant::now();
    while api.get_opt(name).await?.is_some() {
        if started.elapsed() > Duration::from_secs(20) {
            bail!("{name} still exists");
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}

#[tokio::test]
async fn the_version_is_printed() -> Result<()> {
    let client = ControlPlane::shared().await?.client().await?;
    let version = client.apiserver_version().await?;
    assert_eq!(version.major, "1");
    assert!(version.git_version.starts_with("v1."), "{}", version.git_version);
    Ok(())
}

#[tokio::test]
async fn objects_of_a_deleted_owner_are_collected() -> Result<()> {
    let test = namespace(&ControlPlane::shared().await?.client().await?).await?;
    let api: Api<ConfigMap> = test.api();
    let owner = config_map(&json!({"metadata": {"name": "owner"}}));
    let owner = api.create(&PostParams::default(), &owner).await?;
    let dependent = config_map(&json!({"metadata": {"name": "owned", "ownerReferences": [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner.uid()},
    ]}}));
    api.create(&PostParams::default(), &dependent).await?;
    api.delete("owner", &DeleteParams::default()).await?;
    gone(&api, "owned").await
}

#[tokio::test]
async fn a_deleted_namespace_is_removed() -> Result<()> {
    let test = namespace(&ControlPlane::shared().await?.client().await?).await?;
    let content = config_map(&json!({"metadata": {"name": "content"}}));
    test.api::<ConfigMap>().create(&PostParams::default(), &content).await?;
    test.delete().await?;
    gone(&Api::<Namespace>::all(test.client.clone()), &test.name).await
}

async fn with_service_account(control_plane: &ControlPlane, admin: &Client, name: &str) -> Result<Client> {
    let documents = manifests::parse(
        "test",
        &format!(
            "apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {{name: {name}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {name}}}
subjects: [{{kind: ServiceAccount, name: {name}, namespace: kraken-system}}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {{name: {name}}}
rules: [{{apiGroups: [''], resources: [configmaps], verbs: [get, create]}}]
---
apiVersion: v1
kind: ServiceAccount
metadata: {{name: {name}}}
---
apiVersion: v1
kind: Namespace
metadata: {{name: kraken-system}}
"
        ),
    )?;
    // The namespace comes last in the file and must still be applied first.
    manifests::apply(admin, &documents, "kraken-system").await?;
    control_plane.client_for_service_account("kraken-system", name).await
}

#[tokio::test]
async fn a_service_account_has_its_own_rights_and_no_more() -> Result<()> {
    let control_plane = ControlPlane::shared().await?;
    let admin = control_plane.client().await?;
    let client = with_service_account(control_plane, &admin, "limited").await?;
    let test = namespace(&admin).await?;
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), &test.name);
    maps.create(&PostParams::default(), &config_map(&json!({"metadata": {"name": "mine"}}))).await?;
    let refused = maps.delete("mine", &DeleteParams::default()).await;
    assert!(matches!(refused, Err(kube::Error::Api(status)) if status.is_forbidden()));
    let missing = control_plane.kubeconfig_for_service_account("kraken-system", "nobody").await;
    assert!(missing.is_err());
    Api::<ServiceAccount>::namespaced(admin, "kraken-system").get("limited").await?;
    Ok(())
}

#[tokio::test]
async fn the_audit_log_names_who_wrote_what() -> Result<()> {
    let started = Instant::now();
    let control_plane =
        ControlPlane::start_with(ControlPlaneOptions { audit: true, ..ControlPlaneOptions::default() })
            .await?;
    eprintln!("started in {:?}", started.elapsed());
    let admin = control_plane.client().await?;
    let client = with_service_account(&control_plane, &admin, "writer").await?;
    let maps: Api<ConfigMap> = Api::namespaced(client, "default");
    maps.create(&PostParams::default(), &config_map(&json!({"metadata": {"name": "noted"}}))).await?;
    maps.get("noted").await?;
    let started = Instant::now();
    let writes = loop {
        let writes = control_plane.writes()?;
        if !writes.is_empty() || started.elapsed() > Duration::from_secs(5) {
            break writes;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    let write = writes.first().context("one write")?;
    assert_eq!(writes.len(), 1, "reads and the admin's writes are not in it: {writes:?}");
    assert_eq!((write.controller.as_str(), write.verb.as_str(), write.code), ("writer", "create", 201));
    assert_eq!((write.resource.as_str(), write.name.as_str()), ("configmaps", "noted"));
    let started = Instant::now();
    drop(control_plane);
    eprintln!("stopped in {:?}", started.elapsed());
    Ok(())
}

#[tokio::test]
async fn a_crd_and_its_objects_come_from_one_file() -> Result<()> {
    let client = ControlPlane::shared().await?.client().await?;
    let test = namespace(&client).await?;
    let squids = "
apiVersion: test.kraken/v1
kind: Squid
metadata: {name: a}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: squids.test.kraken}
spec:
  group: test.kraken
  names: {kind: Squid, plural: squids}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {arms: {type: integer}}}}}}
";
    let documents = manifests::parse("squids.yaml", squids)?;
    let applied = manifests::apply(&client, &documents, &test.name).await?;
    assert_eq!(applied.len(), 2);
    let squid = documents.first().context("the squid")?;
    let api = manifests::api(&client, squid, &test.name).await?;
    assert_eq!(api.get("a").await?.namespace().as_deref(), Some(test.name.as_str()));

    let wrong = "apiVersion: test.kraken/v1\nkind: Squid\nmetadata: {name: b}\nspec: {arms: many}\n";
    let wrong = manifests::parse("wrong.yaml", wrong)?;
    let error = manifests::apply(&client, &wrong, &test.name).await.err().context("must be rejected")?;
    assert!(error.to_string().contains("wrong.yaml, document 1"), "{error:#}");

    let unknown =
        manifests::parse("u.yaml", "apiVersion: test.kraken/v1\nkind: Whale\nmetadata: {name: c}\n")?;
    let error = manifests::apply(&client, &unknown, &test.name).await.err().context("must be rejected")?;
    assert!(error.to_string().contains("is its CRD installed?"), "{error:#}");

    manifests::delete(&client, &documents, &test.name).await?;
    gone(&api, "a").await.or_else(|error| if error.to_string().contains("404") { Ok(()) } else { Err(error) })
}

#[tokio::test]
async fn the_content_of_etcd_is_read_without_secrets_and_from_a_revision() -> Result<()> {
    let control_plane = ControlPlane::shared().await?;
    let test = namespace(&control_plane.client().await?).await?;
    let mark = format!("value-of-{}", test.name);
    let key = |plural: &str| format!("/registry/{plural}/{}/one", test.name);
    let found = async |since: u64| -> Result<(Vec<String>, u64)> {
        let mut keys = vec![];
        let next = control_plane.stored(since, |key, value| {
            if value.windows(mark.len()).any(|part| part == mark.as_bytes()) {
                keys.push(key.to_owned());
            }
        });
        let next = next.await?;
        Ok((keys, next))
    };
    let map = json!({"metadata": {"name": "one"}, "data": {"a": mark}});
    test.api::<ConfigMap>().create(&PostParams::default(), &config_map(&map)).await?;
    let secret = serde_json::from_value(json!({"metadata": {"name": "one"}, "stringData": {"a": mark}}))?;
    test.api::<Secret>().create(&PostParams::default(), &secret).await?;
    let (keys, next) = found(0).await?;
    assert_eq!(keys, [key("configmaps")]);
    assert_eq!(found(next).await?.0, [""; 0]);
    // More than one page of other objects, which sort before it.
    for number in 0..250 {
        let other = config_map(&json!({"metadata": {"name": format!("n-{number}")}}));
        test.api::<ConfigMap>().create(&PostParams::default(), &other).await?;
    }
    let changed = json!({"metadata": {"name": "one"}, "data": {"a": mark, "b": "c"}});
    test.api::<ConfigMap>().replace("one", &PostParams::default(), &config_map(&changed)).await?;
    assert_eq!(found(next).await?.0, [key("configmaps")]);
    Ok(())
}
