//! What kube-apiserver checks of an Event of `events.k8s.io/v1`. It names fields as the older form of Events has them.

use serde_json::Value;

use super::cause::Cause;

/// The validation errors of a new or changed Event.
pub(super) fn check(event: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    match old {
        None => check_new(event, causes),
        Some(old) => check_change(event, old, causes),
    }
}

/// What is checked of every version of an Event.
fn check_content(event: &Value, causes: &mut Vec<Cause>) {
    let text = |field: &str| event[field].as_str().unwrap_or_default();
    let namespace = event["metadata"]["namespace"].as_str().unwrap_or_default();
    let regarding = event["regarding"]["namespace"].as_str().unwrap_or_default();
    // What an Event with a time is about may be in any namespace.
    let fits = match (regarding.is_empty(), event["eventTime"].is_null()) {
        (true, true) => ["", "default"].contains(&namespace),
        (true, false) => ["default", "kube-system"].contains(&namespace),
        (false, is_older) => !is_older || regarding == namespace,
    };
    if !fits {
        causes.push(Cause::invalid(
            "involvedObject.namespace",
            &regarding.into(),
            "does not match event.namespace",
        ));
    }
    if !event["eventTime"].is_null() {
        for (field, longest) in [
            ("reportingController", usize::MAX),
            ("reportingInstance", 128),
            ("action", 128),
            ("reason", 128),
        ] {
            if text(field).is_empty() {
                causes.push(Cause::required(field, ""));
            } else if text(field).len() > longest {
                let why = format!("can have at most {longest} characters");
                causes.push(Cause::invalid(field, &event[field], &why));
            }
        }
        for why in super::meta::qualified_faults(text("reportingController")) {
            causes.push(Cause::invalid("reportingController", &text("reportingController").into(), &why));
        }
        if text("note").len() > 1024 {
            causes.push(Cause::invalid("message", &"".into(), "can have at most 1024 characters"));
        }
    }
}

fn check_new(event: &Value, causes: &mut Vec<Cause>) {
    check_content(event, causes);
    if event["eventTime"].is_null() {
        causes.push(Cause::required("eventTime", ""));
    }
    let type_ = event["type"].as_str().unwrap_or_default();
    if !["Normal", "Warning"].contains(&type_) {
        let why = format!("has invalid value: {type_}");
        causes.push(Cause::invalid("type", &"".into(), &why));
    }
    check_series(event, causes);
    for (field, older) in [
        ("deprecatedFirstTimestamp", "firstTimestamp"),
        ("deprecatedLastTimestamp", "lastTimestamp"),
        ("deprecatedCount", "count"),
        ("deprecatedSource", "source"),
    ] {
        let value = &event[field];
        let is_empty =
            value.is_null() || *value == 0 || value.as_object().is_some_and(serde_json::Map::is_empty);
        if !is_empty {
            causes.push(Cause::invalid(older, &"".into(), "needs to be unset"));
        }
    }
}

fn check_series(event: &Value, causes: &mut Vec<Cause>) {
    let series = &event["series"];
    if series.is_null() {
        return;
    }
    if series["count"].as_i64().unwrap_or_default() < 2 {
        causes.push(Cause::invalid("series.count", &"".into(), "should be at least 2"));
    }
    if series["lastObservedTime"].is_null() {
        causes.push(Cause::required("series.lastObservedTime", ""));
    }
}

/// Only the series of an Event can be changed.
fn check_change(event: &Value, old: &Value, causes: &mut Vec<Cause>) {
    check_content(event, causes);
    if event["series"] != old["series"] {
        check_series(event, causes);
    }
    let fields = [
        ("regarding", "involvedObject"),
        ("reason", "reason"),
        ("note", "message"),
        ("deprecatedSource", "source"),
        ("deprecatedFirstTimestamp", "firstTimestamp"),
        ("deprecatedLastTimestamp", "lastTimestamp"),
        ("deprecatedCount", "count"),
        ("type", "type"),
        ("eventTime", "eventTime"),
        ("action", "action"),
        ("related", "related"),
        ("reportingController", "reportingController"),
        ("reportingInstance", "reportingInstance"),
    ];
    for (field, older) in fields {
        if event[field] != old[field] {
            let shown = shown(field, &event[field]);
            let message = format!("Invalid value: {shown}: field is immutable");
            causes.push(Cause { reason: "FieldValueInvalid", message, field: older.to_owned() });
        }
    }
}

/// A field as Go's type of the older form prints it.
fn shown(field: &str, value: &Value) -> String {
    let of = |name: &str| value[name].as_str().unwrap_or_default();
    let fields: &[(&str, &str)] = match field {
        "regarding" | "related" => &[
            ("Kind", "kind"),
            ("Namespace", "namespace"),
            ("Name", "name"),
            ("UID", "uid"),
            ("APIVersion", "apiVersion"),
            ("ResourceVersion", "resourceVersion"),
            ("FieldPath", "fieldPath"),
        ],
        "deprecatedSource" => &[("Component", "component"), ("Host", "host")],
        _ => &[],
    };
    match value {
        Value::Null if field == "deprecatedCount" => "0".to_owned(),
        Value::Null
            if matches!(field, "reason" | "note" | "type" | "action") || field.starts_with("reporting") =>
        {
            "\"\"".to_owned()
        }
        Value::Object(_) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|(go, name)| format!("{go:?}:{}", super::cause::quoted(of(name))))
                .collect();
            format!("{{{}}}", fields.join(","))
        }
        other => super::cause::shown(other),
    }
}
