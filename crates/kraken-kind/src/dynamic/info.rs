//! The constants of a kind.

use std::{borrow::Cow, ops::Deref, sync::Arc};

use kraken_api::names::owner_kind;
use kube::core::ApiResource;
use serde_json::value::RawValue;

use super::{Schema, account_of, interned};
use crate::{Features, SpokeKind};

/// The constants of a kind. Its features are read as its own fields.
#[derive(Clone, Debug)]
pub struct KindInfo {
    /// The name of the kind, such as `VPC`; `'static`, because it is a label of metrics.
    pub name: &'static str,
    /// The API resource: group, version, kind and plural.
    pub resource: ApiResource,
    /// The kind with its group, as in names and labels.
    pub key: String,
    /// The schema of the spec.
    pub schema: Schema,
    /// What it has besides its calls.
    pub features: Features,
}

impl Deref for KindInfo {
    type Target = Features;

    fn deref(&self) -> &Features {
        &self.features
    }
}

impl KindInfo {
    /// The account that the spec of an object names; none if the kind has no accounts.
    ///
    /// # Errors
    /// If the field does not contain the name of an account: what it contains instead.
    pub fn account_of(&self, spec: Option<&RawValue>) -> Result<Option<Arc<str>>, String> {
        self.accounts.map_or(Ok(None), |kind| account_of(spec, &kind))
    }

    /// The constants of a kind that is compiled in.
    pub fn of<K: SpokeKind>(features: Features) -> Self {
        let name = match K::kind_name() {
            Cow::Borrowed(name) => name,
            Cow::Owned(name) => interned(&name),
        };
        Self { features, ..Self::new(name, ApiResource::erase::<K>(&()), Schema::of::<K>()) }
    }

    /// A kind without any of the optional features.
    pub fn new(name: &'static str, resource: ApiResource, schema: Schema) -> Self {
        Self { key: owner_kind(name, &resource.group), name, resource, schema, features: Features::NONE }
    }
}
