//! Which of a resource's objects a call is made for. Pure.

use std::collections::BTreeMap;

use kraken_kind::Identity;

use super::RemoteObject;
use crate::{
    lookup::Tagged,
    tags::{self, Tags},
};

/// Sorts objects, the oldest first; this order never changes.
pub(super) fn oldest_first<T: RemoteObject>(objects: &mut [T]) {
    objects.sort_by_cached_key(|object| {
        (tags::epoch(object.tags()), object.launch_index(), object.id().to_owned())
    });
}

/// The objects with the tags of the identity. The owner is verified again before calls that cannot be undone.
pub(super) fn owned<'a, T: Tagged>(identity: &Identity, objects: Vec<&'a T>) -> Vec<&'a T> {
    objects.into_iter().filter(|object| tags::owned_by(identity, object.tags())).collect()
}

/// The objects by the tags to set: usually one group, and therefore one call.
pub(super) fn by_tags<'a, T>(objects: impl Iterator<Item = (&'a T, Tags)>) -> BTreeMap<Tags, Vec<&'a T>> {
    let mut groups = BTreeMap::<Tags, Vec<&T>>::new();
    for (object, tags) in objects {
        groups.entry(tags).or_default().push(object);
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tags::{CLUSTER, EPOCH, MEMORY, UID};
    use serde::Serialize;

    #[derive(Clone, Debug, Serialize)]
    struct Disk(&'static str, Tags, i32);

    impl Tagged for Disk {
        fn id(&self) -> &str {
            self.0
        }

        fn tags(&self) -> &Tags {
            &self.1
        }
    }

    impl RemoteObject for Disk {
        fn launch_index(&self) -> i32 {
            self.2
        }
    }

    fn disk(id: &'static str, tags: &[(&str, &str)], launch_index: i32) -> Disk {
        let tags = tags.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        Disk(id, tags.collect(), launch_index)
    }

    fn ids(disks: &[&Disk]) -> Vec<&'static str> {
        disks.iter().map(|disk| disk.0).collect()
    }

    #[test]
    fn objects_are_sorted_by_launch() {
        let mut disks =
            [disk("a", &[(EPOCH, "10")], 0), disk("b", &[(EPOCH, "9")], 1), disk("c", &[(EPOCH, "9")], 0)];
        oldest_first(&mut disks);
        assert_eq!(ids(&disks.iter().collect::<Vec<_>>()), ["c", "b", "a"]);
    }

    #[test]
    fn only_objects_with_the_identity_are_owned() {
        let identity = Identity { cluster: "c".into(), uid: "u".into(), owner: "Disk/ns/a".into() };
        let disks = [
            disk("a", &[(CLUSTER, "c"), (UID, "u")], 0),
            disk("b", &[(CLUSTER, "c"), (UID, "v")], 0),
            disk("c", &[(CLUSTER, "d"), (UID, "u")], 0),
            disk("d", &[], 0),
        ];
        assert_eq!(ids(&owned(&identity, disks.iter().collect())), ["a"]);
    }

    #[test]
    fn objects_with_the_same_record_share_a_call() {
        let change = super::super::TagChange::Set("Team".into(), "shop".into());
        let disks = [disk("a", &[], 0), disk("b", &[(MEMORY, "abcde")], 0), disk("c", &[], 0)];
        let groups = by_tags(disks.iter().map(|disk| (disk, change.tags(disk.tags()))));
        let mut groups: Vec<_> = groups.values().map(|disks| ids(disks)).collect();
        groups.sort();
        assert_eq!(groups, [vec!["a", "c"], vec!["b"]]);
    }
}
