//! Normalization of responses: UIDs, times, resource versions, generated names.
//!
//! A UID becomes the number of its first appearance. So does a resource version, with how many of the versions seen so
//! far are older: equal texts on both servers mean that versions are in the same order. The version of a list is only
//! compared by the newest object version that it covers: a real server also counts the writes of others.

use std::{collections::BTreeMap, fmt::Write as _};

use jiff::Timestamp;
use serde_json::{Map, Value};

/// Times before this are those of the requests and are compared as they are. 2015-01-01.
const OWN_TIMES_END: i64 = 1_420_070_400;

/// The values in the responses of one server so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Normaliser {
    /// Begins the name of each namespace of this run.
    prefix: String,
    uids: BTreeMap<String, usize>,
    /// By version, the number of its first appearance.
    versions: BTreeMap<u64, usize>,
    /// Generated names, in the order of their appearance.
    names: Vec<String>,
    /// Whether new versions are numbered without telling their order: others than the requests wrote them.
    pub(super) unordered: bool,
}

impl Normaliser {
    /// For a server without responses.
    pub(super) fn new(prefix: &str) -> Self {
        Self { prefix: prefix.to_owned(), ..Self::default() }
    }

    /// A generated name is its prefix and five characters.
    fn note_generated(&mut self, metadata: &Map<String, Value>) {
        let text = |key: &str| metadata.get(key).and_then(Value::as_str);
        if let (Some(prefix), Some(name)) = (text("generateName"), text("name")) {
            self.generated(prefix, name);
        }
    }

    /// Notes a name that may be generated.
    pub(super) fn generated(&mut self, prefix: &str, name: &str) {
        let is_generated = name.starts_with(prefix) && name.len() == prefix.len() + 5;
        if is_generated && !self.names.iter().any(|known| known == name) {
            self.names.push(name.to_owned());
        }
    }

    /// The answer in the form that is compared.
    pub(super) fn of(&mut self, value: &Value) -> Value {
        match value {
            Value::Object(fields) => self.object(fields),
            Value::Array(items) => items.iter().map(|item| self.of(item)).collect(),
            Value::String(text) => Value::String(self.text(text)),
            other => other.clone(),
        }
    }

    fn object(&mut self, fields: &Map<String, Value>) -> Value {
        self.note_generated(fields);
        let is_list = fields.contains_key("items") && fields.contains_key("metadata");
        let is_status = fields.get("kind").and_then(Value::as_str) == Some("Status");
        let is_bookmark = fields.get("type").and_then(Value::as_str) == Some("BOOKMARK");
        let mut out = Map::new();
        for (key, value) in fields {
            let new = match (key.as_str(), value) {
                ("resourceVersion", Value::String(version)) => Value::String(self.version(version)),
                ("metadata", Value::Object(metadata)) if is_list => self.list_metadata(metadata),
                ("object", Value::Object(object)) if is_bookmark => self.bookmark(object),
                // A message that is not compared must not count versions and UIDs.
                ("message", Value::String(text)) if is_status && is_undecoded(fields) => text.clone().into(),
                ("message", Value::String(text)) if is_status => Value::String(self.message(text)),
                ("details", details) if is_status && is_undecoded(fields) => details.clone(),
                _ => self.of(value),
            };
            out.insert(self.text(key), new);
        }
        if is_status {
            in_one_order(&mut out);
        }
        // It is sorted by time, in seconds, first.
        if let Some(Value::Array(managers)) = out.get_mut("managedFields") {
            managers.sort_by_key(|entry| {
                ["operation", "manager", "subresource", "apiVersion"].map(|key| entry[key].to_string())
            });
        }
        Value::Object(out)
    }

    /// When it is sent is up to the server, and so is its version.
    fn bookmark(&mut self, object: &Map<String, Value>) -> Value {
        let mut object = object.clone();
        let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
        let version = metadata.and_then(|metadata| metadata.remove("resourceVersion"));
        let mut out = self.object(&object);
        if version.is_some_and(|version| version.is_string()) {
            out["metadata"]["resourceVersion"] = "<version>".into();
        }
        out
    }

    fn list_metadata(&mut self, metadata: &Map<String, Value>) -> Value {
        let mut out = Map::new();
        for (key, value) in metadata {
            let new = match (key.as_str(), value) {
                ("resourceVersion", Value::String(version)) => Value::String(self.covered(version)),
                ("continue", Value::String(token)) if !token.is_empty() => "<continue>".into(),
                _ => self.of(value),
            };
            out.insert(key.clone(), new);
        }
        Value::Object(out)
    }

    fn version(&mut self, version: &str) -> String {
        let Ok(number) = version.parse::<u64>() else { return version.to_owned() };
        if let Some(known) = self.versions.get(&number) {
            return format!("<version {known}>");
        }
        let index = self.versions.len() + 1;
        let older = self.versions.range(..number).count();
        self.versions.insert(number, index);
        if self.unordered { format!("<version {index}>") } else { format!("<version {index} after {older}>") }
    }

    /// The newest known version that a list's own version covers.
    fn covered(&self, version: &str) -> String {
        let Ok(number) = version.parse::<u64>() else { return version.to_owned() };
        match self.versions.range(..=number).next_back() {
            Some((_, known)) => format!("<at least version {known}>"),
            None => "<older than all versions>".to_owned(),
        }
    }

    /// Messages name versions as bare numbers.
    fn message(&mut self, text: &str) -> String {
        let mut text = self.text(text);
        if text.starts_with("too old resource version")
            && let Some((head, _)) = text.split_once(" (")
        {
            // The oldest one that the server remembers.
            text = format!("{head} (<oldest>)");
        }
        let lower = text.to_lowercase();
        if !lower.contains("resource version") && !lower.contains("resourceversion") {
            return text;
        }
        let mut out = String::new();
        let mut digits = String::new();
        for character in text.chars().chain(std::iter::once('\0')) {
            if character.is_ascii_digit() {
                digits.push(character);
                continue;
            }
            if !digits.is_empty() {
                let known = digits.parse().ok().and_then(|number: u64| self.versions.get(&number));
                // Digits of a name or of a placeholder are no version.
                let is_number = out.ends_with([' ', '(']) && !character.is_alphanumeric() && character != '>';
                match known.filter(|_| is_number) {
                    Some(known) => drop(write!(out, "<version {known}>")),
                    None => out.push_str(&digits),
                }
                digits.clear();
            }
            out.push(character);
        }
        out.pop();
        out
    }

    fn text(&mut self, text: &str) -> String {
        if let Some(time) = time(text) {
            return time.to_owned();
        }
        let mut text = if self.prefix.is_empty() { text.to_owned() } else { text.replace(&self.prefix, "@") };
        for (index, name) in self.names.iter().enumerate() {
            if text.contains(name.as_str()) {
                text = text.replace(name.as_str(), &format!("<name {}>", index + 1));
            }
        }
        self.without_uids(&text)
    }

    /// Without UIDs, times and versions in the middle of a text, as in messages that quote an object.
    fn without_uids(&mut self, text: &str) -> String {
        const UID: usize = 36;
        const TIME: usize = 20;
        const VERSION: &str = "resourceVersion";
        if text.len() < TIME {
            return text.to_owned();
        }
        let mut out = String::new();
        let mut rest = text;
        while !rest.is_empty() {
            if let Some(uid) = rest.get(..UID).filter(|head| is_uid(head)) {
                let next = self.uids.len() + 1;
                let index = *self.uids.entry(uid.to_owned()).or_insert(next);
                let _ = write!(out, "<uid {index}>");
                rest = &rest[UID..];
            } else if let Some(time) = rest.get(..TIME).and_then(time) {
                out.push_str(time);
                rest = &rest[TIME..];
            } else if let Some(after) = rest.strip_prefix(VERSION) {
                out.push_str(VERSION);
                // Quotes are escaped once for each text that this one is quoted in.
                let value = after.trim_start_matches(['\\', '"', ':']);
                let end = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
                if end > 0 && value.len() < after.len() {
                    out.push_str(&self.version(&value[..end]));
                    rest = &value[end..];
                } else {
                    rest = after;
                }
            } else {
                let mut characters = rest.chars();
                out.extend(characters.next());
                rest = characters.as_str();
            }
        }
        out
    }
}

/// Whether a request could not be decoded: the message quotes it.
fn is_undecoded(status: &Map<String, Value>) -> bool {
    let is_patch = status.get("details").is_some_and(|details| details["causes"][0]["field"] == "patch");
    is_patch || matches!(status.get("code").and_then(Value::as_u64), Some(400 | 415 | 500))
}

/// The causes of a refusal come in the order of a hash map.
fn in_one_order(status: &mut Map<String, Value>) {
    if let Some(Value::String(message)) = status.get_mut("message")
        && let Some((head, lines)) = message.split_once("errors:\n")
    {
        let mut lines: Vec<&str> = lines.lines().collect();
        lines.sort_unstable();
        *message = format!("{head}errors:\n{}", lines.join("\n"));
    }
    let causes = status.get_mut("details").and_then(|details| details.get_mut("causes"));
    let Some(causes) = causes.and_then(Value::as_array_mut).filter(|causes| causes.len() > 1) else { return };
    causes.sort_by_key(ToString::to_string);
    // The metadata is validated twice, and errors are repeated.
    causes.dedup();
    if causes.len() == 1 {
        return;
    }
    let Some(Value::String(message)) = status.get_mut("message") else { return };
    for cut in [" is invalid: [", " conflicts: "] {
        if let Some(at) = message.find(cut) {
            message.truncate(at + cut.len());
            message.push_str("<in any order>");
        }
    }
}

fn is_uid(text: &str) -> bool {
    text.char_indices().all(|(index, character)| match index {
        8 | 13 | 18 | 23 => character == '-',
        _ => character.is_ascii_digit() || ('a'..='f').contains(&character),
    })
}

/// The placeholder of a server time.
fn time(text: &str) -> Option<&'static str> {
    let looks = text.len() >= 20 && text.ends_with('Z') && text.as_bytes().get(10) == Some(&b'T');
    let time: Timestamp = text.parse().ok().filter(|_| looks)?;
    (time.as_second() > OWN_TIMES_END).then_some(if text.contains('.') { "<precise time>" } else { "<time>" })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn server_specific_values_are_normalized() {
        let mut normal = Normaliser::new("p1-");
        let uid = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0";
        let object = json!({"metadata": {
            "namespace": "p1-a", "name": "x-abcde", "generateName": "x-", "uid": uid, "resourceVersion": "120",
            "creationTimestamp": "2026-11-22T03:00:00Z"},
            "spec": {"renewTime": "2001-01-01T00:00:00.000000Z"}});
        assert_eq!(
            normal.of(&object),
            json!({"metadata": {
                "namespace": "@a", "name": "<name 1>", "generateName": "x-", "uid": "<uid 1>", "resourceVersion": "<version 1 after 0>",
                "creationTimestamp": "<time>"},
                "spec": {"renewTime": "2001-01-01T00:00:00.000000Z"}})
        );
        let list = json!({"metadata": {"resourceVersion": "130"}, "items": []});
        assert_eq!(normal.of(&list)["metadata"]["resourceVersion"], "<at least version 1>");
        assert_eq!(normal.of(&json!({"resourceVersion": "110"}))["resourceVersion"], "<version 2 after 0>");
        let refused =
            json!({"kind": "Status", "message": format!("ResourceVersion in precondition: 120, UID {uid}")});
        assert_eq!(
            normal.of(&refused)["message"],
            "ResourceVersion in precondition: <version 1>, UID <uid 1>"
        );
        let bookmark = json!({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "115"}}});
        assert_eq!(
            normal.of(&bookmark)["object"]["metadata"]["resourceVersion"],
            "<version>",
            "a real server counts the writes of others"
        );
    }
}
