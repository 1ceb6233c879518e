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
        node = follow(step, node).ok_or_else(|| why_not(step, node, place()))?;
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

fn why_not(step: &Step, node: &Value, at: String) -> LookupReason {
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
mod tests {
    use super::*;
    use crate::Path;
    use serde_json::json;

    fn data() -> Value {
        json!({
            "instances": [
                {"InstanceId": "i-1", "State": {"Name": "running"}, "PublicIp": null, "Tags": []},
                {"InstanceId": "i-2", "State": {"Name": "stopped"}},
            ],
            "annotations": {"x.io/y": {"z": 1}, "0": "zero"},
            "count": 2,
        })
    }

    fn find(path: &str) -> Result<Value, String> {
        Path::parse(path).expect(path).find(&data()).map_err(|e| e.to_string())
    }

    fn misses(path: &str, because: &str) {
        let error = Path::parse(path).expect(path).find(&data()).expect_err(path);
        assert_eq!(error.to_string(), format!("path {path}: {because}"));
        assert!(error.is_missing());
    }

    #[test]
    fn a_dotted_path_leads_to_a_value() {
        assert_eq!(find("instances.1.InstanceId"), Ok(json!("i-2")));
        assert_eq!(find(r#"annotations["x.io/y"].z"#), Ok(json!(1)));
        assert_eq!(find("instances[0].State"), Ok(json!({"Name": "running"})));
    }

    #[test]
    fn digits_are_an_index_of_a_list_and_a_key_of_an_object() {
        assert_eq!(find("annotations.0"), Ok(json!("zero")));
        assert_eq!(find("instances.0.InstanceId"), Ok(json!("i-1")));
        misses("instances.00", "\"instances\" has 2 items");
    }

    #[test]
    fn a_singular_jsonpath_leads_to_its_one_value() {
        assert_eq!(find("$.instances[0].InstanceId"), Ok(json!("i-1")));
        assert_eq!(find("$.instances[-1]['InstanceId']"), Ok(json!("i-2")));
        assert_eq!(find("$"), Ok(data()));
    }

    #[test]
    fn any_other_jsonpath_yields_a_list() {
        assert_eq!(find("$.instances[*].InstanceId"), Ok(json!(["i-1", "i-2"])));
        assert_eq!(find("$..Name"), Ok(json!(["running", "stopped"])));
        assert_eq!(find("$.instances[?@.State.Name == 'stopped'].InstanceId"), Ok(json!(["i-2"])));
        assert_eq!(find("$.nothing[*]"), Ok(json!([])));
    }

    #[test]
    fn an_error_names_the_first_missing_segment() {
        misses("instances.5.VpcId", "\"instances\" has 2 items");
        misses("instances.0.Tags.0", "\"instances.0.Tags\" has 0 items");
        misses("instances.1.VpcId", "\"VpcId\" not found in \"instances.1\" (it has: InstanceId, State)");
        misses("instances.VpcId", "\"VpcId\" is not an index, and \"instances\" is a list of 2 items");
        misses("count.x", "\"x\" not found: \"count\" is a number");
        misses("instances.0.InstanceId.x", "\"x\" not found: \"instances.0.InstanceId\" is a string");
        misses("x", "\"x\" not found in the state (it has: annotations, count, instances)");
        misses("$.annotations[0]", "0 not found: \"annotations\" is an object");
        misses("$.instances[-3]", "\"instances\" has 2 items");
        misses(r#"annotations["x.io/y"].a"#, "\"a\" not found in \"annotations[\"x.io/y\"]\" (it has: z)");
    }

    #[test]
    fn a_null_counts_as_missing() {
        misses("instances.0.PublicIp", "\"instances.0.PublicIp\" is null");
        misses("instances.0.PublicIp.x", "\"instances.0.PublicIp\" is null");
    }

    #[test]
    fn an_error_lists_few_keys_and_no_values() {
        let members = (0..100).map(|n| (format!("{n}{}", "k".repeat(100)), json!("hidden"))).collect();
        let error = Path::parse("x").unwrap().find(&Value::Object(members)).unwrap_err().to_string();
        assert!(error.len() < 500 && error.ends_with(", …)"), "{error}");
        assert!(!error.contains("hidden"));
    }

    #[test]
    fn an_empty_object_is_said_to_be_empty() {
        let error = Path::parse("x").unwrap().find(&json!({})).unwrap_err();
        assert_eq!(error.to_string(), "path x: \"x\" not found in the state (it is empty)");
    }

    #[test]
    fn a_deep_value_is_crossed_but_not_returned() {
        let mut deep = json!({"end": 1});
        for _ in 0..500 {
            deep = json!({"a": deep});
        }
        let reason = |path: &str| Path::parse(path).unwrap().find(&deep).map_err(|e| e.reason);
        assert_eq!(reason(&format!("{}end", "a.".repeat(500))), Ok(json!(1)));
        assert_eq!(reason("a"), Err(LookupReason::TooDeep));
        assert_eq!(reason("$..end"), Ok(json!([1])));
        assert_eq!(reason("$..*"), Err(LookupReason::TooDeep));
    }

    #[test]
    fn matches_steps_and_bytes_are_bounded() {
        let reason = |path: &str, data: &Value| Path::parse(path).unwrap().find(data).unwrap_err().reason;
        let list = json!(vec![0; 1001]);
        assert_eq!(reason("$[*]", &list), LookupReason::TooManyMatches);
        let long = json!({"a": "x".repeat(600_000)});
        assert_eq!(reason("$['a','a']", &long), LookupReason::TooLarge);
        assert_eq!(reason("$[?count($[?count($[*]) > 1]) > 1]", &list), LookupReason::TooManySteps);
        let doubling = format!("${}", "[0,0,0,0]".repeat(100));
        let nested = (0..100).fold(json!(1), |inner, _| json!([inner]));
        assert_eq!(reason(&doubling, &nested), LookupReason::TooManySteps);
    }
}
