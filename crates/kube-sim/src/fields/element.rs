//! Steps of a path, and how each node of an object merges.

use serde_json::{Map, Value};

use crate::schema::{Additional, List, Schema, Type};

/// One step of a path, as it is written in `fieldsV1`: `f:name`, `k:{"type":"Ready"}`, `v:"text"`.
pub(super) type Element = String;

/// The step of a field.
pub(super) fn field(name: &str) -> Element {
    ["f:", name].concat()
}

/// How an error names a step.
pub(super) fn shown(element: &str) -> String {
    match element.split_at_checked(2) {
        Some(("k:", keys)) => {
            let keys: Map<String, Value> = serde_json::from_str(keys).unwrap_or_default();
            let keys: Vec<String> = keys.iter().map(|(key, value)| format!("{key}={value}")).collect();
            format!("[{}]", keys.join(","))
        }
        Some(("v:", value)) => format!("[={value}]"),
        Some((_, name)) => format!(".{name}"),
        None => element.to_owned(),
    }
}

/// A place in the schema.
#[derive(Clone, Copy, Debug)]
pub(super) enum Node<'a> {
    /// A whole object: the schema of its kind, and that of the metadata.
    Root(&'a Schema, &'a Schema),
    /// In the schema.
    Of(&'a Schema),
    /// Not in the schema: merged by its JSON type.
    Deduced,
    /// One value.
    Leaf,
}

/// How a value merges.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape<'a> {
    /// Field by field.
    Map,
    /// Item by item.
    List(&'a List),
    /// As one value.
    Leaf,
}

impl<'a> Node<'a> {
    /// The node of a field.
    pub(super) fn field(self, name: &str) -> Node<'a> {
        match self {
            Self::Root(_, meta) if name == "metadata" => Node::Of(meta),
            Self::Root(..) if matches!(name, "apiVersion" | "kind") => Node::Leaf,
            Self::Root(schema, _) | Self::Of(schema) => match schema.properties.get(name) {
                Some(of) => Node::Of(of),
                None => match &schema.additional {
                    Some(Additional::Of(of)) => Node::Of(of),
                    _ => Node::Deduced,
                },
            },
            Self::Deduced | Self::Leaf => Node::Deduced,
        }
    }

    /// Whether the field is one that the schema names.
    pub(super) fn names(self, name: &str) -> bool {
        match self {
            Self::Root(..) if matches!(name, "metadata" | "apiVersion" | "kind") => true,
            Self::Root(schema, _) | Self::Of(schema) => schema.properties.contains_key(name),
            Self::Deduced | Self::Leaf => false,
        }
    }

    /// The node of an item.
    pub(super) fn item(self) -> Node<'a> {
        match self {
            Self::Of(schema) => schema.items.as_deref().map_or(Node::Deduced, Node::Of),
            _ => Node::Deduced,
        }
    }

    /// The node below a step.
    pub(super) fn step(self, element: &str) -> Node<'a> {
        element.strip_prefix("f:").map_or_else(|| self.item(), |name| self.field(name))
    }

    /// How this value merges.
    pub(super) fn shape(self, value: &Value) -> Shape<'a> {
        match (self, value) {
            // A null has the shape that its schema says, and nothing in it.
            (Self::Root(..) | Self::Deduced, Value::Object(_) | Value::Null) => Shape::Map,
            (Self::Of(schema), Value::Object(_)) if schema.atomic_map => Shape::Leaf,
            (Self::Of(schema), Value::Object(_)) if matches!(schema.type_, Some(Type::Object) | None) => {
                Shape::Map
            }
            (Self::Of(schema), Value::Null) if schema.type_ == Some(Type::Object) && !schema.atomic_map => {
                Shape::Map
            }
            (Self::Of(schema), Value::Array(_) | Value::Null) => match &schema.list {
                Some(list @ (List::Set | List::Map(_))) => Shape::List(list),
                _ => Shape::Leaf,
            },
            _ => Shape::Leaf,
        }
    }
}

/// The step to an item of a set or of a list with keys.
pub(super) fn item(list: &List, item: &Value, node: Node<'_>) -> Element {
    match list {
        List::Map(names) => {
            let default = |name: &str| match node.item() {
                Node::Of(schema) => schema.properties.get(name).and_then(|field| field.default.clone()),
                _ => None,
            };
            let mut keys = Map::new();
            for name in names {
                if let Some(value) = item.get(name).cloned().or_else(|| default(name)) {
                    keys.insert(name.clone(), value);
                }
            }
            format!("k:{}", Value::Object(keys))
        }
        _ => format!("v:{item}"),
    }
}
