//! Duplicate items of sets, and of lists with keys.

use serde_json::Value;

use super::{List, Place, Schema};
use crate::cause::{Cause, shown};

/// Items of sets and of lists with keys must differ, anywhere in a value.
pub fn duplicates(value: &Value, schema: &Schema, place: &Place<'_>, causes: &mut Vec<Cause>) {
    if !schema.has_keys {
        return;
    }
    match value {
        Value::Array(items) => {
            duplicate_items(items, schema, place, causes);
            for (index, item) in items.iter().enumerate() {
                if let Some(of) = &schema.items {
                    duplicates(item, of, &Place::Item(place, index), causes);
                }
            }
        }
        Value::Object(map) => {
            for (name, value) in map {
                if let Some(of) = schema.field(name) {
                    duplicates(value, of, &Place::Field(place, name), causes);
                }
            }
        }
        _ => {}
    }
}

fn duplicate_items(items: &[Value], schema: &Schema, place: &Place<'_>, causes: &mut Vec<Cause>) {
    let keys: Vec<Value> = match &schema.list {
        Some(List::Set) => items.to_vec(),
        Some(List::Map(names)) => {
            let wrong = items.iter().position(|item| !item.is_null() && !item.is_object());
            if let Some((index, item)) = wrong.and_then(|index| Some((index, items.get(index)?))) {
                let field = Place::Item(place, index).text();
                causes.push(Cause::invalid(field, item, "must be an object for an array of list-type map"));
                return;
            }
            let key = |item: &Value| {
                let key = |name: &String| Some((name.clone(), item.get(name)?.clone()));
                Value::Object(names.iter().filter_map(key).collect())
            };
            items.iter().map(key).collect()
        }
        _ => return,
    };
    for (index, key) in keys.iter().enumerate() {
        // Reported once, at the second occurrence.
        if keys.get(..index).is_some_and(|before| before.iter().filter(|other| *other == key).count() == 1) {
            let message = format!("Duplicate value: {}", shown(key));
            let field = Place::Item(place, index).text();
            causes.push(Cause { reason: "FieldValueDuplicate", message, field });
        }
    }
}
