//! JSONPath (RFC 9535): parsed by `jsonpath-rust`, checked here, and evaluated by `eval`.
//!
//! The library parses, but its evaluation is unbounded, and a query comes from any user who can write a spec: `$..*` inside
//! filters is exponential, and `match()` compiles a regular expression of any size for every value.

mod compare;
mod eval;
mod functions;
mod steps;

pub(crate) use steps::{Exhausted, Steps};

use jsonpath_rust::parser::model::{
    Comparable, Filter, FilterAtom, FnArg, JpQuery, Literal, Segment, Selector, Test, TestFunction,
};
use jsonpath_rust::parser::parse_json_path;
use serde_json::Value;

use crate::step::Step;

/// The maximum nesting depth of brackets and parentheses. The grammar tries alternatives at each level, so the time to parse
/// grows exponentially with this depth.
const MAX_NESTING: usize = 6;

/// A query that was parsed and checked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Query(JpQuery);

impl Query {
    /// Parses a query; the error is one line.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if nesting(text) > MAX_NESTING {
            return Err(format!("brackets and parentheses are nested deeper than {MAX_NESTING}"));
        }
        let query = parse_json_path(text).map_err(|error| one_line(&error.to_string()))?;
        check_segments(&query.segments)?;
        Ok(Self(query))
    }

    /// The steps of a singular query: one made of names and indexes only.
    pub(crate) fn steps(&self) -> Option<Vec<Step>> {
        let step = |segment: &Segment| match segment {
            Segment::Selector(Selector::Name(name)) => Some(Step::Key(name.clone())),
            Segment::Selector(Selector::Index(index)) => Some(Step::Index(*index)),
            _ => None,
        };
        self.0.segments.iter().map(step).collect()
    }

    /// All values that the query matches, in the order of the RFC, within the steps that are left.
    pub(crate) fn evaluate<'v>(
        &self,
        data: &'v Value,
        steps: &mut Steps,
    ) -> Result<Vec<&'v Value>, Exhausted> {
        let mut evaluator = eval::Evaluator::new(data, *steps);
        let found = evaluator.nodes(&self.0.segments, data);
        *steps = evaluator.budget;
        found
    }
}

/// The deepest nesting of brackets and parentheses outside of quotes.
fn nesting(text: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let mut quote = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(_), '\\') => {
                characters.next();
            }
            (Some(open), close) if open == close => quote = None,
            (None, '"' | '\'') => quote = Some(character),
            (None, '(' | '[') => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            (None, ')' | ']') => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// The parser's error has several lines, with a marker below the query: only the position and the expected token are kept.
fn one_line(error: &str) -> String {
    let position = error.split("--> ").nth(1).and_then(|rest| rest.split_whitespace().next());
    let expected =
        error.rsplit("= ").next().unwrap_or(error).split_whitespace().collect::<Vec<_>>().join(" ");
    match position {
        Some(position) => format!("at {position}: {expected}"),
        None => expected,
    }
}

fn check_segments(segments: &[Segment]) -> Result<(), String> {
    segments.iter().try_for_each(|segment| match segment {
        Segment::Descendant(inner) => check_segments(std::slice::from_ref(inner)),
        Segment::Selector(selector) => check_selector(selector),
        Segment::Selectors(selectors) => selectors.iter().try_for_each(check_selector),
    })
}

fn check_selector(selector: &Selector) -> Result<(), String> {
    match selector {
        Selector::Filter(filter) => check_filter(filter),
        _ => Ok(()),
    }
}

fn check_filter(filter: &Filter) -> Result<(), String> {
    match filter {
        Filter::Or(filters) | Filter::And(filters) => filters.iter().try_for_each(check_filter),
        Filter::Atom(FilterAtom::Filter { expr, .. }) => check_filter(expr),
        Filter::Atom(FilterAtom::Test { expr, .. }) => check_test(expr),
        Filter::Atom(FilterAtom::Comparison(comparison)) => {
            let (left, right) = comparison.vals();
            check_comparable(left).and_then(|()| check_comparable(right))
        }
    }
}

fn check_test(test: &Test) -> Result<(), String> {
    match test {
        Test::RelQuery(segments) => check_segments(segments),
        Test::AbsQuery(query) => check_segments(&query.segments),
        Test::Function(function) if function.is_comparable() => {
            Err("length(), count() and value() must be compared with something".to_owned())
        }
        Test::Function(function) => check_function(function),
    }
}

fn check_comparable(comparable: &Comparable) -> Result<(), String> {
    match comparable {
        Comparable::Function(function) => check_function(function),
        Comparable::Literal(_) | Comparable::SingularQuery(_) => Ok(()),
    }
}

fn check_function(function: &TestFunction) -> Result<(), String> {
    match function {
        TestFunction::Custom(name, _) => Err(format!("{name}() is not a function of the RFC")),
        TestFunction::Length(argument) => check_argument(argument),
        TestFunction::Value(argument) | TestFunction::Count(argument) => check_argument(argument),
        TestFunction::Match(text, pattern) | TestFunction::Search(text, pattern) => {
            if let FnArg::Literal(Literal::String(pattern)) = pattern {
                compare::regex(pattern, true).ok_or("a regular expression is malformed or too large")?;
            }
            check_argument(text).and_then(|()| check_argument(pattern))
        }
    }
}

fn check_argument(argument: &FnArg) -> Result<(), String> {
    match argument {
        FnArg::Literal(_) => Ok(()),
        FnArg::Test(test) => match &**test {
            Test::Function(function) => check_function(function),
            query => check_test(query),
        },
        FnArg::Filter(_) => Err("a comparison is not an argument of a function".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn brackets_in_quotes_are_not_nesting() {
        assert_eq!(nesting("$[?(@['((((('] == 1)]"), 3);
        assert_eq!(nesting(r#"$["\"((("]"#), 1);
        assert_eq!(nesting("]]]$["), 1);
    }

    #[test]
    fn extensions_of_the_rfc_are_rejected() {
        for (query, because) in [
            ("$[?in(@.a, $.b)]", "in() is not a function of the RFC"),
            ("$[?length(@.a)]", "must be compared"),
            ("$[?match(@.a, '(')]", "malformed or too large"),
            ("$[?search(@.a, '(a{1000}){1000}')]", "malformed or too large"),
            ("$[?@[?@[?@[?@[?@[?@[?@.a]]]]]]]", "nested deeper"),
        ] {
            let error = Query::parse(query).expect_err(query);
            assert!(error.contains(because), "{query}: {error}");
        }
    }

    #[test]
    fn no_query_takes_long_to_parse() {
        let nested = |open: &str, close: &str, levels: usize| {
            format!("$[?{}@.a{}]", open.repeat(levels), close.repeat(levels))
        };
        let mut queries = Vec::new();
        for levels in 1..200 {
            queries.push(nested("(", ")", levels));
            queries.push(nested("length(", ")", levels));
            queries.push(nested("length(", "", levels));
            queries.push(nested("count(@[?", "])", levels));
            queries.push(nested("match(@, length(", ")", levels));
        }
        let started = Instant::now();
        for query in queries {
            drop(Query::parse(&query));
        }
        assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    }
}
