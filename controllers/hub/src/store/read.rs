//! Reads the bodies of referenced objects. Client required.

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::{
    ByteString,
    api::core::v1::{ConfigMap, Secret},
};
use kraken_api::{StateDeclaration, StateDeclarationSpec};
use kraken_options::{Dependency, KeyRef, SecretData, SecretString};
use kraken_runtime::patch::{ApiError, within};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{GetParams, ObjectMeta},
    core::Request,
};
use serde_json::Value;

use crate::{
    store::digest_key::{DigestKey, Key},
    store::index::{Class, ObjectRef},
    store::lookup::{ConfigMapData, Lookup, Read, ReadError, StateData},
    store::secrets::SecretDigests,
    store::trust,
};

/// Reads bodies. Clones share the same state.
#[derive(Clone, Debug)]
pub(crate) struct Reader {
    client: kraken_runtime::watch::KubeClient,
    /// The digests that detect changed values of Secrets.
    digests: Arc<SecretDigests>,
    /// The key of the digests that are public.
    key: Arc<DigestKey>,
}

impl Reader {
    /// Uses this client; `namespace` is the one of the hub.
    pub(crate) fn new(client: Client, digests: Arc<SecretDigests>, namespace: &str) -> Self {
        let key = Arc::new(DigestKey::new(Api::namespaced(client.clone(), namespace)));
        Self { client: kraken_runtime::watch::KubeClient(client), digests, key }
    }

    /// The body of a ConfigMap or a state, or the versions of a Secret's values.
    ///
    /// # Errors
    /// If the request fails; a deleted or invalid object is a result and not an error.
    pub(crate) async fn body(self, named: ObjectRef) -> Result<Read, ReadError> {
        match named.class {
            Class::ConfigMap => self.config_map(&named).await,
            Class::State => self.state(&named).await,
            Class::Secret => self.secret_versions(&named).await,
        }
    }

    /// Only digests of the values are kept.
    async fn secret_versions(&self, named: &ObjectRef) -> Result<Read, ReadError> {
        let key = self.key.get().await;
        let key = key.map_err(|source| ReadError::Object { named: named.to_string(), source })?;
        let found = self.secret_body(named).await?;
        Ok(found.map_or(Read { version: None, lookup: Lookup::Missing }, |secret| {
            let version = secret.resource_version();
            let (uid, data) = (secret.uid().unwrap_or_default(), secret.data.unwrap_or_default());
            let versions = self.digests.note(named, uid, version.as_deref().unwrap_or_default(), &data, key);
            Read { version, lookup: Lookup::Secret(versions) }
        }))
    }

    async fn secret_body(&self, named: &ObjectRef) -> Result<Option<Secret>, ReadError> {
        let api: Api<Secret> = Api::namespaced(self.client.0.clone(), &named.key.namespace);
        let found = within("read", api.get_opt(&named.key.name)).await;
        found.map_err(|source| ReadError::Object { named: named.to_string(), source })
    }

    async fn config_map(&self, named: &ObjectRef) -> Result<Read, ReadError> {
        let api: Api<ConfigMap> = Api::namespaced(self.client.0.clone(), &named.key.namespace);
        let found = within("read", api.get_opt(&named.key.name)).await;
        let found = found.map_err(|source| ReadError::Object { named: named.to_string(), source })?;
        Ok(found.map_or(Read { version: None, lookup: Lookup::Missing }, |object| Read {
            version: object.resource_version(),
            lookup: Lookup::ConfigMap(Arc::new(ConfigMapData {
                data: object.data.unwrap_or_default(),
                binary: object.binary_data.unwrap_or_default().into_keys().collect(),
            })),
        }))
    }

    async fn state(&self, named: &ObjectRef) -> Result<Read, ReadError> {
        let gone = Read { version: None, lookup: Lookup::Missing };
        let Some(text) = self
            .state_text(named)
            .await
            .map_err(|source| ReadError::Object { named: named.to_string(), source })?
        else {
            return Ok(gone);
        };
        let (meta, state) = match parse_state(&text) {
            Ok(parsed) => parsed,
            // The version is unknown too: the result is cached under the requested one.
            Err(why) => return Ok(Read { version: None, lookup: Lookup::Unreadable(why.into()) }),
        };
        let lookup = match trust::refusal(&meta, &state) {
            None => Lookup::State(Arc::new(StateData {
                data: state.data,
                id: state.id.filter(|id| !id.is_empty()),
                withheld: state.withheld,
            })),
            Some(why) => Lookup::Untrusted(why.into()),
        };
        Ok(Read { version: meta.resource_version, lookup })
    }

    /// The response as text: JSON that serde rejects must not count as a failed request.
    async fn state_text(&self, named: &ObjectRef) -> Result<Option<String>, ApiError> {
        let url = StateDeclaration::url_path(&(), Some(&named.key.namespace));
        let request = Request::new(url).get(&named.key.name, &GetParams::default());
        let response = async {
            let request = request.map_err(kube::Error::BuildRequest)?;
            self.client.0.request_text(request).await
        };
        match within("read", response).await {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The key of digests that are public.
    ///
    /// # Errors
    /// If it can be neither read nor created now.
    pub(crate) async fn digest_key(&self) -> Result<&Key, ApiError> {
        self.key.get().await
    }

    /// The referenced keys of a Secret, and why others have no value. Nothing is cached.
    ///
    /// # Errors
    /// If the request fails.
    pub(crate) async fn secret(
        &self,
        named: &ObjectRef,
        requested: &[KeyRef],
    ) -> Result<SecretRead, ReadError> {
        Ok(secret_values(self.secret_body(named).await?.as_ref(), requested))
    }
}

/// The referenced keys of a Secret.
#[derive(Debug, Default)]
pub(crate) struct SecretRead {
    /// Its version and values, if it exists.
    pub(crate) data: Option<SecretData>,
    /// The causes of missing values.
    pub(crate) causes: BTreeMap<Dependency, String>,
}

fn secret_values(secret: Option<&Secret>, requested: &[KeyRef]) -> SecretRead {
    let mut read = SecretRead::default();
    let mut keys = BTreeMap::new();
    for key in requested {
        let found = secret.map(|secret| secret.data.as_ref().and_then(|data| data.get(&key.key)));
        let cause = match found {
            None => format!("Secret {} does not exist", key.name),
            // Its keys are visible only to those with permission to read it.
            Some(None) => format!("Secret {} has no key \"{}\"", key.name, key.key),
            Some(Some(ByteString(bytes))) => match std::str::from_utf8(bytes) {
                Ok(text) => {
                    keys.insert(key.key.clone(), SecretString::from(text));
                    continue;
                }
                Err(_) => format!("Secret {} key \"{}\" is not text (UTF-8)", key.name, key.key),
            },
        };
        read.causes.insert(Dependency::Secret(key.clone()), cause);
    }
    read.data = secret.map(|secret| {
        let version =
            format!("{}/{}", secret.uid().unwrap_or_default(), secret.resource_version().unwrap_or_default());
        SecretData { version, keys, ..SecretData::default() }
    });
    read
}

/// The metadata and the content of a StateDeclaration in a response of the API server.
pub(crate) fn parse_state(text: &str) -> Result<(ObjectMeta, StateDeclarationSpec), String> {
    // The position in the JSON text is not useful to users of YAML.
    let why =
        |error: serde_json::Error| error.to_string().split(" at line").next().unwrap_or_default().to_owned();
    let mut object: Value = serde_json::from_str(text).map_err(why)?;
    let mut take = |pointer| object.pointer_mut(pointer).map(Value::take).unwrap_or_default();
    let data = take("/spec/data");
    let id = take("/spec/id").as_str().map(str::to_owned);
    let withheld = match take("/spec/withheld") {
        Value::Null => Vec::new(),
        withheld => serde_json::from_value(withheld).map_err(why)?,
    };
    let meta = serde_json::from_value(take("/metadata")).map_err(why)?;
    Ok((meta, StateDeclarationSpec { data, id, withheld }))
}

#[cfg(test)]
mod tests {
    use kraken_options::ExposeSecret;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_state_has_data_id_and_owner() {
        let text =
            json!({"metadata": {"name": "static-a", "uid": "u"}, "spec": {"data": {"a": 1}, "id": "x-1"}});
        let (meta, state) = parse_state(&text.to_string()).unwrap();
        assert_eq!(meta.name.as_deref(), Some("static-a"));
        assert_eq!(
            state,
            StateDeclarationSpec { data: json!({"a": 1}), id: Some("x-1".into()), withheld: Vec::new() }
        );
    }

    #[test]
    fn a_state_without_data_or_id_has_none() {
        for text in [
            r#"{"metadata": {}}"#,
            r#"{"metadata": {}, "spec": {}}"#,
            r#"{"metadata": {}, "spec": {"data": null, "id": null}}"#,
        ] {
            let none = StateDeclarationSpec { data: Value::Null, id: None, withheld: Vec::new() };
            assert_eq!(parse_state(text).unwrap().1, none, "{text}");
        }
    }

    #[test]
    fn a_too_deeply_nested_state_is_reported_without_a_position() {
        let deep =
            format!(r#"{{"metadata": {{}}, "spec": {{"data": {}1{}}}}}"#, "[".repeat(200), "]".repeat(200));
        assert_eq!(parse_state(&deep).unwrap_err(), "recursion limit exceeded");
    }

    #[test]
    fn only_the_referenced_keys_of_a_secret_are_read() {
        let data = [("a", b"1".to_vec()), ("b", b"2".to_vec()), ("bin", vec![0xff])];
        let data = data.map(|(key, bytes)| (key.to_owned(), ByteString(bytes))).into();
        let mut secret = Secret { data: Some(data), ..Secret::default() };
        secret.metadata.uid = Some("u".into());
        secret.metadata.resource_version = Some("7".into());
        let key = |key: &str| KeyRef { name: "db".into(), key: key.into() };
        let read = secret_values(Some(&secret), &[key("a"), key("c"), key("bin")]);
        let found = read.data.unwrap();
        assert_eq!(found.version, "u/7");
        assert_eq!(found.keys.len(), 1);
        assert_eq!(found.keys["a"].expose_secret(), "1");
        let causes: Vec<_> = read.causes.into_values().collect();
        assert_eq!(causes, ["Secret db key \"bin\" is not text (UTF-8)", "Secret db has no key \"c\""]);
        let gone = secret_values(None, &[key("a")]);
        assert!(gone.data.is_none());
        assert_eq!(gone.causes.into_values().next().unwrap(), "Secret db does not exist");
    }
}
