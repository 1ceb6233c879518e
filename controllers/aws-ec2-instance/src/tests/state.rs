//! The published state: AWS's fields with AWS's names, and the public values of the spec.

use kraken_aws::{Tags, fields::pruned};

use super::*;
use crate::{
    instance::{Association, BlockDeviceMapping, Ebs, NetworkInterface, Placement, State},
    rules::{INSTANCE_BYTES, TAG_BYTES},
};

fn state(changes: Value, instances: Vec<Instance>) -> Value {
    kind().state(&Desired::new(desired(changes)), &observed(instances))
}

#[allow(clippy::unnecessary_wraps)] // every field is an Option
fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[test]
fn an_instance_has_the_field_names_of_aws() {
    let full = Instance {
        instance_id: "i-1".into(),
        instance_type: some("t2.nano"),
        image_id: some("ami-1"),
        state: State { code: 16, name: "running".into() },
        private_ip_address: some("10.0.0.1"),
        public_ip_address: some("1.2.3.4"),
        private_dns_name: some("ip-10-0-0-1"),
        public_dns_name: some("ec2-1-2-3-4"),
        subnet_id: some("subnet-1"),
        vpc_id: some("vpc-1"),
        architecture: some("x86_64"),
        root_device_name: some("/dev/sda1"),
        root_device_type: some("ebs"),
        key_name: some("ops"),
        placement: Some(Placement { availability_zone: some("us-east-1a") }),
        launch_time: some("2026-01-02T03:04:05Z"),
        security_groups: vec![SecurityGroup { group_id: some("sg-1"), group_name: some("default") }],
        network_interfaces: vec![NetworkInterface {
            network_interface_id: some("eni-1"),
            vpc_id: some("vpc-1"),
            subnet_id: some("subnet-1"),
            mac_address: some("02:00"),
            private_ip_address: some("10.0.0.1"),
            private_dns_name: some("ip-10-0-0-1"),
            association: Some(Association {
                public_ip: some("1.2.3.4"),
                public_dns_name: some("ec2-1-2-3-4"),
            }),
        }],
        block_device_mappings: vec![BlockDeviceMapping {
            device_name: some("/dev/sda1"),
            ebs: Some(Ebs { volume_id: some("vol-1") }),
        }],
        iam_instance_profile: Some(IamInstanceProfile { arn: some("arn:aws:iam::1:instance-profile/web") }),
        monitoring: Some(Monitoring { state: some("disabled") }),
        ebs_optimized: Some(false),
        tags: Tags::from([("Name".into(), "web".into()), (UID.into(), "u".into())]),
        ..Instance::default()
    };
    let state = state(json!({}), vec![full]);
    assert_eq!(
        state["instances"][0],
        json!({
            "InstanceId": "i-1",
            "InstanceType": "t2.nano",
            "ImageId": "ami-1",
            "State": {"Code": 16, "Name": "running"},
            "PrivateIpAddress": "10.0.0.1",
            "PublicIpAddress": "1.2.3.4",
            "PrivateDnsName": "ip-10-0-0-1",
            "PublicDnsName": "ec2-1-2-3-4",
            "SubnetId": "subnet-1",
            "VpcId": "vpc-1",
            "Architecture": "x86_64",
            "RootDeviceName": "/dev/sda1",
            "RootDeviceType": "ebs",
            "KeyName": "ops",
            "Placement": {"AvailabilityZone": "us-east-1a"},
            "LaunchTime": "2026-01-02T03:04:05Z",
            "SecurityGroups": [{"GroupId": "sg-1", "GroupName": "default"}],
            "NetworkInterfaces": [{
                "NetworkInterfaceId": "eni-1",
                "VpcId": "vpc-1",
                "SubnetId": "subnet-1",
                "MacAddress": "02:00",
                "PrivateIpAddress": "10.0.0.1",
                "PrivateDnsName": "ip-10-0-0-1",
                "Association": {"PublicIp": "1.2.3.4", "PublicDnsName": "ec2-1-2-3-4"},
            }],
            "BlockDeviceMappings": [{"DeviceName": "/dev/sda1", "Ebs": {"VolumeId": "vol-1"}}],
            "IamInstanceProfile": {"Arn": "arn:aws:iam::1:instance-profile/web"},
            "Monitoring": {"State": "disabled"},
            "EbsOptimized": false,
            "Tags": [{"Key": "Name", "Value": "web"}],
        })
    );
}

/// The assumptions of [`crate::rules::fits_a_state`]: ids as long as AWS's, two interfaces, five groups, three
/// volumes.
#[test]
fn a_published_instance_does_not_exceed_the_assumed_size() {
    let id = |prefix: &str| Some(format!("{prefix}-0123456789abcdef0"));
    let name = || some("ec2-123-123-123-123.ap-southeast-2.compute.amazonaws.com");
    let interface = || NetworkInterface {
        network_interface_id: id("eni"),
        vpc_id: id("vpc"),
        subnet_id: id("subnet"),
        mac_address: some("02:00:00:00:00:00"),
        private_ip_address: some("10.123.123.123"),
        private_dns_name: name(),
        association: Some(Association { public_ip: some("123.123.123.123"), public_dns_name: name() }),
    };
    let group = || SecurityGroup { group_id: id("sg"), group_name: some("a-security-group-of-the-web") };
    let volume =
        || BlockDeviceMapping { device_name: some("/dev/sda1"), ebs: Some(Ebs { volume_id: id("vol") }) };
    let tags: Tags = (0..10).map(|n| (format!("key-{n}"), "v".repeat(40))).collect();
    let full = Instance {
        instance_id: id("i").unwrap(),
        instance_type: some("u7in-32tb.224xlarge"),
        image_id: id("ami"),
        state: State { code: 16, name: "running".into() },
        private_ip_address: some("10.123.123.123"),
        public_ip_address: some("123.123.123.123"),
        private_dns_name: name(),
        public_dns_name: name(),
        subnet_id: id("subnet"),
        vpc_id: id("vpc"),
        architecture: some("x86_64"),
        root_device_name: some("/dev/sda1"),
        root_device_type: some("ebs"),
        key_name: some("a-key-pair-of-operations"),
        placement: Some(Placement { availability_zone: some("ap-southeast-2a") }),
        launch_time: some("2026-01-02T03:04:05Z"),
        security_groups: (0..5).map(|_| group()).collect(),
        network_interfaces: vec![interface(), interface()],
        block_device_mappings: (0..3).map(|_| volume()).collect(),
        iam_instance_profile: Some(IamInstanceProfile {
            arn: some("arn:aws:iam::123456789012:instance-profile/web-servers"),
        }),
        monitoring: Some(Monitoring { state: some("disabled") }),
        ebs_optimized: Some(false),
        tags: tags.clone(),
        ..Instance::default()
    };
    let size = serde_json::to_string(&pruned(json!(full))).unwrap().len();
    let of_tags: usize = tags.iter().map(|(key, value)| key.len() + value.len() + TAG_BYTES).sum();
    let assumed = INSTANCE_BYTES + of_tags;
    assert!(size <= assumed && assumed - size < 300, "{size} of {assumed} bytes");
}

#[test]
fn absent_values_are_omitted() {
    let state = state(json!({}), vec![instance("i-1")]);
    let fields: Vec<_> = state["instances"][0].as_object().unwrap().keys().map(String::as_str).collect();
    assert!(!fields.contains(&"PublicIpAddress") && fields.contains(&"InstanceId"), "{fields:?}");
}

#[test]
fn only_live_instances_are_published_in_order() {
    let there = vec![instance("i-2"), in_state("i-0", "terminated"), in_state("i-1", "stopped")];
    let state = state(json!({}), there);
    let ids: Vec<_> = state["instances"].as_array().unwrap().iter().map(|i| &i["InstanceId"]).collect();
    assert_eq!(ids, ["i-1", "i-2"]);
}

#[test]
fn the_spec_is_published_without_secrets_and_user_data() {
    let spec = json!({
        "iamInstanceProfile": {"valueFrom": {"secret": {"name": "s", "key": "k"}}},
        "userData": {"value": "password=hunter3"},
        "monitoring": {"value": true},
        "rootVolume": {"value": {"sizeGiB": 20, "type": "gp3"}},
        "tags": {"Team": "shop"},
    });
    let state = state(spec, vec![]);
    assert_eq!(
        state,
        json!({"instances": [], "spec": {
            "imageID": "ami-1",
            "instanceType": "t2.nano",
            "minCount": 1,
            "maxCount": 1,
            "monitoring": true,
            "rootVolume": {"sizeGiB": 20, "type": "gp3"},
            "tags": {"Team": "shop"},
        }})
    );
}
