//! The value of a reference.

use serde_json::Value;

use super::Oracle;
use super::source::{Source, data, text};
use crate::check::permits;

impl Oracle<'_> {
    /// The value that a source has for an object.
    pub(super) fn value(&self, object: &Value, source: &Source) -> Option<Value> {
        let namespace = object["metadata"]["namespace"].as_str()?;
        match source {
            Source::Key(kind, name, key) => {
                let found = self.find(kind, namespace, name)?;
                data(found).get(key).map(|text| Value::from(text.as_str()))
            }
            Source::State(kind, name, path) => {
                if !self.is_permitted(namespace, source) {
                    return None;
                }
                let (there, name) = name.split_once(':').unwrap_or((namespace, name));
                at(self.state(there, kind, name)?, path.as_deref())
            }
            Source::Template(template) => {
                let mut text = String::new();
                let mut rest = template.as_str();
                while let Some((before, after)) = rest.split_once("{{") {
                    let (reference, after) = after.split_once("}}")?;
                    text.push_str(before);
                    text.push_str(&self::text(&self.value(object, &Source::of_template(reference)?)?));
                    rest = after;
                }
                text.push_str(rest);
                Some(text.into())
            }
        }
    }

    /// Whether an object of a namespace may refer to a source: to one in another namespace with a grant of that namespace.
    pub(super) fn is_permitted(&self, namespace: &str, source: &Source) -> bool {
        let Source::State(kind, name, _) = source else { return true };
        let Some((there, name)) = name.split_once(':').filter(|(there, _)| *there != namespace) else {
            return true;
        };
        self.objects.iter().any(|object| {
            object["kind"] == "ReferenceGrant"
                && object["metadata"]["namespace"] == there
                && permits(object, namespace, kind, name)
        })
    }

    fn state(&self, namespace: &str, kind: &str, name: &str) -> Option<&Value> {
        let kind = crate::kinds::key(kind);
        let is_meant = |state: &str| match kind.as_str() {
            "static" => state.strip_prefix("static-") == Some(name),
            kind => {
                let rest = state.strip_prefix(kind).and_then(|rest| rest.strip_prefix('.'));
                rest.and_then(|rest| rest.split_once('.')).is_some_and(|(_, of)| of == name)
            }
        };
        let state = self.objects.iter().find(|object| {
            object["kind"] == "StateDeclaration"
                && object["metadata"]["namespace"] == namespace
                && object["metadata"]["name"].as_str().is_some_and(is_meant)
        });
        state.map(AsRef::as_ref)
    }
}

/// The value at a path of a state; the main id without one.
fn at(state: &Value, path: Option<&str>) -> Option<Value> {
    let found = match path {
        None => &state["spec"]["id"],
        Some(path) => {
            path.split('.').fold(&state["spec"]["data"], |value, member| match member.parse::<usize>() {
                Ok(index) if value.is_array() => &value[index],
                _ => &value[member],
            })
        }
    };
    (!found.is_null()).then(|| found.clone())
}
