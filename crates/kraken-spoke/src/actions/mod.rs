//! Single actions that several steps use, each with one purpose and at most one side effect.

pub(crate) mod compare;
pub(crate) mod event; // client required
pub(crate) mod location; // client required
pub(crate) mod operate; // client required
pub(crate) mod persist; // client required
pub(crate) mod references; // client required
pub(crate) mod release; // client required
pub(crate) mod retag;
pub(crate) mod states; // client required
pub(crate) mod unprotect; // client required

use std::fmt::Debug;

use kraken_runtime::patch::{ApiError, json_patch, within};
use kube::{
    Api, Resource,
    api::{DeleteParams, Preconditions},
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Deletes this object, if it exists, and no later one of its name.
async fn delete<K: Clone + DeserializeOwned + Debug>(
    api: &Api<K>,
    verb: &'static str,
    object: &impl Resource,
) -> Result<(), ApiError> {
    let preconditions = Preconditions { uid: object.meta().uid.clone(), resource_version: None };
    let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
    match within(verb, api.delete(object.meta().name.as_deref().unwrap_or_default(), &params)).await {
        Err(error) if !error.is_not_found() => Err(error),
        _ => Ok(()),
    }
}

/// Removes a finalizer. Fails if the object is another one of the same name, or if its finalizers changed meanwhile, or another of its
/// `fields`, given with their paths.
pub(crate) async fn remove_finalizer<K: Clone + DeserializeOwned + Debug>(
    api: &Api<K>,
    manager: &str,
    object: &impl Resource,
    finalizer: &str,
    fields: &[(&str, Value)],
) -> Result<(), ApiError> {
    let (meta, before) = (object.meta(), object.meta().finalizers.as_deref().unwrap_or_default());
    let after: Vec<&String> = before.iter().filter(|other| *other != finalizer).collect();
    let mut operations = vec![json!({"op": "test", "path": "/metadata/uid", "value": meta.uid})];
    operations.extend(fields.iter().map(|(path, value)| json!({"op": "test", "path": path, "value": value})));
    operations.push(json!({"op": "test", "path": "/metadata/finalizers", "value": before}));
    operations.push(json!({"op": "replace", "path": "/metadata/finalizers", "value": after}));
    json_patch(api, manager, meta.name.as_deref().unwrap_or_default(), operations.into()).await.map(drop)
}
