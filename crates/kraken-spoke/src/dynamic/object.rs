//! A custom resource of any kind.

use std::{any::Any, borrow::Cow, fmt, sync::Arc};

use kraken_api::{HasLifecycle, Lifecycle, ResourceStatus};
use kube::{
    Resource,
    api::ObjectMeta,
    core::{ApiResource, DynamicResourceScope, object::HasStatus},
};
use serde::Serialize;
use serde_json::Value;

/// The spec of a custom resource. Every serialisable type with a lifecycle is one.
pub trait Spec: Any + fmt::Debug + Send + Sync {
    /// How it is managed.
    fn lifecycle(&self) -> &Lifecycle;
    /// All of it, with the defaults that decoding filled in.
    fn json(&self) -> Value;
}

impl<T: HasLifecycle + Serialize + fmt::Debug + Send + Sync + 'static> Spec for T {
    fn lifecycle(&self) -> &Lifecycle {
        HasLifecycle::lifecycle(self)
    }

    fn json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// A custom resource: metadata and status as every kind has them, and a spec of which the loop knows the lifecycle.
#[derive(Clone, Debug)]
pub struct Object {
    /// Its metadata.
    pub metadata: ObjectMeta,
    /// Its status, if it has one yet.
    pub status: Option<ResourceStatus>,
    spec: Arc<dyn Spec>,
    /// The account that `spec.account` names.
    account: Option<Arc<str>>,
}

/// The account that the JSON of an object names. The schema of every kind with accounts has it, and no kind reads it.
///
/// # Errors
/// If it is there and is not a name: the object must not be taken for one of another account.
pub(crate) fn account_of(object: &Value) -> Result<Option<Arc<str>>, String> {
    match &object["spec"]["account"] {
        Value::Null => Ok(None),
        account => match account["name"].as_str() {
            Some(name) if !name.is_empty() => Ok(Some(name.into())),
            _ => Err("spec.account must be {name: NAME} of an Account in this namespace".to_owned()),
        },
    }
}

/// The metadata of an object that does not decode as its kind, and why it does not.
pub type Undecoded = (Box<ObjectMeta>, String);

impl Object {
    /// An object with this spec.
    pub fn new(metadata: ObjectMeta, spec: impl Spec, status: Option<ResourceStatus>) -> Self {
        Self { metadata, status, spec: Arc::new(spec), account: None }
    }

    /// The same with an account.
    #[must_use]
    pub fn using(self, account: Option<Arc<str>>) -> Self {
        Self { account, ..self }
    }

    /// The account that it names, if any.
    pub fn account(&self) -> Option<&str> {
        self.account.as_deref()
    }

    /// Its spec.
    pub fn spec(&self) -> &dyn Spec {
        &*self.spec
    }

    /// How it is managed.
    pub fn lifecycle(&self) -> &Lifecycle {
        self.spec.lifecycle()
    }
}

impl Resource for Object {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;

    fn kind(resource: &ApiResource) -> Cow<'_, str> {
        resource.kind.as_str().into()
    }

    fn group(resource: &ApiResource) -> Cow<'_, str> {
        resource.group.as_str().into()
    }

    fn version(resource: &ApiResource) -> Cow<'_, str> {
        resource.version.as_str().into()
    }

    fn plural(resource: &ApiResource) -> Cow<'_, str> {
        resource.plural.as_str().into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

impl HasStatus for Object {
    type Status = ResourceStatus;

    fn status(&self) -> Option<&ResourceStatus> {
        self.status.as_ref()
    }

    fn status_mut(&mut self) -> &mut Option<ResourceStatus> {
        &mut self.status
    }
}
