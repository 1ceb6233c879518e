//! Which dependents of a resource use the objects of its replacement. Pure.

use kraken_api::{DependencyRequest, StateDeclarationSpec, dependency_request::ResourceDependency};
use kraken_options::Path;
use serde_json::Value;
use tokio::time::Instant;

use crate::model::{
    graph::{Node, may_refer_to, node_in_place, node_of},
    in_place::References,
};

/// The hand-over of one replacement to the dependents.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HandOver {
    /// The epoch of the launch that began the replacement.
    pub boundary: i64,
    /// When this process first found the new objects published.
    pub since: Instant,
    /// Whether the former objects may be deleted.
    pub is_over: bool,
}

/// What a resource publishes of its objects on both sides of a replacement.
#[derive(Debug)]
pub(crate) struct Published {
    /// Of each former object.
    pub before: Vec<StateDeclarationSpec>,
    /// Of the new ones.
    pub now: StateDeclarationSpec,
}

impl Published {
    /// The references to values of `of` that the replacement changed. Dependents with others keep what they have.
    pub(crate) fn changed<'r>(
        &self,
        request: &'r DependencyRequest,
        of: &Node,
    ) -> Vec<&'r ResourceDependency> {
        let is_changed = |reference: &&ResourceDependency| {
            let now = value(&self.now, &reference.path);
            may_refer_to(&node_of(reference), of)
                && self.before.iter().any(|before| value(before, &reference.path) != now)
        };
        request.spec.kraken_resource_dependencies.iter().filter(is_changed).collect()
    }

    /// Whether the hub's response has the new values of these references.
    pub(crate) fn is_answered(&self, answer: &References, changed: &[&ResourceDependency]) -> bool {
        changed.iter().all(|reference| {
            let paths = answer.get(&reference.kind).and_then(|names| names.get(&reference.name));
            let answered = paths.and_then(|paths| paths.get(&reference.path));
            answered == value(&self.now, &reference.path).as_ref()
        })
    }
}

/// Whether the objects of a dependent may still use this resource although its spec refers to it no more: the edit is not in place.
pub(crate) fn uses_former(request: &DependencyRequest, of: &Node) -> bool {
    let spec = &request.spec;
    let is_named = spec.kraken_resource_dependencies.iter().any(|named| may_refer_to(&node_of(named), of));
    let mut former = spec.in_place_dependencies.iter();
    !is_named && former.any(|used| may_refer_to(&node_in_place(used), of))
}

/// The published value at this path; that of an empty path is the main id.
fn value(state: &StateDeclarationSpec, path: &str) -> Option<Value> {
    if path.is_empty() {
        return state.id.clone().map(Value::String);
    }
    Path::parse(path).ok()?.find(&state.data).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn state(id: &str, zone: &str) -> StateDeclarationSpec {
        let data = json!({"disk": {"id": id, "zone": zone}});
        StateDeclarationSpec { data, id: Some(id.to_owned()), withheld: vec![] }
    }

    fn request(kind: &str, path: &str) -> DependencyRequest {
        let on = json!({"kind": kind, "name": "a", "path": path, "type": "any"});
        let request =
            json!({"metadata": {"name": "mount.testing.m"}, "spec": {"krakenResourceDependencies": [on]}});
        serde_json::from_value(request).unwrap()
    }

    #[test]
    fn only_changed_values_of_the_resource_are_handed_over() {
        let published = Published { before: vec![state("disk-1", "a")], now: state("disk-2", "a") };
        let changed = |kind: &str, path: &str| {
            published.changed(&request(kind, path), &("disk.testing".to_owned(), "a".to_owned())).len()
        };
        assert_eq!((changed("disk", ""), changed("disk.testing", "disk.id")), (1, 1));
        assert_eq!((changed("disk", "disk.zone"), changed("disk", "disk.absent")), (0, 0));
        assert_eq!((changed("gadget", ""), changed("disk.acme", "")), (0, 0));
    }

    #[test]
    fn dependent_whose_edit_is_not_in_place_uses_the_former_objects() {
        let with = |spec: Value| -> DependencyRequest {
            serde_json::from_value(json!({"metadata": {"name": "m"}, "spec": spec})).unwrap()
        };
        let of = ("disk.testing".to_owned(), "a".to_owned());
        let used = json!([{"kind": "disk.testing", "name": "a"}]);
        assert!(uses_former(&with(json!({"inPlaceDependencies": used})), &of));
        let named = json!([{"kind": "disk", "name": "a", "path": "", "type": "any"}]);
        let both = with(json!({"inPlaceDependencies": used, "krakenResourceDependencies": named}));
        assert!(!uses_former(&both, &of), "it is in place with the new objects when the values are");
        let other = with(json!({"inPlaceDependencies": [{"kind": "disk.testing", "name": "b"}]}));
        assert!(!uses_former(&other, &of));
    }

    #[test]
    fn value_is_changed_if_it_differs_from_that_of_any_former_object() {
        let before = vec![state("disk-1", "a"), state("disk-2", "b")];
        let published = Published { before, now: state("disk-3", "a") };
        let zone = request("disk", "disk.zone");
        assert_eq!(published.changed(&zone, &("disk.testing".to_owned(), "a".to_owned())).len(), 1);
    }

    #[test]
    fn response_with_a_former_value_is_no_hand_over() {
        let published = Published { before: vec![state("disk-1", "a")], now: state("disk-2", "a") };
        let request = request("disk", "");
        let changed: Vec<_> = request.spec.kraken_resource_dependencies.iter().collect();
        let answered = |id: &str| {
            let answer = json!({"disk": {"a": {"": id}}});
            published.is_answered(&serde_json::from_value(answer).unwrap(), &changed)
        };
        assert_eq!((answered("disk-1"), answered("disk-2")), (false, true));
        assert!(!published.is_answered(&References::new(), &changed));
    }
}
