//! The actual state of the clouds.

use std::collections::BTreeMap;

use kraken_simulator::{Kind, Simulator};

use crate::engine::Place;

/// What every tag key of the suite begins with.
pub(super) const PREFIX: &str = "kraken-iac.eoinfennessy.com/";
/// The tag with the UID of the resource.
pub(crate) const UID: &str = "kraken-iac.eoinfennessy.com/uid";
/// The tag with the UID of the cluster.
pub(super) const CLUSTER: &str = "kraken-iac.eoinfennessy.com/cluster";
/// The start of its value on an object that a resource of the cluster created and released.
pub(super) const RELEASED: &str = "released-by/";

/// A remote object.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts of one object")]
pub struct RemoteObject {
    /// What it is.
    pub kind: Kind,
    /// The name of a key pair that exists.
    pub name: Option<String>,
    /// All its tags.
    pub tags: BTreeMap<String, String>,
    /// Whether it is there and not on its way out.
    pub alive: bool,
    /// Whether it exists, including objects that are being deleted.
    pub exists: bool,
    /// Whether it was created with another object, like the default security group of a VPC.
    pub is_implicit: bool,
    /// Whether it is an instance that is stopped or being stopped.
    pub is_stopped: bool,
}

impl RemoteObject {
    /// The UID in its tags, if they contain an owner: a UID and a cluster.
    pub(super) fn uid(&self) -> Option<&str> {
        self.cluster()?;
        self.tags.get(UID).map(String::as_str).filter(|uid| !uid.is_empty())
    }

    /// The cluster in its tags, if there is one.
    pub(super) fn cluster(&self) -> Option<&str> {
        let cluster = self.tags.get(CLUSTER).map(String::as_str);
        cluster.filter(|cluster| !cluster.is_empty() && !cluster.starts_with(RELEASED))
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
        // The kind of the object for which a call was made. It is listed first: instances before volumes, VPCs before route tables
        // and security groups.
        let mut requested = BTreeMap::new();
        for kind in Kind::ALL {
            for object in simulator.objects(kind) {
                let remote = RemoteObject {
                    kind,
                    name: object.name,
                    tags: object.tags,
                    alive: object.alive,
                    exists: object.alive,
                    is_implicit: *requested.entry(object.made_by).or_insert(kind) != kind,
                    is_stopped: false,
                };
                all.insert(qualified(object.id), remote);
            }
        }
        for record in simulator.instances() {
            if let Some(remote) = all.get_mut(&qualified(record.instance.id)) {
                remote.exists = record.instance.state != "terminated";
                remote.is_stopped = matches!(record.instance.state.as_str(), "stopping" | "stopped");
            }
        }
    }

    /// How resources record an object: by its id without its place, or by its name if it is a key pair.
    pub(super) fn recorded_id<'a>(&'a self, id: &'a str) -> &'a str {
        self.0.get(id).and_then(|remote| remote.name.as_deref()).unwrap_or_else(|| plain(id))
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

/// How conditions name a remote object: by its id, or, if that is a load balancer's ARN, by its end, which is in the
/// description of its network interfaces, too.
pub(super) fn title(id: &str) -> &str {
    plain(id).split_once(":loadbalancer/").map_or(plain(id), |(_, end)| end)
}

/// What ids end with that are not at the usual place.
pub(super) fn suffix(place: &Place) -> String {
    if *place == Place::default() {
        String::new()
    } else {
        format!("{PLACE}{}/{}", place.account, place.region)
    }
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

#[cfg(test)]
mod tests {
    use kraken_simulator::SimulatorOptions;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn only_what_was_created_with_another_object_is_implicit() {
        let cloud = Simulator::in_process(SimulatorOptions::default());
        let ids = cloud.out_of_band("CreateVpc", &[("CidrBlock", "10.0.0.0/16")]).unwrap();
        let vpc = ("VpcId", ids[0].as_str());
        cloud.out_of_band("CreateRouteTable", &[vpc]).unwrap();
        let described = ("GroupDescription", "by hand");
        cloud.out_of_band("CreateSecurityGroup", &[vpc, ("GroupName", "web"), described]).unwrap();
        let two = [("MinCount", "2"), ("MaxCount", "2")];
        let launched = [("ImageId", "ami-12c6146b"), ("InstanceType", "t3.micro")];
        cloud.out_of_band("RunInstances", &[launched, two].concat()).unwrap();
        cloud.out_of_band("CreateVolume", &[("AvailabilityZone", "us-east-1a"), ("Size", "8")]).unwrap();
        let mut objects = RemoteObjects::default();
        objects.add(&cloud, "");
        let count = |kind, is_implicit| {
            let is_counted =
                |remote: &&RemoteObject| remote.kind == kind && remote.is_implicit == is_implicit;
            objects.0.values().filter(is_counted).count()
        };
        for (kind, explicit, implicit) in [
            (Kind::Vpc, 1, 0),
            (Kind::RouteTable, 1, 1),
            (Kind::SecurityGroup, 1, 1),
            (Kind::Instance, 2, 0),
            (Kind::Volume, 1, 2),
        ] {
            assert_eq!((count(kind, false), count(kind, true)), (explicit, implicit), "{kind:?}");
        }
    }
}
