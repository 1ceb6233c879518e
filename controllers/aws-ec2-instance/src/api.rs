//! EC2Instance, the API type.

use kraken_aws::{
    TagOptions, aws_kind,
    bounds::{
        IMAGE_ID, INSTANCE_PROFILE, INSTANCE_TYPE, IPV4, KEY_NAME, SECURITY_GROUP_ID, SUBNET_ID, USER_DATA,
    },
    words,
};
use kraken_kind::{
    Lifecycle, Opt,
    options::{ListOpt, Public},
};

use crate::{
    instance::Instance,
    mark::Mark,
    metadata_options::{self, MetadataOptions},
    root_volume::{self, RootVolume},
    rules,
};

/// One or more identical EC2 instances.
#[aws_kind(
    kind = "EC2Instance",
    plural = "ec2instances",
    shortname = "ec2",
    doc = "One or more identical EC2 instances. The main id is the oldest instance's InstanceId.",
    noun = "instance",
    state = "instances",
    observed = Instance,
    summary(
        "Type" = "0.InstanceType",
        "Private IP" = "0.PrivateIpAddress",
        "Public IP" = "0.PublicIpAddress",
        "State" = "0.State.Name",
    ),
    drift("state"),
    change = Change,
    rules = Self::between_fields,
    without_ignored = Self::without_ignored,
    at_creation = Self::at_creation,
    cel(
        "!has(self.minCount.value) || !has(self.maxCount.value) || self.maxCount.value == 0 \
         || self.minCount.value <= self.maxCount.value"
            else "minCount must not be greater than maxCount, unless that is 0" at "minCount",
        "!has(self.privateIPAddress) || !has(self.maxCount.value) || self.maxCount.value <= 1"
            else "requires a maxCount of 1: instances cannot share an address" at "privateIPAddress",
    )
)]
#[kube(scale(spec_replicas_path = ".spec.maxCount.value", status_replicas_path = ".status.replicas"))]
pub(crate) struct EC2InstanceSpec {
    /// The image (AMI) to launch from. Immutable. Example: `{value: ami-0abc1234def567890}`
    #[field(
        "imageID",
        rule = IMAGE_ID,
        fixed,
        published("ImageId", "Architecture", "RootDeviceName", "RootDeviceType")
    )]
    pub(crate) image_id: Opt<String>,

    /// The instance type. AWS can change it only on a stopped instance: with `lifecycle.disruption: Allow`, Kraken
    /// stops, changes and starts the instances one at a time. Example: `{value: t2.nano}`
    #[field("instanceType", rule = INSTANCE_TYPE, change = InstanceType, stopped)]
    pub(crate) instance_type: Opt<String>,

    /// The minimum number of instances of a launch, 0 to 500, at most `maxCount` unless that is 0. AWS launches no
    /// instance if it has capacity for fewer. Applies to launches only. Example: `{value: 1}`
    #[field("minCount", rule = rules::COUNT, launch_only, import = Self::import_count)]
    pub(crate) min_count: Public<Opt<i32>>,

    /// The desired number of instances, 0 to 500, or fewer if they have many tags, because their state must fit into one
    /// Kubernetes object. A change scales up or down; the newest instances are terminated first. With a `value` (not
    /// `valueFrom`), `kubectl scale ec2instance/web --replicas=3` sets it too. Example: `{value: 2}`
    #[field("maxCount", rule = rules::COUNT, count, import = Self::import_count)]
    pub(crate) max_count: Public<Opt<i32>>,

    /// The subnet to launch in. Immutable. Default: a subnet of the default VPC. Example:
    /// `{valueFrom: {ref: Subnet/a}}`
    #[field(
        "subnetID",
        rule = SUBNET_ID,
        fixed,
        published("SubnetId", "VpcId", "NetworkInterfaces", "Placement")
    )]
    pub(crate) subnet_id: Option<Opt<String>>,

    /// The security groups, 1 to 16. Changed in place. Default: the VPC's default security group; existing security
    /// groups are not managed. Example:
    /// `{value: [sg-0abc1234def567890, {valueFrom: {ref: SecurityGroup/web}}]}`
    #[field(
        "securityGroupIDs",
        rule = SECURITY_GROUP_ID,
        items(1, rules::MAX_GROUPS),
        check = rules::security_group_ids,
        change = SecurityGroups,
        compare = Self::compare_groups,
        import = Self::import_groups,
        published("SecurityGroups")
    )]
    pub(crate) security_group_ids: Option<ListOpt<String>>,

    /// The name of the key pair for SSH, 1 to 255 characters. Applied at launch only: it cannot be changed or removed
    /// later, because the key is on the instance's disk. Default: none. Example: `{value: ops}`
    #[field("keyName", rule = KEY_NAME, fixed)]
    pub(crate) key_name: Option<Public<Opt<String>>>,

    /// Whether detailed monitoring is enabled: CloudWatch metrics every minute instead of every five, at an additional
    /// cost. Changed in place. Default: AWS's default (false); an existing setting is not managed. Example:
    /// `{value: true}`
    #[field(
        "monitoring",
        change = Monitoring,
        compare = Self::compare_monitoring,
        import = Self::import_monitoring,
        published("Monitoring")
    )]
    pub(crate) monitoring: Option<Opt<bool>>,

    /// The settings of the instance metadata service. Changed in place. Default: launches require IMDSv2; existing
    /// settings are not managed. Example: `{value: {httpPutResponseHopLimit: 2}}`
    #[field(
        "metadataOptions",
        check = metadata_options::check,
        change = MetadataOptions,
        compare = Self::compare_metadata,
        import = Self::import_metadata,
        published()
    )]
    pub(crate) metadata_options: Option<Opt<MetadataOptions>>,

    /// The IAM instance profile, by name or ARN. Changed in place. An empty string removes the profile. Default: none at
    /// launch; an existing profile is not managed. Example: `{value: web}`
    #[field(
        "iamInstanceProfile",
        rule = INSTANCE_PROFILE,
        change = InstanceProfile,
        compare = Self::compare_profile,
        import = Self::import_profile,
        published("IamInstanceProfile"),
        none_if_unset
    )]
    pub(crate) iam_instance_profile: Option<Opt<String>>,

    /// The primary private IPv4 address, in the subnet's range. Only with a `maxCount` of 1. Immutable. Default: chosen
    /// by AWS. Example: `{value: 10.0.0.10}`
    #[field(
        "privateIPAddress",
        rule = IPV4,
        fixed,
        import = none,
        published("PrivateIpAddress", "PrivateDnsName", "NetworkInterfaces")
    )]
    pub(crate) private_ip_address: Option<Opt<String>>,

    /// Whether the instance gets a public IPv4 address. Applied at launch only: a later change is reported and requires a
    /// replacement. Default: the setting of the subnet. Example: `{value: true}`
    #[field("associatePublicIPAddress", launch_only)]
    pub(crate) associate_public_ip_address: Option<Opt<bool>>,

    /// The root volume. Applied at launch only: a later change is reported and requires a replacement. Default: the root
    /// volume of the image. Example: `{value: {sizeGiB: 20, type: gp3, encrypted: true}}`
    #[field("rootVolume", check = root_volume::check, launch_only)]
    pub(crate) root_volume: Option<Opt<RootVolume>>,

    /// Whether the instance is EBS-optimized, on types that are not by default. AWS can change it only on a stopped
    /// instance (see `instanceType`). Default: AWS's default (false); an existing setting is not managed. Example:
    /// `{value: true}`
    #[field("ebsOptimized", change = EbsOptimized, stopped, unless = false)]
    pub(crate) ebs_optimized: Option<Opt<bool>>,

    /// The user data, as plain text of at most 16 KiB; Kraken encodes it. AWS can change it only on a stopped instance, and does not
    /// run it again: see `userDataChange`. Kraken never shows it, but every process that can
    /// call the instance's metadata service can read it. Default: none. Example: `{value: "#!/bin/sh\necho hello"}`
    #[field(
        "userData",
        rule = USER_DATA,
        change = UserData,
        compare = Self::compare_user_data,
        stopped,
        deep,
        published(),
        unpublished
    )]
    pub(crate) user_data: Option<Opt<String>>,

    /// What a change of `userData` does to existing instances: `Wait` reports it, and applies it when an instance is stopped for
    /// another reason; `Stop` stops the instances for it, one at a time, if `lifecycle.disruption` is `Allow`. AWS does not run the
    /// changed user data in either case, only on new instances (`lifecycle.replace`). Default: `Wait`. Example: `{value: Stop}`
    #[field("userDataChange", compare = Self::is_no_state, published(), unpublished)]
    pub(crate) user_data_change: Option<Opt<UserDataChange>>,

    /// Tags of the instances and, at launch, of their volumes, at most 45, with keys of up to 128 and values of up to 256 characters. Each
    /// value is a literal or a reference, but not to a Secret. Tags that are set outside Kraken are not changed. Default: none. Example:
    /// `{Team: shop, Env: {valueFrom: {configMap: {name: env, key: name}}}}`
    pub(crate) tags: TagOptions,

    /// How this resource is created, reconciled and deleted. A stopped instance is drift at the path `state`: Kraken
    /// starts it, unless `ignoreChanges` contains `state`.
    pub(crate) lifecycle: Lifecycle,
}

words!(
    /// What a change of user data does to existing instances.
    UserDataChange { Wait = "Wait", Stop = "Stop" }
);

/// A change in place of some instances; the values are those of the desired state. All are idempotent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Change {
    SecurityGroups,
    Monitoring,
    MetadataOptions,
    InstanceProfile,
    InstanceType,
    EbsOptimized,
    UserData,
    Start,
    /// Stops instances that are marked for that.
    Stop,
    /// Sets or removes the disruption mark.
    Mark(Mark),
}

#[cfg(test)]
mod tests {
    use kraken_aws::testing::{assert_round_trips, descriptions, unlisted_secrets};
    use kraken_kind::api::crd::spoke_kind;
    use serde_json::json;

    use super::*;
    use crate::Ec2;

    #[test]
    fn only_image_type_and_counts_are_required() {
        let crd = serde_json::to_value(spoke_kind::<EC2Instance>()).unwrap();
        let spec = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
        assert_eq!(spec["required"], json!(["imageID", "instanceType", "maxCount", "minCount"]));
    }

    #[test]
    fn every_field_that_can_be_secret_is_listed_in_secret_echoes() {
        assert_eq!(unlisted_secrets::<Ec2>(), [] as [&str; 0]);
    }

    #[test]
    fn the_scale_subresource_is_the_literal_maximum_with_its_bounds() {
        let crd = serde_json::to_value(spoke_kind::<EC2Instance>()).unwrap();
        let version = &crd["spec"]["versions"][0];
        assert_eq!(
            version["subresources"]["scale"],
            json!({"specReplicasPath": ".spec.maxCount.value", "statusReplicasPath": ".status.replicas"})
        );
        let schema = &version["schema"]["openAPIV3Schema"]["properties"];
        assert_eq!(schema["status"]["properties"]["replicas"]["type"], "integer");
        let count = &schema["spec"]["properties"]["maxCount"];
        assert!(count["description"].as_str().unwrap().starts_with("The desired number of instances"));
        let value = &count["properties"]["value"];
        assert_eq!((&value["minimum"], &value["maximum"]), (&json!(0.0), &json!(500.0)));
        assert!(schema["spec"]["x-kubernetes-validations"][0]["rule"].as_str().unwrap().contains("minCount"));
    }

    #[test]
    fn every_field_has_a_description_with_an_example_or_default() {
        let found = descriptions::<Ec2>();
        assert!(found.len() > 20, "{}", found.len());
        for (path, text) in found {
            assert!(text.contains("Example: `") || text.contains("Default: "), "{path}: {text}");
        }
    }

    #[test]
    fn field_names_follow_kubernetes_and_values_follow_aws() {
        assert_round_trips::<EC2InstanceSpec>(&json!({
            "imageID": {"value": "ami-1"},
            "instanceType": {"valueFrom": {"configMap": {"name": "sizes", "key": "small"}}},
            "minCount": {"value": 1},
            "maxCount": {"value": 1},
            "subnetID": {"value": "subnet-1"},
            "securityGroupIDs": {"value": [
                "sg-1", {"valueFrom": {"krakenResource": {"kind": "securitygroup", "name": "web"}}},
            ]},
            "keyName": {"value": "ops"},
            "userData": {"value": "hello"},
            "iamInstanceProfile": {"value": "web"},
            "privateIPAddress": {"value": "10.0.0.1"},
            "associatePublicIPAddress": {"value": false},
            "rootVolume": {"value": {
                "sizeGiB": 20, "type": "gp3", "iops": 3000, "throughput": 125, "encrypted": true, "kmsKeyID": "k",
                "deleteOnTermination": true,
            }},
            "metadataOptions": {"value": {
                "httpTokens": "optional", "httpPutResponseHopLimit": 2, "httpEndpoint": "enabled",
            }},
            "monitoring": {"value": true},
            "ebsOptimized": {"value": true},
            "tags": {"Name": "web"},
        }));
    }
}
