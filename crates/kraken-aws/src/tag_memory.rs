//! Remembers which of a thing's tags Kraken set, so that a tag taken out of a spec is taken off the thing too while the
//! tags of other tools (cost reports, backup plans) are left alone.
//!
//! The memory is a tag itself: five characters per key. Names would not fit, because a key may have 128 characters and
//! a value no more than 256; and nothing but the thing itself can say what was done to it before a crash.

use sha2::{Digest, Sha256};

use crate::{
    base64,
    tags::{MAX_VALUE, MEMORY, Tags},
};

/// Characters per key: 30 bits, so that another tool's key is taken for ours once in 20 million for a full memory.
const MARK: usize = 5;

/// The memory of a thing that is made with these user tags.
pub fn of<'a>(keys: impl IntoIterator<Item = &'a String>) -> String {
    keys.into_iter().fold(String::new(), |memory, key| remember(&memory, key))
}

/// The memory to put back on a thing that has none any more: somebody took Kraken's tags off. What it has as desired counts as set
/// by Kraken.
pub fn lost(desired: &Tags, have: &Tags) -> Option<(String, String)> {
    let set = || desired.iter().filter(|(key, value)| have.get(*key) == Some(value)).map(|(key, _)| key);
    (!have.contains_key(MEMORY) && set().next().is_some()).then(|| (MEMORY.to_owned(), of(set())))
}

/// The memory that a thing carries.
pub fn read(tags: &Tags) -> &str {
    tags.get(MEMORY).map_or("", String::as_str)
}

/// Whether Kraken set this key.
pub fn knows(memory: &str, key: &str) -> bool {
    let wanted = mark(key);
    marks(memory).any(|mark| mark == wanted)
}

/// The memory with one key more. A full one takes no more: what it does not know is left alone.
#[must_use]
pub fn remember(memory: &str, key: &str) -> String {
    let whole: String = marks(memory).collect();
    if knows(memory, key) || whole.len() + MARK > MAX_VALUE {
        return whole;
    }
    whole + &mark(key)
}

/// The memory without one key.
#[must_use]
pub fn forget(memory: &str, key: &str) -> String {
    let gone = mark(key);
    marks(memory).filter(|mark| *mark != gone).collect()
}

fn marks(memory: &str) -> impl Iterator<Item = &str> {
    // Somebody may have edited the tag: a slice that is no text is nobody's mark.
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
    fn as_many_tags_as_a_user_may_give_are_remembered() {
        let keys = keys(MAX_USER_TAGS);
        let memory = of(&keys);
        assert!(memory.len() <= MAX_VALUE);
        assert!(keys.iter().all(|key| knows(&memory, key)));
        assert!(!knows(&memory, "CostCenter"));
    }

    #[test]
    fn a_key_is_remembered_once_and_can_be_forgotten() {
        let memory = remember(&remember(&of(&keys(2)), "Team"), "Team");
        assert_eq!(memory.len(), 3 * MARK);
        assert_eq!(forget(&memory, "Team"), of(&keys(2)));
        assert!(knows(&memory, "key 1"));
    }

    #[test]
    fn a_full_memory_stays_a_valid_tag() {
        assert!(of(&keys(100)).len() <= MAX_VALUE);
    }

    #[test]
    fn what_is_not_tagged_knows_nothing() {
        assert!(!knows(read(&Tags::new()), "Team"));
    }

    proptest! {
        #[test]
        fn any_text_is_a_memory(memory in ".{0,300}", key in ".{1,40}") {
            let after = remember(&memory, &key);
            prop_assert!(knows(&after, &key) || after.len() + MARK > MAX_VALUE);
            prop_assert!(!knows(&forget(&after, &key), &key));
        }
    }

    #[test]
    fn a_memory_that_was_taken_off_is_put_back_for_what_is_as_desired() {
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
