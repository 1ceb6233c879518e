//! The actual state of the clouds.

use std::collections::BTreeMap;

use kraken_simulator::{Kind, Simulator};

/// What every tag key of the suite begins with.
pub(super) const PREFIX: &str = "kraken-iac.eoinfennessy.com/";
/// The tag with the UID of the resource.
pub(crate) const UID: &str = "kraken-iac.eoinfennessy.com/uid";
/// The tag with the UID of the cluster.
pub(super) const CLUSTER: &str = "kraken-iac.eoinfennessy.com/cluster";

/// A remote object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteObject {
    /// What it is.
    pub kind: Kind,
    /// All its tags.
    pub tags: BTreeMap<String, String>,
    /// Whether it is there and not on its way out.
    pub alive: bool,
    /// Whether it exists, including objects that are being deleted.
    pub exists: bool,
}

impl RemoteObject {
    /// The UID in its tags, if they contain an owner: a UID and a cluster.
    pub(super) fn uid(&self) -> Option<&str> {
        self.cluster()?;
        self.tags.get(UID).map(String::as_str).filter(|uid| !uid.is_empty())
    }

    /// The cluster in its tags, if there is one.
    pub(super) fn cluster(&self) -> Option<&str> {
        self.tags.get(CLUSTER).map(String::as_str).filter(|cluster| !cluster.is_empty())
    }
}

/// All remote objects that are or were, by id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemoteObjects(pub BTreeMap<String, RemoteObject>);

impl RemoteObjects {
    /// Adds the actual objects of a simulator. `place` distinguishes its ids from those of others.
    pub fn add(&mut self, simulator: &Simulator, place: &str) {
        let all = &mut self.0;
        let qualified = |id: String| format!("{id}{place}");
        for kind in Kind::ALL {
            for object in simulator.objects(kind) {
                let remote =
                    RemoteObject { kind, tags: object.tags, alive: object.alive, exists: object.alive };
                all.insert(qualified(object.id), remote);
            }
        }
        for record in simulator.instances() {
            if let Some(remote) = all.get_mut(&qualified(record.instance.id)) {
                remote.exists = record.instance.state != "terminated";
            }
        }
    }

    /// What carries this UID, with its ids.
    pub(super) fn of_uid<'a>(&'a self, uid: &'a str) -> impl Iterator<Item = (&'a String, &'a RemoteObject)> {
        self.0.iter().filter(move |(_, remote)| remote.uid() == Some(uid))
    }
}

/// An id as the provider writes it, without its place.
pub(super) fn plain(id: &str) -> &str {
    id.split_once(PLACE).map_or(id, |(id, _)| id)
}

/// The place of an id, as [`super::CallingProcess::place`] has it.
pub(super) fn place_of(id: &str) -> &str {
    id.strip_prefix(plain(id)).unwrap_or_default()
}

/// What separates an id from its place, where that is not the usual one.
pub const PLACE: &str = " at ";

/// The kind of the simulator that a kind of the suite manages.
pub(crate) fn remote_kind(kind: &str) -> Option<Kind> {
    Some(match kind {
        "EC2Instance" => Kind::Instance,
        "VPC" => Kind::Vpc,
        "Subnet" => Kind::Subnet,
        "InternetGateway" => Kind::InternetGateway,
        "RouteTable" => Kind::RouteTable,
        "SecurityGroup" => Kind::SecurityGroup,
        "ElasticIP" => Kind::Address,
        "NATGateway" => Kind::NatGateway,
        "KeyPair" => Kind::KeyPair,
        "Volume" => Kind::Volume,
        "LoadBalancer" => Kind::LoadBalancer,
        "TargetGroup" => Kind::TargetGroup,
        "Listener" => Kind::Listener,
        "ListenerRule" => Kind::ListenerRule,
        _ => return None,
    })
}
