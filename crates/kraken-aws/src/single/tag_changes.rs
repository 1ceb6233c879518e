//! The user's tags of one thing: how they differ, and what mends it. Tags that others set are left alone.

use aws_sdk_ec2::types::Tag;
use kraken_spoke::{Difference, Failure, FieldDiff, Remedy};

use crate::{
    Aws,
    fields::{ABSENT, tag_path},
    tag_memory,
    tags::{self, MEMORY, Tags},
};

/// A change of one tag, so that a path that drift ignores is not written along with others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TagChange {
    /// Give it this value.
    Set(String, String),
    /// Take it off.
    Remove(String),
}

impl TagChange {
    /// The tags to set, and the keys to take off before. The memory of what Kraken set is written by the same call as the
    /// tag: a tag is never there without it.
    pub(super) fn calls(&self, have: &Tags) -> (Tags, Vec<&str>) {
        let memory = tag_memory::read(have);
        match self {
            Self::Set(key, value) => {
                let memory = tag_memory::remember(memory, key);
                (Tags::from([(key.clone(), value.clone()), (MEMORY.to_owned(), memory)]), vec![])
            }
            // In this order: a crash in between leaves a memory that knows too much, and not a tag that nobody removes.
            Self::Remove(key) => {
                (Tags::from([(MEMORY.to_owned(), tag_memory::forget(memory, key))]), vec![key])
            }
        }
    }
}

/// The tags that are not as wanted, and those that Kraken set before and are wanted no more.
pub(super) fn differences(wanted: &Tags, have: &Tags) -> Vec<Difference<TagChange>> {
    let absent = || ABSENT.to_owned();
    let differs = |(key, value): (&String, &String)| {
        let is = have.get(key);
        (is != Some(value)).then(|| Difference {
            field: FieldDiff::new(tag_path(key), value.clone(), is.cloned().unwrap_or_else(absent)),
            remedy: Remedy::Change(TagChange::Set(key.clone(), value.clone())),
        })
    };
    let memory = tag_memory::read(have);
    let stale = |(key, value): (String, String)| {
        (!wanted.contains_key(&key) && tag_memory::knows(memory, &key)).then(|| Difference {
            field: FieldDiff::new(tag_path(&key), absent(), value),
            remedy: Remedy::Change(TagChange::Remove(key)),
        })
    };
    wanted.iter().filter_map(differs).chain(tags::users(have).into_iter().filter_map(stale)).collect()
}

/// Sets tags on a thing of EC2.
pub(super) async fn set(aws: &Aws, id: &str, tags: &Tags) -> Result<(), Failure> {
    let call = aws.ec2().create_tags().resources(id).set_tags(Some(tags::to_sdk(tags)));
    aws.call("CreateTags", "failed to set tags", call.send()).await.map(drop)
}

/// Takes tags off a thing of EC2.
pub(super) async fn remove(aws: &Aws, id: &str, keys: &[&str]) -> Result<(), Failure> {
    let keys = keys.iter().map(|key| Tag::builder().key(*key).build()).collect();
    let call = aws.ec2().delete_tags().resources(id).set_tags(Some(keys));
    aws.call("DeleteTags", "failed to remove tags", call.send()).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(pairs: &[(&str, &str)]) -> Tags {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    fn told(wanted: &[(&str, &str)], have: &Tags) -> Vec<(String, TagChange)> {
        let change = |difference: Difference<TagChange>| match difference.remedy {
            Remedy::Change(change) => (difference.field.path, change),
            other => panic!("{other:?}"),
        };
        differences(&tags(wanted), have).into_iter().map(change).collect()
    }

    #[test]
    fn what_the_spec_says_is_set_and_what_others_set_is_left_alone() {
        let have = tags(&[("Team", "a"), ("CostCenter", "7")]);
        let set = |key: &str, value: &str| TagChange::Set(key.into(), value.into());
        assert_eq!(
            told(&[("Team", "b"), ("Name", "web")], &have),
            [("tags.Name".to_owned(), set("Name", "web")), ("tags.Team".to_owned(), set("Team", "b"))]
        );
    }

    #[test]
    fn a_call_that_changes_one_tag_neither_sends_nor_removes_another() {
        let mut have = tags(&[("Team", "a"), ("Stage", "b")]);
        have.insert(MEMORY.to_owned(), tag_memory::remember(&tag_memory::remember("", "Team"), "Stage"));
        for change in [TagChange::Set("Name".into(), "web".into()), TagChange::Remove("Name".into())] {
            let (set, removed) = change.calls(&have);
            assert!(!set.contains_key("Team") && !set.contains_key("Stage"), "{set:?}");
            assert!(!removed.contains(&"Team"), "{removed:?}");
            assert!(tag_memory::knows(&set[MEMORY], "Team") && tag_memory::knows(&set[MEMORY], "Stage"));
        }
    }

    #[test]
    fn what_kraken_set_goes_with_the_spec() {
        let mut have = tags(&[("Team", "a"), ("CostCenter", "7")]);
        have.insert(MEMORY.to_owned(), tag_memory::remember("", "Team"));
        assert_eq!(told(&[], &have), [("tags.Team".to_owned(), TagChange::Remove("Team".into()))]);
        let change = TagChange::Remove("Team".into());
        let (set, removed) = change.calls(&have);
        assert_eq!((set[MEMORY].as_str(), removed), ("", vec!["Team"]));
    }
}
