//! What a DependencyRequest refers to and provides. Pure.

use kraken_api::DependencyRequest;
use kube::ResourceExt;

use crate::store::index::{Class, Edges, ObjectRef};

/// The kind, for logs and metrics.
pub const KIND: &str = "DependencyRequest";

/// The edges of a request: its dependencies, and the state of its owner, which it provides.
pub(crate) fn edges(request: &DependencyRequest) -> Edges {
    let namespace = request.namespace().unwrap_or_default();
    let spec = &request.spec;
    let maps = spec
        .config_map_dependencies
        .iter()
        .map(|key| (ObjectRef::new(Class::ConfigMap, &namespace, &key.name), key.follows));
    let secrets = spec
        .secret_dependencies
        .iter()
        .map(|key| (ObjectRef::new(Class::Secret, &namespace, &key.name), key.follows));
    let states = spec.kraken_resource_dependencies.iter();
    let states =
        states.map(|wanted| (ObjectRef::referenced(&namespace, &wanted.reference()), wanted.follows));
    let owner = request.owner_references().iter().find(|owner| owner.controller == Some(true));
    Edges::of(maps.chain(secrets).chain(states), owner.map(|owner| ObjectRef::state_of(&namespace, owner)))
}
