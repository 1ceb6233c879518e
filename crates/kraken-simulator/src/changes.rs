//! The changes of a call: each accessed object is compared with its previous state.

use super::cloud::Cloud;
use super::kind::Kind;
use super::registry::ObjectRef;
use super::store::CloudObject;
use super::tags::Tags;
use super::touched::Before;

/// One changed object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Its kind.
    pub kind: Kind,
    /// Its id.
    pub id: String,
    /// The type of the change.
    pub what: ChangeType,
    /// Its tags before the call; none if the call created it.
    pub tags_before: Tags,
    /// Its tags after the call.
    pub tags: Tags,
}

/// The type of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeType {
    /// It was created.
    Created,
    /// A property or a tag of it changed.
    Changed,
    /// It was deleted, or its deletion began.
    Deleted,
    /// Another object began or ceased to use it: an address of a subnet was allocated, a volume was attached to an
    /// instance.
    Used,
}

impl Cloud {
    /// Keeps a copy of an object before a call changes it. `used`: the call changes another object.
    pub(super) fn touch<T: CloudObject>(&mut self, number: u64, used: bool) {
        let object = T::object(number);
        if let Some(before) = self.touched.0.get_mut(&object) {
            before.used &= used;
            return;
        }
        let text = self.all::<T>().get(&number).map(|object| format!("{object:?}"));
        let (was_live, tags) = (text.is_some() && self.is_live(object), self.registry.latest_tags(object));
        self.touched.0.insert(object, Before { text, tags, was_live, used });
    }

    /// As [`Cloud::touch`], for a kind that is known at run time only.
    pub(super) fn touch_any(&mut self, object: ObjectRef) {
        if let Some(before) = self.touched.0.get_mut(&object) {
            before.used = false;
            return;
        }
        let (was_live, tags) = (self.is_live(object), self.registry.latest_tags(object));
        let text = self.store.text(object);
        self.touched.0.insert(object, Before { text, tags, was_live, used: false });
    }

    /// The changes since the call began.
    pub(super) fn changes(&mut self) -> Vec<Change> {
        let touched = std::mem::take(&mut self.touched).0;
        let changes: Vec<Change> =
            touched.into_iter().filter_map(|(object, before)| self.change(object, before)).collect();
        self.revision += u64::from(!changes.is_empty());
        changes
    }

    fn change(&self, object: ObjectRef, before: Before) -> Option<Change> {
        let (tags, is_live) = (self.registry.latest_tags(object), self.is_live(object));
        let what = if before.text.is_none() {
            ChangeType::Created
        } else if before.was_live && !is_live {
            ChangeType::Deleted
        } else if before.tags == tags && before.text == self.store.text(object) {
            return None;
        } else if before.used {
            ChangeType::Used
        } else {
            ChangeType::Changed
        };
        let id = self.registry.entry(object)?.id.clone();
        Some(Change { kind: object.kind, id, what, tags_before: before.tags, tags })
    }
}
