//! Paths and values of fields in differences and problems.

use kraken_kind::{OptionType, Resolved};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

pub use kraken_kind::api::status::{ABSENT, tag_path};

/// The placeholder of a value from a Secret.
pub const SECRET: &str = "***";
/// The placeholder of the observed value of a field that is not shown.
pub const NOT_SHOWN: &str = "(not shown)";

/// The maximum number of listed items; the rest is counted.
const LISTED: usize = 5;

/// The path of an item of a list, by its value: `subnetIDs["subnet-1"]`.
pub fn item_path(list: &str, item: &str) -> String {
    format!("{list}[{item:?}]")
}

/// A short digest of texts, to compare a value that must not be shown. The first texts make it useless elsewhere.
pub fn digest(texts: &[&str]) -> String {
    let digest = texts.iter().fold(Sha256::new(), |digest, text| {
        // With its length, so that no two lists have the same bytes.
        digest.chain_update(text.len().to_be_bytes()).chain_update(text)
    });
    format!("{:x}", digest.finalize()).chars().take(16).collect()
}

/// A desired value as text.
pub fn shown<T: OptionType + ToString>(value: &Resolved<T>) -> String {
    value.public().map_or_else(|| SECRET.to_owned(), ToString::to_string)
}

/// A value of the spec in the published state: none if it is absent or from a Secret.
pub fn public<T: OptionType>(value: Option<&Resolved<T>>) -> Option<Value> {
    value.and_then(Resolved::public).map(|value| json!(value))
}

/// `a, b, c`, and `a, b, c, d, e and 7 more` for many.
pub fn listed<T: AsRef<str>>(items: &[T]) -> String {
    let first: Vec<&str> = items.iter().take(LISTED).map(AsRef::as_ref).collect();
    match items.len().saturating_sub(LISTED) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

/// Removes nulls and empty values. The depth is bounded by the types.
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
    fn a_key_with_special_characters_is_in_brackets() {
        assert_eq!(tag_path("Team"), "tags.Team");
        assert_eq!(tag_path("cost.center"), "tags[\"cost.center\"]");
        assert_eq!(tag_path("a \"b\""), "tags[\"a \\\"b\\\"\"]");
        assert_eq!(tag_path(""), "tags[\"\"]");
    }

    #[test]
    fn a_long_list_is_truncated_with_a_count() {
        assert_eq!(listed(&["a", "b"]), "a, b");
        assert_eq!(listed(&["a", "b", "c", "d", "e", "f", "g"]), "a, b, c, d, e and 2 more");
    }
}
