//! The custom resources that a spoke can manage.

use std::{borrow::Cow, fmt::Debug};

use kraken_api::{HasLifecycle, ResourceStatus};
use kube::{
    CustomResourceExt, Resource,
    core::{
        NamespaceResourceScope,
        object::{HasSpec, HasStatus},
    },
};
use serde::{Serialize, de::DeserializeOwned};

/// A custom resource that a spoke manages. The trait is implemented for every type with these bounds.
pub trait SpokeKind:
    Resource<DynamicType = (), Scope = NamespaceResourceScope>
    + HasSpec<Spec: HasLifecycle + Serialize + DeserializeOwned + Debug + Send + Sync + 'static>
    + HasStatus<Status = ResourceStatus>
    + CustomResourceExt
    + Serialize
    + DeserializeOwned
    + Clone
    + Debug
    + Send
    + Sync
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
        + HasStatus<Status = ResourceStatus>
        + CustomResourceExt
        + Serialize
        + DeserializeOwned
        + Clone
        + Debug
        + Send
        + Sync
        + 'static
{
}
