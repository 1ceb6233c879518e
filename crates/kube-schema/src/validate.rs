//! Validation of a value against its schema, with the messages of kube-apiserver.

use serde_json::Value;

use super::{Additional, List, Place, Schema, types::wrong_type};
use crate::{
    cause::{Cause, shown},
    go, rules,
};

/// Adds validation errors to `causes`. Values that an update does not change are not validated.
pub fn validate(
    value: &Value,
    old: Option<&Value>,
    schema: &Schema,
    place: &Place<'_>,
    causes: &mut Vec<Cause>,
) {
    if old == Some(value) {
        return;
    }
    let limits = &schema.limits;
    if let Some((wanted, got)) = wrong_type(value, schema) {
        let field = place.text();
        let inner = place.inner();
        let message = format!("Invalid value: {got:?}: {inner} in body must be of type {wanted}: {got:?}");
        causes.push(Cause { reason: "FieldValueTypeInvalid", message, field });
    }
    if value.is_null() {
        if !limits.enum_.is_empty() {
            causes.push(not_supported(place, value, &limits.enum_));
        }
        return;
    }
    branches(value, schema, place, causes);
    match value {
        Value::String(text) => check_text(value, text, schema, place, causes),
        Value::Number(number) => {
            let number = number.as_f64().unwrap_or_default();
            if let Some(most) = limits.maximum.filter(|most| number > *most) {
                let most = go::float(most);
                causes.push(place.invalid(value, &format!("should be less than or equal to {most}")));
            }
            if let Some(least) = limits.minimum.filter(|least| number < *least) {
                let least = go::float(least);
                causes.push(place.invalid(value, &format!("should be greater than or equal to {least}")));
            }
        }
        Value::Array(items) => {
            if let Some(of) = &schema.items {
                for (index, item) in items.iter().enumerate() {
                    let old = old.and_then(|old| correlated(old, item, schema));
                    validate(item, old, of, &Place::Item(place, index), causes);
                }
            }
            count(items.len(), limits.min_items, limits.max_items, "items", place, causes);
        }
        _ => {}
    }
    if !limits.enum_.is_empty() && !limits.enum_.contains(value) {
        causes.push(not_supported(place, value, &limits.enum_));
    }
    if let Value::Object(map) = value {
        count(map.len(), limits.min_properties, limits.max_properties, "properties", place, causes);
        let old = old.filter(|_| !schema.atomic_map);
        for (name, value) in map {
            let (place, old) = (Place::Field(place, name), old.and_then(|old| old.get(name)));
            match (schema.properties.get(name), &schema.additional) {
                (Some(of), _) => validate(value, old, of, &place, causes),
                (None, Some(Additional::Of(of))) => validate(value, old, of, &place, causes),
                _ => {}
            }
        }
        for name in limits.required.iter().filter(|name| !map.contains_key(*name)) {
            causes.push(Cause::required(Place::Field(place, name).text(), ""));
        }
    }
}

/// The corresponding item of the previous list, by its keys; items of other lists cannot be matched.
fn correlated<'a>(old: &'a Value, item: &Value, schema: &Schema) -> Option<&'a Value> {
    let Some(List::Map(keys)) = &schema.list else { return None };
    old.as_array()?.iter().find(|old| keys.iter().all(|key| old.get(key) == item.get(key)))
}

/// Adds which rules do not hold.
pub fn check_rules(
    value: &Value,
    old: Option<&Value>,
    schema: &Schema,
    place: &Place<'_>,
    causes: &mut Vec<Cause>,
) {
    if !schema.has_rules || old == Some(value) || value.is_null() {
        return;
    }
    let broken = rules::broken(&schema.rules, value, old);
    causes.extend(broken.into_iter().map(|rule| rule.cause(place.text(), value)));
    for (name, value) in value.as_object().into_iter().flatten() {
        if let Some(of) = schema.field(name) {
            let old = old.and_then(|old| old.get(name));
            check_rules(value, old, of, &Place::Field(place, name), causes);
        }
    }
    for (index, value) in value.as_array().into_iter().flatten().enumerate() {
        if let Some(of) = &schema.items {
            check_rules(value, None, of, &Place::Item(place, index), causes);
        }
    }
}

/// Whether the value is valid, without error messages.
fn is_valid(value: &Value, schema: &Schema) -> bool {
    // Most branches only say what is required.
    if let Value::Object(map) = value
        && !schema.limits.required.iter().all(|name| map.contains_key(name))
    {
        return false;
    }
    let mut causes = Vec::new();
    validate(value, None, schema, &Place::Root, &mut causes);
    causes.is_empty()
}

fn branches(value: &Value, schema: &Schema, place: &Place<'_>, causes: &mut Vec<Cause>) {
    let limits = &schema.limits;
    let says = |why: String| {
        let detail = format!("{:?} must {why}", place.inner());
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
            validate(value, None, branch, place, causes);
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

/// The errors of the first failing branch.
fn nearest(value: &Value, branches: &[Schema], place: &Place<'_>, causes: &mut Vec<Cause>) {
    if let Some(first) = branches.first() {
        validate(value, None, first, place, causes);
    }
}

fn check_text(value: &Value, text: &str, schema: &Schema, place: &Place<'_>, causes: &mut Vec<Cause>) {
    let limits = &schema.limits;
    let length = text.chars().count() as u64;
    // Only the first of these is reported.
    if let Some(most) = limits.max_length.filter(|most| length > *most) {
        let bytes = if most == 1 { "byte" } else { "bytes" };
        let message = format!("Too long: may not be more than {most} {bytes}");
        causes.push(Cause { reason: "FieldValueTooLong", message, field: place.text() });
    } else if let Some(least) = limits.min_length.filter(|least| length < *least) {
        causes.push(place.invalid(value, &format!("should be at least {least} chars long")));
    } else if let Some((pattern, _)) = limits.pattern.as_ref().filter(|(_, regex)| !regex.is_match(text)) {
        causes.push(place.invalid(value, &format!("should match '{pattern}'")));
    }
    if limits.format.as_deref() == Some("date-time") && text.parse::<jiff::Timestamp>().is_err() {
        let message =
            format!("Invalid value: {text:?}: {} in body must be of type date-time: {text:?}", place.inner());
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
        let items = if most == 1 { "item" } else { "items" };
        let message = format!("Too many: {size}: must have at most {most} {items}");
        causes.push(Cause { reason: "FieldValueTooMany", message, field: place.text() });
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
    let message = format!("Unsupported value: {}: supported values: {}", shown(value), allowed.join(", "));
    Cause { reason: "FieldValueNotSupported", message, field: place.text() }
}
