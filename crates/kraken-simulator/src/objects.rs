//! The common operations of all kinds of objects: create, find and remove.

use std::collections::BTreeSet;

use super::cloud::Cloud;
use super::kind::{Kind, id};
use super::refusal::Refusal;
use super::registry::{Entry, Visibility};
use super::store::CloudObject;
use super::tags::{History, Tags};

impl Cloud {
    /// Creates an object whose id is derived from its number.
    pub(super) fn make<T: CloudObject>(&mut self, tags: Tags, object: impl FnOnce(String) -> T) -> u64 {
        let id = id(T::KIND.prefix(), self.registry.next_number(T::KIND));
        let made = object(id.clone());
        self.make_as(id, tags, made)
    }

    /// Creates an object with this id.
    pub(super) fn make_as<T: CloudObject>(&mut self, id: String, tags: Tags, made: T) -> u64 {
        let number = self.registry.next_number(T::KIND);
        let entry = Entry {
            id,
            tags: History::new(self.now, tags),
            described_from: self.now + self.options.describe_lag,
            known_from: self.now + self.options.change_lag,
            made_by: self.call,
        };
        self.touch::<T>(number, false);
        self.registry.add(T::object(number), entry);
        T::all_mut(&mut self.store).insert(number, made);
        number
    }

    /// Removes an object.
    pub(super) fn remove_object<T: CloudObject>(&mut self, number: u64) -> Option<T> {
        self.touch::<T>(number, false);
        self.registry.remove(T::object(number));
        T::all_mut(&mut self.store).remove(&number)
    }

    /// The numbers of these ids, if all are visible to the call.
    pub(super) fn numbers(
        &self,
        kind: Kind,
        ids: &[&str],
        visibility: Visibility,
    ) -> Result<BTreeSet<u64>, Refusal> {
        ids.iter().try_for_each(|id| kind.check(id))?;
        let (mut found, mut missing) = (BTreeSet::new(), vec![]);
        for id in ids {
            match self.registry.object(id) {
                Some(object)
                    if object.kind == kind && self.registry.is_seen(object, visibility, self.now) =>
                {
                    found.insert(object.number);
                }
                _ => missing.push(*id),
            }
        }
        if missing.is_empty() { Ok(found) } else { Err(kind.missing(&missing)) }
    }

    /// The number of the object of a call.
    pub(super) fn number<T: CloudObject>(&self, id: &str) -> Result<u64, Refusal> {
        let found = self.numbers(T::KIND, &[id], Visibility::Known)?.into_iter().next();
        found.ok_or_else(|| T::KIND.missing(&[id]))
    }

    /// The object of a call.
    pub(super) fn one<T: CloudObject>(&self, id: &str) -> Result<&T, Refusal> {
        let number = self.number::<T>(id)?;
        self.all::<T>().get(&number).ok_or_else(|| T::KIND.missing(&[id]))
    }

    /// As [`Cloud::one`], for a change.
    pub(super) fn one_mut<T: CloudObject>(&mut self, id: &str) -> Result<&mut T, Refusal> {
        let number = self.number::<T>(id)?;
        self.touch::<T>(number, false);
        T::all_mut(&mut self.store).get_mut(&number).ok_or_else(|| T::KIND.missing(&[id]))
    }

    /// A referenced object, even if it is not visible yet.
    pub(super) fn existing<T: CloudObject>(&self, id: &str) -> Option<&T> {
        let object = self.registry.object(id).filter(|object| object.kind == T::KIND)?;
        self.all::<T>().get(&object.number)
    }

    /// As [`Cloud::existing`], for a change that a call for another object causes.
    pub(super) fn existing_mut<T: CloudObject>(&mut self, id: &str) -> Option<&mut T> {
        let object = self.registry.object(id).filter(|object| object.kind == T::KIND)?;
        self.touch::<T>(object.number, true);
        T::all_mut(&mut self.store).get_mut(&object.number)
    }
}
