//! The CEL rules of a schema (`x-kubernetes-validations`), evaluated by `kube-cel` with the functions of kube-apiserver.

use std::{
    cell::{OnceCell, RefCell},
    collections::HashMap,
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use kube_cel::{
    KubeCelExt as _,
    cel::{
        Context, ExecutionError, Program, Value as CelValue,
        extractors::This,
        objects::{Key, Map},
    },
};
use regex::Regex;
use serde_json::Value;

use crate::cause::{Cause, shown};

/// One rule of `x-kubernetes-validations`.
#[derive(Debug)]
pub(super) struct Rule {
    program: Arc<Program>,
    /// Whether it refers to the stored value.
    is_about_change: bool,
    message: String,
    reason: &'static str,
    field_path: String,
}

/// The rules that a value does not obey; `old`: the stored one before, which is converted only if a rule is about it.
pub(super) fn broken<'a>(rules: &'a [Rule], value: &Value, old: Option<&Value>) -> Vec<&'a Rule> {
    if rules.is_empty() {
        return vec![];
    }
    let values = Values::of(value, old.filter(|_| rules.iter().any(|rule| rule.is_about_change)));
    rules.iter().filter(|rule| !rule.holds(&values)).collect()
}

/// A value and the stored one before, for all rules of its schema.
#[derive(Debug)]
struct Values {
    value: CelValue,
    old: Option<CelValue>,
}

impl Values {
    /// The values in CEL.
    fn of(value: &Value, old: Option<&Value>) -> Self {
        Self { value: cel(value), old: old.map(cel) }
    }
}

thread_local! {
    /// The functions.
    static FUNCTIONS: OnceCell<Context<'static>> = const { OnceCell::new() };
    /// The regular expressions of all rules, which are compiled once.
    static PATTERNS: RefCell<HashMap<Arc<String>, Option<Regex>>> = RefCell::default();
}

/// The functions of kube-apiserver. `cel` counts the bytes of a text and not its characters, and compiles a regular expression for each
/// value.
fn functions() -> Context<'static> {
    let mut functions = Context::default().with_all();
    functions.add_function("size", size);
    functions.add_function("matches", matches);
    functions
}

fn size(This(value): This<CelValue>) -> Result<i64, ExecutionError> {
    let size = match value {
        CelValue::String(text) => text.chars().count(),
        CelValue::List(items) => items.len(),
        CelValue::Map(fields) => fields.map.len(),
        CelValue::Bytes(bytes) => bytes.len(),
        _ => return Err(ExecutionError::function_error("size", "the value has none")),
    };
    Ok(i64::try_from(size).unwrap_or(i64::MAX))
}

fn matches(This(text): This<Arc<String>>, pattern: Arc<String>) -> Result<bool, ExecutionError> {
    PATTERNS.with_borrow_mut(|patterns| {
        let regex = patterns.entry(pattern).or_insert_with_key(|pattern| Regex::new(pattern).ok());
        let regex =
            regex.as_ref().ok_or_else(|| ExecutionError::function_error("matches", "no regular expression"));
        regex.map(|regex| regex.is_match(&text))
    })
}

/// The programs of the rules of all schemas, by their text: most fields have the same rules.
static PROGRAMS: LazyLock<Mutex<HashMap<String, Arc<Program>>>> = LazyLock::new(Mutex::default);

fn program(text: &str) -> Result<Arc<Program>, String> {
    let mut programs = PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(program) = programs.get(text) {
        return Ok(program.clone());
    }
    let program =
        Program::compile(text).map_err(|error| format!("the CEL rule `{text}` is not valid: {error}"))?;
    Ok(programs.entry(text.to_owned()).or_insert(Arc::new(program)).clone())
}

impl Rule {
    pub(super) fn compile(rule: &Value) -> Result<Self, String> {
        let text = rule["rule"].as_str().unwrap_or_default();
        let program = program(text)?;
        let is_about_change = program.references().has_variable("oldSelf");
        let reason = match rule["reason"].as_str() {
            None | Some("FieldValueInvalid") => "FieldValueInvalid",
            Some("FieldValueForbidden") => "FieldValueForbidden",
            Some("FieldValueRequired") => "FieldValueRequired",
            Some("FieldValueDuplicate") => "FieldValueDuplicate",
            Some(other) => return Err(format!("the reason {other} of a CEL rule is not known")),
        };
        let message = rule["message"].as_str().map_or_else(|| format!("failed rule: {text}"), str::to_owned);
        let field_path = rule["fieldPath"].as_str().unwrap_or_default().to_owned();
        Ok(Self { program, is_about_change, message, reason, field_path })
    }

    /// Whether the values obey the rule. A rule about the stored value applies only if there is one. A rule that cannot be evaluated, for
    /// example because a field is missing, does not hold.
    fn holds(&self, Values { value, old }: &Values) -> bool {
        if self.is_about_change && old.is_none() {
            return true;
        }
        FUNCTIONS.with(|functions| {
            let mut scope = functions.get_or_init(self::functions).new_inner_scope();
            scope.add_variable_from_value("self", value.clone());
            if let Some(old) = old {
                scope.add_variable_from_value("oldSelf", old.clone());
            }
            matches!(self.program.execute(&scope), Ok(CelValue::Bool(true)))
        })
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

/// A value of JSON in CEL. A field that is null counts as absent.
fn cel(value: &Value) -> CelValue {
    match value {
        Value::Null => CelValue::Null,
        Value::Bool(flag) => CelValue::Bool(*flag),
        Value::Number(number) => match number.as_i64() {
            Some(integer) => CelValue::Int(integer),
            None => CelValue::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => CelValue::String(Arc::new(text.clone())),
        Value::Array(items) => CelValue::List(Arc::new(items.iter().map(cel).collect())),
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(_, value)| !value.is_null());
            let map = fields.map(|(name, value)| (Key::String(Arc::new(name.clone())), cel(value)));
            CelValue::Map(Map { map: Arc::new(map.collect()) })
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rule(text: &str) -> Rule {
        Rule::compile(&json!({"rule": text})).unwrap()
    }

    #[test]
    fn rules_are_evaluated_as_by_kube_apiserver() {
        let spec = json!({
            "type": {"value": "gp3"}, "port": {"value": 6}, "both": true, "text": "sg-1", "none": null, "tags": {"a": "ä"},
            "block": "10.0.0.1/16",
        });
        for (text, holds) in [
            ("has(self.type)", true),
            ("has(self.none)", false),
            ("!has(self.type.valueFrom) && has(self.type.value)", true),
            ("self.type.value in ['io1', 'io2']", false),
            ("!(self.type.value in ['io1', 'io2'])", true),
            ("self.type.value != 'gp3' || self.both == true", true),
            ("string(self.port.value) in ['6', '17']", true),
            ("self.port.value <= 6 && self.port.value >= -1", true),
            ("self.port.value >= 7", false),
            ("[has(self.type), has(self.none)].exists_one(is_set, is_set)", true),
            ("[has(self.type), has(self.port)].exists_one(is_set, is_set)", false),
            ("self.text.startsWith('sg-')", true),
            (r#"self.text.matches(r"^sg-[0-9]{1}$") && !self.text.matches(r"\s")"#, true),
            ("self.tags.all(key, key != '' && size(key) <= 1 && size(self.tags[key]) <= 1)", true),
            ("self.tags.all(key, !key.lowerAscii().startsWith('a'))", false),
            ("!isCIDR(self.block) || cidr(self.block).masked() == cidr(self.block)", false),
            ("!isCIDR(self.text) || cidr(self.text).masked() == cidr(self.text)", true),
            // An error is no success, not even negated, unless another alternative decides.
            ("self.none == 1", false),
            ("!(self.none == 1)", false),
            ("self.none == 1 || has(self.type)", true),
            ("(has(self.type) && self.none == 1) || !has(self.type)", false),
        ] {
            assert_eq!(rule(text).holds(&Values::of(&spec, None)), holds, "{text}");
        }
    }

    #[test]
    fn a_rule_about_a_change_applies_to_changes_only() {
        let constant = rule("self == oldSelf");
        let holds = |value: Value, old: Option<Value>| constant.holds(&Values::of(&value, old.as_ref()));
        assert!(holds(json!("a"), None));
        assert!(holds(json!("a"), Some(json!("a"))));
        assert!(!holds(json!("a"), Some(json!("b"))));
        assert!(holds(json!({"a": [1, 2.5]}), Some(json!({"a": [1, 2.5]}))));
    }

    #[test]
    fn a_rule_that_is_no_cel_is_refused() {
        for text in ["", "self.a ==", "has(self.a) has(self.b)"] {
            assert!(Rule::compile(&json!({"rule": text})).is_err(), "{text}");
        }
    }
}
