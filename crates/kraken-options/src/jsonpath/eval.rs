//! Evaluation of a query, with a bound on its steps. It recurses over the query, which is small, never over the data.

use std::borrow::Cow;
use std::collections::HashMap;

use jsonpath_rust::parser::model::{
    Comparable, Comparison, Filter, FilterAtom, Segment, Selector, SingularQuery, SingularQuerySegment, Test,
};
use regex::Regex;
use serde_json::Value;

use super::compare::{equal, less};
use super::functions::literal;
use crate::lookup::from_end;

/// The query takes more steps than it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exhausted;

/// The remaining steps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steps(usize);

impl Steps {
    pub(crate) fn of(steps: usize) -> Self {
        Self(steps)
    }

    pub(crate) fn left(self) -> usize {
        self.0
    }

    /// Counts steps. If too few remain, the rest is discarded.
    pub(crate) fn spend(&mut self, steps: usize) -> Result<(), Exhausted> {
        let left = self.0.checked_sub(steps);
        self.0 = left.unwrap_or(0);
        left.map(drop).ok_or(Exhausted)
    }
}

/// A side of a comparison: a value of the data, a computed one, or nothing.
pub(super) type Operand<'v> = Option<Cow<'v, Value>>;

/// What a query matches.
type Nodes<'v> = Result<Vec<&'v Value>, Exhausted>;

/// One evaluation of one query on one document.
pub(super) struct Evaluator<'v> {
    root: &'v Value,
    pub(super) budget: Steps,
    /// Compiled once per evaluation; `None` for one that is malformed or too large.
    pub(super) regexes: HashMap<(String, bool), Option<Regex>>,
}

impl<'v> Evaluator<'v> {
    pub(super) fn new(root: &'v Value, budget: Steps) -> Self {
        Self { root, budget, regexes: HashMap::new() }
    }

    /// All values that `segments` match, starting at `start`.
    pub(super) fn nodes(&mut self, segments: &[Segment], start: &'v Value) -> Nodes<'v> {
        let mut nodes = vec![start];
        for segment in segments {
            nodes = self.segment(segment, &nodes)?;
        }
        Ok(nodes)
    }

    fn segment(&mut self, segment: &Segment, nodes: &[&'v Value]) -> Nodes<'v> {
        let mut found = Vec::new();
        match segment {
            Segment::Descendant(inner) => {
                let all = self.descendants(nodes)?;
                return self.segment(inner, &all);
            }
            Segment::Selector(selector) => {
                for node in nodes {
                    self.select(selector, node, &mut found)?;
                }
            }
            Segment::Selectors(selectors) => {
                for node in nodes {
                    for selector in selectors {
                        self.select(selector, node, &mut found)?;
                    }
                }
            }
        }
        Ok(found)
    }

    /// The nodes and everything inside them, parents first.
    fn descendants(&mut self, nodes: &[&'v Value]) -> Nodes<'v> {
        let mut stack: Vec<_> = nodes.iter().rev().copied().collect();
        let mut all = Vec::new();
        while let Some(node) = stack.pop() {
            all.push(node);
            let children = stack.len();
            stack.extend(self.children(node)?);
            if let Some(children) = stack.get_mut(children..) {
                children.reverse();
            }
        }
        Ok(all)
    }

    fn children(&mut self, node: &'v Value) -> Result<Box<dyn Iterator<Item = &'v Value> + 'v>, Exhausted> {
        match node {
            Value::Array(items) => {
                self.budget.spend(items.len() + 1)?;
                Ok(Box::new(items.iter()))
            }
            Value::Object(members) => {
                self.budget.spend(members.len() + 1)?;
                Ok(Box::new(members.values()))
            }
            _ => {
                self.budget.spend(1)?;
                Ok(Box::new(std::iter::empty()))
            }
        }
    }

    fn select(
        &mut self,
        selector: &Selector,
        node: &'v Value,
        found: &mut Vec<&'v Value>,
    ) -> Result<(), Exhausted> {
        self.budget.spend(1)?;
        match selector {
            Selector::Name(name) => found.extend(node.as_object().and_then(|members| members.get(name))),
            Selector::Index(index) => found.extend(item(node, *index)),
            Selector::Wildcard => found.extend(self.children(node)?),
            Selector::Slice(start, end, step) => {
                let items = node.as_array().map(Vec::as_slice).unwrap_or_default();
                for index in slice(*start, *end, step.unwrap_or(1), items.len()) {
                    self.budget.spend(1)?;
                    found.extend(items.get(index));
                }
            }
            Selector::Filter(filter) => {
                for child in self.children(node)? {
                    if self.filter(filter, child)? {
                        found.push(child);
                    }
                }
            }
        }
        Ok(())
    }

    fn filter(&mut self, filter: &Filter, node: &'v Value) -> Result<bool, Exhausted> {
        self.budget.spend(1)?;
        match filter {
            Filter::Or(filters) => {
                for filter in filters {
                    if self.filter(filter, node)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Filter::And(filters) => {
                for filter in filters {
                    if !self.filter(filter, node)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Filter::Atom(FilterAtom::Filter { expr, not }) => Ok(self.filter(expr, node)? != *not),
            Filter::Atom(FilterAtom::Test { expr, not }) => Ok(self.test(expr, node)? != *not),
            Filter::Atom(FilterAtom::Comparison(comparison)) => self.comparison(comparison, node),
        }
    }

    fn test(&mut self, test: &Test, node: &'v Value) -> Result<bool, Exhausted> {
        match test {
            Test::Function(function) => {
                let result = self.function(function, node)?;
                Ok(result.is_some_and(|result| *result == Value::Bool(true)))
            }
            query => Ok(!self.query(query, node)?.is_empty()),
        }
    }

    /// What a query inside a filter matches.
    pub(super) fn query(&mut self, test: &Test, node: &'v Value) -> Nodes<'v> {
        match test {
            Test::RelQuery(segments) => self.nodes(segments, node),
            Test::AbsQuery(query) => self.nodes(&query.segments, self.root),
            Test::Function(_) => Ok(Vec::new()),
        }
    }

    fn comparison(&mut self, comparison: &Comparison, node: &'v Value) -> Result<bool, Exhausted> {
        let (left, right) = comparison.vals();
        let (left, right) = (self.operand(left, node)?, self.operand(right, node)?);
        let (left, right) = (left.as_deref(), right.as_deref());
        let budget = &mut self.budget;
        match comparison {
            Comparison::Eq(..) => equal(left, right, budget),
            Comparison::Ne(..) => equal(left, right, budget).map(|equal| !equal),
            Comparison::Lt(..) => less(left, right, budget),
            Comparison::Gt(..) => less(right, left, budget),
            Comparison::Lte(..) => Ok(less(left, right, budget)? || equal(left, right, budget)?),
            Comparison::Gte(..) => Ok(less(right, left, budget)? || equal(left, right, budget)?),
        }
    }

    fn operand(&mut self, comparable: &Comparable, node: &'v Value) -> Result<Operand<'v>, Exhausted> {
        match comparable {
            Comparable::Literal(value) => Ok(Some(Cow::Owned(literal(value)))),
            Comparable::Function(function) => self.function(function, node),
            Comparable::SingularQuery(query) => {
                let (start, segments) = match query {
                    SingularQuery::Current(segments) => (node, segments),
                    SingularQuery::Root(segments) => (self.root, segments),
                };
                self.budget.spend(segments.len() + 1)?;
                let found = segments.iter().try_fold(start, |node, segment| match segment {
                    SingularQuerySegment::Name(name) => node.as_object()?.get(name),
                    SingularQuerySegment::Index(index) => item(node, *index),
                });
                Ok(found.map(Cow::Borrowed))
            }
        }
    }
}

fn item(node: &Value, index: i64) -> Option<&Value> {
    let items = node.as_array()?;
    items.get(from_end(index, items.len())?)
}

/// The indexes that a slice selects (RFC 9535, section 2.3.4.2.2).
fn slice(start: Option<i64>, end: Option<i64>, step: i64, length: usize) -> impl Iterator<Item = usize> {
    let length = i64::try_from(length).unwrap_or(i64::MAX);
    let from_start = |index: i64| if index < 0 { index.saturating_add(length) } else { index };
    let (first, last) = if step > 0 {
        (from_start(start.unwrap_or(0)).clamp(0, length), from_start(end.unwrap_or(length)).clamp(0, length))
    } else {
        let first = start.map_or(length - 1, |start| from_start(start).clamp(-1, length - 1));
        (first, end.map_or(-1, |end| from_start(end).clamp(-1, length - 1)))
    };
    let within = move |index: &i64| if step > 0 { *index < last } else { step < 0 && *index > last };
    std::iter::successors(Some(first), move |index| index.checked_add(step))
        .take_while(within)
        .filter_map(|index| usize::try_from(index).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonpath::Query;
    use serde_json::json;

    fn yields(query: &str, data: &Value, expected: &Value) {
        let found = Query::parse(query).expect(query);
        let found = found.evaluate(data, &mut Steps::of(1_000_000)).expect(query);
        assert_eq!(json!(found), *expected, "{query}");
    }

    // The tables of examples of RFC 9535, section 2.3 and 2.5.
    #[test]
    fn selectors_conform_to_the_rfc() {
        let o = json!({"o": {"j": 1, "k": 2}, "a": [5, 3, [{"j": 4}, {"k": 6}]]});
        for (query, expected) in [
            ("$.o['j','k']", json!([1, 2])),
            ("$.o[*]", json!([1, 2])),
            ("$.a[*]", json!([5, 3, [{"j": 4}, {"k": 6}]])),
            ("$..j", json!([4, 1])),
            ("$..[0]", json!([5, {"j": 4}])),
            ("$.a..[0, 1]", json!([5, 3, {"j": 4}, {"k": 6}])),
            ("$.a[0, 0]", json!([5, 5])),
            ("$.o[*, *]", json!([1, 2, 1, 2])),
            ("$.a[-5]", json!([])),
            ("$.a.x", json!([])),
        ] {
            yields(query, &o, &expected);
        }
    }

    #[test]
    fn slices_conform_to_the_rfc() {
        let letters = json!(["a", "b", "c", "d", "e", "f", "g"]);
        for (query, expected) in [
            ("$[1:3]", "bc"),
            ("$[5:]", "fg"),
            ("$[1:5:2]", "bd"),
            ("$[5:1:-2]", "fd"),
            ("$[::-1]", "gfedcba"),
            ("$[-2:]", "fg"),
            ("$[:-5]", "ab"),
            ("$[0:3:0]", ""),
            ("$[3:1]", ""),
            ("$[-100:100]", "abcdefg"),
            ("$[100:-100:-3]", "gda"),
            ("$[0:7:9007199254740991]", "a"),
        ] {
            let expected: Value = expected.chars().map(|letter| letter.to_string()).collect();
            yields(query, &letters, &expected);
        }
        yields("$[::-1]", &json!([]), &json!([]));
        yields("$[0:1]", &json!("text"), &json!([]));
    }

    // RFC 9535, section 2.3.5.3.
    #[test]
    fn filters_conform_to_the_rfc() {
        let data = json!({
            "a": [3, 5, 1, 2, 4, 6, {"b": "j"}, {"b": "k"}, {"b": {}}, {"b": "kilo"}],
            "o": {"p": 1, "q": 2, "r": 3, "s": 5, "t": {"u": 6}},
            "e": "f",
        });
        for (query, expected) in [
            ("$.a[?@.b == 'kilo']", json!([{"b": "kilo"}])),
            ("$.a[?(@.b == 'kilo')]", json!([{"b": "kilo"}])),
            ("$.a[?@>3.5]", json!([5, 4, 6])),
            ("$.a[?@.b]", json!([{"b": "j"}, {"b": "k"}, {"b": {}}, {"b": "kilo"}])),
            ("$[?@.*]", json!([data["a"], data["o"]])),
            ("$[?@[?@.b]]", json!([data["a"]])),
            ("$.o[?@<3, ?@<3]", json!([1, 2, 1, 2])),
            ("$.a[?@<2 || @.b == \"k\"]", json!([1, {"b": "k"}])),
            ("$.a[?match(@.b, \"[jk]\")]", json!([{"b": "j"}, {"b": "k"}])),
            ("$.a[?search(@.b, \"[jk]\")]", json!([{"b": "j"}, {"b": "k"}, {"b": "kilo"}])),
            ("$.o[?@>1 && @<4]", json!([2, 3])),
            ("$.o[?@.u || @.x]", json!([{"u": 6}])),
            ("$.a[?@.b == $.x]", json!([3, 5, 1, 2, 4, 6])),
            ("$.a[?@ == @]", data["a"].clone()),
            ("$.a[?!@.b && @ >= 5]", json!([5, 6])),
            ("$.a[?!(@.b || @ < 5)]", json!([5, 6])),
            ("$.a[?length(@.b) == 4]", json!([{"b": "kilo"}])),
            ("$.a[?length(@.b) == 0]", json!([{"b": {}}])),
            ("$[?count(@.*) == 5]", json!([data["o"]])),
            ("$[?value(@.t.u) == 6]", json!([data["o"]])),
            ("$.a[?@.b != 'kilo' && @.b]", json!([{"b": "j"}, {"b": "k"}, {"b": {}}])),
            ("$[?@ == $.e]", json!(["f"])),
            ("$.a[?match(@.b, $.nothing)]", json!([])),
            ("$.a[?match(@, 3)]", json!([])),
        ] {
            yields(query, &data, &expected);
        }
    }
}
