//! Metadata: normalization, validation and immutability.

use serde_json::{Value, json};

use super::{
    fault::{Cause, Fault},
    kinds::{Kind, Kinds},
    schema::{Place, prune, validate},
};

/// Sets a field of the metadata; a null removes it.
pub(super) fn set(object: &mut Value, field: &str, value: Value) {
    if !object["metadata"].is_object() {
        object["metadata"] = json!({});
    }
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        if value.is_null() {
            metadata.remove(field);
        } else {
            metadata.insert(field.to_owned(), value);
        }
    }
}

/// Takes a field out of the metadata.
pub(super) fn take(object: &mut Value, field: &str) -> Option<Value> {
    object.get_mut("metadata").and_then(Value::as_object_mut).and_then(|metadata| metadata.remove(field))
}

/// Normalizes metadata to its stored form: known fields only, with the correct types, without empty values. Returns the
/// names of unknown fields.
pub(super) fn normalize(kinds: &Kinds, object: &mut Value) -> Result<Vec<String>, Fault> {
    let Some(metadata) = object.get_mut("metadata") else { return Ok(Vec::new()) };
    if metadata.is_null() {
        *metadata = json!({});
    }
    drop_empty(metadata);
    let unknown = prune(metadata, &kinds.meta);
    let mut causes = Vec::new();
    validate(metadata, None, &kinds.meta, &Place::Root, &mut causes);
    causes.retain(|cause| cause.reason == "FieldValueTypeInvalid");
    if let Some(cause) = causes.first() {
        let message = format!("metadata.{}: {}", cause.field, cause.message);
        return Err(Fault::bad_request(message));
    }
    Ok(unknown.into_iter().map(|field| format!("metadata.{field}")).collect())
}

/// What Go's `omitempty` leaves out.
fn drop_empty(metadata: &mut Value) {
    let Value::Object(map) = metadata else { return };
    map.retain(|name, value| match value {
        Value::Null => false,
        Value::Object(map) => !map.is_empty(),
        Value::Array(items) => !items.is_empty() || name == "managedFields",
        Value::String(text) => !text.is_empty(),
        Value::Number(number) => number.as_i64() != Some(0) || name == "deletionGracePeriodSeconds",
        Value::Bool(_) => true,
    });
    for value in map.get_mut("ownerReferences").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Value::Object(owner) = value {
            owner.retain(|_, value| !value.is_null());
        }
    }
    for name in ["labels", "annotations"] {
        for value in map.get_mut(name).and_then(Value::as_object_mut).into_iter().flatten() {
            if value.1.is_null() {
                *value.1 = "".into();
            }
        }
    }
}

/// The validation errors of the metadata of any object.
pub(super) fn check(kind: &Kind, object: &Value) -> Vec<Cause> {
    let (metadata, mut causes) = (&object["metadata"], Vec::new());
    for field in ["generateName", "name"] {
        let Some(name) = metadata[field].as_str() else { continue };
        let checked = if field == "generateName" { name.trim_end_matches(['-', '.']) } else { name };
        if let Some(why) = name_fault(kind, checked) {
            causes.push(Cause::invalid(format!("metadata.{field}"), &metadata[field], why));
        }
    }
    if metadata["name"].is_null() {
        causes.push(Cause::required("metadata.name", "name or generateName is required"));
    }
    for (key, value) in metadata["labels"].as_object().into_iter().flatten() {
        if !is_qualified(key) {
            causes.push(Cause::invalid("metadata.labels", &key.as_str().into(), QUALIFIED));
        }
        if !is_label(value.as_str().unwrap_or_default()) {
            causes.push(Cause::invalid("metadata.labels", value, LABEL));
        }
    }
    let mut size = 0;
    for (key, value) in metadata["annotations"].as_object().into_iter().flatten() {
        size += key.len() + value.as_str().unwrap_or_default().len();
        if !is_qualified(&key.to_lowercase()) {
            causes.push(Cause::invalid("metadata.annotations", &key.as_str().into(), QUALIFIED));
        }
    }
    if size > 256 * 1024 {
        let message = "Too long: may not be more than 262144 bytes".to_owned();
        let field = "metadata.annotations".to_owned();
        causes.push(Cause { reason: "FieldValueTooLong", message, field });
    }
    check_owners(metadata, &mut causes);
    let finalizers = metadata["finalizers"].as_array().into_iter().flatten();
    for finalizer in finalizers.filter(|name| !is_qualified(name.as_str().unwrap_or_default())) {
        causes.push(Cause::invalid("metadata.finalizers", finalizer, QUALIFIED));
    }
    causes
}

fn check_owners(metadata: &Value, causes: &mut Vec<Cause>) {
    let owners = metadata["ownerReferences"].as_array().map(Vec::as_slice).unwrap_or_default();
    for owner in owners {
        for (field, why) in [
            ("apiVersion", "version must not be empty"),
            ("kind", "must not be empty"),
            ("name", "must not be empty"),
            ("uid", "must not be empty"),
        ] {
            if owner[field].as_str().unwrap_or_default().is_empty() {
                causes.push(Cause::invalid(format!("metadata.ownerReferences.{field}"), &"".into(), why));
            }
        }
    }
    let mut controllers = owners.iter().filter(|owner| owner["controller"] == true);
    if let (Some(first), Some(second)) = (controllers.next(), controllers.next()) {
        let named = |owner: &Value| {
            let text = |name: &str| owner[name].as_str().unwrap_or_default().to_owned();
            format!("{}/{}", text("kind"), text("name"))
        };
        let why = format!(
            "Only one reference can have Controller set to true. Found \"true\" in references for {} and {}",
            named(first),
            named(second)
        );
        causes.push(Cause::invalid("metadata.ownerReferences", &metadata["ownerReferences"], &why));
    }
}

/// The validation errors of changed immutable metadata.
pub(super) fn check_update(new: &Value, old: &Value) -> Vec<Cause> {
    let (new, old, mut causes) = (&new["metadata"], &old["metadata"], Vec::new());
    if old["deletionTimestamp"].is_string() {
        let of = |metadata: &Value| -> std::collections::BTreeSet<String> {
            let all = metadata["finalizers"].as_array().into_iter().flatten();
            all.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let (new, old) = (of(new), of(old));
        let extra: Vec<String> = new.difference(&old).map(|name| super::fault::quoted(name)).collect();
        if !extra.is_empty() {
            let why = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                extra.join(", ")
            );
            causes.push(Cause::forbidden("metadata.finalizers", &why));
        }
    }
    for field in
        ["name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"]
    {
        if new[field] != old[field] {
            causes.push(Cause::immutable(format!("metadata.{field}"), &new[field]));
        }
    }
    causes
}

pub(super) const QUALIFIED: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const DNS_LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

fn name_fault(kind: &Kind, name: &str) -> Option<&'static str> {
    let is_ours = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    let is_dns_label = |label: &str| {
        !label.is_empty()
            && label.starts_with(is_ours)
            && label.ends_with(is_ours)
            && label.chars().all(|letter| is_ours(letter) || letter == '-')
    };
    if kind.plural == "namespaces" {
        if name.len() > 63 {
            return Some("must be no more than 63 characters");
        }
        return (!is_dns_label(name)).then_some(DNS_LABEL);
    }
    if kind.group == "rbac.authorization.k8s.io" {
        return None;
    }
    if name.len() > 253 {
        return Some("must be no more than 253 characters");
    }
    (!name.split('.').all(is_dns_label)).then_some(SUBDOMAIN)
}

pub(super) fn is_qualified(name: &str) -> bool {
    let (prefix, rest) = name.split_once('/').map_or((None, name), |(prefix, rest)| (Some(prefix), rest));
    let is_prefix = |prefix: &str| {
        !prefix.is_empty()
            && prefix.len() <= 253
            && prefix.split('.').all(|label| {
                !label.is_empty()
                    && label.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
                    && !label.starts_with('-')
                    && !label.ends_with('-')
            })
    };
    prefix.is_none_or(is_prefix) && !rest.is_empty() && is_label(rest)
}

fn is_label(value: &str) -> bool {
    value.is_empty()
        || (value.len() <= 63
            && value.starts_with(|c: char| c.is_ascii_alphanumeric())
            && value.ends_with(|c: char| c.is_ascii_alphanumeric())
            && value.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')))
}
