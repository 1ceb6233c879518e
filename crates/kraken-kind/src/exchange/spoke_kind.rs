//! The custom resources of kinds that are compiled in.

use std::{borrow::Cow, fmt::Debug};

use kraken_api::HasLifecycle;
use kube::{
    CustomResourceExt, Resource,
    core::{NamespaceResourceScope, object::HasSpec},
};
use serde::{Serialize, de::DeserializeOwned};

/// A custom resource that a spoke manages. It is implemented for every type with these bounds.
pub trait SpokeKind:
    Resource<DynamicType = (), Scope = NamespaceResourceScope>
    + HasSpec<Spec: HasLifecycle + Serialize + DeserializeOwned + Debug + Send + Sync + 'static>
    + CustomResourceExt
    + 'static
{
    /// The name of the kind, such as `VPC`.
    fn kind_name() -> Cow<'static, str> {
        Self::kind(&())
    }
}

impl<K> SpokeKind for K where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + HasSpec<Spec: HasLifecycle + Serialize + DeserializeOwned + Debug + Send + Sync + 'static>
        + CustomResourceExt
        + 'static
{
}
