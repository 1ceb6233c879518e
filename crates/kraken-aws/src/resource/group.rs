//! Differences that several objects of a resource have in common. Pure.

use std::mem::discriminant;

use kraken_kind::{Difference, FieldDiff, Remedy};

use crate::{fields::listed, lookup::Tagged};

/// A difference between the desired state and some of a resource's objects: the same field and the same remedy.
#[derive(Debug)]
pub struct Group<'a, T, C> {
    /// The path of the field.
    pub path: String,
    /// The desired value.
    pub want: String,
    /// The objects with their observed values.
    pub objects: Vec<(&'a T, String)>,
    /// How it can be removed.
    pub remedy: Remedy<C>,
    /// Whether the resource has no other object, so that no ids are shown.
    is_only: bool,
}

impl<'a, T: Tagged, C> Group<'a, T, C> {
    /// The differences of all objects, in the order of the objects and then of their differences. Several differences of one
    /// object stay separate: items of a list from a Secret have the same path.
    pub fn all(objects: &[&'a T], differences: impl Fn(&T) -> Vec<Difference<C>>) -> Vec<Self> {
        let mut groups: Vec<Self> = vec![];
        for object in objects {
            for Difference { field: FieldDiff { path, want, have, .. }, remedy } in differences(object) {
                let is_same = |group: &&mut Self| {
                    let has_it = group.objects.last().is_some_and(|(last, _)| last.id() == object.id());
                    group.path == path && discriminant(&group.remedy) == discriminant(&remedy) && !has_it
                };
                if let Some(group) = groups.iter_mut().find(is_same) {
                    group.objects.push((object, have));
                } else {
                    let (objects, is_only) = (vec![(*object, have)], objects.len() == 1);
                    groups.push(Self { path, want, objects, remedy, is_only });
                }
            }
        }
        groups
    }

    /// The ids of its objects.
    pub fn ids(&self) -> Vec<String> {
        ids(&self.objects)
    }

    /// The same with another change, which is made from this one and the ids of the objects.
    #[must_use]
    pub fn map<D>(self, change: impl FnOnce(C, Vec<String>) -> D) -> Group<'a, T, D> {
        let ids = self.ids();
        let Self { path, want, objects, remedy, is_only } = self;
        Group { path, want, objects, remedy: remedy.map(|own| change(own, ids)), is_only }
    }

    /// The same of those objects for which it holds, with a remedy that is made from their ids; none if it holds for none.
    pub fn part<D>(
        &self,
        holds: impl Fn(&T) -> bool,
        remedy: impl FnOnce(Vec<String>) -> Remedy<D>,
    ) -> Option<Group<'a, T, D>> {
        let objects: Vec<_> = self.objects.iter().filter(|(object, _)| holds(object)).cloned().collect();
        let (path, want, is_only) = (self.path.clone(), self.want.clone(), self.is_only);
        let remedy = remedy(ids(&objects));
        (!objects.is_empty()).then_some(Group { path, want, objects, remedy, is_only })
    }

    /// The difference with the observed values, and with ids if they are ambiguous.
    pub fn difference(self) -> Difference<C> {
        let have = match self.objects.as_slice() {
            [(_, have)] if self.is_only => have.clone(),
            many => {
                let each: Vec<_> =
                    many.iter().map(|(object, have)| format!("{}: {have}", object.id())).collect();
                listed(&each)
            }
        };
        Difference { field: FieldDiff::new(self.path, self.want, have), remedy: self.remedy }
    }
}

fn ids<T: Tagged>(objects: &[(&T, String)]) -> Vec<String> {
    objects.iter().map(|(object, _)| object.id().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Tags, diff::difference};

    #[derive(Clone)]
    struct Disk(&'static str, &'static str, Tags);

    impl Tagged for Disk {
        fn id(&self) -> &str {
            self.0
        }

        fn tags(&self) -> &Tags {
            &self.2
        }
    }

    fn disk(id: &'static str, size: &'static str) -> Disk {
        Disk(id, size, Tags::new())
    }

    fn sizes(disk: &Disk) -> Vec<Difference<&'static str>> {
        vec![difference("size", "3", disk.1, "resize")]
    }

    #[test]
    fn one_change_corrects_all_objects_and_ids_are_shown() {
        let disks = [disk("a", "1"), disk("b", "2")];
        let found = Group::all(&[&disks[0], &disks[1]], sizes);
        let change = |change, ids: Vec<String>| format!("{change} {}", ids.join(" "));
        let found: Vec<_> = found.into_iter().map(|group| group.map(change).difference()).collect();
        assert_eq!(found, [difference("size", "3", "a: 1, b: 2", "resize a b".to_owned())]);
    }

    #[test]
    fn the_only_object_has_the_differences_of_its_comparison() {
        let disk = disk("a", "1");
        let of_list =
            |_: &Disk| vec![difference("l", "***", "?", "add"), difference("l", "***", "?", "remove")];
        let found = Group::all(&[&disk], of_list).into_iter().map(Group::difference).collect::<Vec<_>>();
        assert_eq!(found, of_list(&disk));
    }

    #[test]
    fn a_part_has_the_ids_of_its_objects_and_is_absent_without_any() {
        let disks = [disk("a", "1"), disk("b", "2")];
        let all = Group::all(&[&disks[0], &disks[1]], sizes);
        let part = |size| all[0].part(|disk| disk.1 == size, |ids| Remedy::<()>::Immutable(ids.join(" ")));
        let found = part("2").unwrap().difference();
        assert_eq!((found.field.have.as_str(), found.remedy), ("b: 2", Remedy::Immutable("b".to_owned())));
        assert!(part("4").is_none());
    }
}
