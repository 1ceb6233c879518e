//! Which dependents of a resource use the objects of its replacement. Pure.

use std::collections::BTreeMap;

use kraken_api::{
    ConfigExportSpec, ConfigExportStatus, DependencyRequest, StateDeclarationSpec, conditions, config_export,
    dependency_request::ResourceDependency, names::referenced_kind,
};
use kraken_options::{Path, ResourceRef, ShortRef};
use serde_json::Value;
use tokio::time::Instant;

use crate::{
    graph::{Node, may_refer_to, named_from, node_in_place, node_of},
    in_place::References,
};

/// The hand-over of one replacement to the dependents.
#[derive(Clone, Debug)]
pub struct HandOver {
    /// The epoch of the launch that began the replacement.
    pub boundary: i64,
    /// The ids of the new objects. Others, as after an edit during the replacement, are handed over from the beginning.
    pub successors: Vec<String>,
    /// When this process first found the new objects published.
    pub since: Instant,
    /// Whether the former objects may be deleted.
    pub is_over: bool,
}

/// A ConfigExport of the namespace.
#[derive(Debug)]
pub struct Export {
    /// The name.
    pub name: String,
    /// The UID.
    pub uid: String,
    /// The generation of the spec.
    pub generation: Option<i64>,
    /// The spec.
    pub spec: ConfigExportSpec,
    /// The status.
    pub status: ConfigExportStatus,
}

/// What a resource publishes of its objects on both sides of a replacement.
#[derive(Debug)]
pub struct Published {
    /// The namespace of the resource.
    pub namespace: String,
    /// Of each former object.
    pub before: Vec<StateDeclarationSpec>,
    /// Of the new ones.
    pub now: StateDeclarationSpec,
}

impl Published {
    /// The references to values of `of` that the replacement changed. Dependents with others keep what they have.
    pub fn changed<'r>(&self, request: &'r DependencyRequest, of: &Node) -> Vec<&'r ResourceDependency> {
        let is_changed = |reference: &&ResourceDependency| {
            let now = value(&self.now, &reference.path);
            may_refer_to(&node_of(&self.namespace, request, reference), of)
                && self.before.iter().any(|before| value(before, &reference.path) != now)
        };
        request.spec.kraken_resource_dependencies.iter().filter(is_changed).collect()
    }

    /// Whether the target of an export has the new values of `of`, or none that the replacement changed.
    pub fn is_exported(&self, export: &Export, of: &Node) -> bool {
        let ConfigExportStatus { conditions, observed_generation, target, sources, .. } = &export.status;
        let mut named: BTreeMap<String, BTreeMap<String, Value>> = BTreeMap::new();
        let (mut is_changed, mut is_complete) = (false, true);
        for reference in
            export.spec.entries.iter().flat_map(|entry| entry.dependencies().resources.into_keys())
        {
            if self.is_of(&reference, of) {
                let source = config_export::source(&reference.kind, &reference.full_name());
                let path = reference.path;
                let now = value(&self.now, &path);
                is_changed |= self.before.iter().any(|before| value(before, &path) != now);
                is_complete &= now.is_some();
                named.entry(source).or_default().extend(now.map(|now| (path, now)));
            }
        }
        // An earlier hub records no values.
        if target.is_none() || sources.is_empty() {
            return true;
        }
        let has = |source: &String, values| {
            sources.get(source) == Some(&config_export::source_digest(&export.uid, values))
        };
        if !is_changed {
            // An edit of the spec may not be exported: until then, the target has what the former spec named.
            let is_source = |source: &&String| {
                ShortRef((*source).clone()).resource().is_some_and(|reference| self.is_of(&reference, of))
            };
            let mut of_this = sources.keys().filter(is_source);
            return of_this.all(|source| named.get(source).is_some_and(|values| has(source, values)));
        }
        let is_ready =
            conditions::get(conditions, conditions::READY).is_some_and(|ready| ready.status == "True");
        is_complete
            && is_ready
            && *observed_generation == export.generation
            && named.iter().all(|(source, values)| has(source, values))
    }

    /// Whether a reference of this namespace may be to this resource.
    fn is_of(&self, reference: &ResourceRef, of: &Node) -> bool {
        let ResourceRef { kind, name, namespace, path: _ } = reference;
        may_refer_to(&(referenced_kind(kind), named_from(&self.namespace, namespace.as_deref(), name)), of)
    }

    /// Whether the hub's response has the new values of these references.
    pub fn is_answered(&self, answer: &References, changed: &[&ResourceDependency]) -> bool {
        changed.iter().all(|reference| {
            let name = reference.reference().full_name().into_owned();
            let paths = answer.get(&reference.kind).and_then(|names| names.get(&name));
            let answered = paths.and_then(|paths| paths.get(&reference.path));
            answered == value(&self.now, &reference.path).as_ref()
        })
    }

    /// Whether the objects of a dependent may still use this resource although its spec refers to it no more: the edit is not in place.
    pub fn is_used_by_former(&self, request: &DependencyRequest, of: &Node) -> bool {
        let (spec, here) = (&request.spec, &self.namespace);
        let mut named = spec.kraken_resource_dependencies.iter();
        let is_named = named.any(|named| may_refer_to(&node_of(here, request, named), of));
        let mut former = spec.in_place_dependencies.iter();
        !is_named && former.any(|used| may_refer_to(&node_in_place(here, request, used), of))
    }
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
        let published = Published {
            namespace: "ns".to_owned(),
            before: vec![state("disk-1", "a")],
            now: state("disk-2", "a"),
        };
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
        let published = Published { namespace: "ns".to_owned(), before: vec![], now: state("disk-1", "a") };
        let uses_former = |request: &DependencyRequest| published.is_used_by_former(request, &of);
        assert!(uses_former(&with(json!({"inPlaceDependencies": used}))));
        let named = json!([{"kind": "disk", "name": "a", "path": "", "type": "any"}]);
        let both = with(json!({"inPlaceDependencies": used, "krakenResourceDependencies": named}));
        assert!(!uses_former(&both), "it is in place with the new objects when the values are");
        let other = with(json!({"inPlaceDependencies": [{"kind": "disk.testing", "name": "b"}]}));
        assert!(!uses_former(&other));
    }

    #[test]
    fn value_is_changed_if_it_differs_from_that_of_any_former_object() {
        let before = vec![state("disk-1", "a"), state("disk-2", "b")];
        let published = Published { namespace: "ns".to_owned(), before, now: state("disk-3", "a") };
        let zone = request("disk", "disk.zone");
        assert_eq!(published.changed(&zone, &("disk.testing".to_owned(), "a".to_owned())).len(), 1);
    }

    #[test]
    fn export_is_handed_over_when_its_target_has_the_new_values() {
        let published = Published {
            namespace: "ns".to_owned(),
            before: vec![state("disk-1", "a")],
            now: state("disk-2", "a"),
        };
        let of = ("disk.testing".to_owned(), "a".to_owned());
        // An export whose entry is `from`, and whose target has these values.
        let export = |from: &Value, values: Value, status: Value| {
            let values = serde_json::from_value(values).unwrap();
            let ready = json!([{"type": "Ready", "status": "True", "reason": "Exported", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]);
            let mut all = json!({"conditions": ready, "observedGeneration": 1, "target": "ConfigMap/c",
                "sources": config_export::sources("e-1", &values)});
            json_patch::merge(&mut all, &status);
            let spec = json!({"configType": "ConfigMap", "configMetadata": {"name": "c"}, "entries": [{"key": "k", "valueFrom": from}]});
            Export {
                name: "c".to_owned(),
                uid: "e-1".to_owned(),
                generation: Some(1),
                spec: serde_json::from_value(spec).unwrap(),
                status: serde_json::from_value(all).unwrap(),
            }
        };
        let has = |from: &Value, values: Value, status: Value| {
            published.is_exported(&export(from, values, status), &of)
        };
        let is_exported =
            |from: &Value, id: &str, status: Value| has(from, json!({"disk": {"a": {"": id}}}), status);
        let id = json!({"ref": "Disk/a"});
        assert!(!is_exported(&id, "disk-1", json!({})));
        assert!(is_exported(&id, "disk-2", json!({})));
        assert!(!is_exported(&json!({"templateString": "http://{{ .Disk.a }}/"}), "disk-1", json!({})));
        assert!(
            !is_exported(&id, "disk-2", json!({"observedGeneration": 0})),
            "an edit that is not exported yet"
        );
        assert!(!is_exported(&id, "disk-2", json!({"conditions": []})), "workloads that do not have it yet");
        assert!(is_exported(&id, "disk-1", json!({"target": null})), "nothing was exported");
        assert!(is_exported(&id, "disk-1", json!({"sources": null})), "an earlier hub");
        let zone = json!({"krakenResource": {"kind": "disk", "name": "a", "path": "disk.zone"}});
        let of_zone = json!({"disk": {"a": {"disk.zone": "a"}}});
        assert!(has(&zone, of_zone, json!({})), "its value is the same");
        let other = json!({"ref": "Disk/b"});
        assert!(has(&other, json!({"disk": {"b": {"": "disk-1"}}}), json!({})), "another resource");
        assert!(has(&other, json!({"disk": {"other:a": {"": "disk-1"}}}), json!({})), "another namespace");
        for edited in [&zone, &other, &json!({"configMap": {"name": "c", "key": "k"}})] {
            assert!(
                !is_exported(edited, "disk-1", json!({})),
                "the target has the id until the edit is exported"
            );
        }
        let named_in_full = json!({"disk.testing": {"ns:a": {"": "disk-1"}}});
        assert!(!has(&other, named_in_full, json!({})), "the same resource, with its group and namespace");
    }

    #[test]
    fn response_with_a_former_value_is_no_hand_over() {
        let published = Published {
            namespace: "ns".to_owned(),
            before: vec![state("disk-1", "a")],
            now: state("disk-2", "a"),
        };
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
