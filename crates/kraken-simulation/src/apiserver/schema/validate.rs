//! Whether a value is as its schema says, in the words of kube-apiserver.

use serde_json::Value;

use super::{Additional, List, Schema, Type};
use crate::apiserver::fault::Cause;

/// Where a value is. Put together as text only for an error.
#[derive(Clone, Copy, Debug)]
pub(in super::super) enum Place<'a> {
    /// The object itself.
    Root,
    /// A field.
    Field(&'a Place<'a>, &'a str),
    /// An item of a list.
    Item(&'a Place<'a>, usize),
}

impl Place<'_> {
    /// As kube-apiserver writes it.
    pub(in super::super) fn text(&self) -> String {
        match self {
            Self::Root => String::new(),
            Self::Field(Self::Root, name) => (*name).to_owned(),
            Self::Field(parent, name) => format!("{}.{name}", parent.text()),
            Self::Item(parent, index) => format!("{}[{index}]", parent.text()),
        }
    }

    fn invalid(&self, value: &Value, why: &str) -> Cause {
        let field = self.text();
        let detail = format!("{field} in body {why}");
        Cause::invalid(field, value, &detail)
    }
}

/// Adds what is wrong to `causes`.
pub(in super::super) fn validate(value: &Value, schema: &Schema, place: &Place<'_>, causes: &mut Vec<Cause>) {
    let Some(fits) = check_type(value, schema, place, causes) else { return };
    if fits {
        check_rules(value, schema, place, causes);
    }
}

/// `None` if there is nothing else to check; otherwise whether the rules make sense on this value.
fn check_type(value: &Value, schema: &Schema, place: &Place<'_>, causes: &mut Vec<Cause>) -> Option<bool> {
    let limits = &schema.limits;
    if value.is_null() {
        if schema.type_.is_some() && !schema.nullable {
            causes.push(type_invalid(place, schema, "null"));
        }
        if !limits.enum_.is_empty() && !limits.enum_.contains(value) && !schema.nullable {
            causes.push(not_supported(place, value, &limits.enum_));
        }
        return None;
    }
    if !is_of_type(value, schema) {
        causes.push(type_invalid(place, schema, name_of(value)));
    }
    let before = causes.len();
    branches(value, schema, place, causes);
    match value {
        Value::Object(map) => {
            count(map.len(), limits.min_properties, limits.max_properties, "properties", place, causes);
            for (name, value) in map {
                let place = Place::Field(place, name);
                match (schema.properties.get(name), &schema.additional) {
                    (Some(of), _) => validate(value, of, &place, causes),
                    (None, Some(Additional::Of(of))) => validate(value, of, &place, causes),
                    _ => {}
                }
            }
            for name in limits.required.iter().filter(|name| !map.contains_key(*name)) {
                causes.push(Cause::required(Place::Field(place, name).text(), ""));
            }
        }
        Value::Array(items) => {
            if let Some(of) = &schema.items {
                for (index, item) in items.iter().enumerate() {
                    validate(item, of, &Place::Item(place, index), causes);
                }
            }
            count(items.len(), limits.min_items, limits.max_items, "items", place, causes);
            duplicates(items, schema, place, causes);
        }
        Value::String(text) => check_text(value, text, schema, place, causes),
        Value::Number(number) => {
            let number = number.as_f64().unwrap_or_default();
            if let Some(least) = limits.minimum.filter(|least| number < *least) {
                causes.push(place.invalid(value, &format!("should be greater than or equal to {least}")));
            }
            if let Some(most) = limits.maximum.filter(|most| number > *most) {
                causes.push(place.invalid(value, &format!("should be less than or equal to {most}")));
            }
        }
        Value::Bool(_) | Value::Null => {}
    }
    if !limits.enum_.is_empty() && !limits.enum_.contains(value) {
        causes.push(not_supported(place, value, &limits.enum_));
    }
    Some(causes.len() == before)
}

fn check_rules(value: &Value, schema: &Schema, place: &Place<'_>, causes: &mut Vec<Cause>) {
    for rule in &schema.rules {
        if !rule.holds(value) {
            causes.push(rule.cause(place.text(), value));
        }
    }
}

/// Whether there is nothing wrong, without saying what.
fn is_valid(value: &Value, schema: &Schema) -> bool {
    // Most branches only say what is required.
    if let Value::Object(map) = value
        && !schema.limits.required.iter().all(|name| map.contains_key(name))
    {
        return false;
    }
    let mut causes = Vec::new();
    validate(value, schema, &Place::Root, &mut causes);
    causes.is_empty()
}

fn branches(value: &Value, schema: &Schema, place: &Place<'_>, causes: &mut Vec<Cause>) {
    let limits = &schema.limits;
    let says = |why: String| {
        let detail = format!("{:?} must {why}", place.text());
        Cause::invalid("<nil>", &Value::from(""), &detail)
    };
    if !limits.any_of.is_empty() && !limits.any_of.iter().any(|branch| is_valid(value, branch)) {
        causes.push(says("validate at least one schema (anyOf)".to_owned()));
        nearest(value, &limits.any_of, place, causes);
    }
    if !limits.one_of.is_empty() {
        match limits.one_of.iter().filter(|branch| is_valid(value, branch)).count() {
            1 => {}
            0 => {
                causes.push(says("validate one and only one schema (oneOf). Found none valid".to_owned()));
                nearest(value, &limits.one_of, place, causes);
            }
            many => causes.push(says(format!(
                "validate one and only one schema (oneOf). Found {many} valid alternatives"
            ))),
        }
    }
    if !limits.all_of.is_empty() {
        let valid = limits.all_of.iter().filter(|branch| is_valid(value, branch)).count();
        for branch in &limits.all_of {
            validate(value, branch, place, causes);
        }
        if valid < limits.all_of.len() {
            let none = if valid == 0 { ". None validated" } else { "" };
            causes.push(says(format!("validate all the schemas (allOf){none}")));
        }
    }
    if limits.not.as_ref().is_some_and(|branch| is_valid(value, branch)) {
        causes.push(says("not validate the schema (not)".to_owned()));
    }
}

/// What is wrong with the first of the branches that fail.
fn nearest(value: &Value, branches: &[Schema], place: &Place<'_>, causes: &mut Vec<Cause>) {
    if let Some(first) = branches.first() {
        validate(value, first, place, causes);
    }
}

fn check_text(value: &Value, text: &str, schema: &Schema, place: &Place<'_>, causes: &mut Vec<Cause>) {
    let limits = &schema.limits;
    let length = text.chars().count() as u64;
    if let Some(most) = limits.max_length.filter(|most| length > *most) {
        let message = format!("Too long: may not be more than {most} bytes");
        causes.push(Cause { reason: "FieldValueTooLong", message, field: place.text() });
    }
    if let Some(least) = limits.min_length.filter(|least| length < *least) {
        causes.push(place.invalid(value, &format!("should be at least {least} chars long")));
    }
    if let Some((pattern, _)) = limits.pattern.as_ref().filter(|(_, regex)| !regex.is_match(text)) {
        causes.push(place.invalid(value, &format!("should match '{pattern}'")));
    }
    if limits.format.as_deref() == Some("date-time") && text.parse::<jiff::Timestamp>().is_err() {
        let message =
            format!("Invalid value: {text:?}: {} in body must be of type date-time: {text:?}", place.text());
        causes.push(Cause { reason: "FieldValueTypeInvalid", message, field: place.text() });
    }
}

fn count(
    size: usize,
    least: Option<u64>,
    most: Option<u64>,
    what: &str,
    place: &Place<'_>,
    causes: &mut Vec<Cause>,
) {
    let size = size as u64;
    if let Some(least) = least.filter(|least| size < *least) {
        causes.push(place.invalid(&Value::from(size), &format!("should have at least {least} {what}")));
    }
    if let Some(most) = most.filter(|most| size > *most) {
        let message = format!("Too many: {size}: must have at most {most} items");
        causes.push(Cause { reason: "FieldValueTooMany", message, field: place.text() });
    }
}

/// Items of sets and of lists with keys must differ.
fn duplicates(items: &[Value], schema: &Schema, place: &Place<'_>, causes: &mut Vec<Cause>) {
    let keys: Vec<Value> = match &schema.list {
        Some(List::Set) => items.to_vec(),
        Some(List::Map(names)) => {
            let key = |item: &Value| names.iter().map(|name| (name.clone(), item[name].clone())).collect();
            items.iter().map(|item| Value::Object(key(item))).collect()
        }
        _ => return,
    };
    for (index, key) in keys.iter().enumerate() {
        if keys.get(..index).is_some_and(|before| before.contains(key)) {
            let message = format!("Duplicate value: {}", crate::apiserver::fault::shown(key));
            let field = Place::Item(place, index).text();
            causes.push(Cause { reason: "FieldValueDuplicate", message, field });
        }
    }
}

fn is_of_type(value: &Value, schema: &Schema) -> bool {
    if schema.int_or_string {
        return value.is_string() || is_integer(value);
    }
    match schema.type_ {
        None => true,
        Some(Type::Object) => value.is_object(),
        Some(Type::Array) => value.is_array(),
        Some(Type::String) => value.is_string(),
        Some(Type::Integer) => is_integer(value),
        Some(Type::Number) => value.is_number(),
        Some(Type::Boolean) => value.is_boolean(),
    }
}

fn is_integer(value: &Value) -> bool {
    value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0)
}

fn type_invalid(place: &Place<'_>, schema: &Schema, got: &str) -> Cause {
    let wanted = match schema.type_ {
        _ if schema.int_or_string => "integer,string",
        Some(Type::Object) => "object",
        Some(Type::Array) => "array",
        Some(Type::String) => "string",
        Some(Type::Integer) => "integer",
        Some(Type::Number) => "number",
        Some(Type::Boolean) => "boolean",
        None => "",
    };
    let field = place.text();
    let message = format!("Invalid value: {got:?}: {field} in body must be of type {wanted}: {got:?}");
    Cause { reason: "FieldValueTypeInvalid", message, field }
}

fn name_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) if value.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn not_supported(place: &Place<'_>, value: &Value, allowed: &[Value]) -> Cause {
    let allowed: Vec<String> = allowed
        .iter()
        .map(|value| match value {
            Value::String(text) => format!("{text:?}"),
            other => format!("{:?}", other.to_string()),
        })
        .collect();
    let message = format!(
        "Unsupported value: {}: supported values: {}",
        crate::apiserver::fault::shown(value),
        allowed.join(", ")
    );
    Cause { reason: "FieldValueNotSupported", message, field: place.text() }
}
