//! An object as the API server sent it: its metadata decoded, the rest as JSON text. A resource at rest takes about a tenth
//! of the memory of its decoded form, most of whose fields are absent options.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{OwnerReference, Time};
#[cfg(doc)]
use kube::Resource;
use kube::api::ObjectMeta;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// The annotation in which `kubectl apply` keeps the whole object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// An object of any kind. It decodes from JSON text only.
#[derive(Clone, Debug, Deserialize)]
pub struct RawObject {
    /// Its metadata, without `managedFields` and without what `kubectl apply` keeps in an annotation: neither is used, and
    /// together they are larger than most objects.
    #[serde(default, deserialize_with = "metadata")]
    pub metadata: ObjectMeta,
    /// Its spec, if it has one.
    pub spec: Option<Box<RawValue>>,
    /// Its status, if it has one.
    pub status: Option<Box<RawValue>>,
}

/// The fields of the metadata that are read. `managedFields` is skipped without being built.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    annotations: Option<BTreeMap<String, String>>,
    creation_timestamp: Option<Time>,
    deletion_timestamp: Option<Time>,
    finalizers: Option<Vec<String>>,
    generation: Option<i64>,
    labels: Option<BTreeMap<String, String>>,
    name: Option<String>,
    namespace: Option<String>,
    owner_references: Option<Vec<OwnerReference>>,
    resource_version: Option<String>,
    uid: Option<String>,
}

fn metadata<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ObjectMeta, D::Error> {
    let meta = Metadata::deserialize(deserializer)?;
    let annotations = meta.annotations.map(|mut annotations| {
        annotations.remove(LAST_APPLIED);
        annotations
    });
    Ok(ObjectMeta {
        annotations: annotations.filter(|annotations| !annotations.is_empty()),
        creation_timestamp: meta.creation_timestamp,
        deletion_timestamp: meta.deletion_timestamp,
        finalizers: meta.finalizers,
        generation: meta.generation,
        labels: meta.labels,
        name: meta.name,
        namespace: meta.namespace,
        owner_references: meta.owner_references,
        resource_version: meta.resource_version,
        uid: meta.uid,
        ..ObjectMeta::default()
    })
}

impl RawObject {
    /// Decodes the spec or the status; an absent one as `null`.
    ///
    /// # Errors
    /// What does not fit, and where.
    pub fn decode<'a, T: Deserialize<'a>>(member: Option<&'a RawValue>) -> Result<T, serde_json::Error> {
        serde_json::from_str(member.map_or("null", RawValue::get))
    }
}

/// Implements [`Resource`] for a type whose kind is known only at run time, and whose metadata is its field `metadata`.
#[macro_export]
macro_rules! dynamic_resource {
    ($object:ty) => {
        impl ::kube::Resource for $object {
            type DynamicType = ::kube::core::ApiResource;
            type Scope = ::kube::core::DynamicResourceScope;

            fn kind(resource: &::kube::core::ApiResource) -> ::std::borrow::Cow<'_, str> {
                resource.kind.as_str().into()
            }

            fn group(resource: &::kube::core::ApiResource) -> ::std::borrow::Cow<'_, str> {
                resource.group.as_str().into()
            }

            fn version(resource: &::kube::core::ApiResource) -> ::std::borrow::Cow<'_, str> {
                resource.version.as_str().into()
            }

            fn plural(resource: &::kube::core::ApiResource) -> ::std::borrow::Cow<'_, str> {
                resource.plural.as_str().into()
            }

            fn meta(&self) -> &::kube::api::ObjectMeta {
                &self.metadata
            }

            fn meta_mut(&mut self) -> &mut ::kube::api::ObjectMeta {
                &mut self.metadata
            }
        }
    };
}

dynamic_resource!(RawObject);

#[cfg(test)]
mod tests {
    use kube::core::WatchEvent;
    use serde_json::{Value, json};

    use super::*;

    fn text() -> String {
        let object = json!({
            "apiVersion": "example.com/v1", "kind": "Disk",
            "metadata": {
                "name": "a", "namespace": "n", "uid": "u", "resourceVersion": "7", "generation": 2,
                "annotations": {LAST_APPLIED: "{}", "team": "storage"}, "labels": {"app": "db"}, "finalizers": ["f"],
                "managedFields": [{"manager": "kubectl", "operation": "Apply", "fieldsV1": {"f:spec": {}}}],
            },
            "spec": {"size": 5}, "status": {"ready": true},
        });
        object.to_string()
    }

    #[test]
    fn an_object_keeps_its_spec_and_status_as_text() {
        let object: RawObject = serde_json::from_str(&text()).unwrap();
        assert_eq!(object.spec.as_ref().unwrap().get(), r#"{"size":5}"#);
        let status: Value = RawObject::decode(object.status.as_deref()).unwrap();
        assert_eq!(status, json!({"ready": true}));
        let meta = object.metadata;
        assert_eq!(meta.annotations.unwrap().into_keys().collect::<Vec<_>>(), ["team"]);
        assert_eq!((meta.managed_fields, meta.generation), (None, Some(2)));
        assert_eq!((meta.labels.unwrap().len(), meta.finalizers.unwrap()), (1, vec!["f".to_owned()]));
    }

    #[test]
    fn an_object_decodes_from_the_events_of_a_watch() {
        let event = format!(r#"{{"type":"MODIFIED","object":{}}}"#, text());
        let WatchEvent::Modified(object) = serde_json::from_str::<WatchEvent<RawObject>>(&event).unwrap()
        else {
            panic!("another event");
        };
        assert_eq!(object.metadata.name.as_deref(), Some("a"));
    }

    #[test]
    fn an_absent_spec_and_a_null_one_are_the_same() {
        for text in [r#"{"metadata":{}}"#, r#"{"metadata":{},"spec":null}"#] {
            let object: RawObject = serde_json::from_str(text).unwrap();
            assert!(
                object.spec.is_none()
                    && RawObject::decode::<Value>(object.status.as_deref()).unwrap().is_null()
            );
        }
    }
}
