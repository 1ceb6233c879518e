//! The functions of filters (RFC 9535, section 2.4).

use std::borrow::Cow;

use jsonpath_rust::parser::model::{FnArg, Test, TestFunction};
use serde_json::Value;

use super::compare::regex;
use super::eval::{Evaluator, Operand, literal};
use super::steps::Exhausted;

/// The number of steps for the compilation of a regular expression.
const STEPS_PER_REGEX: usize = 10_000;

impl<'v> Evaluator<'v> {
    /// The result of a function; `match` and `search` yield a boolean.
    pub(super) fn function(
        &mut self,
        function: &TestFunction,
        node: &'v Value,
    ) -> Result<Operand<'v>, Exhausted> {
        match function {
            TestFunction::Length(argument) => {
                let Some(value) = self.argument(argument, node)? else { return Ok(None) };
                let length = match &*value {
                    Value::String(text) => {
                        self.budget.spend(text.len() / 16)?;
                        text.chars().count()
                    }
                    Value::Array(items) => items.len(),
                    Value::Object(members) => members.len(),
                    _ => return Ok(None),
                };
                Ok(Some(Cow::Owned(length.into())))
            }
            TestFunction::Count(FnArg::Test(test)) => {
                Ok(Some(Cow::Owned(self.query(test, node)?.len().into())))
            }
            TestFunction::Value(argument) => self.argument(argument, node),
            TestFunction::Match(text, pattern) => self.matches(text, pattern, true, node),
            TestFunction::Search(text, pattern) => self.matches(text, pattern, false, node),
            TestFunction::Count(_) | TestFunction::Custom(..) => Ok(None),
        }
    }

    /// The value of an argument; a query that matches none or many has none.
    fn argument(&mut self, argument: &FnArg, node: &'v Value) -> Result<Operand<'v>, Exhausted> {
        match argument {
            FnArg::Literal(value) => Ok(Some(Cow::Owned(literal(value)))),
            FnArg::Test(test) => match &**test {
                Test::Function(function) => self.function(function, node),
                query => match self.query(query, node)?.as_slice() {
                    [one] => Ok(Some(Cow::Borrowed(*one))),
                    _ => Ok(None),
                },
            },
            FnArg::Filter(_) => Ok(None),
        }
    }

    fn matches(
        &mut self,
        text: &FnArg,
        pattern: &FnArg,
        whole: bool,
        node: &'v Value,
    ) -> Result<Operand<'v>, Exhausted> {
        let (text, pattern) = (self.argument(text, node)?, self.argument(pattern, node)?);
        let text = text.as_deref().and_then(Value::as_str);
        let pattern = pattern.as_deref().and_then(Value::as_str);
        let (Some(text), Some(pattern)) = (text, pattern) else { return Ok(Some(Cow::Owned(false.into()))) };
        self.budget.spend(text.len() + pattern.len() / 16)?;
        let key = (pattern.to_owned(), whole);
        if !self.regexes.contains_key(&key) {
            self.budget.spend(STEPS_PER_REGEX)?;
            self.regexes.insert(key.clone(), regex(pattern, whole));
        }
        let compiled = self.regexes.get(&key).and_then(Option::as_ref);
        Ok(Some(Cow::Owned(compiled.is_some_and(|regex| regex.is_match(text)).into())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonpath::Query;
    use serde_json::json;

    #[test]
    fn a_pattern_from_the_data_is_compiled_within_bounds() {
        let many: Vec<_> =
            (0..200).map(|n| json!({"text": "aaaa", "pattern": format!("(a{{{n}}}){{9999}}")})).collect();
        let query = Query::parse("$[?match(@.text, @.pattern)]").unwrap();
        assert_eq!(query.evaluate(&json!(many), &mut crate::jsonpath::Steps::of(1_000_000)), Err(Exhausted));
    }
}
