//! The desired state, and its comparison with the observed state. No client required.

use kraken_kind::{Comparison, Difference, FieldDiff, Remedy, Resolved, Resolver};
use serde_json::{Value, json};

use super::{api::GadgetSpec, cloud::RemoteObject};

/// A gadget with all values.
#[derive(Debug)]
pub(super) struct Desired {
    pub size: i64,
    pub colour: String,
    pub count: usize,
    pub password: Option<Resolved<String>>,
}

/// A change in place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Sets its size.
    Resize(i64),
    /// Deletes this surplus one.
    Remove(String),
}

pub(super) fn desired(spec: &GadgetSpec, values: &mut Resolver<'_>) -> Option<Desired> {
    let size = values.take("size", &spec.size);
    let colour = values.take_if("colour", spec.colour.as_ref());
    let count = values.take_if("count", spec.count.as_ref());
    let password = values.take_if("password", spec.password.as_ref());
    if let Some(size) = size.as_ref().map(Resolved::expose).filter(|size| !(1..=100).contains(*size)) {
        values.problem("size", format!("{size} is not from 1 to 100"));
    }
    Some(Desired {
        size: *size?.expose(),
        colour: colour?.map_or_else(|| "grey".to_owned(), |colour| colour.expose().clone()),
        count: count?.map_or(1, |count| usize::try_from((*count.expose()).clamp(1, 10)).unwrap_or(1)),
        password: password?,
    })
}

/// The redacted password: empty if there is none.
pub(super) fn password_shown(desired: &Desired) -> String {
    let shown = |password: &Resolved<String>| password.public().map_or("***", String::as_str).to_owned();
    desired.password.as_ref().map(shown).unwrap_or_default()
}

pub(super) fn compare(desired: &Desired, mut live: Vec<&RemoteObject>) -> Comparison<Change> {
    live.sort_by_key(|object| object.epoch);
    if live.len() < desired.count {
        let missing = Some(match desired.count - live.len() {
            1 => "1 gadget".to_owned(),
            more => format!("{more} gadgets"),
        });
        return Comparison { missing, ..Comparison::default() };
    }
    let mut differences = vec![];
    for object in live.drain(desired.count..) {
        differences.push(Difference {
            field: FieldDiff::new("count", desired.count.to_string(), format!("{} too", object.id)),
            remedy: Remedy::Change(Change::Remove(object.id.clone())),
        });
    }
    if let Some(object) = live.iter().find(|object| object.size != desired.size) {
        differences.push(Difference {
            field: FieldDiff::new("size", desired.size.to_string(), object.size.to_string()),
            remedy: Remedy::Change(Change::Resize(desired.size)),
        });
    }
    if let Some(object) = live.iter().find(|object| object.colour != desired.colour) {
        differences.push(Difference {
            field: FieldDiff::new("colour", desired.colour.clone(), object.colour.clone()),
            remedy: Remedy::Immutable("delete and re-create the gadget to have another colour".to_owned()),
        });
    }
    Comparison { differences, ..Comparison::default() }
}

pub(super) fn state(object: &RemoteObject) -> Value {
    json!({"gadget": {"Id": object.id, "Size": object.size, "Colour": object.colour, "Note": object.note}})
}
