//! The strategy of each kind: preparation and validation before storage.

use serde_json::{Value, json};

use super::{
    cause::Cause,
    decode, events, go,
    kinds::{Kind, Nature},
    meta,
    schema::{Place, check_rules, duplicates, validate},
    secrets,
};

/// Before a new object is stored.
pub(super) fn before_create(kind: &Kind, value: &mut Value) {
    match kind.nature {
        Nature::Custom => {
            if kind.status
                && let Value::Object(map) = value
            {
                map.remove("status");
            }
            meta::set(value, "generation", json!(1));
        }
        Nature::Namespace => {
            let finalizers = value["spec"]["finalizers"].as_array().cloned().unwrap_or_default();
            let has = finalizers.iter().any(|name| name == "kubernetes");
            let mut finalizers = finalizers;
            if !has {
                finalizers.push("kubernetes".into());
            }
            value["spec"] = json!({"finalizers": finalizers});
            value["status"] = json!({"phase": "Active"});
            decode::name_label(value);
        }
        Nature::ConfigMap | Nature::Secret | Nature::Plain => {}
    }
}

/// Before a new version is stored: each endpoint writes its part alone.
pub(super) fn before_update(kind: &Kind, subresource: &str, value: &mut Value, old: &Value) {
    let keep = |value: &mut Value, field: &str| {
        let Value::Object(map) = value else { return };
        match old.get(field) {
            Some(kept) => drop(map.insert(field.to_owned(), kept.clone())),
            None => drop(map.remove(field)),
        }
    };
    match (kind.nature, subresource) {
        (Nature::Custom, "status") => {
            let status = value.get("status").cloned();
            *value = old.clone();
            let Value::Object(map) = value else { return };
            match status {
                Some(status) => drop(map.insert("status".to_owned(), status)),
                None => drop(map.remove("status")),
            }
        }
        (Nature::Custom, _) => {
            if kind.status {
                keep(value, "status");
            }
            if differs(value, old) {
                let generation = old["metadata"]["generation"].as_i64().unwrap_or_default();
                meta::set(value, "generation", json!(generation + 1));
            }
        }
        (Nature::Namespace, "finalize") => keep(value, "status"),
        (Nature::Namespace, "status") => keep(value, "spec"),
        (Nature::Namespace, _) => {
            keep(value, "spec");
            keep(value, "status");
            decode::name_label(value);
        }
        (Nature::Secret, _) => {
            if value["type"].as_str().unwrap_or_default().is_empty() {
                value["type"] = old["type"].clone();
            }
        }
        (Nature::ConfigMap | Nature::Plain, _) => {}
    }
}

/// Whether anything but the metadata differs.
fn differs(value: &Value, old: &Value) -> bool {
    let (Value::Object(new), Value::Object(old)) = (value, old) else { return true };
    new.len() != old.len()
        || new.iter().any(|(name, value)| name != "metadata" && old.get(name) != Some(value))
}

/// Adds the validation errors of an object, by its schema and the rules of its kind, to those of its metadata.
pub(super) fn check(
    kind: &Kind,
    value: &Value,
    old: Option<&Value>,
    subresource: &str,
    mut causes: Vec<Cause>,
) -> Vec<Cause> {
    match kind.nature {
        Nature::Custom => check_custom(kind, value, old, subresource, &mut causes),
        Nature::ConfigMap | Nature::Secret => {
            check_keys(value, &mut causes);
            if kind.nature == Nature::Secret {
                secrets::check(value, &mut causes);
            }
            if let Some(old) = old {
                check_immutable(kind, value, old, &mut causes);
            }
        }
        Nature::Plain if kind.plural == "events" => events::check(value, old, &mut causes),
        Nature::Plain if kind.plural == "leases" => check_lease(&value["spec"], &mut causes),
        Nature::Namespace | Nature::Plain => {}
    }
    causes
}

fn check_lease(spec: &Value, causes: &mut Vec<Cause>) {
    for (field, least, why) in [
        ("leaseDurationSeconds", 1, "must be greater than 0"),
        ("leaseTransitions", 0, "must be greater than or equal to 0"),
    ] {
        if spec[field].as_i64().is_some_and(|number| number < least) {
            causes.push(Cause::invalid(format!("spec.{field}"), &spec[field], why));
        }
    }
}

fn check_custom(kind: &Kind, value: &Value, old: Option<&Value>, subresource: &str, causes: &mut Vec<Cause>) {
    let schema = &kind.schema;
    let is_status = subresource == "status";
    if !decode::is_of(kind, value) {
        causes.push(Cause::invalid("kind", &value["kind"], &format!("must be {}", kind.kind)));
    } else if !is_status {
        validate(value, old, schema, &Place::Root, causes);
    } else if let (Some(status), Some(of)) = (value.get("status"), schema.properties.get("status")) {
        let old = old.and_then(|old| old.get("status"));
        validate(status, old, of, &Place::Top("status"), causes);
    }
    if let Some((spec, status)) = kind.scale.as_ref().filter(|_| decode::is_of(kind, value)) {
        if !is_status {
            check_replicas(value, spec, causes);
        }
        check_replicas(value, status, causes);
    }
    let duplicated = |value: &Value| {
        let mut causes = Vec::new();
        duplicates(value, schema, &Place::Root, &mut causes);
        causes
    };
    if old.is_none_or(|old| duplicated(old).is_empty()) {
        causes.extend(duplicated(value));
    }
    if !schema.has_rules {
        return;
    }
    if schema.has_rules && causes.iter().any(Cause::blocks_rules) {
        causes.push(Cause::invalid(
            "<nil>",
            &Value::Null,
            "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation",
        ));
    } else {
        check_rules(value, old, schema, &Place::Root, causes);
    }
}

/// The numbers of the scale are numbers.
fn check_replicas(value: &Value, path: &[String], causes: &mut Vec<Cause>) {
    let mut at = value;
    let field = format!(".{}", path.join("."));
    for (index, name) in path.iter().enumerate() {
        if at.is_null() {
            return;
        }
        if !at.is_object() {
            let before = path.get(..=index).unwrap_or_default().join(".");
            let (is, type_) = (go::plain(at), go::type_of(at));
            let why = format!(
                ".{before} accessor error: {is} is of the type {type_}, expected map[string]interface{{}}"
            );
            causes.push(Cause::invalid(field, &json!(0), &why));
            return;
        }
        let Some(next) = at.get(name) else { return };
        at = next;
    }
    match at.as_i64() {
        Some(replicas) if replicas < 0 => {
            causes.push(Cause::invalid(field, at, "should be a non-negative integer"));
        }
        Some(replicas) if replicas > i64::from(i32::MAX) => {
            causes.push(Cause::invalid(field, at, "should be less than or equal to 2147483647"));
        }
        Some(_) => {}
        None => {
            let (is, type_) = (go::plain(at), go::type_of(at));
            let why = format!("{field} accessor error: {is} is of the type {type_}, expected int64");
            causes.push(Cause::invalid(field, &json!(0), &why));
        }
    }
}

fn check_keys(value: &Value, causes: &mut Vec<Cause>) {
    const WHY: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
    for field in ["data", "binaryData"] {
        for key in value[field].as_object().into_iter().flatten().map(|(key, _)| key) {
            let is_key = !key.is_empty()
                && key.len() <= 253
                && !matches!(key.as_str(), "." | "..")
                && !key.starts_with("..")
                && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
            let key_value = key.as_str().into();
            if !is_key {
                causes.push(Cause::invalid(format!("{field}[{key}]"), &key_value, WHY));
            }
            if field == "data" && value["binaryData"].get(key).is_some() {
                let why = "duplicate of key present in binaryData";
                causes.push(Cause::invalid(format!("data[{key}]"), &key_value, why));
            }
        }
    }
}

fn check_immutable(kind: &Kind, value: &Value, old: &Value, causes: &mut Vec<Cause>) {
    if kind.nature == Nature::Secret && value["type"] != old["type"] {
        causes.push(Cause::immutable("type", &value["type"]));
    }
    if old["immutable"] == true {
        if value["immutable"] != true {
            causes.push(is_immutable("immutable"));
        }
        for field in ["data", "binaryData"] {
            if value[field] != old[field] {
                causes.push(is_immutable(field));
            }
        }
    }
}

/// The cause of a change of an immutable object.
pub(super) fn is_immutable(field: &str) -> Cause {
    Cause::forbidden(field, "field is immutable when `immutable` is set")
}

/// Whether this version is the last one: it is being deleted and has no finalizers left.
pub(super) fn is_finished(kind: &Kind, value: &Value, old: &Value) -> bool {
    let is_empty = |list: &Value| list.as_array().is_none_or(Vec::is_empty);
    let is_deleting = old["metadata"]["deletionTimestamp"].is_string();
    let is_held = !is_empty(&value["metadata"]["finalizers"])
        || (kind.nature == Nature::Namespace && !is_empty(&value["spec"]["finalizers"]));
    let grace = old["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or_default();
    is_deleting && !is_held && grace == 0
}
