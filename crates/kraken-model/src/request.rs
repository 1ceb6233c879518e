//! The DependencyRequest of a resource: its finalizer, its owner, and what it says. Pure.

use std::collections::{BTreeMap, BTreeSet};

use kraken_api::{
    DependencyRequest, DependencyRequestSpec, REFERENCES_FINALIZER, REFERENCES_PREFIX,
    dependency_request::{DependentValues, InPlaceDependency, ResourceDependency},
    names::referenced_kind,
};
use kraken_kind::dynamic::Object;
use kraken_options::{Dependencies, ResourceRef, Values};
use kube::{Resource, ResourceExt, api::ObjectMeta};
use serde_json::{Value, json};

use crate::recorded;

/// The maximum number of resources on record that only the remote objects use.
const MAX_IN_PLACE: usize = 1024;

/// The finalizers of a request.
pub fn finalizers() -> &'static [&'static str] {
    &[REFERENCES_FINALIZER]
}

/// Whether the request exists until its spoke releases it. A request that is being deleted can get no finalizer any
/// more.
pub fn is_held(request: &DependencyRequest) -> bool {
    request.meta().deletion_timestamp.is_some() || has_finalizer(request.meta())
}

/// Whether it has the finalizer, which only its spoke removes.
pub fn has_finalizer(meta: &ObjectMeta) -> bool {
    meta.finalizers.iter().flatten().any(|finalizer| finalizer == REFERENCES_FINALIZER)
}

/// Whether it still exists after its release.
pub fn others_hold(request: &DependencyRequest) -> bool {
    request.finalizers().iter().any(|finalizer| finalizer != REFERENCES_FINALIZER)
}

/// The resources that the remote objects may still use, because the request named them, and the spec does not any more. A resource
/// without remote objects uses none.
pub fn still_used(
    request: &DependencyRequest,
    object: &Object,
    dependencies: &Dependencies,
) -> Vec<InPlaceDependency> {
    if !recorded::has_finalizer(object) {
        return vec![];
    }
    let node =
        |used: &InPlaceDependency| (referenced_kind(&used.kind), used.namespace.clone(), used.name.clone());
    let in_place = |reference: &ResourceRef| {
        let ResourceRef { kind, name, namespace, .. } = reference.clone();
        let namespace = namespace.filter(|namespace| Some(namespace) != request.metadata.namespace.as_ref());
        InPlaceDependency { kind, name, namespace }
    };
    let named: BTreeSet<_> = dependencies.resources.keys().map(|wanted| node(&in_place(wanted))).collect();
    let before = request.spec.kraken_resource_dependencies.iter().map(ResourceDependency::reference);
    let before = before.filter(|reference| request.may_use(reference)).map(|reference| in_place(&reference));
    let before = before.chain(request.spec.in_place_dependencies.iter().cloned());
    let left: BTreeSet<_> = before.filter(|used| !named.contains(&node(used))).collect();
    left.into_iter().take(MAX_IN_PLACE).collect()
}

/// The labels of a request: a deletion in another namespace selects those that refer to it.
pub fn labels(namespace: &str, spec: &DependencyRequestSpec) -> BTreeMap<String, String> {
    let wanted = spec.kraken_resource_dependencies.iter().filter_map(|wanted| wanted.namespace.as_deref());
    let in_place = spec.in_place_dependencies.iter().filter_map(|used| used.namespace.as_deref());
    let others = wanted.chain(in_place).filter(|other| *other != namespace);
    others.map(|other| (format!("{REFERENCES_PREFIX}{other}"), String::new())).collect()
}

/// The spec with its empty lists: server-side apply does not change a field that is not sent, so an entry that another
/// client added would stay, and be reverted again and again.
pub fn explicit(spec: &DependencyRequestSpec) -> Value {
    json!({
        "spoke": spec.spoke,
        "configMapDependencies": spec.config_map_dependencies,
        "secretDependencies": spec.secret_dependencies,
        "krakenResourceDependencies": spec.kraken_resource_dependencies,
        "inPlaceDependencies": spec.in_place_dependencies,
    })
}

/// Whether the request's controller is another resource. One that lost its owner, as by `kubectl delete --cascade=orphan`, has
/// none: it is applied again, and not deleted, so that its references stay on record.
pub fn is_of_another(request: &impl Resource, owner: &impl Resource) -> bool {
    let has_controller =
        request.owner_references().iter().any(|reference| reference.controller == Some(true));
    has_controller && !is_owned_by(request, owner)
}

/// Whether the object's controller is this resource, and not an earlier one of its name.
pub fn is_owned_by(request: &impl Resource, owner: &impl Resource) -> bool {
    request.owner_references().iter().any(|reference| {
        reference.controller == Some(true) && Some(&reference.uid) == owner.meta().uid.as_ref()
    })
}

/// The values in a response of the hub, without those of Secrets.
pub fn values_of(answer: &DependentValues) -> Values {
    Values {
        config_maps: answer.from_config_maps.clone(),
        resources: answer.from_kraken_resources.clone(),
        ..Values::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A request with these finalizers.
    fn request(finalizers: &[&str]) -> DependencyRequest {
        let mut request = DependencyRequest::new("gadget-a", kraken_api::DependencyRequestSpec::default());
        request.metadata.finalizers = Some(finalizers.iter().map(|f| (*f).to_owned()).collect());
        request
    }

    #[test]
    fn request_is_held_only_by_its_finalizer() {
        assert!(!is_held(&request(&["other"])));
        assert!(is_held(&request(&["other", REFERENCES_FINALIZER])));
    }
}
