//! Objects that may not decode, so that one of them does not end a watch.

use std::borrow::Cow;

use kube::{Resource, api::ObjectMeta, core::DeserializeGuard};
use serde::{Deserialize, Deserializer, de::DeserializeOwned, de::Error as _};
use serde_json::value::RawValue;

/// As kube's guard, which converts every object into a generic form first, and clones that: here this is done only with an
/// object that does not decode. It decodes from JSON text only.
#[derive(Clone, Debug)]
pub(super) struct Guarded<K>(pub(super) DeserializeGuard<K>);

impl<'de, K: Resource + DeserializeOwned> Deserialize<'de> for Guarded<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(deserializer)?;
        let guard = match serde_json::from_str(text.get()) {
            Ok(object) => DeserializeGuard(Ok(object)),
            // Again, for its metadata and for an error without a position in the text.
            Err(_) => serde_json::from_str(text.get()).map_err(D::Error::custom)?,
        };
        Ok(Self(guard))
    }
}

impl<K: Resource> Resource for Guarded<K> {
    type DynamicType = K::DynamicType;
    type Scope = K::Scope;

    fn kind(dynamic: &K::DynamicType) -> Cow<'_, str> {
        K::kind(dynamic)
    }

    fn group(dynamic: &K::DynamicType) -> Cow<'_, str> {
        K::group(dynamic)
    }

    fn version(dynamic: &K::DynamicType) -> Cow<'_, str> {
        K::version(dynamic)
    }

    fn plural(dynamic: &K::DynamicType) -> Cow<'_, str> {
        K::plural(dynamic)
    }

    fn meta(&self) -> &ObjectMeta {
        self.0.meta()
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        self.0.meta_mut()
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::core::WatchEvent;

    use super::*;

    fn event(data: &str) -> DeserializeGuard<ConfigMap> {
        let object = format!(r#"{{"metadata":{{"name":"a","resourceVersion":"7"}},"data":{data}}}"#);
        let event = format!(r#"{{"type":"ADDED","object":{object}}}"#);
        match serde_json::from_str::<WatchEvent<Guarded<ConfigMap>>>(&event).unwrap() {
            WatchEvent::Added(Guarded(guard)) => guard,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_object_decodes() {
        let object = event(r#"{"b":"c"}"#).0.unwrap();
        assert_eq!(object.metadata.resource_version.as_deref(), Some("7"));
        assert_eq!(object.data.unwrap()["b"], "c");
    }

    #[test]
    fn an_object_that_does_not_decode_has_its_metadata_and_an_error_without_a_position() {
        let guard = event(r#"["b"]"#);
        assert_eq!(guard.meta().name.as_deref(), Some("a"));
        let error = guard.0.unwrap_err().error;
        let error = error.to_lowercase();
        assert!(error.contains("expected a map") && !error.contains("line"), "{error}");
    }
}
