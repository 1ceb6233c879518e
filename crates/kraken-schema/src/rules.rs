//! The CEL rules of Kraken's CRDs: most consist of conditions on fields and are [evaluated](super::condition); the others are
//! functions that are registered by their text. An unknown rule fails the compilation of its schema, so that none is ignored.

use serde_json::Value;

use super::condition::Condition;
use crate::cause::{Cause, shown};

/// One rule of `x-kubernetes-validations`.
#[derive(Debug)]
pub(super) struct Rule {
    holds: Holds,
    message: String,
    reason: &'static str,
    field_path: String,
}

#[derive(Debug)]
enum Holds {
    /// A rule about a change.
    Change(ChangeCheck),
    Function(Check),
    Condition(Condition),
}

/// Whether a value obeys a rule.
type Check = fn(&Value) -> bool;
/// Whether a value, and the stored one before, obey a rule.
type ChangeCheck = fn(&Value, &Value) -> bool;

/// The rules about changes, by their text, without white space.
const CHANGES: &[(&str, ChangeCheck)] = &[
    ("self==oldSelf", |value, old| value == old),
    ("has(self.spoke)||!has(oldSelf.spoke)", |value, old| {
        !value["spoke"].is_null() || old["spoke"].is_null()
    }),
];

/// The rules that are no conditions, by their text, without white space.
const RULES: &[(&str, Check)] = &[
    (
        "self.all(key,key!=''&&size(key)<=128&&!key.lowerAscii().startsWith('aws:')&&\
         !key.startsWith('kraken-iac.eoinfennessy.com/')&&size(self[key])<=256)",
        |tags| {
            let is_valid = |(key, value): (&String, &Value)| {
                (1..=128).contains(&key.chars().count())
                    && !key.to_ascii_lowercase().starts_with("aws:")
                    && !key.starts_with("kraken-iac.eoinfennessy.com/")
                    && value.as_str().is_none_or(|value| value.chars().count() <= 256)
            };
            tags.as_object().into_iter().flatten().all(is_valid)
        },
    ),
    ("self.all(key,key!=''&&size(key)<=128)", |tags| {
        tags.as_object().into_iter().flatten().all(|(key, _)| (1..=128).contains(&key.chars().count()))
    }),
    ("self.all(key,key!=''&&size(key)<=128&&size(self[key])<=256)", |tags| {
        let is_short = |value: &Value| value.as_str().is_none_or(|value| value.chars().count() <= 256);
        let is_valid =
            |(key, value): (&String, &Value)| (1..=128).contains(&key.chars().count()) && is_short(value);
        tags.as_object().into_iter().flatten().all(is_valid)
    }),
    ("self.all(name,name.matches('^[A-Za-z_][A-Za-z0-9_]*$')&&size(self[name])<=4096)", |variables| {
        let is_name = |name: &str| {
            !name.starts_with(|c: char| c.is_ascii_digit())
                && !name.is_empty()
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        let is_short = |value: &Value| value.as_str().is_none_or(|value| value.chars().count() <= 4096);
        variables.as_object().into_iter().flatten().all(|(name, value)| is_name(name) && is_short(value))
    }),
    ("self.configType=='Secret'||self.entries.all(e,!has(e.valueFrom)||!has(e.valueFrom.secret))", |spec| {
        let from_secret = |entry: &Value| !entry["valueFrom"]["secret"].is_null();
        is_secret(spec) || !spec["entries"].as_array().into_iter().flatten().any(from_secret)
    }),
    ("!self.rotate||self.configMetadata.name.matches('^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$')", |spec| {
        let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let is_label = |name: &str| {
            (1..=63).contains(&name.len())
                && name.bytes().all(is_inner)
                && !name.starts_with('-')
                && !name.ends_with('-')
        };
        spec["rotate"] != true || spec["configMetadata"]["name"].as_str().is_some_and(is_label)
    }),
    ("!isCIDR(self)||cidr(self).masked()==cidr(self)", |block| {
        let block = block.as_str().and_then(|text| text.parse::<ipnet::IpNet>().ok());
        block.is_none_or(|block| block == block.trunc())
    }),
];

fn is_secret(spec: &Value) -> bool {
    spec["configType"] == "Secret"
}

impl Rule {
    pub(super) fn compile(rule: &Value) -> Result<Self, String> {
        let text = rule["rule"].as_str().unwrap_or_default();
        let squeezed: String = text.split_whitespace().collect();
        let function = RULES.iter().find(|(known, _)| *known == squeezed);
        let change = CHANGES.iter().find(|(known, _)| *known == squeezed);
        let holds = match (function, change) {
            (Some((_, holds)), _) => Holds::Function(*holds),
            (None, Some((_, holds))) => Holds::Change(*holds),
            (None, None) => Holds::Condition(
                Condition::parse(text).ok_or_else(|| format!("the CEL rule `{text}` is not known"))?,
            ),
        };
        let reason = match rule["reason"].as_str() {
            None | Some("FieldValueInvalid") => "FieldValueInvalid",
            Some("FieldValueForbidden") => "FieldValueForbidden",
            Some("FieldValueRequired") => "FieldValueRequired",
            Some("FieldValueDuplicate") => "FieldValueDuplicate",
            Some(other) => return Err(format!("the reason {other} of a CEL rule is not known")),
        };
        let message = rule["message"].as_str().map_or_else(|| format!("failed rule: {text}"), str::to_owned);
        let field_path = rule["fieldPath"].as_str().unwrap_or_default().to_owned();
        Ok(Self { holds, message, reason, field_path })
    }

    /// Whether a value obeys the rule. `old`: the stored one, if there is one: a rule about it applies only then.
    pub(super) fn holds(&self, value: &Value, old: Option<&Value>) -> bool {
        match &self.holds {
            Holds::Change(holds) => old.is_none_or(|old| holds(value, old)),
            Holds::Function(holds) => holds(value),
            Holds::Condition(condition) => condition.holds(value),
        }
    }

    pub(super) fn cause(&self, field: String, value: &Value) -> Cause {
        let field = field + &self.field_path;
        match self.reason {
            "FieldValueForbidden" => Cause::forbidden(field, &self.message),
            "FieldValueRequired" => Cause::required(field, &self.message),
            "FieldValueDuplicate" => {
                Cause { reason: self.reason, message: format!("Duplicate value: {}", shown(value)), field }
            }
            // Of an object or a list, the value is left out.
            _ if value.is_object() || value.is_array() => {
                Cause { reason: self.reason, message: format!("Invalid value: {}", self.message), field }
            }
            _ => Cause::invalid(field, value, &self.message),
        }
    }
}
