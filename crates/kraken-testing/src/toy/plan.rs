//! What is wanted, and how it differs from what is there. No client required.

use kraken_spoke::{Comparison, Difference, FieldDiff, Remedy, Resolved, Resolver};
use serde_json::{Value, json};

use super::{api::GadgetSpec, cloud::Thing};

/// A gadget with every value known.
#[derive(Debug)]
pub struct Desired {
    pub size: i64,
    pub colour: String,
    pub password: Option<Resolved<String>>,
}

/// A change in place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Give it this size.
    Resize(i64),
}

pub(super) fn desired(spec: &GadgetSpec, values: &mut Resolver<'_>) -> Option<Desired> {
    let size = values.take("size", &spec.size);
    let colour = values.take_if("colour", spec.colour.as_ref());
    let password = values.take_if("password", spec.password.as_ref());
    if let Some(size) = size.as_ref().map(Resolved::expose).filter(|size| !(1..=100).contains(*size)) {
        values.problem("size", format!("{size} is not from 1 to 100"));
    }
    Some(Desired {
        size: *size?.expose(),
        colour: colour?.map_or_else(|| "grey".to_owned(), |colour| colour.expose().clone()),
        password: password?,
    })
}

/// The password as it may be shown: nothing if there is none.
pub(super) fn password_shown(desired: &Desired) -> String {
    let shown = |password: &Resolved<String>| password.public().map_or("***", String::as_str).to_owned();
    desired.password.as_ref().map(shown).unwrap_or_default()
}

pub(super) fn compare(desired: &Desired, observed: Option<&Thing>) -> Comparison<Change> {
    let Some(thing) = observed.filter(|thing| !thing.gone) else {
        return Comparison { missing: Some("1 gadget".to_owned()), ..Comparison::default() };
    };
    let mut differences = vec![];
    if thing.size != desired.size {
        differences.push(Difference {
            field: FieldDiff::new("size", desired.size.to_string(), thing.size.to_string()),
            remedy: Remedy::Change(Change::Resize(desired.size)),
        });
    }
    if thing.colour != desired.colour {
        differences.push(Difference {
            field: FieldDiff::new("colour", desired.colour.clone(), thing.colour.clone()),
            remedy: Remedy::Immutable("delete and re-create the gadget to have another colour".to_owned()),
        });
    }
    Comparison { differences, ..Comparison::default() }
}

pub(super) fn state(thing: &Thing) -> Value {
    json!({"gadget": {"Id": thing.id, "Size": thing.size, "Colour": thing.colour, "Note": thing.note}})
}
