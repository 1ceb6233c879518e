//! Defaults, as far as the objects are there that hold them.

use serde_json::Value;

use super::{Additional, Schema};

/// Applies defaults. A null that the schema does not allow counts as absent.
pub fn apply_defaults(value: &mut Value, schema: &Schema) {
    if !schema.has_defaults {
        return;
    }
    match value {
        Value::Object(map) => {
            for (name, property) in &schema.properties {
                let Some(default) = &property.default else { continue };
                let is_absent = map.get(name).is_none_or(|value| is_refused_null(value, property));
                if is_absent {
                    map.insert(name.clone(), default.clone());
                }
            }
            for (name, value) in map.iter_mut() {
                if let Some(property) = schema.properties.get(name) {
                    apply_defaults(value, property);
                } else if let Some(Additional::Of(of)) = &schema.additional {
                    if is_refused_null(value, of) {
                        *value = of.default.clone().unwrap_or_default();
                    }
                    apply_defaults(value, of);
                }
            }
        }
        Value::Array(items) => {
            let Some(of) = &schema.items else { return };
            for item in items {
                if is_refused_null(item, of) {
                    *item = of.default.clone().unwrap_or_default();
                }
                apply_defaults(item, of);
            }
        }
        _ => {}
    }
}

/// Removes nulls of fields that the schema does not allow to be null.
pub fn drop_nulls(value: &mut Value, schema: &Schema) {
    match value {
        Value::Object(map) => map.retain(|name, value| {
            let Some(of) = schema.field(name) else { return true };
            let stays = !is_refused_null(value, of);
            if stays {
                drop_nulls(value, of);
            }
            stays
        }),
        Value::Array(items) => {
            let Some(of) = &schema.items else { return };
            for item in items {
                drop_nulls(item, of);
            }
        }
        _ => {}
    }
}

fn is_refused_null(value: &Value, schema: &Schema) -> bool {
    value.is_null() && !schema.nullable
}
