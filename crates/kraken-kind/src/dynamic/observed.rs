//! What was observed of the remote objects of one resource: what the loop must know of each, and a value of which only its kind knows the
//! type.

use super::{Opaque, Payload, opaque::IsObserved};
use crate::Fate;

/// How far an object is from its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Existence {
    /// It exists, and is not being deleted.
    #[default]
    Live,
    /// It is being deleted.
    Ending,
    /// It is deleted, and the provider still returns it.
    Deleted,
}

/// One remote object.
#[derive(Clone, Debug)]
pub struct ObservedObject {
    id: String,
    epoch: i64,
    existence: Existence,
    is_untagged: bool,
    value: Opaque<IsObserved>,
}

impl ObservedObject {
    /// A live object with this id and the value that its kind knows. Its tags name no launch.
    pub fn new(id: impl Into<String>, value: impl Payload) -> Self {
        Self {
            id: id.into(),
            epoch: 0,
            existence: Existence::Live,
            is_untagged: false,
            value: Opaque::new(value),
        }
    }

    /// The same, created by the launch of this number, according to its tags or to a journal.
    #[must_use]
    pub fn of_launch(self, epoch: i64) -> Self {
        Self { epoch, ..self }
    }

    /// The same, as far from its end.
    #[must_use]
    pub fn existing(self, existence: Existence) -> Self {
        Self { existence, ..self }
    }

    /// The same, found by its id although its tags name no owner: they are restored if it is live.
    #[must_use]
    pub fn untagged(self, is_untagged: bool) -> Self {
        Self { is_untagged, ..self }
    }

    /// Its id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Its value.
    ///
    /// # Panics
    /// If the value is of another type. Every kind has its own loop, which passes only values that the kind returned.
    pub fn get<T: Payload>(&self) -> &T {
        self.value.get()
    }

    /// Whether it exists and is not being deleted.
    pub fn is_live(&self) -> bool {
        self.existence == Existence::Live
    }
}

/// The observed remote objects of one resource, the main one first: [`crate::Calls::observe`].
#[derive(Clone, Debug, Default)]
pub struct Observed {
    objects: Vec<ObservedObject>,
    /// What is known of the last creation. Only of a kind with a [journal](crate::Features::journaled).
    pub fate: Fate,
}

impl FromIterator<ObservedObject> for Observed {
    fn from_iter<I: IntoIterator<Item = ObservedObject>>(objects: I) -> Self {
        Self { objects: objects.into_iter().collect(), fate: Fate::default() }
    }
}

impl From<ObservedObject> for Observed {
    fn from(object: ObservedObject) -> Self {
        [object].into_iter().collect()
    }
}

impl Observed {
    /// All objects, including deleted ones that the provider still returns.
    pub fn objects(&self) -> &[ObservedObject] {
        &self.objects
    }

    /// The values of all objects.
    pub fn all<T: Payload>(&self) -> Vec<&T> {
        self.objects.iter().map(ObservedObject::get).collect()
    }

    /// The values of the objects that exist and are not being deleted.
    pub fn live<T: Payload>(&self) -> Vec<&T> {
        self.live_objects().map(ObservedObject::get).collect()
    }

    /// The same of a kind with a journal, with what that knows of the last creation.
    #[must_use]
    pub fn with_fate(self, fate: Fate) -> Self {
        Self { fate, ..self }
    }

    /// The same with this value of the main object, if there is one.
    #[must_use]
    pub fn with_main(&self, value: impl Payload) -> Self {
        let mut this = self.clone();
        if let Some(main) = this.objects.first_mut() {
            main.value = Opaque::new(value);
        }
        this
    }

    /// The same with this value of each object.
    #[must_use]
    pub fn map<T: Payload>(&self, value: impl Fn(&T) -> T) -> Self {
        let with_value = |object: &ObservedObject| ObservedObject {
            value: Opaque::new(value(object.get())),
            ..object.clone()
        };
        Self { objects: self.objects.iter().map(with_value).collect(), fate: self.fate.clone() }
    }

    /// The ids of the objects that exist and are not being deleted.
    pub fn ids(&self) -> Vec<String> {
        self.live_objects().map(|object| object.id.clone()).collect()
    }

    /// The ids of all objects, including deleted ones that the provider still returns.
    pub fn shown(&self) -> Vec<String> {
        self.objects.iter().map(|object| object.id.clone()).collect()
    }

    /// The ids of the objects that the provider returns as deleted.
    pub fn deleted(&self) -> Vec<String> {
        let deleted = self.objects.iter().filter(|object| object.existence == Existence::Deleted);
        deleted.map(|object| object.id.clone()).collect()
    }

    /// The ids of live objects whose tags name no owner.
    pub fn untagged(&self) -> Vec<String> {
        self.live_objects().filter(|object| object.is_untagged).map(|object| object.id.clone()).collect()
    }

    /// Whether no object remains that must be deleted or is still being deleted.
    pub fn is_gone(&self) -> bool {
        self.objects.iter().all(|object| object.existence == Existence::Deleted)
    }

    /// The highest number of a launch among all objects; 0 if there is none, or if Kraken cannot have set it: anybody can edit a tag.
    pub fn epoch(&self) -> i64 {
        let epoch = self.objects.iter().map(|object| object.epoch).max();
        epoch.filter(|epoch| is_plausible(*epoch)).unwrap_or_default()
    }

    /// The objects with one of these ids, and the others.
    pub fn select(&self, ids: &[String]) -> (Self, Self) {
        self.partition(|object| ids.contains(&object.id))
    }

    /// The objects with these ids, in the order of the ids.
    #[must_use]
    pub fn in_order(&self, ids: &[String]) -> Self {
        let mut selected = self.select(ids).0;
        selected.objects.sort_by_key(|object| ids.iter().position(|id| *id == object.id));
        selected
    }

    /// The objects that were created before this launch, and those that were created by it or later.
    pub fn split(&self, epoch: i64) -> (Self, Self) {
        self.partition(|object| object.epoch < epoch)
    }

    fn live_objects(&self) -> impl Iterator<Item = &ObservedObject> {
        self.objects.iter().filter(|object| object.is_live())
    }

    fn partition(&self, holds: impl Fn(&ObservedObject) -> bool) -> (Self, Self) {
        let (some, others) = self.objects.iter().cloned().partition(holds);
        let of = |objects| Self { objects, fate: self.fate.clone() };
        (of(some), of(others))
    }
}

/// Whether a resource can have launched as often. Tags can have other numbers.
fn is_plausible(epoch: i64) -> bool {
    const MOST: i64 = 1 << 40;
    (0..=MOST).contains(&epoch)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observed() -> Observed {
        let object = |id: &str, epoch| ObservedObject::new(id, id.to_owned()).of_launch(epoch);
        let ending = object("c", 2).existing(Existence::Ending).untagged(true);
        [object("a", 1).untagged(true), object("b", 2), ending, object("d", 3).existing(Existence::Deleted)]
            .into_iter()
            .collect()
    }

    #[test]
    fn objects_are_told_apart_by_what_is_known_of_each() {
        let observed = observed();
        assert_eq!((observed.ids(), observed.live::<String>().len()), (vec!["a".into(), "b".into()], 2));
        assert_eq!((observed.shown().len(), observed.deleted()), (4, vec!["d".into()]));
        assert_eq!(observed.untagged(), ["a"], "tags of an object that is being deleted are not restored");
        assert!(!observed.is_gone() && !observed.select(&["c".into()]).0.is_gone());
        assert!(observed.select(&["d".into()]).0.is_gone() && Observed::default().is_gone());
    }

    #[test]
    fn objects_are_split_by_launch_and_selected_in_an_order() {
        let observed = observed();
        let (before, since) = observed.split(2);
        assert_eq!(
            (before.shown(), since.shown()),
            (vec!["a".into()], vec!["b".into(), "c".into(), "d".into()])
        );
        assert_eq!((before.epoch(), since.epoch()), (1, 3));
        assert_eq!(observed.in_order(&["b".into(), "a".into()]).ids(), ["b", "a"]);
        assert_eq!(observed.map(|id: &String| format!("{id}{id}")).all::<String>(), ["aa", "bb", "cc", "dd"]);
    }

    #[test]
    fn number_that_a_client_set_is_not_a_launch() {
        let edited = Observed::from(ObservedObject::new("a", ()).of_launch(i64::MAX));
        assert_eq!(edited.epoch(), 0);
    }
}
