//! The value of a reference.

use serde_json::Value;

use super::{Oracle, data};
use crate::check::permits;

/// The source of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// A key of a ConfigMap or a Secret: the kind, the name, the key.
    Key(&'static str, String, String),
    /// A path in the state of a resource; its main id without one: the kind, the name (`namespace:name` in another one), the path.
    State(String, String, Option<String>),
    /// A text with sources in it.
    Template(String),
}

impl Source {
    /// What follows `valueFrom`.
    pub(super) fn of(from: &Value) -> Option<Self> {
        let text = |value: &Value| value.as_str().map(ToOwned::to_owned);
        for (member, kind) in [("configMap", "ConfigMap"), ("secret", "Secret")] {
            if let Some(key) = from.get(member) {
                return Some(Self::Key(kind, text(&key["name"])?, text(&key["key"])?));
            }
        }
        if let Some(resource) = from.get("krakenResource") {
            let name = text(&resource["name"])?;
            let name = match text(&resource["namespace"]) {
                Some(namespace) => format!("{namespace}:{name}"),
                None => name,
            };
            return Some(Self::State(text(&resource["kind"])?, name, text(&resource["path"])));
        }
        if let Some(reference) = from.get("ref").and_then(Value::as_str) {
            let mut parts = reference.splitn(3, '/');
            let (kind, name) = (parts.next()?.to_owned(), parts.next()?.to_owned());
            return Some(Self::State(kind, name, parts.next().map(ToOwned::to_owned)));
        }
        from.get("templateString").and_then(text_of).map(Self::Template)
    }

    /// What the references of a template name.
    pub(super) fn all_of_template(template: &str) -> Vec<Self> {
        let references = template.split("{{").skip(1).filter_map(|part| part.split_once("}}"));
        references.filter_map(|(reference, _)| Self::of_template(reference)).collect()
    }

    /// What `{{ .Kind.name.path }}` names.
    fn of_template(reference: &str) -> Option<Self> {
        let mut parts = reference.trim().trim_start_matches('.').splitn(3, '.');
        let (kind, name, path) =
            (parts.next()?, parts.next()?.to_owned(), parts.next().map(ToOwned::to_owned));
        Some(match (kind, path) {
            ("ConfigMap", Some(key)) => Self::Key("ConfigMap", name, key),
            ("Secret", Some(key)) => Self::Key("Secret", name, key),
            (kind, path) => Self::State(kind.to_owned(), name, path),
        })
    }
}

fn text_of(value: &Value) -> Option<String> {
    value.as_str().map(ToOwned::to_owned)
}

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

/// A value as text.
pub(super) fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned)
}

/// The text that is meant by base64.
pub(super) fn from_base64(text: &str) -> String {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => Some(u32::from(byte - b'A')),
        b'a'..=b'z' => Some(u32::from(byte - b'a') + 26),
        b'0'..=b'9' => Some(u32::from(byte - b'0') + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let (mut bytes, mut bits, mut held) = (vec![], 0_u32, 0_u32);
    for value in text.bytes().filter_map(digit) {
        bits = (bits << 6 | value) & 0xff_ffff;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push(u8::try_from((bits >> held) & 0xff).unwrap_or_default());
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
