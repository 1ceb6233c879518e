//! `kubectl kraken local export`: everything as YAML with which a cluster takes over what exists in the cloud.

use std::{collections::BTreeSet, process::ExitCode};

use anyhow::{Context as _, Result};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kraken_api::DOMAIN;
use kube::{
    Api, ResourceExt,
    api::{DynamicObject, ListParams, TypeMeta},
};
use serde_json::{Map, Value, json};

use crate::{
    cluster::Cluster,
    commands::plan::LAST_APPLIED,
    failure::explain,
    print::{clean, out},
};

/// Namespaces of Kubernetes and of the controllers.
const NOT_OF_USERS: [&str; 4] = ["kube-system", "kube-public", "kube-node-lease", "kraken-system"];
/// Kinds whose objects are owned by their name, which the provider cannot change: their controllers accept no adoption.
const NOT_ADOPTED: [&str; 1] = ["ScalingPolicy"];

/// Writes the YAML to standard output, and what it lacks to standard error.
pub(super) async fn run(cluster: &Cluster) -> Result<ExitCode> {
    let listed = cluster.resources().await?;
    let params = ListParams::default();
    let failed = |what: &'static str| move |error| explain(error, what, &cluster.server);
    let maps: Api<ConfigMap> = Api::all(cluster.client.clone());
    let secrets: Api<Secret> = Api::all(cluster.client.clone());
    let mut maps = maps.list(&params).await.map_err(failed("list ConfigMaps"))?.items;
    // Only their names are read.
    let secrets = secrets.list_metadata(&params).await.map_err(failed("list Secrets"))?.items;

    let mut shared = without_state(cluster).await?;
    shared.retain(is_of_user);

    let (mut documents, mut notes) = (vec![], vec![]);
    let mut objects = listed.objects;
    objects.retain(is_of_user);
    objects.sort_by_key(|object| {
        (object.namespace(), object.types.as_ref().map(|types| types.kind.clone()), object.name_any())
    });
    maps.retain(|map| is_of_user(map) && map.name_any() != "kube-root-ca.crt");
    let used = objects
        .iter()
        .chain(&shared)
        .filter_map(ResourceExt::namespace)
        .chain(maps.iter().filter_map(ResourceExt::namespace));
    let used: BTreeSet<String> = used.filter(|namespace| namespace != "default").collect();
    let namespaces: Api<Namespace> = Api::all(cluster.client.clone());
    for namespace in namespaces.list(&params).await.map_err(failed("list namespaces"))?.items {
        if used.contains(&namespace.name_any()) {
            documents
                .push(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata(&namespace)}));
        }
    }
    documents.extend(maps.iter().map(config_map));
    // Before the resources that use them.
    documents.extend(shared.iter().map(as_it_is));
    for object in objects {
        let (document, note) = resource(&object);
        documents.push(document);
        notes.extend(note);
    }
    for secret in secrets.iter().filter(|secret| is_of_user(*secret)) {
        notes.push(format!(
            "Secret {}/{} is not written, because its values would be in clear: create it in the cluster first",
            secret.namespace().unwrap_or_default(),
            secret.name_any()
        ));
    }
    out(&yaml(&documents)?)?;
    for note in &notes {
        eprintln!("{}", clean(note));
    }
    eprintln!(
        "To move, while nothing changes: 1. release the remote objects, which stay in the cloud: set lifecycle.deletion of each resource to Retain (and \
         lifecycle.protect to false), and delete it here.\n\
         2. kubectl apply the file in the cluster. Each resource takes over its object, and deletes it with itself as before.\n\
         3. kubectl kraken local down"
    );
    Ok(ExitCode::SUCCESS)
}

/// The ReferenceGrants and the static states, sorted.
async fn without_state(cluster: &Cluster) -> Result<Vec<DynamicObject>> {
    let mut found = vec![];
    for resource in cluster.kinds.all_without_state() {
        let api: Api<DynamicObject> = Api::all_with(cluster.client.clone(), resource);
        let listed = api.list(&ListParams::default()).await;
        let doing = format!("list {}.{}", resource.plural, resource.group);
        let listed = listed.map_err(|error| explain(error, &doing, &cluster.server))?;
        found.extend(listed.items.into_iter().filter_map(|mut object| {
            let name = object.name_any();
            cluster.kinds.without_state(&resource.group, &resource.kind, &name)?;
            object.types =
                Some(TypeMeta { api_version: resource.api_version.clone(), kind: resource.kind.clone() });
            Some(object)
        }));
    }
    found.sort_by_key(|object| {
        (object.namespace(), object.types.as_ref().map(|types| types.kind.clone()), object.name_any())
    });
    Ok(found)
}

/// An object without anything in the cloud. Pure.
fn as_it_is(object: &DynamicObject) -> Value {
    let types = object.types.clone().unwrap_or_default();
    json!({"apiVersion": types.api_version, "kind": types.kind, "metadata": metadata(object), "spec": object.data["spec"]})
}

/// What a controller owns, or Kubernetes and the controllers need for themselves, is made again. What is being deleted is not revived.
fn is_of_user<O: ResourceExt>(object: &O) -> bool {
    object.owner_references().is_empty()
        && object.meta().deletion_timestamp.is_none()
        && object.namespace().is_none_or(|namespace| !NOT_OF_USERS.contains(&namespace.as_str()))
}

/// A resource as it would be written in the other cluster, and what is lost on the way. Pure.
fn resource(object: &DynamicObject) -> (Value, Option<String>) {
    let types = object.types.clone().unwrap_or_default();
    let mut spec = object.data["spec"].clone();
    let ids: Vec<&str> = object.data["status"]["externalIds"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let note = match ids[..] {
        [] if types.kind == "Account" || types.kind == "ConfigExport" || types.kind.ends_with("Lookup") => {
            None
        }
        [] => Some(format!(
            "{}/{} in {} has no remote object yet: wait until it is ready and export again, or the cluster may find one that it does not take over",
            types.kind,
            object.name_any(),
            object.namespace().unwrap_or_default()
        )),
        [_] if NOT_ADOPTED.contains(&types.kind.as_str()) => Some(format!(
            "{}/{} in {} cannot be kept: it is deleted here in step 1, and created again in the cluster",
            types.kind,
            object.name_any(),
            object.namespace().unwrap_or_default()
        )),
        [id] => {
            if !spec["lifecycle"].is_object() {
                spec["lifecycle"] = json!({});
            }
            let lifecycle = &mut spec["lifecycle"];
            lifecycle["adopt"] = json!({"id": id});
            let was_adopted =
                object.data["status"]["adopted"].as_array().is_some_and(|all| all.contains(&json!(id)));
            // What is adopted is kept by default, and this object was not.
            if !was_adopted && lifecycle["deletion"].is_null() {
                lifecycle["deletion"] = "Delete".into();
            }
            None
        }
        _ => Some(format!(
            "{}/{} in {} has {} remote objects ({}), and a resource can take over only one: see docs/howto/import.md",
            types.kind,
            object.name_any(),
            object.namespace().unwrap_or_default(),
            ids.len(),
            ids.join(", ")
        )),
    };
    let document = json!({"apiVersion": types.api_version, "kind": types.kind, "metadata": metadata(object), "spec": spec});
    (document, note)
}

fn config_map(map: &ConfigMap) -> Value {
    let mut document = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata(map)});
    document["data"] = json!(map.data.clone().unwrap_or_default());
    if map.immutable == Some(true) {
        document["immutable"] = true.into();
    }
    if let Some(binary) = &map.binary_data {
        document["binaryData"] = json!(binary);
    }
    document
}

/// Name, namespace, labels and annotations, without those that Kraken and kubectl write.
fn metadata<O: ResourceExt>(object: &O) -> Value {
    let is_own = |key: &str| key.split('/').next().is_some_and(|domain| domain.ends_with(DOMAIN));
    let kept = |all: &std::collections::BTreeMap<String, String>| -> Map<String, Value> {
        let kept = all.iter().filter(|(key, _)| !is_own(key) && *key != LAST_APPLIED);
        kept.map(|(key, value)| (key.clone(), value.as_str().into())).collect()
    };
    let mut metadata = json!({"name": object.name_any()});
    if let Some(namespace) = object.namespace() {
        metadata["namespace"] = namespace.into();
    }
    for (name, kept) in [("labels", kept(object.labels())), ("annotations", kept(object.annotations()))] {
        if !kept.is_empty() {
            metadata[name] = kept.into();
        }
    }
    metadata
}

fn yaml(documents: &[Value]) -> Result<String> {
    let mut text = "# Exported by kubectl kraken local. Each resource takes over the object that exists (lifecycle.adopt).\n".to_owned();
    for document in documents {
        text += "---\n";
        text += serde_saphyr::to_string(document).context("an object cannot be written as YAML")?.trim_end();
        text += "\n";
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vpc(lifecycle: Value, status: Value) -> DynamicObject {
        serde_json::from_value(json!({
            "apiVersion": "aws.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "VPC",
            "metadata": {"name": "main", "namespace": "shop", "uid": "u", "finalizers": ["x"], "labels": {"app": "shop"},
                "annotations": {LAST_APPLIED: "{}", "kraken-iac.eoinfennessy.com/intent": "{}", "team": "net"}},
            "spec": {"cidrBlock": {"value": "10.0.0.0/16"}, "lifecycle": lifecycle}, "status": status,
        }))
        .unwrap()
    }

    #[test]
    fn a_resource_takes_over_its_object_and_is_deleted_as_before() {
        let (document, note) = resource(&vpc(json!(null), json!({"externalIds": ["vpc-1"]})));
        assert_eq!(document["spec"]["lifecycle"], json!({"adopt": {"id": "vpc-1"}, "deletion": "Delete"}));
        assert_eq!(
            document["metadata"],
            json!({"name": "main", "namespace": "shop", "labels": {"app": "shop"}, "annotations": {"team": "net"}})
        );
        assert!(note.is_none() && document.get("status").is_none());
        let retained = vpc(json!({"deletion": "Retain", "protect": true}), json!({"externalIds": ["vpc-1"]}));
        let lifecycle = json!({"deletion": "Retain", "protect": true, "adopt": {"id": "vpc-1"}});
        assert_eq!(resource(&retained).0["spec"]["lifecycle"], lifecycle);
        let adopted = vpc(json!({}), json!({"externalIds": ["vpc-1"], "adopted": ["vpc-1"]}));
        assert_eq!(resource(&adopted).0["spec"]["lifecycle"], json!({"adopt": {"id": "vpc-1"}}));
    }

    #[test]
    fn what_cannot_be_taken_over_is_said() {
        let (document, note) = resource(&vpc(json!(null), json!({"externalIds": ["i-1", "i-2"]})));
        assert!(document["spec"]["lifecycle"].is_null());
        assert!(note.unwrap().contains("VPC/main in shop has 2 remote objects (i-1, i-2)"));
        assert!(resource(&vpc(json!(null), json!({}))).1.unwrap().contains("no remote object yet"));
        let mut policy = vpc(json!(null), json!({"externalIds": ["arn:1"]}));
        policy.types = Some(kube::api::TypeMeta {
            kind: "ScalingPolicy".to_owned(),
            ..policy.types.unwrap_or_default()
        });
        let (document, note) = resource(&policy);
        assert!(document["spec"]["lifecycle"].is_null(), "its controller would reject the adoption");
        assert!(note.unwrap().contains("ScalingPolicy/main in shop cannot be kept"));
        let mut deleted = vpc(json!(null), json!({"externalIds": ["vpc-1"]}));
        assert!(is_of_user(&deleted));
        deleted.metadata.deletion_timestamp =
            Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(jiff::Timestamp::UNIX_EPOCH));
        assert!(!is_of_user(&deleted));
    }

    #[test]
    fn a_static_state_is_written_as_it_is() {
        let state = serde_json::from_value(json!({
            "apiVersion": "core.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "StateDeclaration",
            "metadata": {"name": "static-shared", "namespace": "shop", "uid": "u", "managedFields": []},
            "spec": {"id": "vpc-1", "data": {"cidr": "10.0.0.0/16"}},
        }))
        .unwrap();
        let expected = json!({
            "apiVersion": "core.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "StateDeclaration",
            "metadata": {"name": "static-shared", "namespace": "shop"},
            "spec": {"id": "vpc-1", "data": {"cidr": "10.0.0.0/16"}},
        });
        assert!(is_of_user(&state));
        assert_eq!(as_it_is(&state), expected);
    }

    #[test]
    fn documents_are_yaml_that_can_be_read_again() {
        let document = json!({"kind": "ConfigMap", "data": {"a": "line\nline", "b": "true", "c": "{{x}}"}});
        let text = yaml(std::slice::from_ref(&document)).unwrap();
        let read: Vec<Value> = serde_saphyr::from_multiple(&text).unwrap();
        assert_eq!(read.last(), Some(&document));
    }
}
