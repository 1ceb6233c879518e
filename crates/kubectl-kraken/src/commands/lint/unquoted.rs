//! Numbers and booleans of YAML where a string is expected, such as the tag `{Team: no}`. kube-apiserver says of them which branches of the
//! schema do not hold, which does not say what to do. Pure.

use anyhow::Result;
use kube_schema::{Place, Schema, validate};
use serde_json::Value;

use super::crds;

/// A value that its schema accepts once it is quoted.
pub(in crate::commands) struct Unquoted {
    /// The path of the field.
    pub(in crate::commands) field: String,
    value: Value,
}

/// What is wrong with a value that is to be a text; `None` if it is missing or empty.
pub(in crate::commands) fn no_text(value: Option<&Value>, written: Option<&str>) -> Option<String> {
    Some(match value {
        Some(value @ (Value::Bool(_) | Value::Number(_))) => {
            Unquoted { field: String::new(), value: value.clone() }.message(written)
        }
        Some(Value::Array(_)) => "is a list, and a string is expected".to_owned(),
        Some(Value::Object(_)) => "is a map, and a string is expected".to_owned(),
        _ => return None,
    })
}

impl Unquoted {
    /// What to do. `written`: the value in the text, if that is known: `no` is `false`.
    pub(in crate::commands) fn message(&self, written: Option<&str>) -> String {
        let value = self.value.to_string();
        let type_ = if self.value.is_boolean() { "boolean" } else { "number" };
        let example = match written {
            // Which word it was is not known.
            None if self.value.is_boolean() => String::new(),
            _ => format!(" ({:?})", written.unwrap_or(&value)),
        };
        format!("{} is a {type_}, and a string is expected: quote it{example}", written.unwrap_or(&value))
    }
}

/// Those of an object of Kraken; nothing if its kind is not of this version.
pub(in crate::commands) fn of_object(object: &Value) -> Result<Vec<Unquoted>> {
    let api = object["apiVersion"].as_str().and_then(|api| api.split_once('/'));
    let Some((group, version)) = api else { return Ok(vec![]) };
    let crds = crds::all()?;
    let crd = crds.iter().find(|crd| crd.group == group && object["kind"] == crd.kind.as_str());
    let schema = crd.map(|crd| crd.schema(version)).transpose()?.flatten();
    Ok(schema.map(|schema| unquoted(object, &schema)).unwrap_or_default())
}

/// Those of a value, by its schema.
pub(super) fn unquoted(value: &Value, schema: &Schema) -> Vec<Unquoted> {
    let mut found = vec![];
    walk(value, schema, &Place::Root, &mut found);
    found
}

fn walk(value: &Value, schema: &Schema, place: &Place<'_>, found: &mut Vec<Unquoted>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if let Some(of) = schema.field(name) {
                    walk(value, of, &Place::Field(place, name), found);
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                if let Some(of) = &schema.items {
                    walk(item, of, &Place::Item(place, index), found);
                }
            }
        }
        Value::Bool(_) | Value::Number(_) => {
            let is_valid = |value: &Value| {
                let mut causes = vec![];
                validate(value, None, schema, &Place::Root, &mut causes);
                causes.is_empty()
            };
            if !is_valid(value) && is_valid(&Value::from(value.to_string())) {
                found.push(Unquoted { field: place.text(), value: value.clone() });
            }
        }
        _ => {}
    }
}
