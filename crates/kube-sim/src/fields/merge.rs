//! Server-side apply.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{
    compare::{compare, paths_of},
    element::{Element, Node, Shape, item},
    managed::{Entry, Managed, Manager, Operation},
    owned::{own, updated},
    remove::removed,
    set::Set,
    typed::untyped,
};
use crate::{
    cause::{Cause, quoted},
    fault::Fault,
    schema::{List, Schema},
};

/// What an apply leads to.
pub(in super::super) struct Applied {
    /// The object.
    pub value: Value,
    /// The field ownership.
    pub managed: Managed,
}

/// Merges `config` into the live object and removes fields that this manager applied before and no longer applies,
/// unless others own them too.
pub(in super::super) fn applied(
    schemas: (&Schema, &Schema),
    live: &Value,
    config: &Value,
    managed: &Managed,
    manager: &Manager,
    now: &str,
    (force, ignored, zero): (bool, &[&str], Option<&Value>),
) -> Result<Applied, Fault> {
    let node = Node::Root(schemas.0, schemas.1);
    let errors = untyped(node, config);
    if !errors.is_empty() {
        return Err(Fault::internal(format!(
            "failed to create typed patch object ({}): {errors}",
            named(config)
        )));
    }
    let before;
    let managed = if managed.is_empty() && live["metadata"]["uid"].is_string() {
        // Existing fields without an owner precede the first apply.
        let name = "before-first-apply".to_owned();
        let manager = Manager { operation: Operation::Update, name, ..manager.clone() };
        before = updated(schemas, zero, live, managed, &manager, now, ignored);
        &before
    } else {
        before = managed.decoded();
        &before
    };
    let merged = merge(node, Some(live), Some(config)).map_err(Fault::internal)?.unwrap_or_default();
    let last = managed.find(manager).cloned();
    let applied = paths_of(node, config).without(&Set::of(ignored));
    let set = own(&applied, ignored);
    let mut after = managed.clone();
    after.0.retain(|entry| entry.manager != *manager);
    // With the name, which keeps the rest of the metadata.
    let mut everyone = applied;
    for entry in &after.0 {
        everyone.extend(&entry.set);
    }
    let value = match last.as_ref().filter(|last| !last.set.is_empty()) {
        Some(last) => pruned(node, merged, &last.set, &everyone),
        None => merged,
    };
    let comparison = compare(node, Some(live), Some(&value));
    // What is not stored counts for a first apply.
    let is_first = last.as_ref().is_none_or(|last| last.set.is_empty());
    let is_same = is_first && comparison.is_empty();
    let comparison = comparison.without(ignored);
    let is_same = is_same || (!is_first && comparison.is_empty());
    let mut changed = comparison.modified;
    changed.extend(&comparison.added);
    let conflicts: Vec<(Manager, Set)> = after
        .0
        .iter()
        .map(|entry| (entry.manager.clone(), entry.set.intersection(&changed)))
        .filter(|(_, set)| !set.is_empty())
        .collect();
    if !force && !conflicts.is_empty() {
        return Err(refused(&conflicts));
    }
    for entry in &mut after.0 {
        entry.set.subtract(&changed);
        entry.set.subtract(&comparison.removed);
    }
    // An apply that changes nothing has no time, unless an earlier one had.
    let time = match &last {
        Some(last) if is_same => last.time.clone(),
        None if is_same => String::new(),
        _ => now.to_owned(),
    };
    after.0.push(Entry { manager: manager.clone(), time, set });
    Ok(Applied { value, managed: after.sorted() })
}

/// How errors name an object.
fn named(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (metadata, api_version) = (&object["metadata"], text(&object["apiVersion"]));
    let version = if api_version.contains('/') { api_version } else { format!("/{api_version}") };
    format!(
        "{}/{}; {version}, Kind={}",
        text(&metadata["namespace"]),
        text(&metadata["name"]),
        text(&object["kind"])
    )
}

fn refused(conflicts: &[(Manager, Set)]) -> Fault {
    let mut causes = Vec::new();
    let mut texts = Vec::new();
    for (manager, set) in conflicts {
        let mut who = quoted(&manager.name);
        if !manager.subresource.is_empty() {
            who = format!("{who} with subresource {}", quoted(&manager.subresource));
        }
        if manager.operation == Operation::Update {
            who = format!("{who} using {}", manager.api_version);
        }
        texts.push((who.clone(), set.paths()));
        for path in set.paths() {
            let message = format!("conflict with {who}");
            causes.push(Cause { reason: "FieldManagerConflict", message, field: path });
        }
    }
    let message = match causes.as_slice() {
        [one] => format!("Apply failed with 1 conflict: {}: {}", one.message, one.field),
        many => {
            let of = |(who, paths): &(String, Vec<String>)| {
                let paths: String = paths.iter().map(|path| format!("\n- {path}")).collect();
                format!("conflicts with {who}:{paths}")
            };
            let texts: Vec<String> = texts.iter().map(of).collect();
            format!("Apply failed with {} conflicts: {}", many.len(), texts.join("\n"))
        }
    };
    Fault::apply_conflict(message, &causes)
}

/// Removes fields that were applied last time and have no owner now.
fn pruned(node: Node<'_>, merged: Value, last: &Set, everyone: &Set) -> Value {
    let (last, everyone) = (last.with_named_fields(node), everyone.with_named_fields(node));
    let all = paths_of(node, &merged).with_named_fields(node);
    let paths = |value: &Option<Value>| {
        value.as_ref().map(|value| paths_of(node, value).with_named_fields(node)).unwrap_or_default()
    };
    let without = removed(node, &merged, &last);
    // Fields with an owner are restored, and so are fields that were not applied before.
    let mut kept = paths(&without);
    kept.extend(&everyone);
    let lost = all.difference(&kept);
    if lost.is_empty() {
        return merged; // every field is kept, as after most applies
    }
    let without = removed(node, &merged, &lost);
    let gone = all.difference(&paths(&without)).intersection(&last);
    removed(node, &merged, &gone).unwrap_or_default()
}

/// Merges two values of which at least one is there.
fn merge(node: Node<'_>, left: Option<&Value>, right: Option<&Value>) -> Result<Option<Value>, String> {
    let Some(right_value) = right else { return Ok(left.cloned()) };
    match node.shape(right_value) {
        Shape::Map => {
            let none = Map::new();
            let left = left.and_then(Value::as_object).unwrap_or(&none);
            let right = right_value.as_object().unwrap_or(&none);
            if right.is_empty() && left.is_empty() {
                return Ok(Some(right_value.clone()));
            }
            let names: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
            let mut merged = Map::new();
            for name in names {
                if let Some(value) = merge(node.field(name), left.get(name), right.get(name))? {
                    merged.insert(name.clone(), value);
                }
            }
            Ok(Some(Value::Object(merged)))
        }
        Shape::List(list) => {
            let none = Vec::new();
            let left = left.and_then(Value::as_array).unwrap_or(&none);
            let right = right_value.as_array().unwrap_or(&none);
            if right.is_empty() && left.is_empty() {
                return Ok(Some(right_value.clone()));
            }
            merge_lists(node, list, left, right).map(|items| Some(Value::Array(items)))
        }
        Shape::Leaf => Ok(Some(right_value.clone())),
    }
}

/// Items that are in both take the order of the applied list; the others stay where they are.
fn merge_lists(node: Node<'_>, list: &List, left: &[Value], right: &[Value]) -> Result<Vec<Value>, String> {
    let elements =
        |items: &[Value]| -> Vec<Element> { items.iter().map(|value| item(list, value, node)).collect() };
    let (left_elements, right_elements) = (elements(left), elements(right));
    let mut of_right: BTreeMap<&Element, &Value> = BTreeMap::new();
    for (element, value) in right_elements.iter().zip(right) {
        if of_right.insert(element, value).is_some() {
            return Err(format!("duplicate entries for key {}", super::element::shown(element)));
        }
    }
    let of_left: BTreeMap<&Element, &Value> = left_elements.iter().zip(left).collect();
    let mut shared = right_elements.iter().filter(|element| of_left.contains_key(element));
    let mut next_shared = shared.next();
    let mut done: BTreeSet<&Element> = BTreeSet::new();
    let mut merged = Vec::new();
    let (mut l, mut r) = (0, 0);
    while l < left_elements.len() || r < right_elements.len() {
        if let (Some(from_left), Some(from_right)) = (left_elements.get(l), right_elements.get(r)) {
            if from_left == from_right {
                done.insert(from_left);
                let both = (of_left.get(from_left).copied(), of_right.get(from_left).copied());
                merged.extend(merge(node.item(), both.0, both.1)?);
                l += 1;
                r += 1;
                next_shared = shared.next();
                continue;
            }
            if of_right.contains_key(from_left) && next_shared.is_some_and(|next| next != from_left) {
                l += 1;
                continue;
            }
        }
        if let Some(from_left) = left_elements.get(l) {
            if !of_right.contains_key(from_left) {
                merged.extend(left.get(l).cloned());
                l += 1;
                continue;
            } else if done.contains(from_left) {
                l += 1;
            }
        }
        if let Some(from_right) = right_elements.get(r) {
            done.insert(from_right);
            let both = (of_left.get(from_right).copied(), of_right.get(from_right).copied());
            merged.extend(merge(node.item(), both.0, both.1)?);
            r += 1;
            if next_shared == Some(from_right) {
                next_shared = shared.next();
            }
        }
    }
    Ok(merged)
}
