//! Reads: converts AWS's responses to plain instances.

use std::collections::BTreeMap;

use futures::{StreamExt, TryStreamExt, stream};
use kraken_aws::{
    Aws, base64,
    ec2::{
        operation::describe_instances::builders::DescribeInstancesFluentBuilder,
        primitives::DateTimeFormat,
        types::{self, InstanceAttributeName},
    },
    lookup::{Source, TagFilter},
    release::filter,
    tags,
};
use kraken_spoke::{Failure, FailureClass};

use crate::instance::{
    Association, BlockDeviceMapping, Ebs, IamInstanceProfile, Instance, Metadata, Monitoring,
    NetworkInterface, Placement, SecurityGroup, State, UserData,
};

const ACTION: &str = "failed to describe instances";

/// The number of concurrent reads of user data: AWS has no call for several instances.
const AT_ONCE: usize = 8;

/// Reads instances by id and by owner.
pub(super) struct Reader<'a>(pub(super) &'a Aws);

impl Source for Reader<'_> {
    type Item = Instance;

    async fn by_ids(&self, ids: Vec<String>) -> Result<Vec<Instance>, Failure> {
        // No MaxResults: AWS rejects it together with ids, and may return pages anyway.
        self.pages(self.0.ec2().describe_instances().set_instance_ids(Some(ids))).await
    }

    async fn by_tags(&self, wanted: Vec<TagFilter>) -> Result<Vec<Instance>, Failure> {
        let filters = wanted.into_iter().map(|(key, values)| filter(&format!("tag:{key}"), values)).collect();
        self.pages(self.0.ec2().describe_instances().set_filters(Some(filters)).max_results(1000)).await
    }
}

impl Reader<'_> {
    async fn pages(&self, call: DescribeInstancesFluentBuilder) -> Result<Vec<Instance>, Failure> {
        let (mut found, mut next) = (vec![], None);
        loop {
            let page = call.clone().set_next_token(next.clone());
            let page = self.0.call("DescribeInstances", ACTION, page.send()).await?;
            found.extend(page.reservations().iter().flat_map(types::Reservation::instances).map(instance));
            let token = page.next_token().filter(|token| !token.is_empty()).map(str::to_owned);
            // Prevents an endless loop over the same page.
            if token.is_none() || token == next {
                return Ok(found);
            }
            next = token;
        }
    }
}

/// The user data of these instances. A missing instance has none. Without permission to read it, it is unknown, with a
/// line in the log: the other fields can still be managed.
pub(super) async fn user_data(aws: &Aws, ids: Vec<String>) -> Result<BTreeMap<String, UserData>, Failure> {
    let read = ids.into_iter().map(|id| {
        let aws = aws.clone();
        async move {
            let call = aws.ec2().describe_instance_attribute().instance_id(&id);
            let call = call.attribute(InstanceAttributeName::UserData).send();
            match aws.call("DescribeInstanceAttribute", "failed to describe user data", call).await {
                Ok(answer) => {
                    let text = answer.user_data().and_then(types::AttributeValue::value).unwrap_or_default();
                    Ok(Some((id, decoded(text))))
                }
                Err(failure) if failure.class == FailureClass::NotYet => Ok(None),
                Err(failure) if failure.class == FailureClass::Terminal => {
                    tracing::warn!(instance = id, %failure, "user data is not compared");
                    Ok(None)
                }
                Err(failure) => Err(failure),
            }
        }
    });
    let read: Vec<_> = stream::iter(read).buffer_unordered(AT_ONCE).try_collect().await?;
    Ok(read.into_iter().flatten().collect())
}

/// Undecodable user data was not set by Kraken, and differs from any desired value.
fn decoded(text: &str) -> UserData {
    let text: String = text.split_whitespace().collect();
    UserData(base64::decode(&text).unwrap_or_else(|_| text.into_bytes()))
}

/// An instance of AWS as plain data. Lists are ordered, because AWS does not guarantee an order.
pub(super) fn instance(from: &types::Instance) -> Instance {
    Instance {
        instance_id: owned(from.instance_id()).unwrap_or_default(),
        instance_type: from.instance_type().map(ToString::to_string),
        image_id: owned(from.image_id()),
        state: state(from.state()),
        private_ip_address: owned(from.private_ip_address()),
        public_ip_address: owned(from.public_ip_address()),
        private_dns_name: owned(from.private_dns_name()),
        public_dns_name: owned(from.public_dns_name()),
        subnet_id: owned(from.subnet_id()),
        vpc_id: owned(from.vpc_id()),
        architecture: from.architecture().map(ToString::to_string),
        root_device_name: owned(from.root_device_name()),
        root_device_type: from.root_device_type().map(ToString::to_string),
        key_name: owned(from.key_name()),
        placement: from
            .placement()
            .map(|place| Placement { availability_zone: owned(place.availability_zone()) }),
        launch_time: from.launch_time().and_then(|time| time.fmt(DateTimeFormat::DateTime).ok()),
        security_groups: security_groups(from),
        network_interfaces: sorted_interfaces(from).into_iter().map(network_interface).collect(),
        block_device_mappings: block_device_mappings(from),
        iam_instance_profile: from
            .iam_instance_profile()
            .map(|profile| IamInstanceProfile { arn: owned(profile.arn()) }),
        monitoring: from
            .monitoring()
            .map(|monitoring| Monitoring { state: monitoring.state().map(ToString::to_string) }),
        ebs_optimized: from.ebs_optimized(),
        tags: tags::from_sdk(from.tags()),
        launch_index: from.ami_launch_index().unwrap_or_default(),
        metadata: from.metadata_options().map(metadata).unwrap_or_default(),
    }
}

fn state(from: Option<&types::InstanceState>) -> State {
    State {
        // According to the documentation, the upper byte is reserved and must be ignored.
        code: from.and_then(types::InstanceState::code).unwrap_or_default() & 0xff,
        name: from.and_then(types::InstanceState::name).map(ToString::to_string).unwrap_or_default(),
    }
}

fn metadata(from: &types::InstanceMetadataOptionsResponse) -> Metadata {
    Metadata {
        tokens: from.http_tokens().map(ToString::to_string),
        hop_limit: from.http_put_response_hop_limit(),
        endpoint: from.http_endpoint().map(ToString::to_string),
    }
}

/// An instance's groups are those of its primary interface; a response may contain them in only one place.
fn security_groups(from: &types::Instance) -> Vec<SecurityGroup> {
    let groups = match (from.security_groups(), sorted_interfaces(from).first()) {
        ([], Some(primary)) => primary.groups(),
        (groups, _) => groups,
    };
    let mut groups: Vec<_> = groups
        .iter()
        .map(|group| SecurityGroup {
            group_id: owned(group.group_id()),
            group_name: owned(group.group_name()),
        })
        .collect();
    groups.sort();
    groups
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

fn network_interface(from: &types::InstanceNetworkInterface) -> NetworkInterface {
    NetworkInterface {
        network_interface_id: owned(from.network_interface_id()),
        vpc_id: owned(from.vpc_id()),
        subnet_id: owned(from.subnet_id()),
        mac_address: owned(from.mac_address()),
        private_ip_address: owned(from.private_ip_address()),
        private_dns_name: owned(from.private_dns_name()),
        association: from.association().map(|association| Association {
            public_ip: owned(association.public_ip()),
            public_dns_name: owned(association.public_dns_name()),
        }),
    }
}

fn block_device_mappings(from: &types::Instance) -> Vec<BlockDeviceMapping> {
    let mut mappings: Vec<_> = from
        .block_device_mappings()
        .iter()
        .map(|mapping| BlockDeviceMapping {
            device_name: owned(mapping.device_name()),
            ebs: mapping.ebs().map(|ebs| Ebs { volume_id: owned(ebs.volume_id()) }),
        })
        .collect();
    mappings.sort_by(|a, b| a.device_name.cmp(&b.device_name));
    mappings
}

/// Some responses contain an empty string for a missing value.
fn owned(text: Option<&str>) -> Option<String> {
    text.filter(|text| !text.is_empty()).map(str::to_owned)
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
        let read = instance(&from);
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
        assert_eq!(instance(&one), instance(&other));
    }

    #[test]
    fn empty_strings_and_the_upper_byte_of_the_state_are_ignored() {
        let state = InstanceState::builder().name(InstanceStateName::Running).code(256 + 16).build();
        let read = instance(&types::Instance::builder().public_dns_name("").state(state).build());
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
