//! Observed instances as plain data, with AWS's field names in JSON. Independent of the SDK.

#![allow(clippy::struct_field_names)] // AWS's names

use std::{collections::BTreeMap, fmt};

use kraken_aws::{lookup::Tagged, tags, tags::Tags};
use serde::Serialize;

/// The instances of one resource, in the order of [`Observed::new`], including terminated ones while AWS returns them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Observed {
    pub(crate) instances: Vec<Instance>,
    /// User data by instance, of those for which it was read.
    pub(crate) user_data: BTreeMap<String, UserData>,
}

impl Observed {
    /// Orders the instances: by launch, then by AWS's index in that launch, then by id. Unlike the launch time, none of these
    /// changes when an instance is stopped and started, so `instances.0` stays the same one.
    pub(crate) fn new(mut instances: Vec<Instance>) -> Self {
        instances.sort_by(|a, b| a.rank().cmp(&b.rank()));
        Self { instances, user_data: BTreeMap::new() }
    }

    /// The instances that exist and are not terminating.
    pub(crate) fn live(&self) -> Vec<&Instance> {
        self.instances.iter().filter(|instance| instance.state.is_live()).collect()
    }

    /// The ids of running and stopped instances. The user data of others is not needed yet.
    pub(crate) fn ids_at_rest(&self) -> Vec<String> {
        let at_rest = self.instances.iter().filter(|instance| instance.state.is_at_rest());
        at_rest.map(|instance| instance.instance_id.clone()).collect()
    }

    /// The ids of the live instances.
    pub(crate) fn live_ids(&self) -> Vec<String> {
        self.live().iter().map(|instance| instance.instance_id.clone()).collect()
    }
}

/// One instance: the published fields of AWS's DescribeInstances, and some internal ones.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Instance {
    pub(crate) instance_id: String,
    pub(crate) instance_type: Option<String>,
    pub(crate) image_id: Option<String>,
    pub(crate) state: State,
    pub(crate) private_ip_address: Option<String>,
    pub(crate) public_ip_address: Option<String>,
    pub(crate) private_dns_name: Option<String>,
    pub(crate) public_dns_name: Option<String>,
    pub(crate) subnet_id: Option<String>,
    pub(crate) vpc_id: Option<String>,
    pub(crate) architecture: Option<String>,
    pub(crate) root_device_name: Option<String>,
    pub(crate) root_device_type: Option<String>,
    pub(crate) key_name: Option<String>,
    pub(crate) placement: Option<Placement>,
    /// The time of the launch in RFC 3339.
    pub(crate) launch_time: Option<String>,
    pub(crate) security_groups: Vec<SecurityGroup>,
    pub(crate) network_interfaces: Vec<NetworkInterface>,
    pub(crate) block_device_mappings: Vec<BlockDeviceMapping>,
    pub(crate) iam_instance_profile: Option<IamInstanceProfile>,
    pub(crate) monitoring: Option<Monitoring>,
    pub(crate) ebs_optimized: Option<bool>,
    /// All tags; only user tags are published.
    #[serde(serialize_with = "tags::written")]
    pub(crate) tags: Tags,

    #[serde(skip)]
    pub(crate) launch_index: i32,
    #[serde(skip)]
    pub(crate) metadata: Metadata,
}

impl Instance {
    fn rank(&self) -> (i64, i32, &str) {
        (tags::epoch(&self.tags), self.launch_index, &self.instance_id)
    }

    /// AWS cannot stop an instance without losing its root volume, unless that is an EBS volume.
    pub(crate) fn can_be_stopped(&self) -> bool {
        self.root_device_type.as_deref() != Some("instance-store")
    }
}

impl Tagged for Instance {
    fn id(&self) -> &str {
        &self.instance_id
    }

    fn tags(&self) -> &Tags {
        &self.tags
    }
}

/// The state of an instance. An unknown state counts as live and transitional: no replacement is created, and the instance is
/// not changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct State {
    pub(crate) code: i32,
    pub(crate) name: String,
}

impl State {
    pub(crate) fn is_live(&self) -> bool {
        !matches!(self.name.as_str(), "shutting-down" | "terminated")
    }

    pub(crate) fn is_terminated(&self) -> bool {
        self.name == "terminated"
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.name == "stopped"
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.name == "stopping"
    }

    pub(crate) fn is_running(&self) -> bool {
        self.name == "running"
    }

    pub(crate) fn is_at_rest(&self) -> bool {
        matches!(self.name.as_str(), "running" | "stopped")
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Placement {
    pub(crate) availability_zone: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct SecurityGroup {
    pub(crate) group_id: Option<String>,
    pub(crate) group_name: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct NetworkInterface {
    pub(crate) network_interface_id: Option<String>,
    pub(crate) vpc_id: Option<String>,
    pub(crate) subnet_id: Option<String>,
    pub(crate) mac_address: Option<String>,
    pub(crate) private_ip_address: Option<String>,
    pub(crate) private_dns_name: Option<String>,
    pub(crate) association: Option<Association>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Association {
    pub(crate) public_ip: Option<String>,
    pub(crate) public_dns_name: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct BlockDeviceMapping {
    pub(crate) device_name: Option<String>,
    pub(crate) ebs: Option<Ebs>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Ebs {
    pub(crate) volume_id: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct IamInstanceProfile {
    pub(crate) arn: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Monitoring {
    pub(crate) state: Option<String>,
}

/// The metadata service of an instance; absent values are unknown.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Metadata {
    pub(crate) tokens: Option<String>,
    pub(crate) hop_limit: Option<i32>,
    pub(crate) endpoint: Option<String>,
}

/// User data, decoded. It may contain secrets, so it does not implement `Serialize`, and `Debug` does not show it.
#[derive(Clone, Default, PartialEq)]
pub(crate) struct UserData(pub(crate) Vec<u8>);

impl fmt::Debug for UserData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UserData(***)")
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use kraken_aws::tags::EPOCH;

    /// A running instance of the first launch.
    pub(crate) fn instance(id: &str) -> Instance {
        Instance {
            instance_id: id.to_owned(),
            instance_type: Some("t2.nano".into()),
            image_id: Some("ami-1".into()),
            state: state("running"),
            tags: Tags::from([(EPOCH.to_owned(), "1".to_owned())]),
            metadata: Metadata { tokens: Some("required".into()), ..Metadata::default() },
            ..Instance::default()
        }
    }

    pub(crate) fn state(name: &str) -> State {
        State { code: 0, name: name.to_owned() }
    }

    pub(crate) fn in_state(id: &str, name: &str) -> Instance {
        Instance { state: state(name), ..instance(id) }
    }

    fn launched(id: &str, epoch: &str, launch_index: i32) -> Instance {
        let tags = Tags::from([(EPOCH.to_owned(), epoch.to_owned())]);
        Instance { tags, launch_index, ..instance(id) }
    }

    #[test]
    fn instances_are_sorted_by_launch() {
        let mut all = vec![
            launched("i-4", "1", 0),
            launched("i-3", "1", 1),
            launched("i-1", "10", 0),
            launched("i-2", "10", 0),
        ];
        let wanted = Observed::new(all.clone());
        assert_eq!(wanted.live_ids(), ["i-4", "i-3", "i-1", "i-2"]);
        all.reverse();
        assert_eq!(Observed::new(all), wanted);
    }

    #[test]
    fn a_terminating_instance_is_not_live() {
        let states =
            ["pending", "running", "stopping", "stopped", "shutting-down", "terminated", "hibernating"];
        let live: Vec<_> = states.into_iter().filter(|name| state(name).is_live()).collect();
        assert_eq!(live, ["pending", "running", "stopping", "stopped", "hibernating"]);
        let rest: Vec<_> = states.into_iter().filter(|name| state(name).is_at_rest()).collect();
        assert_eq!(rest, ["running", "stopped"]);
    }

    #[test]
    fn user_data_is_not_shown() {
        assert_eq!(format!("{:?}", UserData(b"hunter2".to_vec())), "UserData(***)");
    }
}
