//! Which paths differ between two versions of an object, and which paths an object has.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{
    element::{Element, Node, Shape, field, item},
    set::Set,
};
use crate::schema::List;

/// The differences below one node.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    pub added: Set,
    pub modified: Set,
    pub removed: Set,
}

impl Comparison {
    /// Whether nothing differs.
    pub(super) fn is_empty(&self) -> bool {
        self.added.is_empty() && self.modified.is_empty() && self.removed.is_empty()
    }

    /// Without these fields.
    pub(super) fn without(self, ignored: &[&str]) -> Self {
        if ignored.is_empty() {
            return self;
        }
        let ignored = Set::of(ignored);
        Self {
            added: self.added.without(&ignored),
            modified: self.modified.without(&ignored),
            removed: self.removed.without(&ignored),
        }
    }
}

/// What became of the node itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Same,
    Added,
    Modified,
    Removed,
}

/// Compares two versions; an absent one has nothing.
pub(super) fn compare(node: Node<'_>, before: Option<&Value>, after: Option<&Value>) -> Comparison {
    let mut below = Comparison::default();
    if before != after {
        walk(node, before, after, &mut below);
    }
    below
}

/// Compares two values that differ.
fn walk(node: Node<'_>, before: Option<&Value>, after: Option<&Value>, below: &mut Comparison) -> Mark {
    let shapes = (before.map(|value| node.shape(value)), after.map(|value| node.shape(value)));
    match shapes {
        (Some(Shape::Map), Some(Shape::Map)) => maps(node, map_of(before), map_of(after), below),
        (Some(Shape::List(list)), Some(Shape::List(_))) => {
            lists(node, list, items_of(before), items_of(after), below);
        }
        (Some(Shape::Leaf), Some(Shape::Leaf)) => return Mark::Modified,
        (before_shape, after_shape) => {
            // Only one is there, or they are not alike: each is taken apart for itself.
            compare_with_nothing(node, before_shape, before, true, below);
            compare_with_nothing(node, after_shape, after, false, below);
        }
    }
    match (before, after) {
        (None, _) => Mark::Added,
        (_, None) => Mark::Removed,
        (Some(_), Some(_)) => match shapes {
            (Some(Shape::Map), Some(Shape::Map)) if is_empty(before) && is_empty(after) => Mark::Modified,
            (Some(Shape::Leaf), _) | (_, Some(Shape::Leaf)) => Mark::Modified,
            _ => Mark::Same,
        },
    }
}

fn compare_with_nothing(
    node: Node<'_>,
    shape: Option<Shape<'_>>,
    value: Option<&Value>,
    is_before: bool,
    below: &mut Comparison,
) {
    let (none_map, none_list) = (Map::new(), Vec::new());
    match shape {
        Some(Shape::Map) if is_before => maps(node, map_of(value), Some(&none_map), below),
        Some(Shape::Map) => maps(node, Some(&none_map), map_of(value), below),
        Some(Shape::List(list)) if is_before => lists(node, list, items_of(value), Some(&none_list), below),
        Some(Shape::List(list)) => lists(node, list, Some(&none_list), items_of(value), below),
        _ => {}
    }
}

fn is_empty(value: Option<&Value>) -> bool {
    value.is_none_or(|value| match value {
        Value::Object(map) => map.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Null => true,
        _ => false,
    })
}

fn map_of(value: Option<&Value>) -> Option<&Map<String, Value>> {
    value.and_then(Value::as_object)
}

fn items_of(value: Option<&Value>) -> Option<&Vec<Value>> {
    value.and_then(Value::as_array)
}

fn maps(
    node: Node<'_>,
    before: Option<&Map<String, Value>>,
    after: Option<&Map<String, Value>>,
    below: &mut Comparison,
) {
    for (name, left) in before.into_iter().flatten() {
        let right = after.and_then(|map| map.get(name));
        if right != Some(left) {
            step(node.field(name), || field(name), Some(left), right, below);
        }
    }
    for (name, right) in after.into_iter().flatten() {
        if before.is_none_or(|map| !map.contains_key(name)) {
            step(node.field(name), || field(name), None, Some(right), below);
        }
    }
}

fn by_element<'v>(
    node: Node<'_>,
    list: &List,
    items: Option<&'v Vec<Value>>,
) -> BTreeMap<Element, Vec<&'v Value>> {
    let mut all: BTreeMap<Element, Vec<&Value>> = BTreeMap::new();
    for value in items.into_iter().flatten() {
        all.entry(item(list, value, node)).or_default().push(value);
    }
    all
}

/// The item, if it occurs once: of items that occur several times, only the presence is compared.
fn only<'v>(items: &[&'v Value]) -> Option<&'v Value> {
    match items {
        [one] => Some(one),
        _ => None,
    }
}

fn lists(
    node: Node<'_>,
    list: &List,
    before: Option<&Vec<Value>>,
    after: Option<&Vec<Value>>,
    below: &mut Comparison,
) {
    let (before, after) = (by_element(node, list, before), by_element(node, list, after));
    let elements: BTreeSet<&Element> = before.keys().chain(after.keys()).collect();
    let none = Vec::new();
    for element in elements {
        let (left, right) = (before.get(element).unwrap_or(&none), after.get(element).unwrap_or(&none));
        if left.len() >= 2 && right.len() >= 2 {
            if left != right {
                below.modified.members.insert(element.clone());
            }
            continue;
        }
        let (first, second) = (only(left), only(right));
        if first != second {
            step(node.item(), || element.clone(), first, second, below);
        }
        if left.len() >= 2 {
            below.removed.members.insert(element.clone());
        } else if right.len() >= 2 {
            below.added.members.insert(element.clone());
        }
    }
}

/// Compares two values that differ, and adds their differences below the step. The step is built only if there are differences.
fn step(
    node: Node<'_>,
    element: impl FnOnce() -> Element,
    before: Option<&Value>,
    after: Option<&Value>,
    below: &mut Comparison,
) {
    let mut inner = Comparison::default();
    let mark = walk(node, before, after, &mut inner);
    if mark == Mark::Same && inner.is_empty() {
        return;
    }
    let element = element();
    match mark {
        Mark::Same => {}
        Mark::Added => drop(below.added.members.insert(element.clone())),
        Mark::Modified => drop(below.modified.members.insert(element.clone())),
        Mark::Removed => drop(below.removed.members.insert(element.clone())),
    }
    let Comparison { added, modified, removed } = inner;
    for (all, inner) in
        [(&mut below.added, added), (&mut below.modified, modified), (&mut below.removed, removed)]
    {
        all.put(&element, inner);
    }
}

/// The paths that an object has: leaves, items, and fields that the schema does not name.
pub(super) fn paths_of(node: Node<'_>, value: &Value) -> Set {
    let mut set = Set::default();
    match node.shape(value) {
        Shape::Map => {
            for (name, value) in value.as_object().into_iter().flatten() {
                let (node, element) = (node.field(name), (field(name), node.names(name)));
                let (element, is_named) = element;
                let is_leaf = matches!(node.shape(value), Shape::Leaf);
                let is_empty_map = value.as_object().is_some_and(Map::is_empty);
                set.put(&element, paths_of(node, value));
                if is_leaf || is_empty_map || value.is_null() || !is_named {
                    set.members.insert(element);
                }
            }
        }
        Shape::List(list) => {
            let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
            let elements: Vec<Element> = items.iter().map(|value| item(list, value, node)).collect();
            for (value, element) in items.iter().zip(&elements) {
                // Of items that are there twice only their being there is owned.
                if elements.iter().filter(|other| *other == element).count() == 1 {
                    set.put(element, paths_of(node.item(), value));
                }
                set.members.insert(element.clone());
            }
        }
        Shape::Leaf => {}
    }
    set
}
