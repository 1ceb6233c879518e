//! Sets of paths.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{Map, Value};

use super::element::{Element, Node, shown};

/// A set of paths, as a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Set {
    /// The elements at this level.
    pub members: BTreeSet<Element>,
    /// The nested sets, never empty.
    pub children: BTreeMap<Element, Set>,
}

impl Set {
    /// Whether nothing is in it.
    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty() && self.children.is_empty()
    }

    /// Of single fields at the top.
    pub(super) fn of(names: &[&str]) -> Self {
        let members = names.iter().map(|name| super::element::field(name)).collect();
        Self { members, children: BTreeMap::new() }
    }

    /// Adds a set below a step.
    pub(super) fn put(&mut self, element: &str, below: Set) {
        if !below.is_empty() {
            self.children.insert(element.to_owned(), below);
        }
    }

    /// Adds the elements of the other set.
    pub(super) fn extend(&mut self, other: &Self) {
        self.members.extend(other.members.iter().cloned());
        for (element, below) in &other.children {
            match self.children.get_mut(element) {
                Some(own) => own.extend(below),
                None => drop(self.children.insert(element.clone(), below.clone())),
            }
        }
    }

    /// The intersection.
    pub(super) fn intersection(&self, other: &Self) -> Self {
        let mut both = Self {
            members: self.members.intersection(&other.members).cloned().collect(),
            children: BTreeMap::new(),
        };
        for (element, below) in &self.children {
            if let Some(others) = other.children.get(element) {
                both.put(element, below.intersection(others));
            }
        }
        both
    }

    /// The difference, path by path.
    pub(super) fn difference(&self, other: &Self) -> Self {
        let mut rest = Self {
            members: self.members.difference(&other.members).cloned().collect(),
            children: BTreeMap::new(),
        };
        for (element, below) in &self.children {
            match other.children.get(element) {
                Some(others) => rest.put(element, below.difference(others)),
                None => rest.put(element, below.clone()),
            }
        }
        rest
    }

    /// Removes the paths of the other set: as [`Self::difference`], in place.
    pub(super) fn subtract(&mut self, other: &Self) {
        for element in &other.members {
            self.members.remove(element);
        }
        for (element, others) in &other.children {
            let Some(below) = self.children.get_mut(element) else { continue };
            below.subtract(others);
            if below.is_empty() {
                self.children.remove(element);
            }
        }
    }

    /// As [`Self::difference`], with everything below a path of the other.
    pub(super) fn without(&self, other: &Self) -> Self {
        let mut rest = Self {
            members: self.members.difference(&other.members).cloned().collect(),
            children: BTreeMap::new(),
        };
        for (element, below) in &self.children {
            if other.members.contains(element) {
                continue;
            }
            match other.children.get(element) {
                Some(others) => rest.put(element, below.without(others)),
                None => rest.put(element, below.clone()),
            }
        }
        rest
    }

    /// With the fields that the schema names above what is in it.
    pub(super) fn with_named_fields(&self, node: Node<'_>) -> Self {
        let mut all = Self { members: self.members.clone(), children: BTreeMap::new() };
        for (element, below) in &self.children {
            if element.strip_prefix("f:").is_some_and(|name| node.names(name)) {
                all.members.insert(element.clone());
            }
            all.put(element, below.with_named_fields(node.step(element)));
        }
        all
    }

    /// The paths, as errors show them.
    pub(super) fn paths(&self) -> Vec<String> {
        let mut paths: Vec<String> = self.members.iter().map(|element| shown(element)).collect();
        for (element, below) in &self.children {
            paths.extend(below.paths().into_iter().map(|path| format!("{}{path}", shown(element))));
        }
        paths
    }

    /// Reads `fieldsV1`.
    pub(super) fn read(fields: &Value) -> Self {
        let mut set = Self::default();
        for (element, below) in fields.as_object().into_iter().flatten() {
            if element == "." {
                continue;
            }
            let is_member = below.as_object().is_none_or(|below| below.is_empty() || below.contains_key("."));
            if is_member {
                set.members.insert(element.clone());
            }
            set.put(element, Self::read(below));
        }
        set
    }
}

impl Serialize for Set {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        write(self, false, serializer)
    }
}

struct Member<'a>(&'a Set);

impl Serialize for Member<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        write(self.0, true, serializer)
    }
}

fn write<S: Serializer>(set: &Set, is_member: bool, serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    if is_member {
        map.serialize_entry(".", &Map::new())?;
    }
    for element in &set.members {
        match set.children.get(element) {
            Some(below) => map.serialize_entry(element, &Member(below))?,
            None => map.serialize_entry(element, &Map::new())?,
        }
    }
    for (element, below) in set.children.iter().filter(|(element, _)| !set.members.contains(*element)) {
        map.serialize_entry(element, below)?;
    }
    map.end()
}
