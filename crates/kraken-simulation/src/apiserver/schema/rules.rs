//! The CEL rules of Kraken's CRDs, each as a function: an interpreter would be disproportionate. An unknown rule fails
//! the compilation of its schema, so that none is ignored.

use serde_json::Value;

use crate::apiserver::fault::{Cause, shown};

/// One rule of `x-kubernetes-validations`.
#[derive(Debug)]
pub(super) struct Rule {
    holds: fn(&Value) -> bool,
    message: String,
    reason: &'static str,
}

/// Whether a value obeys a rule.
type Check = fn(&Value) -> bool;

/// The rules by their text, without white space.
const RULES: &[(&str, Check)] = &[
    ("!has(self.externalID)||has(self.assumeRoleARN)", |spec| {
        spec.get("externalID").is_none() || spec.get("assumeRoleARN").is_some()
    }),
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
    ("self.configType=='Secret'||!has(self.secretType)", |spec| {
        is_secret(spec) || spec.get("secretType").is_none()
    }),
    ("self.configType=='Secret'||self.entries.all(e,!has(e.valueFrom)||!has(e.valueFrom.secret))", |spec| {
        let from_secret = |entry: &Value| entry["valueFrom"].get("secret").is_some();
        is_secret(spec) || !spec["entries"].as_array().into_iter().flatten().any(from_secret)
    }),
    (
        "!has(self.minCount.value)||!has(self.maxCount.value)||self.maxCount.value==0||self.minCount.value<=self.maxCount.value",
        |spec| {
            let count = |name: &str| spec[name]["value"].as_i64();
            match (count("minCount"), count("maxCount")) {
                (Some(least), Some(most)) => most == 0 || least <= most,
                _ => true,
            }
        },
    ),
];

fn is_secret(spec: &Value) -> bool {
    spec["configType"] == "Secret"
}

impl Rule {
    pub(super) fn compile(rule: &Value) -> Result<Self, String> {
        let text = rule["rule"].as_str().unwrap_or_default();
        let squeezed: String = text.split_whitespace().collect();
        let known = RULES.iter().find(|(known, _)| *known == squeezed);
        let Some((_, holds)) = known else { return Err(format!("the CEL rule `{text}` is not known")) };
        let reason = match rule["reason"].as_str() {
            None | Some("FieldValueInvalid") => "FieldValueInvalid",
            Some("FieldValueForbidden") => "FieldValueForbidden",
            Some("FieldValueRequired") => "FieldValueRequired",
            Some("FieldValueDuplicate") => "FieldValueDuplicate",
            Some(other) => return Err(format!("the reason {other} of a CEL rule is not known")),
        };
        let message = rule["message"].as_str().map_or_else(|| format!("failed rule: {text}"), str::to_owned);
        Ok(Self { holds: *holds, message, reason })
    }

    pub(super) fn holds(&self, value: &Value) -> bool {
        (self.holds)(value)
    }

    pub(super) fn cause(&self, field: String, value: &Value) -> Cause {
        match self.reason {
            "FieldValueForbidden" => Cause::forbidden(field, &self.message),
            "FieldValueRequired" => Cause::required(field, &self.message),
            "FieldValueDuplicate" => {
                Cause { reason: self.reason, message: format!("Duplicate value: {}", shown(value)), field }
            }
            // The value is left out.
            _ => Cause { reason: self.reason, message: format!("Invalid value: {}", self.message), field },
        }
    }
}
