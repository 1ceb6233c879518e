//! The user's tags of one object: their differences and changes. Tags that are set outside Kraken are not changed.

use aws_sdk_ec2::types::Tag;
use kraken_kind::{Difference, Failure, FieldDiff, Identity, Launch, Remedy};

use crate::{
    Aws,
    fields::{ABSENT, tag_path},
    missing::for_existing,
    tag_memory,
    tags::{self, MEMORY, Tags},
};

/// All tags of an object that is created with these tags of the user.
pub(super) fn of_launch(identity: &Identity, launch: &Launch, users: &Tags) -> Tags {
    let mut tags = users.clone();
    tags.extend(tags::identity_tags(identity, launch.epoch));
    tags.insert(MEMORY.to_owned(), tag_memory::of(users.keys()));
    tags
}

/// A change of one tag, so that an ignored tag is not written with others.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TagChange {
    /// Sets the tag to this value.
    Set(String, String),
    /// Removes the tag.
    Remove(String),
}

impl TagChange {
    /// The tags to set. The record of tags that Kraken set is written in the same call as the tag, so that a tag never exists
    /// without it. A tag is removed before that: a crash in between leaves a superfluous record, and not a tag that is never
    /// removed.
    pub(super) fn tags(&self, have: &Tags) -> Tags {
        let memory = tag_memory::read(have);
        match self {
            Self::Set(key, value) => {
                let memory = tag_memory::remember(memory, key);
                Tags::from([(key.clone(), value.clone()), (MEMORY.to_owned(), memory)])
            }
            Self::Remove(key) => Tags::from([(MEMORY.to_owned(), tag_memory::forget(memory, key))]),
        }
    }
}

/// The tags that differ, and those that Kraken set before and that are no longer desired.
pub(super) fn differences(desired: &Tags, have: &Tags) -> Vec<Difference<TagChange>> {
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
        (!desired.contains_key(&key) && tag_memory::knows(memory, &key)).then(|| Difference {
            field: FieldDiff::new(tag_path(&key), absent(), value),
            remedy: Remedy::Change(TagChange::Remove(key)),
        })
    };
    desired.iter().filter_map(differs).chain(tags::users(have).into_iter().filter_map(stale)).collect()
}

/// Sets tags of an EC2 object.
pub(super) async fn set(aws: &Aws, id: &str, tags: &Tags) -> Result<(), Failure> {
    let call = aws.ec2().create_tags().resources(id).set_tags(Some(tags::to_sdk(tags)));
    aws.call("CreateTags", "failed to set tags", call.send()).await.map(drop)
}

/// Removes tags of an EC2 object.
pub(super) async fn remove(aws: &Aws, id: &str, keys: &[&str]) -> Result<(), Failure> {
    let keys = keys.iter().map(|key| Tag::builder().key(*key).build()).collect();
    let call = aws.ec2().delete_tags().resources(id).set_tags(Some(keys));
    aws.call("DeleteTags", "failed to remove tags", call.send()).await.map(drop)
}

/// Sets tags of all EC2 objects with these ids that exist, by one call.
///
/// # Errors
/// The failure of the call.
pub async fn set_all(aws: &Aws, ids: &[String], tags: &Tags) -> Result<(), Failure> {
    let call = |ids| {
        let call = aws.ec2().create_tags().set_resources(Some(ids)).set_tags(Some(tags::to_sdk(tags)));
        aws.call("CreateTags", "failed to set tags", call.send())
    };
    for_existing(ids, call).await.map(drop)
}

/// Removes tags of all EC2 objects with these ids that exist, by one call. `action` is the prefix of the error.
///
/// # Errors
/// The failure of the call.
pub async fn remove_all(aws: &Aws, ids: &[String], keys: &[&str], action: &str) -> Result<(), Failure> {
    let keys: Vec<_> = keys.iter().map(|key| Tag::builder().key(*key).build()).collect();
    let call = |ids| {
        let call = aws.ec2().delete_tags().set_resources(Some(ids)).set_tags(Some(keys.clone()));
        aws.call("DeleteTags", action, call.send())
    };
    for_existing(ids, call).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(pairs: &[(&str, &str)]) -> Tags {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    fn changes(desired: &[(&str, &str)], have: &Tags) -> Vec<(String, TagChange)> {
        let change = |difference: Difference<TagChange>| match difference.remedy {
            Remedy::Change(change) => (difference.field.path, change),
            other => panic!("{other:?}"),
        };
        differences(&tags(desired), have).into_iter().map(change).collect()
    }

    #[test]
    fn a_launch_sets_the_tags_of_its_identity_and_of_the_user() {
        let identity = Identity { cluster: "c".into(), uid: "u".into(), owner: "EC2Instance/ns/a".into() };
        let launch = Launch { epoch: 2, token: "token".into() };
        let tags = of_launch(&identity, &launch, &tags(&[("Team", "shop")]));
        let found = [tags::CLUSTER, tags::UID, tags::EPOCH, tags::OWNER, "Team"].map(|key| &*tags[key]);
        assert_eq!(found, ["c", "u", "2", "EC2Instance/ns/a", "shop"]);
        assert!(tag_memory::knows(tag_memory::read(&tags), "Team"));
    }

    #[test]
    fn desired_tags_are_set_and_unmanaged_tags_are_preserved() {
        let have = tags(&[("Team", "a"), ("CostCenter", "7")]);
        let set = |key: &str, value: &str| TagChange::Set(key.into(), value.into());
        assert_eq!(
            changes(&[("Team", "b"), ("Name", "web")], &have),
            [("tags.Name".to_owned(), set("Name", "web")), ("tags.Team".to_owned(), set("Team", "b"))]
        );
    }

    #[test]
    fn a_change_of_one_tag_does_not_affect_others() {
        let mut have = tags(&[("Team", "a"), ("Stage", "b")]);
        have.insert(MEMORY.to_owned(), tag_memory::remember(&tag_memory::remember("", "Team"), "Stage"));
        for change in [TagChange::Set("Name".into(), "web".into()), TagChange::Remove("Name".into())] {
            let set = change.tags(&have);
            assert!(!set.contains_key("Team") && !set.contains_key("Stage"), "{set:?}");
            assert!(tag_memory::knows(&set[MEMORY], "Team") && tag_memory::knows(&set[MEMORY], "Stage"));
        }
    }

    #[test]
    fn a_tag_that_kraken_set_is_removed_with_the_spec() {
        let mut have = tags(&[("Team", "a"), ("CostCenter", "7")]);
        have.insert(MEMORY.to_owned(), tag_memory::remember("", "Team"));
        assert_eq!(changes(&[], &have), [("tags.Team".to_owned(), TagChange::Remove("Team".into()))]);
        let change = TagChange::Remove("Team".into());
        assert_eq!(change.tags(&have)[MEMORY], "");
    }
}
