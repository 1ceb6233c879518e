//! What a request says on one server: names of namespaces and earlier answers put in.

use std::collections::BTreeMap;

use serde_json::Value;

use super::steps::Body;

/// The placeholder for a response of a removed step, or for a missing value.
const NOTHING: &str = "987654321";

/// What was answered, by step.
#[derive(Debug, Default)]
pub(super) struct Answers {
    /// Begins the name of each namespace of this run.
    pub(super) prefix: String,
    pub(super) by_step: BTreeMap<usize, Value>,
}

impl Answers {
    /// The text with everything put in.
    pub(super) fn text(&self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("<<") {
            let Some((inner, after)) = after.split_once(">>") else { break };
            out.push_str(before);
            out.push_str(&self.value(inner));
            rest = after;
        }
        out.push_str(rest);
        out
    }

    fn value(&self, inner: &str) -> String {
        let Some((step, path)) = inner.split_once('/') else { return format!("{}{inner}", self.prefix) };
        let answer = step.parse().ok().and_then(|step: usize| self.by_step.get(&step));
        match answer.and_then(|answer| answer.pointer(&format!("/{path}"))) {
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => NOTHING.to_owned(),
        }
    }

    /// The value with everything put in, keys of objects included.
    pub(super) fn json(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text)),
            Value::Array(items) => items.iter().map(|item| self.json(item)).collect(),
            Value::Object(fields) => {
                fields.iter().map(|(key, value)| (self.text(key), self.json(value))).collect()
            }
            other => other.clone(),
        }
    }

    /// The bytes of a body.
    pub(super) fn body(&self, body: &Body) -> Vec<u8> {
        match body {
            Body::None => Vec::new(),
            Body::Json(value) => self.json(value).to_string().into_bytes(),
            Body::Text(text) => self.text(text).into_bytes(),
            Body::Edited { step, edits } => {
                let mut value = self.by_step.get(step).cloned().unwrap_or_default();
                for (pointer, new) in edits {
                    edit(&mut value, pointer, new.as_ref().map(|new| self.json(new)));
                }
                value.to_string().into_bytes()
            }
        }
    }
}

/// Sets or removes what is at a pointer; parents that are missing are made.
pub(super) fn edit(value: &mut Value, pointer: &str, new: Option<Value>) {
    let Some((parent, last)) = pointer.rsplit_once('/') else {
        *value = new.unwrap_or_default();
        return;
    };
    let mut at = value;
    for part in parent.split('/').skip(1).map(unescaped) {
        at = match at {
            Value::Array(items) => {
                let Some(item) = part.parse().ok().and_then(|index: usize| items.get_mut(index)) else {
                    return;
                };
                item
            }
            other => {
                if !other.is_object() {
                    *other = Value::Object(serde_json::Map::new());
                }
                let Value::Object(fields) = other else { return };
                fields.entry(part).or_insert_with(|| Value::Object(serde_json::Map::new()))
            }
        };
    }
    let last = unescaped(last);
    match (at, new) {
        (Value::Object(fields), Some(new)) => drop(fields.insert(last, new)),
        (Value::Object(fields), None) => drop(fields.remove(&last)),
        (Value::Array(items), new) => {
            let Some(index) = last.parse().ok().filter(|index: &usize| *index < items.len()) else { return };
            match new {
                Some(new) => items[index] = new,
                None => drop(items.remove(index)),
            }
        }
        _ => {}
    }
}

fn unescaped(part: &str) -> String {
    part.replace("~1", "/").replace("~0", "~")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn placeholders_are_replaced_by_values_of_earlier_responses() {
        let mut answers = Answers { prefix: "p1-".into(), ..Answers::default() };
        answers.by_step.insert(3, json!({"metadata": {"uid": "u"}}));
        assert_eq!(answers.text("/ns/<<a>>/x/<<3/metadata/uid>>"), "/ns/p1-a/x/u");
        assert_eq!(answers.text("<<4/metadata/uid>> <<"), "987654321 <<");
    }

    #[test]
    fn edits_make_the_parents_that_are_missing() {
        let mut value = json!({"a": [{"b": 1}]});
        edit(&mut value, "/a/0/b", Some(json!(2)));
        edit(&mut value, "/c/d~1e", Some(json!(3)));
        edit(&mut value, "/a/0/x", None);
        assert_eq!(value, json!({"a": [{"b": 2}], "c": {"d/e": 3}}));
    }
}
