//! The policies and the records of a version of an object, read from its JSON, even if it cannot be decoded.

use kraken_kind::api::{APPROVED_PLAN_ANNOTATION, DOMAIN, FINALIZER};
use serde_json::Value;

use crate::engine::Place;

/// The policies.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(clippy::struct_excessive_bools)] // independent settings of the user
pub(super) struct Policy {
    pub paused: bool,
    pub protect: bool,
    /// `deletion: Retain`.
    pub retain: bool,
    /// `deletion: Delete`.
    pub delete: bool,
    /// Something is adopted.
    pub adopts: bool,
    /// `drift: Report`.
    pub report: bool,
    /// `approval: Manual`.
    pub manual: bool,
    pub deleting: bool,
}

impl Policy {
    /// Whether remote objects may be retained: all of them, or adopted ones.
    pub(super) fn keeps(&self) -> bool {
        self.retain || (self.adopts && !self.delete)
    }

    pub(super) fn of(object: &Value) -> Self {
        let lifecycle = &object["spec"]["lifecycle"];
        Self {
            paused: lifecycle["paused"] == true,
            protect: lifecycle["protect"] == true,
            retain: lifecycle["deletion"] == "Retain",
            delete: lifecycle["deletion"] == "Delete",
            adopts: lifecycle["adopt"].is_object(),
            report: lifecycle["drift"] == "Report",
            manual: lifecycle["approval"] == "Manual",
            deleting: is_deleting(object),
        }
    }
}

/// Whether it is of a kind of the spokes. An Account is only read by them.
pub(super) fn is_resource(object: &Value) -> bool {
    object["kind"] != "Account"
        && object["apiVersion"]
            .as_str()
            .is_some_and(|version| version.strip_prefix("aws.").is_some_and(|rest| rest.starts_with(DOMAIN)))
}

/// Whether our finalizer is on it.
pub(super) fn is_held(object: &Value) -> bool {
    strings(&object["metadata"]["finalizers"]).any(|finalizer| finalizer == FINALIZER)
}

/// Whether its deletion began. Kubernetes then accepts no finalizer any more.
pub(super) fn is_deleting(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

/// Whether it is being deleted, and the finalizer of another controller keeps it.
pub(super) fn is_held_by_others(object: &Value) -> bool {
    let is_foreign = |finalizer: &str| finalizer.contains('/') && !finalizer.starts_with(DOMAIN);
    is_deleting(object) && strings(&object["metadata"]["finalizers"]).any(is_foreign)
}

/// The ledger that is persisted on it. That of another resource, which came with a restored status, is none.
pub(super) fn ledger(object: &Value) -> Option<&Value> {
    let ledger = &object["status"]["ledger"];
    (ledger.is_object() && ledger["uid"] == object["metadata"]["uid"]).then_some(ledger)
}

/// The approved hash.
pub(super) fn approved(object: &Value) -> Option<&str> {
    object["metadata"]["annotations"][APPROVED_PLAN_ANNOTATION].as_str()
}

/// The ids that its status names.
pub(super) fn external_ids(object: &Value) -> impl Iterator<Item = &str> {
    strings(&object["status"]["externalIds"])
}

/// The ids that existed before it, as its status and its ledger have them.
pub(super) fn adopted(object: &Value) -> Vec<String> {
    let mut all: Vec<String> = strings(&object["status"]["adopted"]).map(ToOwned::to_owned).collect();
    if let Some(ledger) = ledger(object) {
        all.extend(strings(&ledger["adopted"]).map(ToOwned::to_owned));
    }
    all
}

/// Where the objects of a resource are, according to its status or its last launch.
pub(super) fn recorded_place(object: &Value) -> Option<Place> {
    let intended = ledger(object).unwrap_or_default();
    let recorded = &object["status"]["location"];
    let place = if recorded.is_object() { recorded } else { &intended["location"] };
    let text = |field: &str| place[field].as_str().map(ToOwned::to_owned);
    Some(Place { account: text("account")?, region: text("region")? })
}

/// Whether a version names where the objects of a resource are, and the one that replaces it names no place or another one.
pub(super) fn is_displacement(before: &Value, after: &Value) -> bool {
    let place = recorded_place(before);
    place.is_some() && place != recorded_place(after)
}

/// A text; empty if it is none.
pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The texts of a list.
pub(super) fn strings(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// The Ready condition.
pub(super) fn ready(object: &Value) -> &Value {
    let conditions = object["status"]["conditions"].as_array();
    let ready = conditions.and_then(|all| all.iter().find(|condition| condition["type"] == "Ready"));
    ready.unwrap_or(&Value::Null)
}
