//! What is wrong with one object by itself: the schema and the CEL rules of its kind, as kube-apiserver checks them, the syntax of its
//! references, and the rules of lifecycles and exports that a schema cannot express. Pure.

use std::collections::BTreeMap;

use kraken_api::{ConfigExport, Interval, Lifecycle};
use kraken_options::{Path, Problem};
use kube_schema::{
    Place, Schema, apply_defaults, cause::Cause, check_rules, drop_nulls, duplicates, prune, validate,
};
use serde_json::Value;

use super::unquoted::unquoted;

/// The problems of an object against its schema: the path of the field, and the message. `value` gets the defaults and loses what the
/// schema does not know. `written` is how a value is written without quotes, by its path.
pub(super) fn by_schema(
    value: &mut Value,
    schema: &Schema,
    written: impl Fn(&str) -> Option<String>,
) -> Vec<(String, String)> {
    if let Some(fields) = value.as_object_mut() {
        // An apply does not set it.
        fields.remove("status");
    }
    let unknown = prune(value, schema);
    let mut found: Vec<(String, String)> =
        unknown.into_iter().map(|field| (field, "unknown field".to_owned())).collect();
    apply_defaults(value, schema);
    drop_nulls(value, schema);
    let mut causes = vec![];
    validate(value, None, schema, &Place::Root, &mut causes);
    duplicates(value, schema, &Place::Root, &mut causes);
    // As kube-apiserver: rules read fields, and say nonsense about ones of a wrong type.
    if !causes.iter().any(Cause::blocks_rules) {
        check_rules(value, None, schema, &Place::Root, &mut causes);
    }
    let unquoted = unquoted(value, schema);
    causes.retain(|cause| !unquoted.iter().any(|one| one.field == *field_of(cause)));
    for one in unquoted {
        let message = one.message(written(&one.field).as_deref());
        found.push((one.field, message));
    }
    let (of_branches, own): (Vec<_>, Vec<_>) = causes.into_iter().partition(|cause| cause.field == NO_FIELD);
    found.extend(own.into_iter().map(|cause| (cause.field, without_value(cause.message))));
    // That no branch holds says less than what is wrong in one, but it may be all that is said.
    for cause in of_branches {
        let field = field_of(&cause);
        if !found.iter().any(|(other, _)| other.starts_with(field)) {
            let message = cause.message.strip_prefix("Invalid value: \"\": ").unwrap_or(&cause.message);
            found.push((field.to_owned(), message.to_owned()));
        }
    }
    found
}

/// What kube-apiserver says in place of a field about branches of a schema; the field is in the message.
const NO_FIELD: &str = "<nil>";

fn field_of(cause: &Cause) -> &str {
    if cause.field != NO_FIELD {
        return &cause.field;
    }
    let quoted = cause.message.strip_prefix("Invalid value: \"\": \"");
    quoted.and_then(|rest| rest.split_once("\" must ")).map_or("", |(field, _)| field)
}

/// Of a long value the message has only the part that says what is wrong.
fn without_value(message: String) -> String {
    const MOST: usize = 200;
    if message.len() <= MOST {
        return message;
    }
    match message.rfind("\": ") {
        Some(at) => message.split_at(at + 3).1.to_owned(),
        None => message,
    }
}

/// What the controller of a kind rejects in a lifecycle.
pub(super) fn lifecycle(spec: &Value) -> Vec<Problem> {
    let Ok(lifecycle) = serde_json::from_value::<Lifecycle>(spec["lifecycle"].clone()) else { return vec![] };
    let mut problems = vec![];
    if let Some(Err(why)) = lifecycle.resync_interval.as_ref().map(Interval::duration) {
        problems.push(Problem::invalid("lifecycle.resyncInterval", why));
    }
    for (index, path) in lifecycle.share.iter().flat_map(|share| &share.include).enumerate() {
        let why = match path.parse::<Path>() {
            Ok(path) if path.segments().is_some() => continue,
            Ok(_) => "must be a dotted path such as instances.InstanceId".to_owned(),
            Err(why) => why.to_string(),
        };
        problems.push(Problem::invalid(&format!("lifecycle.share.include[{index}]"), why));
    }
    for (index, path) in lifecycle.ignore_changes.iter().enumerate() {
        if let Err(why) = path.parse::<Path>() {
            problems.push(Problem::invalid(&format!("lifecycle.ignoreChanges[{index}]"), why.to_string()));
        }
    }
    problems
}

/// What the hub rejects in a ConfigExport without looking at other objects.
pub(super) fn export(object: &Value, namespace: &str) -> Vec<Problem> {
    let Ok(mut export) = serde_json::from_value::<ConfigExport>(object.clone()) else { return vec![] };
    export.metadata.namespace = Some(namespace.to_owned());
    kraken_hub::problems_of_export(&export)
}

/// Why this cannot be the name of an object.
pub(in crate::commands) fn name(name: &str) -> Option<&'static str> {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_label = |label: &str| {
        !label.is_empty() && label.bytes().all(is_inner) && !label.starts_with('-') && !label.ends_with('-')
    };
    let is_name = name.len() <= 253 && name.split('.').all(is_label);
    (!is_name).then_some(
        "is not a name of an object: lower case letters, digits, \"-\" and \".\", at most 253 characters",
    )
}

/// The text of a ConfigMap or a Secret by its keys; the values of a Secret are not read.
pub(super) fn data(object: &Value) -> BTreeMap<String, String> {
    let is_secret = object["kind"] == "Secret";
    let mut data = BTreeMap::new();
    for field in ["data", "stringData"] {
        for (key, value) in object[field].as_object().into_iter().flatten() {
            let text = value.as_str().filter(|_| !is_secret).unwrap_or_default();
            data.insert(key.clone(), text.to_owned());
        }
    }
    data
}
