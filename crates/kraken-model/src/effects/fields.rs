//! The fields that differ between two specs, with both values as texts. Pure.

use std::{collections::BTreeSet, fmt};

use kraken_api::{
    effect::shortened,
    status::{ABSENT, tag_path},
};
use kraken_kind::Edit;
use kraken_options::ValueFrom;
use serde_json::{Map, Value};

/// An edited field.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Edited {
    /// The path below `spec`, as in `lifecycle.ignoreChanges`: `ingress.0.protocol`.
    pub path: String,
    /// The values before and after.
    pub values: (Value, Value),
    /// What the edit does.
    pub edit: Edit,
}

impl fmt::Display for Edited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bracketed = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit()) && !part.is_empty();
        for (index, part) in self.path.split('.').enumerate() {
            match (index, bracketed(part)) {
                (0, _) => write!(f, "{part}")?,
                (_, true) => write!(f, "[{part}]")?,
                (_, false) => write!(f, ".{part}")?,
            }
        }
        write!(f, " {} -> {}", shown(&self.values.0), shown(&self.values.1))
    }
}

/// The fields that differ, except the lifecycle and the account; `edit_of` says what an edit of a top-level field does. Tags are
/// fields of their own.
pub(super) fn edited(before: &Value, after: &Value, edit_of: impl Fn(&str) -> Edit) -> Vec<Edited> {
    let nothing = Map::new();
    let (before, after) = (before.as_object().unwrap_or(&nothing), after.as_object().unwrap_or(&nothing));
    let mut found = vec![];
    for (name, values) in differing(before, after) {
        match (name.as_str(), &values) {
            ("lifecycle" | "account", _) => {}
            ("tags", (before, after)) => {
                let (before, after) =
                    (before.as_object().unwrap_or(&nothing), after.as_object().unwrap_or(&nothing));
                let each = differing(before, after);
                found.extend(each.into_iter().map(|(key, values)| Edited {
                    path: tag_path(&key),
                    values,
                    edit: Edit::InPlace,
                }));
            }
            _ => {
                let edit = edit_of(&name);
                let parts = parts(name, values).into_iter();
                found.extend(parts.map(|(path, values)| Edited { path, values, edit }));
            }
        }
    }
    found
}

/// The parts of a field that differ: those of an option are not taken apart.
fn parts(path: String, values: (Value, Value)) -> Vec<(String, (Value, Value))> {
    let is_option = |value: &Value| {
        let fields = value.as_object();
        fields.is_some_and(|fields| fields.contains_key("value") || fields.contains_key("valueFrom"))
    };
    let below = |name: &str| format!("{path}.{name}");
    match &values {
        (Value::Object(before), Value::Object(after)) if !is_option(&values.0) && !is_option(&values.1) => {
            let each = differing(before, after).into_iter();
            each.flat_map(|(name, values)| parts(below(&name), values)).collect()
        }
        (Value::Array(before), Value::Array(after)) if before.len() == after.len() => {
            let pairs = before.iter().zip(after).enumerate().filter(|(_, (before, after))| before != after);
            pairs
                .flat_map(|(index, (before, after))| {
                    parts(below(&index.to_string()), (before.clone(), after.clone()))
                })
                .collect()
        }
        // Items were added or removed: the others are not shown.
        (Value::Array(before), Value::Array(after)) => {
            let only = |of: &[Value], other: &[Value]| {
                Value::Array(of.iter().filter(|item| !other.contains(item)).cloned().collect())
            };
            let (removed, added) = (only(before, after), only(after, before));
            vec![(path, (removed, added))]
        }
        _ => vec![(path, values)],
    }
}

/// The numbers of an edited field, if both are literals.
pub(super) fn numbers(edited: &Edited) -> Option<(i64, i64)> {
    let number = |value: &Value| value["value"].as_i64();
    number(&edited.values.0).zip(number(&edited.values.1))
}

fn differing(before: &Map<String, Value>, after: &Map<String, Value>) -> Vec<(String, (Value, Value))> {
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let value = |of: &Map<String, Value>, name: &String| of.get(name).cloned().unwrap_or_default();
    let both = names.into_iter().map(|name| (name.clone(), (value(before, name), value(after, name))));
    both.filter(|(_, (before, after))| before != after).collect()
}

/// A value of a spec as a user would say it: the literal, or where it comes from.
fn shown(value: &Value) -> String {
    shortened(&text(value))
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => ABSENT.to_owned(),
        Value::String(text) => shortened(&in_one_line(text)),
        Value::Array(items) if items.is_empty() => "none".to_owned(),
        Value::Array(items) => items.iter().map(text).collect::<Vec<_>>().join(", "),
        Value::Object(fields) => match (fields.get("value"), fields.get("valueFrom")) {
            (Some(literal), None) => text(literal),
            (None, Some(from)) => source(from),
            _ => {
                let each = fields.iter().map(|(name, value)| format!("{name}: {}", text(value)));
                format!("{{{}}}", each.collect::<Vec<_>>().join(", "))
            }
        },
        other => other.to_string(),
    }
}

/// The text with its control characters escaped, so that they are visible.
fn in_one_line(text: &str) -> String {
    let escaped = |c: char| if c.is_control() { c.escape_debug().to_string() } else { c.to_string() };
    text.chars().map(escaped).collect()
}

/// Where a value comes from. Neither the value nor a part of it is known here.
fn source(from: &Value) -> String {
    let of_resource = |kind: &str, name: &str, path: &str| {
        let path = if path.is_empty() { String::new() } else { format!("#{path}") };
        format!("{kind}/{name}{path}")
    };
    match serde_json::from_value::<ValueFrom>(from.clone()) {
        Ok(ValueFrom::ConfigMap(of)) => format!("ConfigMap {} key {}", of.name, of.key),
        Ok(ValueFrom::Secret(of)) => format!("Secret {} key {}", of.name, of.key),
        Ok(ValueFrom::KrakenResource(of)) => of_resource(&of.kind, &of.name, &of.path),
        Ok(ValueFrom::Ref(_)) => from["ref"].as_str().unwrap_or_default().to_owned(),
        Ok(ValueFrom::TemplateString(template)) => in_one_line(&template),
        Err(_) => from.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn texts(before: Value, after: Value) -> Vec<String> {
        edited(&before, &after, |_| Edit::InPlace).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn values_are_shown_as_the_literal_or_where_they_come_from() {
        let from = |source: Value| json!({"f": {"valueFrom": source}});
        let cases = [
            (json!({"f": {"value": "a"}}), json!({"f": {"value": 3}}), "f a -> 3"),
            (json!({}), from(json!({"ref": "VPC/main"})), "f (absent) -> VPC/main"),
            (
                from(json!({"configMap": {"name": "m", "key": "k"}})),
                from(json!({"secret": {"name": "s", "key": "k"}})),
                "f ConfigMap m key k -> Secret s key k",
            ),
            (
                from(json!({"krakenResource": {"kind": "VPC", "name": "a", "path": "vpc.OwnerId"}})),
                json!({"f": {"value": ["a", {"valueFrom": {"ref": "Subnet/b"}}]}}),
                "f VPC/a#vpc.OwnerId -> a, Subnet/b",
            ),
            (json!({"f": {"value": []}}), json!({"f": {"value": {"a": true}}}), "f none -> {a: true}"),
        ];
        for (before, after, text) in cases {
            assert_eq!(texts(before, after), [text]);
        }
    }

    #[test]
    fn only_the_parts_of_a_group_or_a_list_that_differ_are_shown() {
        let rule = |port: i32, from: &str| json!({"port": {"value": port}, "from": {"value": [from]}});
        let rules =
            |rules: Value| json!({"ingress": rules, "check": {"path": {"value": "/"}, "port": {"value": 1}}});
        assert_eq!(
            texts(rules(json!([rule(1, "a"), rule(2, "a")])), rules(json!([rule(1, "a"), rule(2, "b")]))),
            ["ingress[1].from a -> b"]
        );
        assert_eq!(
            texts(rules(json!([rule(1, "a")])), rules(json!([rule(2, "c"), rule(1, "a")]))),
            ["ingress none -> {from: c, port: 2}"]
        );
        let other = json!({"ingress": [], "check": {"path": {"value": "/x"}, "port": {"value": 1}}});
        assert_eq!(texts(rules(json!([])), other), ["check.path / -> /x"]);
    }

    #[test]
    fn tags_are_fields_and_the_lifecycle_and_the_account_are_not() {
        let before = json!({"tags": {"Team": "a", "Env": "x"}, "lifecycle": {"protect": true}});
        let after = json!({"tags": {"Team": "b", "Env": "x", "cost.center": "1"}, "account": {"name": "a"}});
        assert_eq!(texts(before, after), ["tags.Team a -> b", "tags[\"cost.center\"] (absent) -> 1"]);
    }

    #[test]
    fn a_long_value_is_shortened_and_stays_in_one_line() {
        let [text] = &texts(json!({"f": {"value": "a\nb"}}), json!({"f": {"value": "é".repeat(100)}}))[..]
        else {
            panic!()
        };
        assert_eq!(*text, format!("f a\\nb -> {}…", "é".repeat(47)));
    }
}
