//! Observed instances as plain data, with AWS's field names in JSON. Lists are ordered, because AWS does not guarantee an
//! order.

#![allow(clippy::struct_field_names)] // AWS's names

use std::fmt;

use kraken_aws::{
    aws_observed,
    ec2::{primitives::DateTimeFormat, types},
    items::sorted,
    resource::Phase,
};

/// One instance: the published fields of AWS's DescribeInstances, and some internal ones.
#[aws_observed(from = types::Instance, id = instance_id, phase = Self::phase, launch_index = launch_index, non_empty)]
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
    #[from(sdk.launch_time.and_then(|time| time.fmt(DateTimeFormat::DateTime).ok()))]
    pub(crate) launch_time: Option<String>,
    #[from(security_groups(&sdk))]
    pub(crate) security_groups: Vec<SecurityGroup>,
    #[from(interfaces(&sdk).into_iter().map(NetworkInterface::from).collect())]
    pub(crate) network_interfaces: Vec<NetworkInterface>,
    pub(crate) block_device_mappings: Vec<BlockDeviceMapping>,
    pub(crate) iam_instance_profile: Option<IamInstanceProfile>,
    pub(crate) monitoring: Option<Monitoring>,
    pub(crate) ebs_optimized: Option<bool>,
    /// Unlike the launch time, it does not change when an instance is stopped and started, so `instances.0` stays the same one.
    #[serde(skip)]
    #[from(sdk.ami_launch_index.unwrap_or_default())]
    pub(crate) launch_index: i32,
    #[serde(skip)]
    #[from(sdk.metadata_options.map(Metadata::from).unwrap_or_default())]
    pub(crate) metadata: Metadata,
    /// Absent if it was not read.
    #[serde(skip)]
    pub(crate) user_data: Option<UserData>,
}

impl Instance {
    /// An unknown state counts as transitional: no replacement is created, and the instance is not changed.
    fn phase(&self) -> Phase {
        match &*self.state.name {
            "running" | "stopped" => Phase::Available,
            "shutting-down" => Phase::Deleting,
            "terminated" => Phase::Deleted,
            other => Phase::Pending(other.to_owned()),
        }
    }

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

#[aws_observed(from = types::InstanceState)]
pub(crate) struct State {
    /// According to the documentation, the upper byte is reserved and must be ignored.
    #[from(sdk.code.unwrap_or_default() & 0xff)]
    pub(crate) code: i32,
    pub(crate) name: String,
}

#[aws_observed(from = types::Placement, non_empty)]
pub(crate) struct Placement {
    pub(crate) availability_zone: Option<String>,
}

#[aws_observed(from = types::GroupIdentifier, non_empty)]
pub(crate) struct SecurityGroup {
    pub(crate) group_id: Option<String>,
    pub(crate) group_name: Option<String>,
}

#[aws_observed(from = types::InstanceNetworkInterface, non_empty)]
pub(crate) struct NetworkInterface {
    pub(crate) network_interface_id: Option<String>,
    pub(crate) vpc_id: Option<String>,
    pub(crate) subnet_id: Option<String>,
    pub(crate) mac_address: Option<String>,
    pub(crate) private_ip_address: Option<String>,
    pub(crate) private_dns_name: Option<String>,
    pub(crate) association: Option<Association>,
}

#[aws_observed(from = types::InstanceNetworkInterfaceAssociation, non_empty)]
pub(crate) struct Association {
    pub(crate) public_ip: Option<String>,
    pub(crate) public_dns_name: Option<String>,
}

#[aws_observed(from = types::InstanceBlockDeviceMapping, non_empty)]
pub(crate) struct BlockDeviceMapping {
    pub(crate) device_name: Option<String>,
    pub(crate) ebs: Option<Ebs>,
}

#[aws_observed(from = types::EbsInstanceBlockDevice, non_empty)]
pub(crate) struct Ebs {
    pub(crate) volume_id: Option<String>,
}

#[aws_observed(from = types::IamInstanceProfile, non_empty)]
pub(crate) struct IamInstanceProfile {
    pub(crate) arn: Option<String>,
}

#[aws_observed(from = types::Monitoring)]
pub(crate) struct Monitoring {
    pub(crate) state: Option<String>,
}

/// The metadata service of an instance; absent values are unknown.
#[aws_observed(from = types::InstanceMetadataOptionsResponse)]
pub(crate) struct Metadata {
    pub(crate) http_tokens: Option<String>,
    pub(crate) http_put_response_hop_limit: Option<i32>,
    pub(crate) http_endpoint: Option<String>,
}

/// An instance's groups are those of its primary interface; a response may contain them in only one place.
fn security_groups(sdk: &types::Instance) -> Vec<SecurityGroup> {
    let groups = sdk.security_groups.clone().filter(|groups| !groups.is_empty());
    sorted(groups.or_else(|| interfaces(sdk).into_iter().next()?.groups))
}

/// The primary interface is the first one.
fn interfaces(sdk: &types::Instance) -> Vec<types::InstanceNetworkInterface> {
    let mut interfaces = sdk.network_interfaces.clone().unwrap_or_default();
    interfaces.sort_by_key(|interface| {
        let device = interface.attachment.as_ref().and_then(|attachment| attachment.device_index);
        (device.unwrap_or(i32::MAX), interface.network_interface_id.clone())
    });
    interfaces
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
    use kraken_aws::{
        ec2::types::{
            GroupIdentifier, InstanceNetworkInterface, InstanceNetworkInterfaceAttachment, InstanceState,
            InstanceStateName,
        },
        resource::observed,
        tags::{EPOCH, Tags},
    };

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
        Instance { launch_index, tags, ..instance(id) }
    }

    #[test]
    fn instances_are_sorted_by_launch() {
        let ids = |all: &Vec<Instance>| observed::<Instances>(all.clone()).ids();
        let mut all = vec![
            launched("i-4", "1", 0),
            launched("i-3", "1", 1),
            launched("i-1", "10", 0),
            launched("i-2", "10", 0),
        ];
        assert_eq!(ids(&all), ["i-4", "i-3", "i-1", "i-2"]);
        all.reverse();
        assert_eq!(ids(&all), ["i-4", "i-3", "i-1", "i-2"]);
    }

    #[test]
    fn a_terminating_instance_is_not_live() {
        let states =
            ["pending", "running", "stopping", "stopped", "shutting-down", "terminated", "hibernating"];
        let phase = |name: &&str| in_state("i-1", name).phase();
        let all = observed::<Instances>(states.map(|name| in_state(name, name)).to_vec());
        assert_eq!(all.ids(), ["hibernating", "pending", "running", "stopped", "stopping"]);
        assert_eq!((all.shown().len(), all.deleted()), (7, vec!["terminated".to_owned()]));
        let rest: Vec<_> = states.into_iter().filter(|name| phase(name) == Phase::Available).collect();
        assert_eq!(rest, ["running", "stopped"]);
    }

    #[test]
    fn user_data_is_not_shown() {
        assert_eq!(format!("{:?}", UserData(b"hunter2".to_vec())), "UserData(***)");
    }

    fn interface(id: &str, device: i32, group: &str) -> InstanceNetworkInterface {
        InstanceNetworkInterface::builder()
            .network_interface_id(id)
            .attachment(InstanceNetworkInterfaceAttachment::builder().device_index(device).build())
            .groups(GroupIdentifier::builder().group_id(group).build())
            .build()
    }

    #[test]
    fn the_primary_interface_is_first_and_provides_missing_groups() {
        let from = types::Instance::builder()
            .instance_id("i-1")
            .network_interfaces(interface("eni-1", 1, "sg-1"))
            .network_interfaces(interface("eni-2", 0, "sg-2"))
            .build();
        let read = Instance::from(from);
        assert_eq!(read.network_interfaces[0].network_interface_id.as_deref(), Some("eni-2"));
        assert_eq!(read.security_groups[0].group_id.as_deref(), Some("sg-2"));
    }

    #[test]
    fn the_order_of_lists_in_a_response_is_ignored() {
        let group = |id: &str| GroupIdentifier::builder().group_id(id).build();
        let one =
            types::Instance::builder().security_groups(group("sg-1")).security_groups(group("sg-2")).build();
        let other =
            types::Instance::builder().security_groups(group("sg-2")).security_groups(group("sg-1")).build();
        assert_eq!(Instance::from(one), Instance::from(other));
    }

    #[test]
    fn empty_strings_and_the_upper_byte_of_the_state_are_ignored() {
        let state = InstanceState::builder().name(InstanceStateName::Running).code(256 + 16).build();
        let read = Instance::from(types::Instance::builder().public_dns_name("").state(state).build());
        assert_eq!(read.public_dns_name, None);
        assert_eq!((read.state.code, read.state.name.as_str()), (16, "running"));
    }
}
