//! Options that are lists: a reference for the whole list, or elements that are literals or references.

use std::collections::BTreeSet;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::bounds::quote;
use crate::option::{Opt, ValueFrom};
use crate::read::{self, Unreadable};
use crate::resolved::{Resolved, Sensitive};
use crate::resolver::Resolver;
use crate::types::OptionType;

/// The maximum number of invalid elements in an error.
const NAMED: usize = 8;

/// An option that is a list: `{valueFrom: SOURCE}` for the whole, or `{value: [sg-1, {valueFrom: SOURCE}]}`.
///
/// Its values are taken with [`Resolver::take_list`].
pub type ListOpt<T> = Opt<Elements<T>>;

/// The elements of a list in the spec.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Elements<T>(pub Vec<Element<T>>);

/// One element of a list: a literal, or an object with `valueFrom` as its only field.
///
/// An object that has `valueFrom` is always a reference: a type whose literals have a field of that name cannot be an
/// element.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Element<T> {
    /// The source of the element.
    ValueFrom(ValueFrom),
    /// The element itself.
    #[serde(untagged)]
    Literal(T),
}

impl<T> From<Vec<T>> for Elements<T> {
    fn from(literals: Vec<T>) -> Self {
        Self(literals.into_iter().map(Element::Literal).collect())
    }
}

impl<'de, T: OptionType> Deserialize<'de> for Elements<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (mut elements, mut wrong) = (Vec::new(), Vec::new());
        for (index, written) in Vec::<Value>::deserialize(deserializer)?.into_iter().enumerate() {
            match element(written) {
                Ok(element) => elements.push(element),
                Err(why) => wrong.push(format!("value[{index}]: {why}")),
            }
        }
        if wrong.is_empty() {
            return Ok(Self(elements));
        }
        Err(D::Error::custom(joined(wrong)))
    }
}

/// The errors of elements, in one line.
pub(crate) fn joined(mut wrong: Vec<String>) -> String {
    let more = wrong.len().saturating_sub(NAMED);
    wrong.truncate(NAMED);
    if more > 0 {
        wrong.push(format!("and {more} more"));
    }
    wrong.join("; ")
}

/// Parses an element; the error says what was expected.
pub(crate) fn element<T: OptionType>(written: Value) -> Result<Element<T>, String> {
    match written {
        Value::Object(mut members) if members.contains_key("valueFrom") => {
            let source = members.remove("valueFrom").unwrap_or_default();
            reference(source, &members).map(Element::ValueFrom)
        }
        Value::Null => Err(format!("expected {} or an object with valueFrom, found null", T::TYPE)),
        literal => read::json(&literal).map(Element::Literal).map_err(|error| match error {
            Unreadable::Mismatch(wanted, found) => {
                format!("expected {wanted} or an object with valueFrom, found {found}")
            }
            other => other.describe(true),
        }),
    }
}

fn reference(source: Value, beside: &Map<String, Value>) -> Result<ValueFrom, String> {
    // The API server preserves unknown fields here, so an additional field is an error of the user.
    if let Some(stray) = beside.keys().next() {
        return Err(format!("an element with valueFrom must have no other field, found {}", quote(stray)));
    }
    serde_json::from_value(source).map_err(|error| format!("valueFrom: {error}"))
}

impl Resolver<'_> {
    /// The value of a list, or `None` after recording why there is none, for each element separately, with a path such as
    /// `securityGroupIDs.value[1]`. One element from a Secret makes the whole list secret.
    pub fn take_list<T: OptionType>(&mut self, field: &str, list: &ListOpt<T>) -> Option<Resolved<Vec<T>>> {
        let elements = match list {
            Opt::Value(Elements(elements)) => elements,
            Opt::ValueFrom(source) => return self.take_from(field, source),
        };
        let taken: Vec<_> = elements
            .iter()
            .enumerate()
            .map(|(index, element)| match element {
                Element::Literal(literal) => {
                    let path = || format!("{field}.value[{index}]");
                    // A path is built only for a spec that an account governs.
                    let path = if self.governed.is_some() { path() } else { String::new() };
                    Some(self.take_literal(&path, literal))
                }
                Element::ValueFrom(source) => self.take_from(&format!("{field}.value[{index}]"), source),
            })
            .collect();
        // Only after all elements were taken, so that each error is reported.
        taken.into_iter().collect::<Option<Vec<_>>>().map(join)
    }

    /// The value of a list that may be absent: `Some(None)` if it is, `None` after recording a problem.
    #[allow(clippy::option_option)] // "absent" and "problem" differ, and `?` unwraps the outer option
    pub fn take_list_if<T: OptionType>(
        &mut self,
        field: &str,
        list: Option<&ListOpt<T>>,
    ) -> Option<Option<Resolved<Vec<T>>>> {
        match list {
            Some(list) => self.take_list(field, list).map(Some),
            None => Some(None),
        }
    }
}

/// One value made of several. It is secret if any of them is.
#[allow(clippy::needless_pass_by_value)] // the elements that are secret are wiped here
fn join<T: OptionType>(elements: Vec<Resolved<T>>) -> Resolved<Vec<T>> {
    // A version may itself consist of several versions.
    let versions: BTreeSet<&str> =
        elements.iter().filter_map(Resolved::secret_version).flat_map(|joined| joined.split(',')).collect();
    let version = versions.into_iter().collect::<Vec<_>>().join(",");
    let values = elements.iter().map(|element| element.expose().clone()).collect();
    if elements.iter().any(Resolved::is_secret) {
        Resolved::Secret(Sensitive::new(values, version))
    } else {
        Resolved::Public(values)
    }
}

#[cfg(test)]
mod tests;
