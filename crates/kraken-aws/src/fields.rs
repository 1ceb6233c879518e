//! Paths and values of fields, as differences and problems show them.

use kraken_spoke::{OptionType, Resolved};
use serde_json::Value;

/// In the place of a value that comes from a Secret.
pub const SECRET: &str = "***";
/// In the place of what the cloud has for a field whose value is not shown.
pub const NOT_SHOWN: &str = "(not shown)";
/// In the place of no value.
pub const ABSENT: &str = "(absent)";

/// How many things a text lists before it only counts.
const LISTED: usize = 5;

/// The path of a tag: `tags.Team`, and `tags["cost.center"]` for a key that a dotted path cannot hold.
pub fn tag_path(key: &str) -> String {
    let simple = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !key.is_empty() && key.chars().all(simple) { format!("tags.{key}") } else { format!("tags[{key:?}]") }
}

/// The path of an item of a list that is told by what it is: `subnetIDs["subnet-1"]`.
pub fn item_path(list: &str, item: &str) -> String {
    format!("{list}[{item:?}]")
}

/// A wanted value as text.
pub fn shown<T: OptionType + ToString>(value: &Resolved<T>) -> String {
    value.public().map_or_else(|| SECRET.to_owned(), ToString::to_string)
}

/// `a, b, c`, and `a, b, c, d, e and 7 more` for many.
pub fn listed<T: AsRef<str>>(items: &[T]) -> String {
    let first: Vec<&str> = items.iter().take(LISTED).map(AsRef::as_ref).collect();
    match items.len().saturating_sub(LISTED) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

/// Without what has no value. The depth is that of the types it comes from.
pub fn pruned(mut value: Value) -> Value {
    prune(&mut value);
    value
}

fn prune(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, member| !member.is_null());
            members.values_mut().for_each(prune);
        }
        Value::Array(items) => items.iter_mut().for_each(prune),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_is_no_name_stands_in_brackets() {
        assert_eq!(tag_path("Team"), "tags.Team");
        assert_eq!(tag_path("cost.center"), "tags[\"cost.center\"]");
        assert_eq!(tag_path("a \"b\""), "tags[\"a \\\"b\\\"\"]");
        assert_eq!(tag_path(""), "tags[\"\"]");
    }

    #[test]
    fn a_long_list_is_counted() {
        assert_eq!(listed(&["a", "b"]), "a, b");
        assert_eq!(listed(&["a", "b", "c", "d", "e", "f", "g"]), "a, b, c, d, e and 2 more");
    }
}
