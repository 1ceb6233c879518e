//! Prunes unknown fields.

use serde_json::Value;

use super::{Additional, Place, Schema};

/// Prunes a whole object except its type and metadata. Returns the removed paths.
pub fn prune(object: &mut Value, schema: &Schema) -> Vec<String> {
    let mut removed = Vec::new();
    let Value::Object(map) = object else { return removed };
    if schema.preserves_unknown {
        return removed;
    }
    map.retain(|name, value| {
        if matches!(name.as_str(), "apiVersion" | "kind" | "metadata") {
            return true;
        }
        keep(name, value, schema, &Place::Field(&Place::Root, name), &mut removed)
    });
    removed
}

/// Whether the field stays.
fn keep(name: &str, value: &mut Value, schema: &Schema, path: &Place<'_>, removed: &mut Vec<String>) -> bool {
    if let Some(property) = schema.properties.get(name) {
        below(value, Some(property), path, removed);
        return true;
    }
    match &schema.additional {
        Some(Additional::Of(of)) => below(value, Some(of), path, removed),
        Some(Additional::Any) => below(value, None, path, removed),
        None => {
            removed.push(path.text());
            return false;
        }
    }
    true
}

fn below(value: &mut Value, schema: Option<&Schema>, path: &Place<'_>, removed: &mut Vec<String>) {
    let preserves = schema.is_some_and(|schema| schema.preserves_unknown);
    match value {
        Value::Object(map) => map.retain(|name, value| {
            let path = Place::Field(path, name);
            match schema {
                Some(schema) if preserves => {
                    if let Some(field) = schema.field(name) {
                        below(value, Some(field), &path, removed);
                    }
                    true
                }
                Some(schema) => keep(name, value, schema, &path, removed),
                None => {
                    removed.push(path.text());
                    false
                }
            }
        }),
        Value::Array(items) => {
            let of = schema.and_then(|schema| schema.items.as_deref());
            if preserves && of.is_none() {
                return;
            }
            for (index, item) in items.iter_mut().enumerate() {
                below(item, of, &Place::Item(path, index), removed);
            }
        }
        _ => {}
    }
}
