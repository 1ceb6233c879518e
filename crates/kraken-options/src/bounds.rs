//! Bounds on text and JSON, because neither a user's spec nor another resource's state can be trusted to be small.

use serde_json::Value;

/// The maximum nesting depth of a value. It equals the limit of `serde_json`, so a value that arrives as text is never
/// rejected. Copying, comparing and dropping a `Value` recurse; up to this depth that is safe.
pub(crate) const MAX_DEPTH: usize = 128;

/// The maximum size in bytes of a value found by a path, or of a rendered template. A Kubernetes object cannot contain
/// more.
pub(crate) const MAX_BYTES: usize = 1024 * 1024;

/// The maximum number of characters of a quoted text.
const MAX_QUOTED: usize = 63;

/// Why a value is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exceeded {
    /// Nested deeper than [`MAX_DEPTH`].
    Depth,
    /// Larger than the bytes allowed.
    Bytes,
}

/// Adds the approximate size of `value` as JSON to `bytes`; stops as soon as a bound is exceeded. Iterative.
pub(crate) fn measure(value: &Value, bytes: &mut usize) -> Result<(), Exceeded> {
    let mut stack = vec![(value, 1)];
    while let Some((node, depth)) = stack.pop() {
        if depth > MAX_DEPTH {
            return Err(Exceeded::Depth);
        }
        *bytes += match node {
            Value::Null | Value::Bool(_) | Value::Number(_) => 5,
            Value::String(text) => text.len() + 3,
            Value::Array(items) => {
                stack.extend(items.iter().map(|item| (item, depth + 1)));
                2
            }
            Value::Object(members) => {
                stack.extend(members.values().map(|member| (member, depth + 1)));
                2 + members.keys().map(|key| key.len() + 4).sum::<usize>()
            }
        };
        if *bytes > MAX_BYTES {
            return Err(Exceeded::Bytes);
        }
    }
    Ok(())
}

/// True if recursion over `value` is safe.
pub(crate) fn is_shallow(value: &Value) -> bool {
    measure(value, &mut 0) != Err(Exceeded::Depth)
}

/// At most `max` characters of `text`, on one line; ends with `…` if it is truncated.
pub(crate) fn shorten(text: &str, max: usize) -> String {
    let one_line = |c: char| if c.is_control() { ' ' } else { c };
    let mut short: String = text.chars().take(max).map(one_line).collect();
    if text.chars().nth(max).is_some() {
        short.pop();
        short.push('…');
    }
    short
}

/// `text` in quotes, shortened, for messages. What would be invisible, such as a line break at the end, is escaped.
pub(crate) fn quote(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars().take(MAX_QUOTED) {
        match c {
            '"' | '\'' | '\\' => quoted.push(c),
            _ => quoted.extend(c.escape_debug()),
        }
    }
    if text.chars().nth(MAX_QUOTED).is_some() {
        quoted.push('…');
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_value_as_deep_as_serde_json_reads_is_shallow() {
        let text = format!("{}1{}", "[".repeat(126), "]".repeat(126));
        assert!(is_shallow(&serde_json::from_str(&text).unwrap()));
    }

    #[test]
    fn a_deeper_value_is_rejected() {
        let deep = (0..MAX_DEPTH).fold(json!(1), |inner, _| json!([inner]));
        assert_eq!(measure(&deep, &mut 0), Err(Exceeded::Depth));
    }

    #[test]
    fn a_large_value_is_rejected() {
        assert_eq!(measure(&json!({"a": "x".repeat(MAX_BYTES)}), &mut 0), Err(Exceeded::Bytes));
    }

    #[test]
    fn shortened_text_has_whole_characters_and_one_line() {
        assert_eq!(shorten("äöü", 3), "äöü");
        assert_eq!(shorten("äöüß", 3), "äö…");
        assert_eq!(shorten("a\nb", 9), "a b");
        assert_eq!(shorten("abc", 0), "…");
    }

    #[test]
    fn quoted_text_shows_what_would_be_invisible() {
        assert_eq!(quote("ami-1\n"), r#""ami-1\n""#);
        assert_eq!(quote("a\u{200b}b\tc"), r#""a\u{200b}b\tc""#);
        assert_eq!(quote(r#"{"ä": 1} it's"#), r#""{"ä": 1} it's""#);
        assert_eq!(quote(&"x".repeat(64)), format!("\"{}…\"", "x".repeat(63)));
    }
}
