//! Evaluation of a path on JSON: iterative, bounded, with an error that names the first missing segment.

use std::fmt::Write;

use serde_json::{Map, Value};
use thiserror::Error;

use crate::bounds::{Exceeded, measure, quote, shorten};
use crate::budget::Budget;
use crate::jsonpath::{Exhausted, Query};
use crate::path::Step;

/// The maximum number of values that a path may match.
const MAX_MATCHES: usize = 1000;
/// The maximum number of keys in an error.
const MAX_LISTED: usize = 8;

/// Why a path has no value.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("path {path}: {reason}")]
pub struct LookupError {
    /// The path as written in the spec.
    pub path: String,
    /// The reason.
    pub reason: LookupReason,
}

impl LookupError {
    /// True if the value may appear later; false if the path exceeds a bound.
    pub fn is_missing(&self) -> bool {
        use LookupReason as R;
        matches!(
            self.reason,
            R::NoItem { .. } | R::NoKey { .. } | R::NotAList { .. } | R::NotInside { .. } | R::Null { .. }
        )
    }
}

/// Why a path has no value. Contains names of keys and indexes, never values.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LookupReason {
    /// A list is shorter than the path says.
    #[error("{at} has {length} items")]
    NoItem {
        /// Where the list is.
        at: String,
        /// How many items it has.
        length: usize,
    },
    /// An object has no such key.
    #[error("{key} not found in {at} ({has})")]
    NoKey {
        /// The key.
        key: String,
        /// Where the object is.
        at: String,
        /// The keys that it has.
        has: String,
    },
    /// A name is used as the index of a list.
    #[error("{key} is not an index, and {at} is a list of {length} items")]
    NotAList {
        /// The name.
        key: String,
        /// Where the list is.
        at: String,
        /// How many items it has.
        length: usize,
    },
    /// Nothing is inside a string, number or boolean, and no index is inside an object.
    #[error("{key} not found: {at} is {is}")]
    NotInside {
        /// The name or index.
        key: String,
        /// Where the path ended.
        at: String,
        /// What is there.
        is: &'static str,
    },
    /// The value is `null`.
    #[error("{at} is null")]
    Null {
        /// Where it is.
        at: String,
    },
    /// More than 1,000 values match.
    #[error("matches more than {MAX_MATCHES} values")]
    TooManyMatches,
    /// The query visits too much of the data, together with the other paths of the resource.
    #[error(
        "takes too many steps, together with the other paths of the resource; use a more specific path or fewer filters"
    )]
    TooManySteps,
    /// The value is nested deeper than 128 levels.
    #[error("the value is nested too deeply")]
    TooDeep,
    /// The value is larger than 1 MiB.
    #[error("the value exceeds 1 MiB")]
    TooLarge,
    /// The values of all paths of the resource are together larger than 4 MiB.
    #[error("the value exceeds 4 MiB, together with the other paths of the resource")]
    TooLargeTogether,
}

impl From<Exceeded> for LookupReason {
    fn from(exceeded: Exceeded) -> Self {
        match exceeded {
            Exceeded::Depth => Self::TooDeep,
            Exceeded::Bytes => Self::TooLarge,
        }
    }
}

impl From<Exhausted> for LookupReason {
    fn from(_: Exhausted) -> Self {
        Self::TooManySteps
    }
}

/// The value that `steps` lead to.
pub(crate) fn one(steps: &[Step], data: &Value, budget: &mut Budget) -> Result<Value, LookupReason> {
    budget.take_steps(steps.len())?;
    let mut node = data;
    for (index, step) in steps.iter().enumerate() {
        let place = || place(steps.get(..index).unwrap_or_default());
        node = follow(step, node).ok_or_else(|| failed_step(step, node, place()))?;
    }
    if node.is_null() {
        return Err(LookupReason::Null { at: place(steps) });
    }
    let mut bytes = 0;
    measure(node, &mut bytes)?;
    budget.take_bytes(bytes)?;
    Ok(node.clone())
}

/// The list of all values that `query` matches.
pub(crate) fn many(query: &Query, data: &Value, budget: &mut Budget) -> Result<Value, LookupReason> {
    let nodes = query.evaluate(data, &mut budget.steps)?;
    if nodes.len() > MAX_MATCHES {
        return Err(LookupReason::TooManyMatches);
    }
    let mut bytes = 0;
    for node in &nodes {
        measure(node, &mut bytes)?;
    }
    budget.take_bytes(bytes)?;
    Ok(nodes.into_iter().cloned().collect())
}

fn follow<'v>(step: &Step, node: &'v Value) -> Option<&'v Value> {
    match (step, node) {
        (Step::Segment(name) | Step::Key(name), Value::Object(members)) => members.get(name),
        (Step::Segment(name), Value::Array(items)) => items.get(as_index(name)?),
        (Step::Index(index), Value::Array(items)) => items.get(from_end(*index, items.len())?),
        _ => None,
    }
}

/// The index that a segment denotes: digits without leading zeros.
fn as_index(name: &str) -> Option<usize> {
    let digits = name.bytes().all(|c| c.is_ascii_digit()) && (name == "0" || !name.starts_with('0'));
    digits.then(|| name.parse().ok()).flatten()
}

/// The index from the start that `index` denotes, which counts from the end if it is negative.
pub(crate) fn from_end(index: i64, length: usize) -> Option<usize> {
    let distance = usize::try_from(index.unsigned_abs()).ok()?;
    if index < 0 { length.checked_sub(distance) } else { Some(distance) }
}

fn failed_step(step: &Step, node: &Value, at: String) -> LookupReason {
    let (key, is_index) = match step {
        Step::Segment(name) => (quote(name), !name.is_empty() && name.bytes().all(|c| c.is_ascii_digit())),
        Step::Key(name) => (quote(name), false),
        Step::Index(index) => (index.to_string(), true),
    };
    match (node, step) {
        (Value::Null, _) => LookupReason::Null { at },
        (Value::Array(items), _) if is_index => LookupReason::NoItem { at, length: items.len() },
        (Value::Array(items), _) => LookupReason::NotAList { key, at, length: items.len() },
        (Value::Object(_), Step::Index(_)) => LookupReason::NotInside { key, at, is: "an object" },
        (Value::Object(members), _) => LookupReason::NoKey { key, at, has: listed(members) },
        (Value::String(_), _) => LookupReason::NotInside { key, at, is: "a string" },
        (Value::Number(_), _) => LookupReason::NotInside { key, at, is: "a number" },
        (Value::Bool(_), _) => LookupReason::NotInside { key, at, is: "a boolean" },
    }
}

fn listed(members: &Map<String, Value>) -> String {
    if members.is_empty() {
        return "it is empty".to_owned();
    }
    let mut keys: Vec<_> = members.keys().take(MAX_LISTED).map(|key| shorten(key, 40)).collect();
    if members.len() > MAX_LISTED {
        keys.push("…".to_owned());
    }
    format!("it has: {}", keys.join(", "))
}

/// The path of `steps`, in the syntax of users.
fn place(steps: &[Step]) -> String {
    let mut place = String::new();
    for step in steps {
        // Writing to a String cannot fail.
        let _ = match step {
            Step::Segment(name) | Step::Key(name) if name.is_empty() || name.contains('.') => {
                write!(place, "[{name:?}]")
            }
            Step::Segment(name) | Step::Key(name) if place.is_empty() => write!(place, "{name}"),
            Step::Segment(name) | Step::Key(name) => write!(place, ".{name}"),
            Step::Index(index) => write!(place, "[{index}]"),
        };
    }
    if place.is_empty() { "the state".to_owned() } else { format!("\"{}\"", shorten(&place, 200)) }
}

#[cfg(test)]
mod tests;
