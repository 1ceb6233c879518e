//! Launches: one RunInstances call with the token and all tags, so that no instance can exist without its owner tags.

use kraken_aws::{
    Aws, base64,
    ec2::{
        operation::run_instances::builders::RunInstancesInputBuilder,
        types::{
            BlockDeviceMapping, EbsBlockDevice, InstanceMetadataOptionsRequest, InstanceMetadataTagsState,
            InstanceNetworkInterfaceSpecification, ResourceType, RunInstancesMonitoringEnabled,
        },
    },
    errors::terminal,
    resolved::exposed,
    resource::Creation,
    tags,
};
use kraken_kind::Failure;

use super::profile;
use crate::{
    api::Desired,
    metadata_options::{HttpEndpoint, HttpTokens},
    root_volume::RootVolume,
};

const IMAGE: &str = "failed to describe the image";

/// The name of the image's root device: AWS requires it for all settings of the root volume, and it differs between
/// images.
pub(super) async fn root_device(aws: &Aws, desired: &Desired) -> Result<String, Failure> {
    let call = aws.ec2().describe_images().image_ids(desired.image_id.expose()).send();
    let answer = aws.call("DescribeImages", IMAGE, call).await?;
    let name = answer.images().first().and_then(|image| image.root_device_name());
    name.map(str::to_owned)
        .ok_or_else(|| terminal(IMAGE, "it does not exist, or has no root device, which rootVolume requires"))
}

/// The whole call. It must be identical for all calls of one launch, or AWS rejects the second.
pub(super) fn input(
    creation: &Creation<'_>,
    desired: &Desired,
    live: i32,
    root_device: Option<&str>,
) -> RunInstancesInputBuilder {
    let (min, max) = (desired.min_count.expose() - live, desired.max_count.expose() - live);
    let profile = desired.iam_instance_profile.as_ref().filter(|profile| !profile.expose().is_empty());
    let monitoring = |on: bool| RunInstancesMonitoringEnabled::builder().enabled(on).build();
    let volume = desired.root_volume.as_ref().zip(root_device);
    let input = RunInstancesInputBuilder::default()
        .client_token(&creation.launch.token)
        .image_id(desired.image_id.expose())
        .instance_type(desired.instance_type.expose().as_str().into())
        .min_count(min.max(1))
        .max_count(max.max(1))
        .set_key_name(exposed(desired.key_name.as_ref()))
        .set_user_data(desired.user_data.as_ref().map(|text| base64::encode(text.expose())))
        .set_ebs_optimized(exposed(desired.ebs_optimized.as_ref()))
        .set_monitoring(exposed(desired.monitoring.as_ref()).map(monitoring))
        .set_iam_instance_profile(profile.map(|profile| profile::specification(profile.expose())))
        .set_block_device_mappings(volume.map(|(volume, device)| vec![root_volume(volume.expose(), device)]))
        .metadata_options(metadata_options(desired))
        .set_tag_specifications(Some(tags::specifications(
            &[ResourceType::Instance, ResourceType::Volume],
            creation.tags,
        )));
    network(input, desired)
}

/// AWS accepts network settings in one of two places: if the interface is specified, all of them belong to the
/// interface.
fn network(input: RunInstancesInputBuilder, desired: &Desired) -> RunInstancesInputBuilder {
    let subnet = exposed(desired.subnet_id.as_ref());
    let groups = exposed(desired.security_group_ids.as_ref());
    let address = exposed(desired.private_ip_address.as_ref());
    match &desired.associate_public_ip_address {
        None => input.set_subnet_id(subnet).set_security_group_ids(groups).set_private_ip_address(address),
        Some(public) => input.network_interfaces(
            InstanceNetworkInterfaceSpecification::builder()
                .device_index(0)
                .associate_public_ip_address(*public.expose())
                .delete_on_termination(true)
                .set_subnet_id(subnet)
                .set_groups(groups)
                .set_private_ip_address(address)
                .build(),
        ),
    }
}

fn metadata_options(desired: &Desired) -> InstanceMetadataOptionsRequest {
    let wanted = desired.metadata();
    let is_enabled = wanted.endpoint != Some(HttpEndpoint::Disabled);
    let tokens = wanted.tokens.or(is_enabled.then_some(HttpTokens::Required));
    // With tags in the metadata, which may be the default of the account, AWS rejects keys with a `/`: those of the owner tags.
    let tags = is_enabled.then_some(InstanceMetadataTagsState::Disabled);
    InstanceMetadataOptionsRequest::builder()
        .set_instance_metadata_tags(tags)
        .set_http_endpoint(wanted.endpoint.map(|endpoint| endpoint.as_str().into()))
        .set_http_tokens(tokens.map(|tokens| tokens.as_str().into()))
        .set_http_put_response_hop_limit(wanted.hop_limit)
        .build()
}

fn root_volume(volume: &RootVolume, device: &str) -> BlockDeviceMapping {
    let ebs = EbsBlockDevice::builder()
        .set_volume_size(volume.size_gib)
        .set_volume_type(volume.volume_type.map(|kind| kind.as_str().into()))
        .set_iops(volume.iops)
        .set_throughput(volume.throughput)
        .set_encrypted(volume.encrypted)
        .set_kms_key_id(volume.kms_key_id.clone())
        .set_delete_on_termination(volume.delete_on_termination);
    BlockDeviceMapping::builder().device_name(device).ebs(ebs.build()).build()
}

#[cfg(test)]
mod tests {
    use kraken_aws::{
        ec2::types::{HttpTokensState, InstanceMetadataEndpointState, VolumeType},
        tags::{Tags, from_sdk},
    };
    use kraken_kind::Launch;
    use serde_json::{Value, json};

    use super::*;
    use crate::desired::tests::desired;

    fn made(changes: Value, live: i32) -> RunInstancesInputBuilder {
        let launch = Launch { epoch: 2, token: "token".into() };
        let tags = Tags::from([("Team".into(), "shop".into())]);
        let creation = Creation { tags: &tags, launch: &launch };
        input(&creation, &desired(changes).own, live, Some("/dev/xvda"))
    }

    #[test]
    fn a_launch_sends_its_token_and_every_tag() {
        let input = made(json!({}), 0);
        assert_eq!(input.get_client_token().as_deref(), Some("token"));
        let specifications = input.get_tag_specifications().clone().unwrap();
        let types: Vec<_> = specifications.iter().filter_map(|spec| spec.resource_type()).collect();
        assert_eq!(types, [&ResourceType::Instance, &ResourceType::Volume]);
        for specification in &specifications {
            assert_eq!(from_sdk(specification.tags())["Team"], "shop");
        }
    }

    #[test]
    fn only_missing_instances_are_launched() {
        let spec = json!({"minCount": {"value": 2}, "maxCount": {"value": 5}});
        for (live, min, max) in [(0, 2, 5), (1, 1, 4), (4, 1, 1)] {
            let input = made(spec.clone(), live);
            assert_eq!((input.get_min_count(), input.get_max_count()), (&Some(min), &Some(max)));
        }
        let any = made(json!({"minCount": {"value": 0}, "maxCount": {"value": 5}}), 0);
        assert_eq!((any.get_min_count(), any.get_max_count()), (&Some(1), &Some(5)));
    }

    #[test]
    fn absent_fields_are_not_sent_except_imdsv2() {
        let input = made(json!({}), 0);
        assert!(input.get_subnet_id().is_none() && input.get_security_group_ids().is_none());
        assert!(input.get_network_interfaces().is_none() && input.get_block_device_mappings().is_none());
        assert!(input.get_monitoring().is_none() && input.get_user_data().is_none());
        let options = input.get_metadata_options().clone().unwrap();
        assert_eq!(options.http_tokens(), Some(&HttpTokensState::Required));
        assert_eq!(options.http_endpoint(), None);
        assert_eq!(options.instance_metadata_tags(), Some(&InstanceMetadataTagsState::Disabled));
    }

    #[test]
    fn network_settings_are_all_sent_in_one_place() {
        let network = json!({
            "subnetID": {"value": "subnet-1"},
            "securityGroupIDs": {"value": ["sg-1"]},
            "privateIPAddress": {"value": "10.0.0.1"},
        });
        let plain = made(network.clone(), 0);
        assert_eq!(plain.get_subnet_id().as_deref(), Some("subnet-1"));
        assert!(plain.get_network_interfaces().is_none());
        let mut public = network;
        public["associatePublicIPAddress"] = json!({"value": true});
        let public = made(public, 0);
        assert!(public.get_subnet_id().is_none() && public.get_security_group_ids().is_none());
        assert!(public.get_private_ip_address().is_none());
        let interface = &public.get_network_interfaces().clone().unwrap()[0];
        assert_eq!(
            (interface.subnet_id(), interface.groups()),
            (Some("subnet-1"), ["sg-1".to_owned()].as_slice())
        );
        assert_eq!((interface.private_ip_address(), interface.device_index()), (Some("10.0.0.1"), Some(0)));
    }

    #[test]
    fn user_data_is_encoded_and_a_profile_is_sent_as_name_or_arn() {
        let arn = "arn:aws:iam::1:instance-profile/web";
        let input = made(json!({"userData": {"value": "hello"}, "iamInstanceProfile": {"value": "web"}}), 0);
        assert_eq!(input.get_user_data().as_deref(), Some("aGVsbG8="));
        assert_eq!(input.get_iam_instance_profile().clone().unwrap().name(), Some("web"));
        let input = made(json!({"iamInstanceProfile": {"value": arn}}), 0);
        assert_eq!(input.get_iam_instance_profile().clone().unwrap().arn(), Some(arn));
        assert!(made(json!({"iamInstanceProfile": {"value": ""}}), 0).get_iam_instance_profile().is_none());
    }

    #[test]
    fn a_disabled_metadata_service_is_sent_without_other_settings() {
        let input = made(json!({"metadataOptions": {"value": {"httpEndpoint": "disabled"}}}), 0);
        let options = input.get_metadata_options().clone().unwrap();
        assert_eq!(options.http_endpoint(), Some(&InstanceMetadataEndpointState::Disabled));
        assert_eq!(options.http_tokens(), None);
    }

    #[test]
    fn the_root_volume_is_that_of_the_images_device() {
        let input = made(json!({"rootVolume": {"value": {"sizeGiB": 20, "type": "gp3"}}}), 0);
        let mapping = input.get_block_device_mappings().clone().unwrap().remove(0);
        assert_eq!(mapping.device_name(), Some("/dev/xvda"));
        let ebs = mapping.ebs().unwrap();
        assert_eq!((ebs.volume_size(), ebs.volume_type()), (Some(20), Some(&VolumeType::Gp3)));
    }

    #[test]
    fn two_calls_of_one_launch_are_identical() {
        let spec =
            json!({"tags": {"a": "1", "b": "2", "c": "3"}, "securityGroupIDs": {"value": ["sg-2", "sg-1"]}});
        assert_eq!(made(spec.clone(), 0).build().unwrap(), made(spec, 0).build().unwrap());
    }
}
