//! Metadata: normalization, validation and immutability.

use serde_json::{Value, json};

use super::{
    cause::Cause,
    fault::Fault,
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
    for field in ["creationTimestamp", "deletionTimestamp"] {
        let text = metadata[field].as_str();
        if let Some(text) = text.filter(|text| text.parse::<jiff::Timestamp>().is_err()) {
            return Err(Fault::bad_request(format!("parsing time {text:?} of metadata.{field}")));
        }
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

/// An owner reference that is repeated counts once.
pub(super) fn deduplicate_owners(object: &mut Value) {
    let owners = object.get_mut("metadata").and_then(|metadata| metadata.get_mut("ownerReferences"));
    let Some(Value::Array(owners)) = owners else { return };
    let mut seen: Vec<Value> = Vec::with_capacity(owners.len());
    owners.retain(|owner| {
        let is_new = !seen.contains(owner);
        if is_new {
            seen.push(owner.clone());
        }
        is_new
    });
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
        check_qualified("metadata.labels", key, key, &mut causes);
        let text = value.as_str().unwrap_or_default();
        if text.len() > 63 {
            causes.push(Cause::invalid("metadata.labels", value, "must be no more than 63 bytes"));
        }
        if !is_label_text(text) {
            causes.push(Cause::invalid("metadata.labels", value, LABEL));
        }
    }
    let mut size = 0;
    for (key, value) in metadata["annotations"].as_object().into_iter().flatten() {
        size += key.len() + value.as_str().unwrap_or_default().len();
        check_qualified("metadata.annotations", key, &key.to_lowercase(), &mut causes);
    }
    if size > 256 * 1024 {
        let message = "Too long: may not be more than 262144 bytes".to_owned();
        let field = "metadata.annotations".to_owned();
        causes.push(Cause { reason: "FieldValueTooLong", message, field });
    }
    check_owners(metadata, &mut causes);
    for (index, finalizer) in metadata["finalizers"].as_array().into_iter().flatten().enumerate() {
        let name = finalizer.as_str().unwrap_or_default();
        check_qualified("metadata.finalizers", name, name, &mut causes);
        let is_standard = name.contains('/') || STANDARD_FINALIZERS.contains(&name);
        if kind.checks_finalizers() && !is_standard {
            let why = "name is neither a standard finalizer name nor is it fully qualified";
            causes.push(Cause::invalid(format!("metadata.finalizers[{index}]"), finalizer, why));
        }
    }
    causes
}

/// The finalizers without a domain that Kubernetes' own kinds accept.
const STANDARD_FINALIZERS: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];

fn check_qualified(field: &str, shown: &str, name: &str, causes: &mut Vec<Cause>) {
    for why in qualified_faults(name) {
        causes.push(Cause::invalid(field, &shown.into(), &why));
    }
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
            let text = owner[field].as_str().unwrap_or_default();
            let is_version = field != "apiVersion" || text.split('/').count() <= 2;
            if text.is_empty() || !is_version {
                causes.push(Cause::invalid(format!("metadata.ownerReferences.{field}"), &text.into(), why));
            }
        }
        if owner["apiVersion"] == "v1" && owner["kind"] == "Event" {
            let why = "/v1, Kind=Event is disallowed from being an owner";
            causes.push(invalid_owners(&shown_owner(owner), why));
        }
    }
    let mut controllers = owners.iter().filter(|owner| owner["controller"] == true);
    if let Some(first) = controllers.next() {
        for second in controllers {
            causes.push(second_controller(owners, first, second));
        }
    }
}

fn second_controller(owners: &[Value], first: &Value, second: &Value) -> Cause {
    let named = |owner: &Value| {
        let text = |name: &str| owner[name].as_str().unwrap_or_default().to_owned();
        format!("{}/{}", text("kind"), text("name"))
    };
    let why = format!(
        "Only one reference can have Controller set to true. Found \"true\" in references for {} and {}",
        named(first),
        named(second)
    );
    let shown: Vec<String> = owners.iter().map(shown_owner).collect();
    invalid_owners(&format!("[{}]", shown.join(",")), &why)
}

fn invalid_owners(shown: &str, why: &str) -> Cause {
    let message = format!("Invalid value: {shown}: {why}");
    Cause { reason: "FieldValueInvalid", message, field: "metadata.ownerReferences".to_owned() }
}

/// With the fields in the order of Go's type.
fn shown_owner(owner: &Value) -> String {
    let fields = ["apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"];
    let fields = fields.into_iter().filter_map(|name| Some(format!("{name:?}:{}", owner.get(name)?)));
    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
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
        let extra: Vec<String> = new.difference(&old).map(|name| super::cause::quoted(name)).collect();
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

const QUALIFIED: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const DNS_LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

fn is_dns_label(label: &str) -> bool {
    let is_ours = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    !label.is_empty()
        && label.starts_with(is_ours)
        && label.ends_with(is_ours)
        && label.chars().all(|letter| is_ours(letter) || letter == '-')
}

fn name_fault(kind: &Kind, name: &str) -> Option<&'static str> {
    if kind.plural == "namespaces" {
        if name.len() > 63 {
            return Some("must be no more than 63 characters");
        }
        return (!is_dns_label(name)).then_some(DNS_LABEL);
    }
    if kind.group == "rbac.authorization.k8s.io" {
        return None;
    }
    subdomain_fault(name)
}

fn subdomain_fault(name: &str) -> Option<&'static str> {
    if name.len() > 253 {
        return Some("must be no more than 253 characters");
    }
    (!name.split('.').all(is_dns_label)).then_some(SUBDOMAIN)
}

/// Why a name is not one with an optional domain before it, as labels and finalizers have.
pub(super) fn qualified_faults(name: &str) -> Vec<String> {
    let parts: Vec<&str> = name.split('/').collect();
    let (prefix, rest) = match parts.as_slice() {
        [rest] => (None, *rest),
        [prefix, rest] => (Some(*prefix), *rest),
        _ => {
            return vec![format!(
                "a valid label key {QUALIFIED} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            )];
        }
    };
    let mut faults = Vec::new();
    match prefix {
        None => {}
        Some("") => faults.push("prefix part must be non-empty".to_owned()),
        Some(prefix) => faults.extend(subdomain_fault(prefix).map(|why| format!("prefix part {why}"))),
    }
    if rest.is_empty() {
        faults.push("name part must be non-empty".to_owned());
    } else if rest.len() > 63 {
        faults.push("name part must be no more than 63 bytes".to_owned());
    }
    if rest.is_empty() || !is_label_text(rest) {
        faults.push(format!("name part {QUALIFIED}"));
    }
    faults
}

/// Whether a text of any length has the characters of a label's value.
fn is_label_text(value: &str) -> bool {
    value.is_empty()
        || (value.starts_with(|c: char| c.is_ascii_alphanumeric())
            && value.ends_with(|c: char| c.is_ascii_alphanumeric())
            && value.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')))
}

/// Whether this is the value of a label.
pub(super) fn is_label(value: &str) -> bool {
    value.len() <= 63 && is_label_text(value)
}
