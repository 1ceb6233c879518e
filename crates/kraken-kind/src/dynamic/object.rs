//! A custom resource of any kind.

use std::{any::Any, fmt, sync::Arc};

use kraken_api::{HasLifecycle, Lifecycle, ResourceStatus};
use kraken_runtime::{hash::HashMap, watch::RawObject};
use kube::{api::ObjectMeta, core::object::HasStatus};
use serde::Serialize;
use serde_json::{Value, value::RawValue};

use crate::account::AccountKind;

/// The spec of a custom resource. The trait is implemented for every serialisable type with a lifecycle.
pub trait Spec: Any + fmt::Debug + Send + Sync {
    /// The lifecycle options.
    fn lifecycle(&self) -> &Lifecycle;
    /// The whole spec, with the defaults that decoding set.
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

/// A custom resource: metadata and status as in every kind, and a spec of which the loop reads only the lifecycle.
#[derive(Clone, Debug)]
pub struct Object {
    /// The metadata.
    pub metadata: ObjectMeta,
    /// The status, if it has been written.
    pub status: Option<ResourceStatus>,
    spec: Arc<dyn Spec>,
    /// The account that the spec names.
    account: Option<Arc<str>>,
}

/// The account that the JSON of an object names. The schema of every kind with accounts has it, and no kind reads it.
///
/// # Errors
/// If it is there and is not a name: the object must not be taken for one of another account.
pub fn account_of(spec: Option<&RawValue>, kind: &AccountKind) -> Result<Option<Arc<str>>, String> {
    // Of a spec, which may be large, only this field is decoded.
    let fields: Option<HashMap<&str, &RawValue>> = RawObject::decode(spec).unwrap_or_default();
    let named = fields.and_then(|fields| fields.get(kind.field).copied());
    match RawObject::decode::<Value>(named).unwrap_or_default() {
        Value::Null => Ok(None),
        account => match account["name"].as_str() {
            Some(name) if !name.is_empty() => Ok(Some(name.into())),
            _ => {
                Err(format!("{} must be {{name: NAME}} of the {} in this namespace", kind.path(), kind.kind))
            }
        },
    }
}

impl Object {
    /// An object with this spec. A status that is [of another resource](ResourceStatus::of) is no record of it.
    pub fn new(metadata: ObjectMeta, spec: impl Spec, status: Option<ResourceStatus>) -> Self {
        let status = status.map(|status| status.of(metadata.uid.as_deref()));
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

    /// The spec.
    pub fn spec(&self) -> &dyn Spec {
        &*self.spec
    }

    /// The lifecycle options.
    pub fn lifecycle(&self) -> &Lifecycle {
        self.spec.lifecycle()
    }
}

kraken_runtime::dynamic_resource!(Object);

impl HasStatus for Object {
    type Status = ResourceStatus;

    fn status(&self) -> Option<&ResourceStatus> {
        self.status.as_ref()
    }

    fn status_mut(&mut self) -> &mut Option<ResourceStatus> {
        &mut self.status
    }
}
