//! Names of resources: readable, unique in their kind, and the same for the same objects. Pure.

use std::collections::BTreeSet;

/// The longest name that is made from a text, before a number.
const LONGEST: usize = 50;

/// Gives out names, each once for a kind.
#[derive(Debug)]
pub(super) struct Names<'a> {
    taken: &'a BTreeSet<(String, String)>,
    given: BTreeSet<(String, String)>,
}

impl<'a> Names<'a> {
    /// Besides these kinds and names, which exist.
    pub(super) fn besides(taken: &'a BTreeSet<(String, String)>) -> Self {
        Self { taken, given: BTreeSet::new() }
    }

    /// The wanted name, with a number if it is taken.
    pub(super) fn give(&mut self, kind: &str, wanted: &str) -> String {
        let mut name = wanted.to_owned();
        let mut number = 1;
        loop {
            let key = (kind.to_owned(), name);
            if !self.taken.contains(&key) && self.given.insert(key.clone()) {
                return key.1;
            }
            number += 1;
            name = format!("{wanted}-{number}");
        }
    }
}

/// A text as a name of Kubernetes; none if nothing remains of it.
pub(super) fn slug(text: &str) -> Option<String> {
    let mut slug = String::new();
    for letter in text.chars() {
        if letter.is_ascii_alphanumeric() {
            slug.push(letter.to_ascii_lowercase());
        } else if !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let short: String = slug.trim_matches('-').chars().take(LONGEST).collect();
    let short = short.trim_matches('-').to_owned();
    (!short.is_empty()).then_some(short)
}

/// The name of an object without any: its kind and the end of its id.
pub(super) fn of_id(kind: &str, id: &str) -> String {
    let letters: Vec<char> = id.chars().filter(char::is_ascii_alphanumeric).collect();
    let end: String = letters[letters.len().saturating_sub(8)..].iter().collect();
    format!("{}-{}", kind.to_lowercase(), end.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tag_becomes_a_name_of_kubernetes() {
        for (text, wanted) in [
            ("public-a", Some("public-a")),
            ("Shop / Public  A", Some("shop-public-a")),
            ("--x--", Some("x")),
            ("日本", None),
            ("", None),
        ] {
            assert_eq!(slug(text).as_deref(), wanted, "{text}");
        }
        let long = slug(&"ab-".repeat(40)).unwrap();
        assert!(long.len() <= LONGEST && !long.ends_with('-'), "{long}");
    }

    #[test]
    fn names_are_unique_in_their_kind_and_besides_existing_ones() {
        let taken = [("VPC".to_owned(), "main".to_owned())].into();
        let mut names = Names::besides(&taken);
        assert_eq!(names.give("VPC", "main"), "main-2");
        assert_eq!(names.give("VPC", "main"), "main-3");
        assert_eq!(names.give("Subnet", "main"), "main");
    }

    #[test]
    fn without_a_name_the_end_of_the_id_is_used() {
        assert_eq!(of_id("Subnet", "subnet-0abc1234def567890"), "subnet-ef567890");
        assert_eq!(of_id("KeyPair", "ops"), "keypair-ops");
    }
}
