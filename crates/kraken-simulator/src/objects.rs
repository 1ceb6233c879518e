//! The common operations of all kinds of objects: create, find and remove.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use super::cloud::Cloud;
use super::elb::{Listener, ListenerRule, LoadBalancer, TargetGroup};
use super::instance::Instance;
use super::kind::{Kind, id};
use super::network::{
    Address, InternetGateway, KeyPair, NatGateway, RouteTable, SecurityGroup, Subnet, Volume, Vpc,
};
use super::refusal::Refusal;
use super::registry::{Entry, ObjectRef, Visibility};
use super::tags::{History, Tags};

/// A kind of object in the cloud.
pub(super) trait CloudObject: Clone + Debug + Send + Sized + 'static {
    /// The kind.
    const KIND: Kind;

    /// All objects of the kind, by number.
    fn all(cloud: &Cloud) -> &BTreeMap<u64, Self>;

    /// As [`CloudObject::all`].
    fn all_mut(cloud: &mut Cloud) -> &mut BTreeMap<u64, Self>;

    fn object(number: u64) -> ObjectRef {
        ObjectRef { kind: Self::KIND, number }
    }
}

/// Defines the storage of a kind.
macro_rules! cloud_objects {
    ($($type:ident: $kind:ident in $part:ident.$field:ident;)*) => {$(
        impl CloudObject for $type {
            const KIND: Kind = Kind::$kind;

            fn all(cloud: &Cloud) -> &BTreeMap<u64, Self> {
                &cloud.$part.$field
            }

            fn all_mut(cloud: &mut Cloud) -> &mut BTreeMap<u64, Self> {
                &mut cloud.$part.$field
            }
        }
    )*};
}
pub(super) use cloud_objects;

/// Applies a function to the object with a number, for any kind.
macro_rules! of_kind {
    ($cloud:expr, $object:expr, $one:ident => $done:expr, $($kind:ident)*) => {
        match $object.kind {
            $(Kind::$kind => $kind::all($cloud).get(&$object.number).map(|$one| $done),)*
        }
    };
}

pub(super) use of_kind;

impl Cloud {
    /// All fields of an object except its tags, for comparison.
    pub(super) fn text(&self, object: ObjectRef) -> Option<String> {
        of_kind!(self, object, one => format!("{one:?}"),
            Instance Volume Vpc Subnet InternetGateway RouteTable SecurityGroup Address NatGateway KeyPair
            LoadBalancer TargetGroup Listener ListenerRule)
    }

    /// The name of a key pair.
    pub(super) fn key_name(&self, object: ObjectRef) -> Option<&str> {
        let number = (object.kind == Kind::KeyPair).then_some(object.number)?;
        KeyPair::all(self).get(&number).map(|pair| pair.name.as_str())
    }

    /// Whether an object is live: it exists and is not being deleted.
    pub(super) fn is_live(&self, object: ObjectRef) -> bool {
        let state = |number| self.instances.get(&number).map(|instance| instance.state(self.now));
        self.registry.is_present(object)
            && match object.kind {
                Kind::Instance => state(object.number).is_some_and(|state| !state.is_over()),
                Kind::NatGateway => {
                    NatGateway::all(self).get(&object.number).is_some_and(|gateway| gateway.is_live(self))
                }
                _ => true,
            }
    }

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
        T::all_mut(self).insert(number, made);
        number
    }

    /// Removes an object.
    pub(super) fn remove_object<T: CloudObject>(&mut self, number: u64) -> Option<T> {
        self.touch::<T>(number, false);
        self.registry.remove(T::object(number));
        T::all_mut(self).remove(&number)
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
        T::all(self).get(&number).ok_or_else(|| T::KIND.missing(&[id]))
    }

    /// As [`Cloud::one`], for a change.
    pub(super) fn one_mut<T: CloudObject>(&mut self, id: &str) -> Result<&mut T, Refusal> {
        let number = self.number::<T>(id)?;
        self.touch::<T>(number, false);
        T::all_mut(self).get_mut(&number).ok_or_else(|| T::KIND.missing(&[id]))
    }

    /// A referenced object, even if it is not visible yet.
    pub(super) fn existing<T: CloudObject>(&self, id: &str) -> Option<&T> {
        let object = self.registry.object(id).filter(|object| object.kind == T::KIND)?;
        T::all(self).get(&object.number)
    }

    /// As [`Cloud::existing`], for a change that a call for another object causes.
    pub(super) fn existing_mut<T: CloudObject>(&mut self, id: &str) -> Option<&mut T> {
        let object = self.registry.object(id).filter(|object| object.kind == T::KIND)?;
        self.touch::<T>(object.number, true);
        T::all_mut(self).get_mut(&object.number)
    }
}
