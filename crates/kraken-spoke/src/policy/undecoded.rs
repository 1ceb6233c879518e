//! The options that a deletion must heed, of a spec that does not decode.

use kraken_api::{Deletion, Lifecycle};
use serde_json::{Map, Value, json};

use crate::dynamic::Spec;

/// A spec that does not decode: only these options are known.
#[derive(Clone, Debug, Default)]
pub(crate) struct Undecoded(pub Lifecycle);

impl Spec for Undecoded {
    fn lifecycle(&self) -> &Lifecycle {
        &self.0
    }

    fn json(&self) -> Value {
        Value::Null
    }
}

/// The options of `spec.lifecycle`, whatever else does not decode. One that does not decode counts as the value that forbids most; one
/// that no deletion heeds is not read.
pub(crate) fn lifecycle(spec: &Value, status: &Value) -> Lifecycle {
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
}
