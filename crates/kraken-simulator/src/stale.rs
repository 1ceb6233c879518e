//! Objects that Describe calls return with a former state, like a stale replica.

use std::collections::BTreeMap;
use std::fmt::Debug;

use tokio::time::Instant;

use super::cloud::Cloud;
use super::elb::{Listener, ListenerRule, LoadBalancer, TargetGroup};
use super::instance::Instance;
use super::kind::Kind;
use super::network::{
    Address, InternetGateway, KeyPair, NatGateway, RouteTable, SecurityGroup, Subnet, Volume, Vpc,
};
use super::objects::{CloudObject, of_kind};
use super::registry::ObjectRef;

/// The stale state, and its end.
#[derive(Debug, Default)]
pub(super) struct Stale(BTreeMap<ObjectRef, (Instant, Box<dyn FormerState>)>);

/// The former state of an object.
trait FormerState: Debug + Send {
    /// Swaps the states; doing it twice restores them.
    fn swap(&mut self, cloud: &mut Cloud, number: u64);
}

#[derive(Debug)]
struct Copy<T>(T);

impl<T: CloudObject> FormerState for Copy<T> {
    fn swap(&mut self, cloud: &mut Cloud, number: u64) {
        if let Some(there) = T::all_mut(cloud).get_mut(&number) {
            std::mem::swap(there, &mut self.0);
        }
    }
}

fn former<T: CloudObject>(object: &T) -> Box<dyn FormerState> {
    Box::new(Copy(object.clone()))
}

impl Cloud {
    /// Freezes the current state of an object in Describe calls, until then.
    pub(super) fn keep_described(&mut self, object: ObjectRef, until: Instant) {
        let former = of_kind!(self, object, one => former(one),
            Instance Volume Vpc Subnet InternetGateway RouteTable SecurityGroup Address NatGateway KeyPair
            LoadBalancer TargetGroup Listener ListenerRule);
        if let Some(former) = former {
            self.stale.0.insert(object, (until, former));
        }
    }

    /// Executes a call; a read returns the frozen states.
    pub(super) fn seen<T>(&mut self, reads: bool, call: impl FnOnce(&mut Self) -> T) -> T {
        let now = self.now;
        self.stale.0.retain(|_, (until, _)| *until > now);
        if !reads || self.stale.0.is_empty() {
            return call(self);
        }
        let mut stale = std::mem::take(&mut self.stale);
        stale.0.iter_mut().for_each(|(object, (_, former))| former.swap(self, object.number));
        let answer = call(self);
        stale.0.iter_mut().for_each(|(object, (_, former))| former.swap(self, object.number));
        self.stale = stale;
        answer
    }
}
