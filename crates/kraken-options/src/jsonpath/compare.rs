//! Comparisons and regular expressions of filters (RFC 9535, sections 2.3.5.2.2 and 2.4.6), within the bounds of the query.

use std::cmp::Ordering;

use regex::{Regex, RegexBuilder};
use serde_json::{Number, Value};

use super::steps::{Exhausted, Steps};

/// The maximum memory of a compiled regular expression. Matching is linear in it.
const MAX_REGEX_BYTES: usize = 256 * 1024;

/// Equality; two absent values are equal.
pub(super) fn equal(
    left: Option<&Value>,
    right: Option<&Value>,
    budget: &mut Steps,
) -> Result<bool, Exhausted> {
    let (Some(left), Some(right)) = (left, right) else { return Ok(left.is_none() && right.is_none()) };
    let mut pairs = vec![(left, right)];
    while let Some(pair) = pairs.pop() {
        budget.spend(1)?;
        let same = match pair {
            (Value::Number(a), Value::Number(b)) => order(a, b) == Some(Ordering::Equal),
            (Value::String(a), Value::String(b)) => {
                budget.spend(a.len().min(b.len()) / 16)?;
                a == b
            }
            (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
                budget.spend(a.len())?;
                pairs.extend(a.iter().zip(b));
                true
            }
            (Value::Object(a), Value::Object(b)) if a.len() == b.len() => {
                budget.spend(a.len())?;
                let inner = a.iter().map(|(key, member)| Some((member, b.get(key)?)));
                match inner.collect::<Option<Vec<_>>>() {
                    Some(inner) => {
                        pairs.extend(inner);
                        true
                    }
                    None => false,
                }
            }
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Null, Value::Null) => true,
            _ => false,
        };
        if !same {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Order; only two numbers or two strings have one.
pub(super) fn less(
    left: Option<&Value>,
    right: Option<&Value>,
    budget: &mut Steps,
) -> Result<bool, Exhausted> {
    budget.spend(1)?;
    Ok(match (left, right) {
        (Some(Value::Number(a)), Some(Value::Number(b))) => order(a, b) == Some(Ordering::Less),
        (Some(Value::String(a)), Some(Value::String(b))) => {
            budget.spend(a.len().min(b.len()) / 16)?;
            a < b
        }
        _ => false,
    })
}

fn order(a: &Number, b: &Number) -> Option<Ordering> {
    match (integer(a), integer(b)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
    }
}

fn integer(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

/// Compiles an I-Regexp (RFC 9485): its dot matches no line break, and `whole` makes it match the whole text.
/// `None` if it is malformed or too large.
pub(super) fn regex(pattern: &str, whole: bool) -> Option<Regex> {
    let mut translated = String::with_capacity(pattern.len() + 8);
    let mut characters = pattern.chars();
    let mut in_class = false;
    while let Some(character) = characters.next() {
        match character {
            '\\' => {
                translated.push(character);
                translated.extend(characters.next());
            }
            '.' if !in_class => translated.push_str(r"[^\n\r]"),
            _ => {
                in_class = (in_class || character == '[') && character != ']';
                translated.push(character);
            }
        }
    }
    if whole {
        translated = format!(r"\A(?:{translated})\z");
    }
    RegexBuilder::new(&translated).size_limit(MAX_REGEX_BYTES).nest_limit(50).build().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_match(pattern: &str, text: &str) -> bool {
        regex(pattern, true).expect(pattern).is_match(text)
    }

    #[test]
    fn a_match_covers_the_whole_text() {
        assert!(is_match("a|b", "b"));
        assert!(!is_match("a|b", "ab"));
        assert!(regex("a|b", false).unwrap().is_match("xab"));
    }

    #[test]
    fn a_dot_matches_no_line_break() {
        assert!(is_match(".", "ä"));
        assert!(!is_match(".", "\n") && !is_match(".", "\r"));
        assert!(is_match("[.]", ".") && !is_match("[.]", "a"));
        assert!(is_match(r"\.", ".") && !is_match(r"\.", "a"));
    }

    #[test]
    fn malformed_and_large_patterns_are_rejected() {
        for pattern in ["(", "[", "\\", "a{100000}", "(\\pL{100}){100}", &"(".repeat(500)] {
            assert!(regex(pattern, true).is_none(), "{pattern}");
        }
    }
}
