//! Which paths differ between two versions of an object, and which paths an object has.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{
    element::{Element, Node, Shape, field, item},
    set::Set,
};
use crate::apiserver::schema::List;

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
    walk(node, before, after, &mut below);
    below
}

fn walk(node: Node<'_>, before: Option<&Value>, after: Option<&Value>, below: &mut Comparison) -> Mark {
    if before == after {
        return Mark::Same;
    }
    let shapes = (before.map(|value| node.shape(value)), after.map(|value| node.shape(value)));
    match shapes {
        (Some(Shape::Map), Some(Shape::Map)) => maps(node, map_of(before), map_of(after), below),
        (Some(Shape::List(list)), Some(Shape::List(_))) => {
            lists(node, list, items_of(before), items_of(after), below);
        }
        (Some(Shape::Leaf), Some(Shape::Leaf)) => return Mark::Modified,
        (before_shape, after_shape) => {
            // Only one is there, or they are not alike: each is taken apart for itself.
            take_apart(node, before_shape, before, true, below);
            take_apart(node, after_shape, after, false, below);
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

fn take_apart(
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
    let names: BTreeSet<&String> =
        before.into_iter().flatten().chain(after.into_iter().flatten()).map(|(name, _)| name).collect();
    for name in names {
        let (left, right) = (before.and_then(|map| map.get(name)), after.and_then(|map| map.get(name)));
        if left == right {
            continue;
        }
        step(node.field(name), field(name), left, right, below);
    }
}

fn lists(
    node: Node<'_>,
    list: &List,
    before: Option<&Vec<Value>>,
    after: Option<&Vec<Value>>,
    below: &mut Comparison,
) {
    let index = |items: Option<&Vec<Value>>| {
        let mut all: BTreeMap<Element, Vec<Value>> = BTreeMap::new();
        for value in items.into_iter().flatten() {
            all.entry(item(list, value, node)).or_default().push(value.clone());
        }
        all
    };
    let (before, after) = (index(before), index(after));
    let elements: BTreeSet<&Element> = before.keys().chain(after.keys()).collect();
    let none = Vec::new();
    for element in elements {
        let (left, right) = (before.get(element).unwrap_or(&none), after.get(element).unwrap_or(&none));
        if left.len() >= 2 && right.len() >= 2 {
            if left != right {
                below.modified.members.insert(element.clone());
            }
        } else if left.len() >= 2 {
            step(node.item(), element.clone(), None, right.first(), below);
            below.removed.members.insert(element.clone());
        } else if right.len() >= 2 {
            step(node.item(), element.clone(), left.first(), None, below);
            below.added.members.insert(element.clone());
        } else {
            step(node.item(), element.clone(), left.first(), right.first(), below);
        }
    }
}

fn step(
    node: Node<'_>,
    element: Element,
    before: Option<&Value>,
    after: Option<&Value>,
    below: &mut Comparison,
) {
    let mut inner = Comparison::default();
    match walk(node, before, after, &mut inner) {
        Mark::Same => {}
        Mark::Added => drop(below.added.members.insert(element.clone())),
        Mark::Modified => drop(below.modified.members.insert(element.clone())),
        Mark::Removed => drop(below.removed.members.insert(element.clone())),
    }
    below.added.put(element.clone(), inner.added);
    below.modified.put(element.clone(), inner.modified);
    below.removed.put(element, inner.removed);
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
                set.put(element.clone(), paths_of(node, value));
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
                    set.put(element.clone(), paths_of(node.item(), value));
                }
                set.members.insert(element.clone());
            }
        }
        Shape::Leaf => {}
    }
    set
}
