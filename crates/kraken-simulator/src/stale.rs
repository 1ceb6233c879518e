//! Objects that Describe calls return with a former state, like a stale replica.

use std::collections::BTreeMap;
use std::fmt::Debug;

use tokio::time::Instant;

use super::kind::Kind;
use super::model::{
    Address, Instance, InternetGateway, KeyPair, Listener, ListenerRule, LoadBalancer, NatGateway,
    RouteTable, SecurityGroup, Subnet, TargetGroup, Volume, Vpc,
};
use super::registry::ObjectRef;
use super::store::{CloudObject, Store, of_kind};

/// The stale state, and its end.
#[derive(Debug, Default)]
pub(super) struct Stale(BTreeMap<ObjectRef, (Instant, Box<dyn FormerState>)>);

/// The former state of an object.
trait FormerState: Debug + Send {
    /// Swaps the states; doing it twice restores them.
    fn swap(&mut self, store: &mut Store, number: u64);
}

#[derive(Debug)]
struct Copy<T>(T);

impl<T: CloudObject> FormerState for Copy<T> {
    fn swap(&mut self, store: &mut Store, number: u64) {
        if let Some(there) = T::all_mut(store).get_mut(&number) {
            std::mem::swap(there, &mut self.0);
        }
    }
}

fn former<T: CloudObject>(object: &T) -> Box<dyn FormerState> {
    Box::new(Copy(object.clone()))
}

impl Stale {
    /// Keeps the current state of an object, until then.
    pub(super) fn keep(&mut self, store: &Store, object: ObjectRef, until: Instant) {
        let former = of_kind!(store, object, one => former(one),
            Instance Volume Vpc Subnet InternetGateway RouteTable SecurityGroup Address NatGateway KeyPair
            LoadBalancer TargetGroup Listener ListenerRule);
        if let Some(former) = former {
            self.0.insert(object, (until, former));
        }
    }

    /// Forgets the states whose end has come.
    pub(super) fn expire(&mut self, now: Instant) {
        self.0.retain(|_, (until, _)| *until > now);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Swaps all states with the current ones; doing it twice restores them.
    pub(super) fn swap(&mut self, store: &mut Store) {
        self.0.iter_mut().for_each(|(object, (_, former))| former.swap(store, object.number));
    }
}
