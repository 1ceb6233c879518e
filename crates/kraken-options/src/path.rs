//! The syntax of paths into the state of a resource. Their evaluation is in `lookup`.

use std::fmt;
use std::str::FromStr;

use serde_json::Value;
use thiserror::Error;

use crate::bounds::shorten;
use crate::budget::Budget;
use crate::jsonpath::Query;
use crate::lookup::{self, LookupError};
use crate::scan::{Scanner, Unexpected};
use crate::step::Step;

/// Longest path, in bytes.
const MAX_PATH: usize = 1024;

/// A path to a value inside JSON.
///
/// Dotted: `instances.0.NetworkInterfaces.0.VpcId`, with `["key.with.dots"]` (or single quotes) anywhere, for example
/// `metadata.annotations["x.io/y"].z`. A segment of digits is an index where the value is a list, and a key where it is an object.
///
/// JSONPath ([RFC 9535](https://www.rfc-editor.org/rfc/rfc9535)) if it starts with `$`. A singular query (only names and indexes)
/// returns one value; any other query returns the list of matches, which may be empty.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    text: String,
    form: Form,
}

#[derive(Clone, Debug, PartialEq)]
enum Form {
    One(Vec<Step>),
    Many(Query),
}

/// Why text is not a path.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PathError {
    /// There is no text.
    #[error("is empty")]
    Empty,
    /// The text is too long.
    #[error("is longer than {MAX_PATH} bytes")]
    TooLong,
    /// A dotted path is malformed.
    #[error("expected {expected} at byte {at}")]
    Syntax {
        /// Byte offset in the path.
        at: usize,
        /// What was expected.
        expected: &'static str,
    },
    /// A JSONPath is malformed, or uses unsupported syntax.
    #[error("is not a JSONPath (RFC 9535): {0}")]
    JsonPath(String),
}

impl From<Unexpected> for PathError {
    fn from(Unexpected { at, expected }: Unexpected) -> Self {
        Self::Syntax { at, expected }
    }
}

impl Path {
    /// Reads a path.
    ///
    /// # Errors
    /// If the text is empty, longer than 1,024 bytes, or malformed; the error says where, and what was expected.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        if text.is_empty() {
            return Err(PathError::Empty);
        }
        if text.len() > MAX_PATH {
            return Err(PathError::TooLong);
        }
        let form = if text.starts_with('$') {
            let query = Query::parse(text).map_err(|why| PathError::JsonPath(shorten(&why, 200)))?;
            query.steps().map_or_else(|| Form::Many(query), Form::One)
        } else {
            Form::One(dotted(text)?)
        };
        Ok(Self { text: text.to_owned(), form })
    }

    /// The path as written in the spec.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The segments of a dotted path, in order; none of a JSONPath.
    pub fn segments(&self) -> Option<Vec<&str>> {
        let Form::One(steps) = &self.form else { return None };
        steps
            .iter()
            .map(|step| match step {
                Step::Segment(key) => Some(key.as_str()),
                Step::Key(_) | Step::Index(_) => None,
            })
            .collect()
    }

    /// True if the path returns one value; false if it returns a list of matches.
    pub fn is_singular(&self) -> bool {
        matches!(self.form, Form::One(_))
    }

    /// The value at this path, with a separate budget, for a single path.
    ///
    /// # Errors
    /// As [`find_within`](Self::find_within).
    pub fn find(&self, data: &Value) -> Result<Value, LookupError> {
        self.find_within(data, &mut Budget::default())
    }

    /// The value at this path, within a budget that all paths of one reconcile share.
    ///
    /// Evaluation is bounded: each path by 1,000 matches, 128 levels and 1 MiB of result, and all paths that share a budget
    /// by 1,000,000 steps and 4 MiB.
    ///
    /// # Errors
    /// If there is no value (a JSON `null` counts as none), or a bound is exceeded. The error names the first missing segment,
    /// and never a value.
    pub fn find_within(&self, data: &Value, budget: &mut Budget) -> Result<Value, LookupError> {
        let found = match &self.form {
            Form::One(steps) => lookup::one(steps, data, budget),
            Form::Many(query) => lookup::many(query, data, budget),
        };
        found.map_err(|reason| LookupError { path: self.text.clone(), reason })
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Path {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        Self::parse(text)
    }
}

fn dotted(text: &str) -> Result<Vec<Step>, PathError> {
    let mut scanner = Scanner::new(text);
    let mut steps = vec![segment(&mut scanner)?];
    while !scanner.is_at_end() {
        if scanner.rest().starts_with('[') || scanner.consume(".") {
            steps.push(segment(&mut scanner)?);
        } else {
            scanner.fail("\".\" or \"[\" (write names with other characters in brackets: [\"name\"])")?;
        }
    }
    Ok(steps)
}

fn segment(scanner: &mut Scanner<'_>) -> Result<Step, Unexpected> {
    if scanner.consume("[") {
        scanner.bracketed().map(Step::Segment)
    } else {
        scanner.name("a name").map(|name| Step::Segment(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segments(text: &str) -> Vec<String> {
        let Path { form: Form::One(steps), .. } = Path::parse(text).expect(text) else { panic!("{text}") };
        let name = |step| if let Step::Segment(name) = step { name } else { panic!("{text}") };
        steps.into_iter().map(name).collect()
    }

    fn rejects(text: &str, at: usize) {
        let error = Path::parse(text).expect_err(text);
        assert!(matches!(error, PathError::Syntax { at: found, .. } if found == at), "{text}: {error}");
    }

    #[test]
    fn a_dotted_path_is_a_list_of_segments() {
        assert_eq!(segments("instances.0.VpcId"), ["instances", "0", "VpcId"]);
        assert_eq!(segments("a"), ["a"]);
        assert_eq!(segments("a-b.c/d.ä:$"), ["a-b", "c/d", "ä:$"]);
    }

    #[test]
    fn brackets_are_allowed_in_every_segment() {
        assert_eq!(
            segments(r#"metadata.annotations["x.io/y"].z"#),
            ["metadata", "annotations", "x.io/y", "z"]
        );
        assert_eq!(segments("['a.b']['c']"), ["a.b", "c"]);
        assert_eq!(segments("instances[0].VpcId"), ["instances", "0", "VpcId"]);
        assert_eq!(segments(r#"a.["b"]"#), ["a", "b"]);
        assert_eq!(segments(r#"a[""]"#), ["a", ""]);
    }

    #[test]
    fn a_malformed_path_is_reported_with_its_position() {
        for (text, at) in [
            (".", 0),
            (".a", 0),
            ("a.", 2),
            ("a..b", 2),
            ("a b", 1),
            ("a[", 2),
            ("a[b]", 2),
            ("a[\"b]", 5),
            ("a[\"b\"]c", 6),
            ("a]", 1),
            ("a{b}", 1),
            ("ä.\"", 3),
        ] {
            rejects(text, at);
        }
    }

    #[test]
    fn empty_and_long_paths_are_rejected() {
        assert_eq!(Path::parse(""), Err(PathError::Empty));
        assert!(Path::parse(&"a".repeat(1024)).is_ok());
        assert_eq!(Path::parse(&"a".repeat(1025)), Err(PathError::TooLong));
    }

    #[test]
    fn a_path_that_starts_with_a_dollar_is_a_jsonpath() {
        assert!(Path::parse("$.a['b'][-1]").unwrap().is_singular());
        assert!(Path::parse("a.b").unwrap().is_singular());
        for many in ["$.a[*]", "$..a", "$[0,1]", "$[0:1]", "$[?@.a == 1]"] {
            assert!(!Path::parse(many).unwrap().is_singular(), "{many}");
        }
    }

    #[test]
    fn a_malformed_jsonpath_is_rejected_in_one_line() {
        for text in ["$.", "$.a.0", "$[", "$.a-b", "$a", "$[?@.a ==]", "$\n.["] {
            let error = Path::parse(text).expect_err(text).to_string();
            assert!(error.starts_with("is not a JSONPath (RFC 9535): "), "{error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn a_path_is_shown_as_it_was_written() {
        for text in ["a.['b']", "$['a'].b", "$..*"] {
            assert_eq!(Path::parse(text).unwrap().to_string(), text);
            assert_eq!(text.parse::<Path>().unwrap().as_str(), text);
        }
    }
}
