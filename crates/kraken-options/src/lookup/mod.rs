//! Evaluation of a path on JSON: iterative, bounded, with an error that names the first missing segment.

mod error;

use std::fmt::Write;

use serde_json::{Map, Value};

use self::error::MAX_MATCHES;
use crate::bounds::{measure, quote, shorten};
use crate::budget::Budget;
use crate::jsonpath::Query;
use crate::step::{Step, from_end};

pub use error::{LookupError, LookupReason};

/// The maximum number of keys in an error.
const MAX_LISTED: usize = 8;

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
