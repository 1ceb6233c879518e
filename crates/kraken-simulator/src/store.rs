//! All objects of an account, by kind and number.

use std::collections::BTreeMap;
use std::fmt::Debug;

use super::kind::Kind;
use super::model::{
    Address, Instance, InternetGateway, KeyPair, Listener, ListenerRule, LoadBalancer, NatGateway,
    RouteTable, SecurityGroup, Subnet, TargetGroup, Volume, Vpc,
};
use super::registry::ObjectRef;

/// All objects.
#[derive(Debug, Default)]
pub(super) struct Store {
    /// All current and former instances.
    pub(super) instances: BTreeMap<u64, Instance>,
    pub(super) volumes: BTreeMap<u64, Volume>,
    pub(super) vpcs: BTreeMap<u64, Vpc>,
    pub(super) subnets: BTreeMap<u64, Subnet>,
    pub(super) gateways: BTreeMap<u64, InternetGateway>,
    pub(super) route_tables: BTreeMap<u64, RouteTable>,
    pub(super) security_groups: BTreeMap<u64, SecurityGroup>,
    pub(super) addresses: BTreeMap<u64, Address>,
    pub(super) nats: BTreeMap<u64, NatGateway>,
    pub(super) key_pairs: BTreeMap<u64, KeyPair>,
    /// Including deleted ones whose interfaces still exist.
    pub(super) load_balancers: BTreeMap<u64, LoadBalancer>,
    pub(super) target_groups: BTreeMap<u64, TargetGroup>,
    pub(super) listeners: BTreeMap<u64, Listener>,
    pub(super) listener_rules: BTreeMap<u64, ListenerRule>,
}

/// A kind of object in the cloud.
pub(super) trait CloudObject: Clone + Debug + Send + Sized + 'static {
    /// The kind.
    const KIND: Kind;

    /// All objects of the kind, by number.
    fn all(store: &Store) -> &BTreeMap<u64, Self>;

    /// As [`CloudObject::all`].
    fn all_mut(store: &mut Store) -> &mut BTreeMap<u64, Self>;

    fn object(number: u64) -> ObjectRef {
        ObjectRef { kind: Self::KIND, number }
    }
}

/// Defines the storage of a kind.
macro_rules! stored {
    ($($kind:ident in $field:ident;)*) => {$(
        impl CloudObject for $kind {
            const KIND: Kind = Kind::$kind;

            fn all(store: &Store) -> &BTreeMap<u64, Self> {
                &store.$field
            }

            fn all_mut(store: &mut Store) -> &mut BTreeMap<u64, Self> {
                &mut store.$field
            }
        }
    )*};
}

stored! {
    Instance in instances;
    Volume in volumes;
    Vpc in vpcs;
    Subnet in subnets;
    InternetGateway in gateways;
    RouteTable in route_tables;
    SecurityGroup in security_groups;
    Address in addresses;
    NatGateway in nats;
    KeyPair in key_pairs;
    LoadBalancer in load_balancers;
    TargetGroup in target_groups;
    Listener in listeners;
    ListenerRule in listener_rules;
}

/// Applies a function to the object with a number, for any kind.
macro_rules! of_kind {
    ($store:expr, $object:expr, $one:ident => $done:expr, $($kind:ident)*) => {
        match $object.kind {
            $(Kind::$kind => $kind::all($store).get(&$object.number).map(|$one| $done),)*
        }
    };
}

pub(super) use of_kind;

impl Store {
    /// All fields of an object except its tags, for comparison.
    pub(super) fn text(&self, object: ObjectRef) -> Option<String> {
        of_kind!(self, object, one => format!("{one:?}"),
            Instance Volume Vpc Subnet InternetGateway RouteTable SecurityGroup Address NatGateway KeyPair
            LoadBalancer TargetGroup Listener ListenerRule)
    }

    /// The name of a key pair.
    pub(super) fn key_name(&self, object: ObjectRef) -> Option<&str> {
        let number = (object.kind == Kind::KeyPair).then_some(object.number)?;
        self.key_pairs.get(&number).map(|pair| pair.name.as_str())
    }
}
