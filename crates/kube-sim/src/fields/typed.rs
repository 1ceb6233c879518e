//! Checks whether an applied object has the types and fields of its schema, which is required for a merge.

use serde_json::Value;

use super::element::{Node, item, shown};
use crate::{
    go,
    schema::{Additional, List, Schema, Type},
};

/// Whether a value has the types of its schema. Repeated items are allowed.
pub(in super::super) fn is_typed(schema: &Schema, value: &Value) -> bool {
    let mut errors = Vec::new();
    check(Node::Of(schema), value, "", false, &mut errors);
    errors.iter().all(|error| error.contains(DUPLICATE))
}

const DUPLICATE: &str = ": duplicate entries for key ";

/// The mismatches, as one text; empty if there are none.
pub(super) fn untyped(node: Node<'_>, config: &Value) -> String {
    let mut errors = Vec::new();
    check(node, config, "", false, &mut errors);
    match errors.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        many => many.iter().fold("errors:".to_owned(), |text, error| format!("{text}\n  {error}")),
    }
}

/// `open` says whether unknown fields are allowed around the value, and so in it.
fn check(node: Node<'_>, value: &Value, path: &str, open: bool, errors: &mut Vec<String>) {
    let mut wrong = |why: String| {
        let colon = if path.is_empty() { "" } else { ": " };
        errors.push(format!("{path}{colon}{why}"));
    };
    let (schema, meta) = match node {
        Node::Root(schema, _) => (schema, true),
        Node::Of(schema) => (schema, false),
        Node::Deduced | Node::Leaf => return,
    };
    if value.is_null() {
        return;
    }
    let open = open || schema.preserves_unknown;
    let got = || format!("&{{{}}}", go::plain(value));
    let got_syntax = || format!("&value.valueUnstructured{{Value:{}}}", go::syntax(value));
    match (schema.type_, value) {
        _ if schema.int_or_string => {}
        (Some(Type::Object), Value::Object(map)) => {
            for (name, value) in map {
                let below = format!("{path}.{name}");
                if !open && !is_declared(schema, meta, name) {
                    errors.push(format!("{below}: field not declared in schema"));
                    break;
                }
                check(node.field(name), value, &below, open, errors);
            }
        }
        (Some(Type::Object), _) => wrong(format!("expected map, got {}", got())),
        (Some(Type::Array), Value::Array(items)) => check_items(node, (schema, open), items, path, errors),
        (Some(Type::Array), _) => wrong(format!("expected list, got {}", got())),
        // Anything is allowed here, but named fields have their types.
        (None, Value::Object(map)) => {
            for (name, value) in map.iter().filter(|(name, _)| schema.properties.contains_key(*name)) {
                check(node.field(name), value, &format!("{path}.{name}"), open, errors);
            }
        }
        (Some(Type::String), Value::String(_)) | (None, _) => {}
        (Some(Type::String), Value::Number(_) | Value::Bool(_)) if schema.is_any_scalar() => {}
        (Some(Type::String), _) => wrong(format!("expected string, got {}", got_syntax())),
        (Some(Type::Integer | Type::Number), Value::Number(_)) => {}
        (Some(Type::Integer | Type::Number), _) => {
            wrong(format!("expected numeric (int or float), got {}", go::type_of(value)));
        }
        (Some(Type::Boolean), Value::Bool(_)) => {}
        (Some(Type::Boolean), _) => wrong(format!("expected boolean, got {}", got())),
    }
}

fn is_declared(schema: &Schema, is_root: bool, name: &str) -> bool {
    (is_root && matches!(name, "apiVersion" | "kind" | "metadata"))
        || schema.properties.contains_key(name)
        || matches!(schema.additional, Some(Additional::Of(_) | Additional::Any))
        || (!is_root && schema.properties.is_empty())
}

fn check_items(
    node: Node<'_>,
    (schema, open): (&Schema, bool),
    items: &[Value],
    path: &str,
    errors: &mut Vec<String>,
) {
    let list = schema.list.as_ref().unwrap_or(&List::Atomic);
    let mut seen = Vec::new();
    for (index, value) in items.iter().enumerate() {
        let mut step = format!("[{index}]");
        if *list != List::Atomic {
            if let Some(why) = unkeyed(list, value, node) {
                errors.push(format!("{path}: element {index}: {why}"));
                return;
            }
            let element = item(list, value, node);
            step = shown(&element);
            if seen.contains(&element) {
                errors.push(format!("{path}{DUPLICATE}{step}"));
            }
            seen.push(element);
        }
        check(node.item(), value, &format!("{path}{step}"), open, errors);
    }
}

/// Why an item has no unique key.
fn unkeyed(list: &List, value: &Value, node: Node<'_>) -> Option<String> {
    let has_default = |key: &String| match node.item() {
        Node::Of(item) => item.properties.get(key).is_some_and(|field| field.default.is_some()),
        _ => false,
    };
    let why = match (list, value) {
        (List::Map(_), Value::Null) => "associative list with keys may not have a null element",
        (List::Map(keys), Value::Object(map)) => {
            if keys.iter().any(|key| map.contains_key(key) || has_default(key)) {
                return None;
            }
            let keys: Vec<String> = keys.iter().map(|key| format!("{key:?}")).collect();
            return Some(format!(
                "associative list with keys has an element that omits all key fields [{}] (and doesn't have default values for any key fields)",
                keys.join(" ")
            ));
        }
        (List::Map(_), _) => "associative list with keys may not have non-map elements",
        (_, Value::Object(_)) => "associative list without keys has an element that's a map type",
        (_, Value::Array(_)) => "not supported: associative list with lists as elements",
        (_, Value::Null) => "associative list without keys has an element that's an explicit null",
        _ => return None,
    };
    Some(why.to_owned())
}
