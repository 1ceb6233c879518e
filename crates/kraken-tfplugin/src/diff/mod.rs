//! The differences between a prior and a planned state, for people: secret values are never in them.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::path::{Path, Step};
use crate::schema::{Attribute, Block, Form, Nesting};
use crate::value::{Value, encode_number};

/// Shown instead of a value that only the change itself determines.
pub const KNOWN_AFTER_APPLY: &str = "(known after apply)";
/// Shown instead of a secret value.
pub const SENSITIVE: &str = "(sensitive)";

/// A difference.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Where. Sets differ as a whole.
    pub path: Path,
    /// The value before, null if there was none, with [`SENSITIVE`] for secret values.
    pub before: Json,
    /// The value after, null if there is none, with [`SENSITIVE`] for secret values and [`KNOWN_AFTER_APPLY`] for unknown ones.
    pub after: Json,
    /// Whether the value is secret.
    pub is_sensitive: bool,
    /// Whether the value after is unknown.
    pub is_unknown: bool,
}

/// The differences of two objects of a block, in the order of their paths. Null is an object whose attributes are null.
pub fn differences(block: &Block, before: &Value, after: &Value) -> Vec<Difference> {
    let mut found = Found { differences: vec![], path: Path::default() };
    found.block(block, before, after);
    found.differences
}

struct Found {
    differences: Vec<Difference>,
    path: Path,
}

impl Found {
    fn at(&mut self, step: Step, compare: impl FnOnce(&mut Self)) {
        self.path.push(step);
        compare(self);
        self.path.pop();
    }

    fn block(&mut self, block: &Block, before: &Value, after: &Value) {
        for (name, attribute) in &block.attributes {
            let (before, after) = (before.attribute(name), after.attribute(name));
            self.at(Step::Attribute(name.clone()), |found| found.attribute(attribute, before, after));
        }
        for (name, nested) in &block.blocks {
            // A block that does not exist is no difference to one without content.
            let (before, after) = (before.attribute(name), after.attribute(name));
            let empty = nested.empty_value();
            let before = if before.is_null() { &empty } else { before };
            let after = if after.is_null() { &empty } else { after };
            let objects = Objects::Block(&nested.block);
            self.at(Step::Attribute(name.clone()), |found| {
                found.objects(objects, nested.nesting, before, after);
            });
        }
    }

    fn attribute(&mut self, attribute: &Attribute, before: &Value, after: &Value) {
        if is_same(before, after) {
            return;
        }
        let found = self.differences.len();
        match &attribute.form {
            _ if attribute.is_secret() => {
                let hidden = |value: &Value| if value.is_null() { Json::Null } else { SENSITIVE.into() };
                self.push(hidden(before), hidden(after), true, after);
            }
            Form::Plain(_) => self.plain(before, after),
            Form::Nested { nesting, attributes } => {
                self.objects(Objects::Attributes(attributes), *nesting, before, after);
            }
        }
        // Nothing inside it differs, but the values do: a null element of a list, a key with null, the type of a dynamic value.
        if self.differences.len() == found {
            self.push(shown_attribute(attribute, before), shown_attribute(attribute, after), false, after);
        }
    }

    /// Values without a schema.
    fn plain(&mut self, before: &Value, after: &Value) {
        match (before.inner(), after.inner()) {
            (before, after) if is_same(before, after) => {}
            (Value::List(old), Value::List(new)) => self.lists(old, new, Self::plain),
            (Value::Map(old), Value::Map(new)) => self.maps(old, new, Step::Key, Self::plain),
            (Value::Object(old), Value::Object(new)) => self.maps(old, new, Step::Attribute, Self::plain),
            (before, after) => self.push(shown(before), shown(after), false, after),
        }
    }

    fn objects(&mut self, objects: Objects<'_>, nesting: Nesting, before: &Value, after: &Value) {
        let object = |found: &mut Self, before: &Value, after: &Value| match (before, after) {
            (Value::Object(_), Value::Object(_)) => objects.compare(found, before, after),
            _ => found.whole(objects, before, after),
        };
        match (nesting, before, after) {
            _ if is_same(before, after) => {}
            (Nesting::List, Value::List(old), Value::List(new)) => self.lists(old, new, object),
            (Nesting::Map, Value::Map(old), Value::Map(new)) => self.maps(old, new, Step::Key, object),
            (Nesting::Single | Nesting::Group, Value::Object(_), Value::Object(_)) => {
                objects.compare(self, before, after);
            }
            _ => self.whole(objects, before, after),
        }
    }

    fn lists(&mut self, old: &[Value], new: &[Value], compare: impl Fn(&mut Self, &Value, &Value)) {
        for index in 0..old.len().max(new.len()) {
            let element = |list: &[Value]| list.get(index).cloned().unwrap_or_default();
            let (before, after) = (element(old), element(new));
            if !is_same(&before, &after) {
                self.at(Step::Index(index), |found| compare(found, &before, &after));
            }
        }
    }

    fn maps<K: Fn(String) -> Step>(
        &mut self,
        old: &BTreeMap<String, Value>,
        new: &BTreeMap<String, Value>,
        step: K,
        compare: impl Fn(&mut Self, &Value, &Value),
    ) {
        let added = new.keys().filter(|key| !old.contains_key(*key));
        for key in old.keys().chain(added) {
            let element = |map: &BTreeMap<String, Value>| map.get(key).cloned().unwrap_or_default();
            let (before, after) = (element(old), element(new));
            if !is_same(&before, &after) {
                self.at(step(key.clone()), |found| compare(found, &before, &after));
            }
        }
    }

    /// Sets, and objects that do not exist before or after.
    fn whole(&mut self, objects: Objects<'_>, before: &Value, after: &Value) {
        let (shown_before, shown_after) = (objects.shown(before), objects.shown(after));
        let differs_in_secrets = shown_before == shown_after;
        self.push(shown_before, shown_after, differs_in_secrets, after);
    }

    fn push(&mut self, before: Json, after: Json, is_sensitive: bool, value: &Value) {
        let is_unknown = *value == Value::Unknown;
        let (path, after) = (self.path.clone(), if is_unknown { KNOWN_AFTER_APPLY.into() } else { after });
        self.differences.push(Difference { path, before, after, is_sensitive, is_unknown });
    }
}

/// The schema of objects in another one.
#[derive(Clone, Copy)]
enum Objects<'a> {
    Block(&'a Block),
    Attributes(&'a BTreeMap<String, Attribute>),
}

impl Objects<'_> {
    fn compare(self, found: &mut Found, before: &Value, after: &Value) {
        match self {
            Self::Block(block) => found.block(block, before, after),
            Self::Attributes(attributes) => {
                for (name, attribute) in attributes {
                    let (before, after) = (before.attribute(name), after.attribute(name));
                    found
                        .at(Step::Attribute(name.clone()), |found| found.attribute(attribute, before, after));
                }
            }
        }
    }

    /// Objects of this schema as JSON, without secret values and without null.
    fn shown(self, value: &Value) -> Json {
        match value {
            Value::List(elements) => elements.iter().map(|element| self.shown(element)).collect(),
            Value::Set(elements) => elements.as_slice().iter().map(|element| self.shown(element)).collect(),
            Value::Map(elements) => Json::Object(
                elements.iter().map(|(key, element)| (key.clone(), self.shown(element))).collect(),
            ),
            Value::Object(values) => {
                let shown = values.iter().filter(|(_, value)| !value.is_null()).map(|(name, value)| {
                    let shown = match self {
                        Self::Block(block) => match (block.attributes.get(name), block.blocks.get(name)) {
                            (Some(attribute), _) => shown_attribute(attribute, value),
                            (None, Some(nested)) => Objects::Block(&nested.block).shown(value),
                            (None, None) => Json::Null,
                        },
                        Self::Attributes(attributes) => attributes
                            .get(name)
                            .map_or(Json::Null, |attribute| shown_attribute(attribute, value)),
                    };
                    (name.clone(), shown)
                });
                Json::Object(shown.collect())
            }
            other => shown(other),
        }
    }
}

fn shown_attribute(attribute: &Attribute, value: &Value) -> Json {
    match &attribute.form {
        _ if attribute.is_secret() && !value.is_null() => SENSITIVE.into(),
        Form::Plain(_) => shown(value),
        Form::Nested { attributes, .. } => Objects::Attributes(attributes).shown(value),
    }
}

/// A state or configuration of a block as JSON, for people: with [`SENSITIVE`] for secret values, [`KNOWN_AFTER_APPLY`] for unknown
/// ones, and without null.
pub fn masked(block: &Block, value: &Value) -> Json {
    Objects::Block(block).shown(value)
}

/// A value as JSON, for people.
fn shown(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Unknown => KNOWN_AFTER_APPLY.into(),
        Value::Bool(value) => (*value).into(),
        Value::Number(number) => encode_number(number),
        Value::String(text) => text.as_str().into(),
        Value::List(elements) => elements.iter().map(shown).collect(),
        Value::Set(elements) => elements.as_slice().iter().map(shown).collect(),
        Value::Map(elements) | Value::Object(elements) => {
            Json::Object(elements.iter().map(|(key, element)| (key.clone(), shown(element))).collect())
        }
        Value::Dynamic(dynamic) => shown(&dynamic.1),
    }
}

/// Whether values are equal. Fractions are, if they are the same binary fraction: a provider may calculate with these.
pub(crate) fn is_same(before: &Value, after: &Value) -> bool {
    let all = |old: &[Value], new: &[Value]| {
        old.len() == new.len() && old.iter().zip(new).all(|(old, new)| is_same(old, new))
    };
    match (before, after) {
        (Value::Number(old), Value::Number(new)) if !old.is_integer() && !new.is_integer() => {
            old == new || old.to_f64().to_bits() == new.to_f64().to_bits()
        }
        (Value::List(old), Value::List(new)) => all(old, new),
        (Value::Set(old), Value::Set(new)) => all(old.as_slice(), new.as_slice()),
        (Value::Map(old), Value::Map(new)) | (Value::Object(old), Value::Object(new)) => {
            old.len() == new.len()
                && old.iter().zip(new).all(|(old, new)| old.0 == new.0 && is_same(old.1, new.1))
        }
        _ => before == after,
    }
}
