//! Observed instances as plain data, with AWS's field names in JSON. Independent of the SDK.

#![allow(clippy::struct_field_names)] // AWS's names

use std::fmt;

use kraken_aws::{
    resource::{Phase, RemoteObject},
    tagged_by, tags,
    tags::Tags,
};
use serde::Serialize;

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
    /// Absent if it was not read.
    #[serde(skip)]
    pub(crate) user_data: Option<UserData>,
}

tagged_by!(Instance, instance_id);

impl RemoteObject for Instance {
    /// An unknown state counts as transitional: no replacement is created, and the instance is not changed.
    fn phase(&self) -> Phase {
        match &*self.state.name {
            "running" | "stopped" => Phase::Up,
            "shutting-down" => Phase::Leaving,
            "terminated" => Phase::Gone,
            other => Phase::Settling(other.to_owned()),
        }
    }

    /// Unlike the launch time, it does not change when an instance is stopped and started, so `instances.0` stays the same one.
    fn launch_index(&self) -> i32 {
        self.launch_index
    }
}

impl Instance {
    /// Whether AWS's name of its state is this one.
    pub(crate) fn is(&self, state: &str) -> bool {
        self.state.name == state
    }

    /// AWS cannot stop an instance without losing its root volume, unless that is an EBS volume.
    pub(crate) fn can_be_stopped(&self) -> bool {
        self.root_device_type.as_deref() != Some("instance-store")
    }

    pub(crate) fn group_ids(&self) -> Vec<&str> {
        self.security_groups.iter().filter_map(|group| group.group_id.as_deref()).collect()
    }

    /// The ids of its volumes.
    pub(crate) fn volumes(&self) -> impl Iterator<Item = String> {
        self.block_device_mappings.iter().filter_map(|mapping| mapping.ebs.as_ref()?.volume_id.clone())
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct State {
    pub(crate) code: i32,
    pub(crate) name: String,
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

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct BlockDeviceMapping {
    pub(crate) device_name: Option<String>,
    pub(crate) ebs: Option<Ebs>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
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
    pub(crate) http_tokens: Option<String>,
    pub(crate) http_put_response_hop_limit: Option<i32>,
    pub(crate) http_endpoint: Option<String>,
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
    use crate::calls::Instances;
    use kraken_aws::{Managed, tags::EPOCH};
    use kraken_spoke::External;

    /// A running instance of the first launch.
    pub(crate) fn instance(id: &str) -> Instance {
        Instance {
            instance_id: id.to_owned(),
            instance_type: Some("t2.nano".into()),
            image_id: Some("ami-1".into()),
            state: state("running"),
            tags: Tags::from([(EPOCH.to_owned(), "1".to_owned())]),
            metadata: Metadata { http_tokens: Some("required".into()), ..Metadata::default() },
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
        assert_eq!(Managed::<Instances>::ids(&all), ["i-4", "i-3", "i-1", "i-2"]);
        all.reverse();
        assert_eq!(Managed::<Instances>::ids(&all), ["i-4", "i-3", "i-1", "i-2"]);
    }

    #[test]
    fn a_terminating_instance_is_not_live() {
        let states =
            ["pending", "running", "stopping", "stopped", "shutting-down", "terminated", "hibernating"];
        let phase = |name: &&str| in_state("i-1", name).phase();
        let is_live = |name: &&str| !matches!(phase(name), Phase::Leaving | Phase::Gone);
        let live: Vec<_> = states.into_iter().filter(is_live).collect();
        assert_eq!(live, ["pending", "running", "stopping", "stopped", "hibernating"]);
        let rest: Vec<_> = states.into_iter().filter(|name| phase(name) == Phase::Up).collect();
        assert_eq!(rest, ["running", "stopped"]);
    }

    #[test]
    fn user_data_is_not_shown() {
        assert_eq!(format!("{:?}", UserData(b"hunter2".to_vec())), "UserData(***)");
    }
}
