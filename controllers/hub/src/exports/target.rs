//! The differences between ConfigMaps and Secrets as targets.

use std::{collections::BTreeMap, fmt::Debug};

use k8s_openapi::{
    ByteString, NamespaceResourceScope,
    api::core::v1::{ConfigMap, Secret},
};
use kube::{Resource, api::ObjectMeta};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::exports::{
    decide::{map_matches, secret_matches},
    resolve::Content,
};

/// The default type of a Secret.
pub(crate) const OPAQUE: &str = "Opaque";

/// The operations that depend on the kind of the target.
pub(crate) trait Target:
    Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Serialize + DeserializeOwned + Debug
{
    /// Whether it has exactly this content.
    fn matches(&self, content: &Content) -> bool;
    /// Whether it has this type, if it is a Secret.
    fn is_of(&self, secret_type: &str) -> bool;
    /// Whether it is immutable.
    fn immutable(&self) -> Option<bool>;
    /// A new target; `immutable`: whether its content can never be changed.
    fn new(metadata: ObjectMeta, secret_type: &str, content: &Content, immutable: bool) -> Self;
    /// The operations that set this content.
    fn changes(content: &Content) -> Vec<Value>;
}

impl Target for ConfigMap {
    fn matches(&self, content: &Content) -> bool {
        map_matches(self, content)
    }

    fn is_of(&self, _: &str) -> bool {
        true
    }

    fn immutable(&self) -> Option<bool> {
        self.immutable
    }

    fn new(metadata: ObjectMeta, _: &str, content: &Content, immutable: bool) -> Self {
        let immutable = immutable.then_some(true);
        Self { metadata, data: Some(texts(content)), immutable, ..Self::default() }
    }

    fn changes(content: &Content) -> Vec<Value> {
        vec![
            json!({"op": "add", "path": "/data", "value": texts(content)}),
            // `add` replaces an existing value; `remove` of a missing field would be rejected.
            json!({"op": "add", "path": "/binaryData", "value": {}}),
        ]
    }
}

impl Target for Secret {
    fn matches(&self, content: &Content) -> bool {
        secret_matches(self, content)
    }

    fn is_of(&self, secret_type: &str) -> bool {
        self.type_.as_deref().unwrap_or(OPAQUE) == secret_type
    }

    fn immutable(&self) -> Option<bool> {
        self.immutable
    }

    fn new(metadata: ObjectMeta, secret_type: &str, content: &Content, immutable: bool) -> Self {
        let (data, type_) = (Some(bytes(content)), Some(secret_type.to_owned()));
        Self { metadata, data, type_, immutable: immutable.then_some(true), ..Self::default() }
    }

    fn changes(content: &Content) -> Vec<Value> {
        vec![json!({"op": "add", "path": "/data", "value": bytes(content)})]
    }
}

fn texts(content: &Content) -> BTreeMap<String, String> {
    content.0.iter().map(|(key, value)| (key.clone(), value.expose().0.clone())).collect()
}

fn bytes(content: &Content) -> BTreeMap<String, ByteString> {
    content
        .0
        .iter()
        .map(|(key, value)| (key.clone(), ByteString(value.expose().0.clone().into_bytes())))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_has_one_type() {
        let of =
            |secret_type: Option<&str>| Secret { type_: secret_type.map(str::to_owned), ..Secret::default() };
        assert!(of(None).is_of(OPAQUE) && of(Some(OPAQUE)).is_of(OPAQUE));
        assert!(!of(Some("kubernetes.io/tls")).is_of(OPAQUE));
        assert!(ConfigMap::default().is_of(OPAQUE));
    }
}
