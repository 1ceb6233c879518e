//! From the body of a request to the form of an object in which it is stored.

use serde_json::Value;

use super::{
    base64::{encoded, is_base64},
    cause::quoted,
    fault::Fault,
    kinds::{Kind, Kinds, Nature},
    meta,
    schema::{Place, apply_defaults, drop_nulls, prune, validate},
};

/// A whole object in a request: known fields only, with defaults.
pub(super) fn decode(kinds: &Kinds, kind: &Kind, body: Value, strict: bool) -> Result<Value, Fault> {
    decode_with(kinds, kind, body, strict, Nulls::Dropped)
}

/// The result of an apply, in which nulls remain.
pub(super) fn decode_applied(kinds: &Kinds, kind: &Kind, body: Value, strict: bool) -> Result<Value, Fault> {
    decode_with(kinds, kind, body, strict, Nulls::Kept)
}

/// What becomes of nulls that the schema does not allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Nulls {
    Dropped,
    Kept,
}

fn decode_with(kinds: &Kinds, kind: &Kind, body: Value, strict: bool, nulls: Nulls) -> Result<Value, Fault> {
    let mut object = typed(kind, body)?;
    let mut unknown = meta::normalize(kinds, &mut object)?;
    meta::deduplicate_owners(&mut object);
    if !kind.is_custom() || is_of(kind, &object) {
        unknown.extend(prune(&mut object, &kind.schema));
    }
    if strict && !unknown.is_empty() {
        let fields: Vec<String> =
            unknown.iter().map(|field| format!("unknown field {}", quoted(field))).collect();
        let Kind { kind, version, .. } = kind;
        return Err(Fault::bad_request(format!(
            "{kind} in version {} cannot be handled as a {kind}: strict decoding error: {}",
            quoted(version),
            fields.join(", ")
        )));
    }
    if kind.is_custom() {
        if is_of(kind, &object) {
            apply_defaults(&mut object, &kind.schema);
            if nulls == Nulls::Dropped {
                drop_nulls(&mut object, &kind.schema);
            }
        }
        return Ok(object);
    }
    built_in(kind, &mut object)?;
    Ok(object)
}

/// The body as an object of this kind; absent type fields are filled in.
pub(super) fn typed(kind: &Kind, mut body: Value) -> Result<Value, Fault> {
    let Value::Object(map) = &mut body else {
        return Err(Fault::bad_request("the body of the request is not an object"));
    };
    for (field, wanted) in [("apiVersion", kind.api_version()), ("kind", kind.kind.clone())] {
        match map.get(field).and_then(Value::as_str) {
            None | Some("") if kind.is_custom() => {
                return Err(Fault::bad_request(format!("Object '{field}' is missing")));
            }
            None | Some("") => drop(map.insert(field.to_owned(), wanted.into())),
            Some(is) if is == wanted => {}
            // The kind of a custom resource is checked with the rest of the object.
            Some(_) if kind.is_custom() && field == "kind" => {}
            Some(is) => {
                let message =
                    format!("the {field} in the data ({is}) does not match the expected {field} ({wanted})");
                return Err(Fault::bad_request(message));
            }
        }
    }
    map.entry("metadata").or_insert_with(|| Value::Object(serde_json::Map::new()));
    Ok(body)
}

/// Whether this is an object of the kind, and not of another one in its version.
pub(super) fn is_of(kind: &Kind, object: &Value) -> bool {
    object["kind"] == kind.kind.as_str()
}

/// What Go's types do to the kinds of Kubernetes itself.
fn built_in(kind: &Kind, object: &mut Value) -> Result<(), Fault> {
    if let Value::Object(map) = object {
        map.retain(|_, value| !value.is_null());
    }
    let mut causes = Vec::new();
    validate(object, None, &kind.schema, &Place::Root, &mut causes);
    if let Some(cause) = causes.first() {
        let Kind { kind, version, .. } = kind;
        return Err(Fault::bad_request(format!(
            "{kind} in version {} cannot be handled as a {kind}: json: cannot unmarshal into {}",
            quoted(version),
            cause.field
        )));
    }
    let Value::Object(map) = object else { return Ok(()) };
    match kind.nature {
        Nature::Secret => {
            if let Some(Value::Object(texts)) = map.remove("stringData") {
                let data = map.entry("data").or_insert_with(|| Value::Object(serde_json::Map::new()));
                for (key, text) in texts {
                    data[key] = encoded(text.as_str().unwrap_or_default().as_bytes()).into();
                }
            }
            check_base64(map, "data")?;
            map.entry("type").or_insert_with(|| "Opaque".into());
            if map.get("type").and_then(Value::as_str) == Some("") {
                map.insert("type".to_owned(), "Opaque".into());
            }
        }
        Nature::Namespace => {
            if map.get("metadata").is_some_and(|metadata| metadata["name"].is_string()) {
                name_label(object);
            }
            return Ok(());
        }
        Nature::Plain => plain(kind, map),
        Nature::ConfigMap => check_base64(map, "binaryData")?,
        Nature::Custom => {}
    }
    map.retain(|name, value| {
        name == "metadata" || !(value.as_object().is_some_and(serde_json::Map::is_empty) && is_data(name))
    });
    Ok(())
}

fn check_base64(map: &serde_json::Map<String, Value>, field: &str) -> Result<(), Fault> {
    let data = map.get(field).and_then(Value::as_object).into_iter().flatten();
    match data.into_iter().find(|(_, value)| !is_base64(value.as_str())) {
        Some((key, _)) => Err(Fault::bad_request(format!("illegal base64 data in {field}.{key}"))),
        None => Ok(()),
    }
}

/// The fields that Go writes also if they are empty, and those that it leaves out then.
fn plain(kind: &Kind, map: &mut serde_json::Map<String, Value>) {
    if kind.plural == "events" {
        map.retain(|_, value| value.as_str() != Some(""));
    }
    for (field, value) in zero(kind) {
        map.entry(field).or_insert(value);
    }
}

/// The default content of an object of this kind.
pub(super) fn zero(kind: &Kind) -> Vec<(String, Value)> {
    let fields: &[(&str, Value)] = match kind.plural.as_str() {
        "events" => &[
            ("deprecatedFirstTimestamp", Value::Null),
            ("deprecatedLastTimestamp", Value::Null),
            ("deprecatedSource", Value::Object(serde_json::Map::new())),
            ("eventTime", Value::Null),
            ("regarding", Value::Object(serde_json::Map::new())),
        ],
        "leases" => &[("spec", Value::Object(serde_json::Map::new()))],
        "namespaces" => &[
            ("spec", Value::Object(serde_json::Map::new())),
            ("status", Value::Object(serde_json::Map::new())),
        ],
        _ => &[],
    };
    fields.iter().map(|(field, value)| ((*field).to_owned(), value.clone())).collect()
}

/// An object of this kind without content, if Go writes any of it.
pub(super) fn zero_object(kind: &Kind) -> Option<Value> {
    let fields = zero(kind);
    (!fields.is_empty()).then(|| Value::Object(fields.into_iter().collect()))
}

fn is_data(name: &str) -> bool {
    matches!(name, "data" | "binaryData")
}

/// Each namespace has its name as a label.
pub(super) fn name_label(value: &mut Value) {
    let mut labels = value["metadata"]["labels"].as_object().cloned().unwrap_or_default();
    labels.insert("kubernetes.io/metadata.name".to_owned(), value["metadata"]["name"].clone());
    meta::set(value, "labels", Value::Object(labels));
}
