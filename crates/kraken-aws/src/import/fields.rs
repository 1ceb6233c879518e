//! The fields of a spec, from observed values. Pure.

use serde::Serialize;
use serde_json::{Map, Value, json};

/// An option with a literal, as it is written in a spec.
pub fn literal(value: impl Serialize) -> Value {
    json!({"value": value})
}

/// Fields as they are written. Absent values, empty texts and empty lists are not written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fields(pub(super) Map<String, Value>);

impl Fields {
    /// An observed value.
    pub fn one<T: Serialize>(&mut self, name: &str, have: Option<&T>) {
        self.add(name, json!(have));
    }

    /// An observed value, unless it is the one that AWS chooses by itself.
    pub fn one_unless<T: Serialize>(
        &mut self,
        name: &str,
        have: Option<&T>,
        default: &(impl Serialize + ?Sized),
    ) {
        let have = json!(have);
        if have != json!(default) {
            self.add(name, have);
        }
    }

    /// An observed list.
    pub fn list<T: Serialize>(&mut self, name: &str, have: &[T]) {
        self.add(name, json!(have));
    }

    /// A field as it is written, if there is one: the inverse of a kind's own.
    pub fn own(&mut self, name: &str, written: Option<Value>) {
        if let Some(written) = written {
            self.0.insert(name.to_owned(), written);
        }
    }

    /// All fields as a group, if there are any.
    pub fn group(self) -> Option<Value> {
        (!self.0.is_empty()).then_some(Value::Object(self.0))
    }

    fn add(&mut self, name: &str, have: Value) {
        let is_absent = match &have {
            Value::Null => true,
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            _ => false,
        };
        if !is_absent {
            self.0.insert(name.to_owned(), literal(have));
        }
    }
}
