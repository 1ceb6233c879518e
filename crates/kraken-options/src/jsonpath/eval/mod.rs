//! Evaluation of a query, with a bound on its steps. It recurses over the query, which is small, never over the data.

use std::borrow::Cow;
use std::collections::HashMap;

use jsonpath_rust::parser::model::{
    Comparable, Comparison, Filter, FilterAtom, Literal, Segment, Selector, SingularQuery,
    SingularQuerySegment, Test,
};
use regex::Regex;
use serde_json::Value;

use super::compare::{equal, less};
use super::steps::{Exhausted, Steps};
use crate::step::from_end;

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

/// The value of a literal in a query.
pub(super) fn literal(value: &Literal) -> Value {
    match value {
        Literal::Int(integer) => (*integer).into(),
        Literal::Float(float) => (*float).into(),
        Literal::String(text) => text.as_str().into(),
        Literal::Bool(boolean) => (*boolean).into(),
        Literal::Null => Value::Null,
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
mod tests;
