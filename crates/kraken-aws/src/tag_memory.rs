//! Records which tags of an object Kraken set, so that a tag that is removed from the spec is removed from the object
//! too, and tags of other tools (cost reports, backup plans) are preserved.
//!
//! The record is itself a tag, with five characters per key. Full keys would not fit, because a key can have 128
//! characters and a value at most 256. It is stored on the object, because only the object reliably reflects the calls
//! that were made before a crash.

use sha2::{Digest, Sha256};

use crate::{
    base64,
    tags::{MAX_VALUE, MEMORY, Tags},
};

/// Characters per key: 30 bits, so that for a full record the key of another tool is mistaken for a recorded one once
/// in 20 million.
const MARK: usize = 5;

/// The record of an object that is created with these user tags.
pub fn of<'a>(keys: impl IntoIterator<Item = &'a String>) -> String {
    keys.into_iter().fold(String::new(), |memory, key| remember(&memory, key))
}

/// The record to restore on an object without one, whose Kraken tags were removed. Tags with the desired value count as
/// set by Kraken.
pub fn lost(desired: &Tags, have: &Tags) -> Option<(String, String)> {
    let set = || desired.iter().filter(|(key, value)| have.get(*key) == Some(value)).map(|(key, _)| key);
    (!have.contains_key(MEMORY) && set().next().is_some()).then(|| (MEMORY.to_owned(), of(set())))
}

/// The record of an object.
pub fn read(tags: &Tags) -> &str {
    tags.get(MEMORY).map_or("", String::as_str)
}

/// Whether Kraken set this key.
pub fn knows(memory: &str, key: &str) -> bool {
    let wanted = mark(key);
    marks(memory).any(|mark| mark == wanted)
}

/// The record with one more key. A full record accepts no more keys: unrecorded tags are preserved.
#[must_use]
pub fn remember(memory: &str, key: &str) -> String {
    let whole: String = marks(memory).collect();
    if knows(memory, key) || whole.len() + MARK > MAX_VALUE {
        return whole;
    }
    whole + &mark(key)
}

/// The record without one key.
#[must_use]
pub fn forget(memory: &str, key: &str) -> String {
    let gone = mark(key);
    marks(memory).filter(|mark| *mark != gone).collect()
}

fn marks(memory: &str) -> impl Iterator<Item = &str> {
    // The tag may have been edited: an invalid slice matches no key.
    (0..memory.len() / MARK).filter_map(move |n| memory.get(n * MARK..(n + 1) * MARK))
}

fn mark(key: &str) -> String {
    let digest = Sha256::digest(key.as_bytes());
    base64::encode(&digest[..4]).chars().take(MARK).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tags::MAX_USER_TAGS;
    use proptest::prelude::*;

    fn keys(count: usize) -> Vec<String> {
        (0..count).map(|n| format!("key {n}")).collect()
    }

    #[test]
    fn the_maximum_number_of_user_tags_is_recorded() {
        let keys = keys(MAX_USER_TAGS);
        let memory = of(&keys);
        assert!(memory.len() <= MAX_VALUE);
        assert!(keys.iter().all(|key| knows(&memory, key)));
        assert!(!knows(&memory, "CostCenter"));
    }

    #[test]
    fn a_key_is_recorded_once_and_can_be_removed() {
        let memory = remember(&remember(&of(&keys(2)), "Team"), "Team");
        assert_eq!(memory.len(), 3 * MARK);
        assert_eq!(forget(&memory, "Team"), of(&keys(2)));
        assert!(knows(&memory, "key 1"));
    }

    #[test]
    fn a_full_record_is_a_valid_tag() {
        assert!(of(&keys(100)).len() <= MAX_VALUE);
    }

    #[test]
    fn an_object_without_the_tag_has_an_empty_record() {
        assert!(!knows(read(&Tags::new()), "Team"));
    }

    proptest! {
        #[test]
        fn any_text_is_a_valid_record(memory in ".{0,300}", key in ".{1,40}") {
            let after = remember(&memory, &key);
            prop_assert!(knows(&after, &key) || after.len() + MARK > MAX_VALUE);
            prop_assert!(!knows(&forget(&after, &key), &key));
        }
    }

    #[test]
    fn a_removed_record_is_restored_for_tags_with_the_desired_value() {
        let tags = |pairs: &[(&str, &str)]| -> Tags {
            pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
        };
        let desired = tags(&[("Team", "a"), ("Name", "web")]);
        let mut have = tags(&[("Team", "a"), ("Name", "edited"), ("CostCenter", "7")]);
        let (key, memory) = lost(&desired, &have).unwrap();
        assert_eq!(key, MEMORY);
        assert!(knows(&memory, "Team") && !knows(&memory, "Name") && !knows(&memory, "CostCenter"));
        have.insert(key, memory);
        assert_eq!(lost(&desired, &have), None);
        assert_eq!(lost(&Tags::new(), &tags(&[("Team", "a")])), None);
    }
}
