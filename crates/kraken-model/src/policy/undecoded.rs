//! Objects that do not decode as their kind, because an older or newer CRD accepted them. They are reported, and are still deleted as
//! any other: that needs the identity of the object, the ids in its status, and what its lifecycle forbids, all read from the JSON as
//! far as it decodes.

use std::sync::Arc;

use kraken_api::{Deletion, Lifecycle, ResourceStatus};
use kraken_kind::dynamic::{Kind, Object, Spec};
use kraken_options::Problem;
use kraken_runtime::watch::RawObject;
use serde_json::{Map, Value, json, value::RawValue};

use crate::outcome::Outcome;

/// A spec that does not decode: only the lifecycle options that a deletion heeds are known.
#[derive(Clone, Debug, Default)]
pub struct Undecoded {
    lifecycle: Lifecycle,
    /// The first error, with the path of its field if that is known.
    pub error: String,
    /// Why the account that it names is not known, if it is not: it must not be taken for the default one.
    pub unknown_account: Option<String>,
}

impl Spec for Undecoded {
    fn lifecycle(&self) -> &Lifecycle {
        &self.lifecycle
    }

    fn json(&self) -> Value {
        Value::Null
    }
}

/// An object of the kind, whether or not it decodes.
pub fn read(kind: &dyn Kind, raw: &RawObject) -> Object {
    kind.decode(raw).unwrap_or_else(|error| {
        let (spec, status) = (json_of(raw.spec.as_deref()), json_of(raw.status.as_deref()));
        let (account, unknown_account) = match kind.info().account_of(raw.spec.as_deref()) {
            Ok(account) => (account, None),
            Err(why) => (None::<Arc<str>>, Some(why)),
        };
        let spec = Undecoded { lifecycle: lifecycle(&spec, &status), error, unknown_account };
        Object::new(raw.metadata.clone(), spec, Some(status_of(&status))).using(account)
    })
}

/// What is known of the spec of an object if it does not decode.
pub fn of(object: &Object) -> Option<&Undecoded> {
    object.spec().decoded()
}

/// The error of a spec, or a status, that does not decode, as a problem of the spec.
pub fn problem(error: &str) -> Problem {
    match error.strip_prefix("spec.").and_then(|error| error.split_once(": ")) {
        Some((field, why)) => Problem::invalid(field, why),
        None => Problem::invalid("", format!("does not decode: {error}")),
    }
}

/// Whether anything may be done with this object of a kind: one that does not decode is only removed. What its condition then says in
/// addition, if anything.
pub fn permits(object: &Object, kind: &str) -> Result<Option<String>, Outcome> {
    let Some(Undecoded { error, .. }) = of(object) else { return Ok(None) };
    if object.metadata.deletion_timestamp.is_some() {
        return Ok(Some(format!("; this object does not decode as {kind}: {error}")));
    }
    let mut problem = problem(error);
    problem.message.push_str("; this object does not decode as ");
    problem.message.push_str(kind);
    Err(Outcome::Invalid(vec![problem]))
}

/// A member of the object as JSON.
fn json_of(member: Option<&RawValue>) -> Value {
    RawObject::decode(member).unwrap_or_default()
}

/// The status without the members that do not decode. Of lists of ids, those that are texts remain.
fn status_of(status: &Value) -> ResourceStatus {
    let mut read = Map::new();
    for (name, value) in status.as_object().into_iter().flatten() {
        let mut value = value.clone();
        if let ("externalIds" | "adopted", Some(ids)) = (name.as_str(), value.as_array_mut()) {
            ids.retain(Value::is_string);
        }
        if serde_json::from_value::<ResourceStatus>(json!({name: value})).is_ok() {
            read.insert(name.clone(), value);
        }
    }
    serde_json::from_value(read.into()).unwrap_or_default()
}

/// The options of `spec.lifecycle`, whatever else does not decode. One that does not decode counts as the value that forbids most; one
/// that no deletion heeds is not read.
fn lifecycle(spec: &Value, status: &Value) -> Lifecycle {
    let strictest = [
        ("paused", json!(true)),
        ("protect", json!(true)),
        ("deletion", json!(Deletion::Retain)),
        ("approval", json!("Manual")),
    ];
    let given = &spec["lifecycle"];
    let is_readable = |value: &Value| value.is_null() || value.is_object();
    if !is_readable(spec) || !is_readable(given) {
        return Lifecycle { protect: true, ..Lifecycle::default() };
    }
    let mut read = Map::new();
    for (option, strictest) in strictest.into_iter().filter(|(option, _)| !given[option].is_null()) {
        let is_valid = serde_json::from_value::<Lifecycle>(json!({option: given[option]})).is_ok();
        read.insert(option.to_owned(), if is_valid { given[option].clone() } else { strictest });
    }
    let mut lifecycle: Lifecycle = serde_json::from_value(read.into()).unwrap_or_default();
    // An adopting resource may have adopted all its objects.
    if lifecycle.deletion.is_none() && !given["adopt"].is_null() && status["adopted"].is_null() {
        lifecycle.deletion = Some(Deletion::Retain);
    }
    lifecycle
}

#[cfg(test)]
mod tests {
    use kraken_api::Approval;

    use super::*;

    fn rules(given: Value) -> Lifecycle {
        lifecycle(&json!({"size": "not a number", "lifecycle": given}), &Value::Null)
    }

    #[test]
    fn decoded_lifecycle_options_are_applied() {
        assert_eq!(rules(Value::Null), Lifecycle::default());
        let deleting = Lifecycle { deletion: Some(Deletion::Delete), ..Lifecycle::default() };
        assert_eq!(rules(json!({"resyncInterval": 7, "protect": false, "deletion": "Delete"})), deleting);
        assert!(rules(json!({"paused": true})).paused);
        assert!(rules(json!({"protect": true})).protect);
        assert_eq!(rules(json!({"deletion": "Retain"})).deletion, Some(Deletion::Retain));
        assert_eq!(rules(json!({"approval": "Manual"})).approval, Approval::Manual);
        let adopting = rules(json!({"adopt": {"id": "i-1"}}));
        assert_eq!(adopting.deletion, Some(Deletion::Retain), "objects that may have been adopted are kept");
    }

    #[test]
    fn undecodable_lifecycle_options_forbid_the_deletion() {
        assert!(rules(json!({"protect": "yes", "paused": "true"})).protect);
        assert!(rules(json!({"paused": "true"})).paused);
        assert_eq!(rules(json!({"deletion": 7})).deletion, Some(Deletion::Retain));
        assert_eq!(rules(json!({"approval": 7})).approval, Approval::Manual);
        assert!(rules(json!("protect: true")).protect);
        assert!(lifecycle(&json!([]), &Value::Null).protect);
    }

    #[test]
    fn ids_are_read_from_a_partly_undecodable_status() {
        let status = json!({
            "externalIds": ["i-1", 7, "i-2"], "ledger": {"epoch": "one"}, "conditions": "oh", "location": 7,
            "completedPlan": "0123", "secretFields": ["userData"], "plan": {"action": 7},
        });
        let status = status_of(&status);
        assert_eq!((status.external_ids, status.ledger), (vec!["i-1".into(), "i-2".into()], None));
        assert_eq!(status.location, None);
        assert_eq!(status.plan, None);
        assert_eq!(status.completed_plan.as_deref(), Some("0123"), "an old approval must not match again");
        assert_eq!(status.secret_fields, ["userData"]);
    }
}
