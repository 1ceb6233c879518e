//! The sources of values that specs refer to, and the texts that ConfigMaps and Secrets have.

use std::collections::BTreeMap;

use serde_json::Value;

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
    pub(super) fn of_template(reference: &str) -> Option<Self> {
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

/// The texts of a ConfigMap or a Secret.
pub(super) fn data(object: &Value) -> BTreeMap<String, String> {
    let decode = object["kind"] == "Secret";
    let data = object["data"].as_object().into_iter().flatten();
    data.map(|(key, value)| {
        let text = value.as_str().unwrap_or_default();
        (key.clone(), if decode { from_base64(text) } else { text.to_owned() })
    })
    .collect()
}

/// A value as text.
pub(super) fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned)
}

/// The text that is meant by base64.
fn from_base64(text: &str) -> String {
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
