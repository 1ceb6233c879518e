//! The SDK's instances as plain data. Lists are ordered, because AWS does not guarantee an order.

use kraken_aws::{
    Aws, base64,
    ec2::{
        primitives::DateTimeFormat,
        types::{self, InstanceAttributeName},
    },
    from_sdk,
};
use kraken_spoke::{Failure, FailureClass};

use crate::instance::{
    Association, BlockDeviceMapping, Ebs, IamInstanceProfile, Instance, Metadata, Monitoring,
    NetworkInterface, Placement, SecurityGroup, State, UserData,
};

from_sdk!(types::Instance as instance => Instance {
    instance_id, ebs_optimized, tags;
    [
        instance_type, image_id, private_ip_address, public_ip_address, private_dns_name, public_dns_name,
        subnet_id, vpc_id, architecture, root_device_name, root_device_type, key_name,
    ];
    security_groups: security_groups(&instance),
    network_interfaces: sorted_interfaces(&instance).into_iter().cloned().map(Into::into).collect(),
    state: instance.state.map(State::from).unwrap_or_default(),
    placement: instance.placement.map(Placement::from),
    launch_time: instance.launch_time.and_then(|time| time.fmt(DateTimeFormat::DateTime).ok()),
    block_device_mappings: sorted(instance.block_device_mappings.unwrap_or_default()),
    iam_instance_profile: instance.iam_instance_profile.map(IamInstanceProfile::from),
    monitoring: instance.monitoring.map(Monitoring::from),
    launch_index: instance.ami_launch_index.unwrap_or_default(),
    metadata: instance.metadata_options.map(Metadata::from).unwrap_or_default(),
    user_data: None,
});
from_sdk!(types::InstanceState as state => State {
    name;
    // According to the documentation, the upper byte is reserved and must be ignored.
    code: state.code.unwrap_or_default() & 0xff,
});
from_sdk!(types::Placement => Placement { [availability_zone] });
from_sdk!(types::GroupIdentifier => SecurityGroup { [group_id, group_name] });
from_sdk!(types::InstanceNetworkInterface as interface => NetworkInterface {
    ;
    [network_interface_id, vpc_id, subnet_id, mac_address, private_ip_address, private_dns_name];
    association: interface.association.map(Association::from),
});
from_sdk!(types::InstanceNetworkInterfaceAssociation => Association { [public_ip, public_dns_name] });
from_sdk!(types::InstanceBlockDeviceMapping as mapping => BlockDeviceMapping {
    ;
    [device_name];
    ebs: mapping.ebs.map(Ebs::from),
});
from_sdk!(types::EbsInstanceBlockDevice => Ebs { [volume_id] });
from_sdk!(types::IamInstanceProfile => IamInstanceProfile { [arn] });
from_sdk!(types::Monitoring => Monitoring { state });
from_sdk!(types::InstanceMetadataOptionsResponse => Metadata {
    http_tokens, http_put_response_hop_limit, http_endpoint
});

/// An instance's groups are those of its primary interface; a response may contain them in only one place.
fn security_groups(from: &types::Instance) -> Vec<SecurityGroup> {
    let groups = match (from.security_groups(), sorted_interfaces(from).first()) {
        ([], Some(primary)) => primary.groups(),
        (groups, _) => groups,
    };
    sorted(groups.iter().cloned())
}

fn sorted_interfaces(from: &types::Instance) -> Vec<&types::InstanceNetworkInterface> {
    let mut interfaces: Vec<_> = from.network_interfaces().iter().collect();
    interfaces.sort_by_key(|interface| {
        let attachment = interface.attachment();
        let device = attachment.and_then(types::InstanceNetworkInterfaceAttachment::device_index);
        (device.unwrap_or(i32::MAX), interface.network_interface_id())
    });
    interfaces
}

fn sorted<S, T: From<S> + Ord>(items: impl IntoIterator<Item = S>) -> Vec<T> {
    let mut items: Vec<_> = items.into_iter().map(T::from).collect();
    items.sort();
    items
}

/// The user data of an instance. A missing instance has none. Without permission to read it, it is unknown, with a line in
/// the log: the other fields can still be managed.
pub(super) async fn user_data(aws: &Aws, id: &str) -> Result<Option<UserData>, Failure> {
    let call = aws.ec2().describe_instance_attribute().instance_id(id);
    let call = call.attribute(InstanceAttributeName::UserData).send();
    match aws.call("DescribeInstanceAttribute", "failed to describe user data", call).await {
        Ok(answer) => {
            let text = answer.user_data().and_then(types::AttributeValue::value).unwrap_or_default();
            Ok(Some(decoded(text)))
        }
        Err(failure) if failure.class == FailureClass::NotYet => Ok(None),
        Err(failure) if failure.class == FailureClass::Terminal => {
            tracing::warn!(instance = id, %failure, "user data is not compared");
            Ok(None)
        }
        Err(failure) => Err(failure),
    }
}

/// Undecodable user data was not set by Kraken, and differs from any desired value.
fn decoded(text: &str) -> UserData {
    let text: String = text.split_whitespace().collect();
    UserData(base64::decode(&text).unwrap_or_else(|_| text.into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kraken_aws::ec2::types::{
        GroupIdentifier, InstanceNetworkInterface, InstanceNetworkInterfaceAttachment, InstanceState,
        InstanceStateName,
    };

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

    #[test]
    fn user_data_is_decoded_with_any_line_breaks() {
        assert_eq!(decoded("aGVs\nbG8=\n"), UserData(b"hello".to_vec()));
        assert_eq!(decoded(""), UserData(vec![]));
        assert_eq!(decoded("%"), UserData(b"%".to_vec()));
    }
}
