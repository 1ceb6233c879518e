//! EC2Instance as users write it.

use kraken_aws::{TagOptions, tags};
use kraken_spoke::{
    HasLifecycle, Lifecycle, Opt, ResourceStatus, option_object,
    options::{ListOpt, Public},
};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One or more EC2 instances that are alike.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "aws.kraken-iac.eoinfennessy.com",
    version = "v1alpha1",
    kind = "EC2Instance",
    plural = "ec2instances",
    shortname = "ec2",
    category = "kraken",
    namespaced,
    status = "ResourceStatus",
    doc = "One or more EC2 instances that are alike. Kraken creates, heals, scales and deletes them."
)]
pub(crate) struct EC2InstanceSpec {
    /// The image (AMI) to launch from. It cannot be changed later. Example: `{value: ami-0abc1234def567890}`
    #[serde(rename = "imageID")]
    pub(crate) image_id: Opt<String>,

    /// The instance type. It can be changed while the instance is stopped. Example: `{value: t2.nano}`
    #[serde(rename = "instanceType")]
    pub(crate) instance_type: Opt<String>,

    /// How many instances a launch must reach to count as one, 1 to 1000, at most `maxCount`: AWS launches none if it
    /// has capacity for fewer. Example: `{value: 1}`
    #[serde(rename = "minCount")]
    pub(crate) min_count: Public<Opt<i32>>,

    /// How many instances there shall be, 1 to 1000. A change scales up or down; the youngest go first. Example:
    /// `{value: 2}`
    #[serde(rename = "maxCount")]
    pub(crate) max_count: Public<Opt<i32>>,

    /// The subnet to launch in. It cannot be changed later. Default: one of the default VPC. Example:
    /// `{valueFrom: {krakenResource: {kind: subnet, name: a}}}`
    #[serde(rename = "subnetID", skip_serializing_if = "Option::is_none")]
    pub(crate) subnet_id: Option<Opt<String>>,

    /// The security groups, 1 to 16 of them; changed in place. Default: the VPC's default group, and what is there is
    /// left alone. Example:
    /// `{value: [sg-0abc1234def567890, {valueFrom: {krakenResource: {kind: securitygroup, name: web}}}]}`
    #[serde(rename = "securityGroupIDs", skip_serializing_if = "Option::is_none")]
    pub(crate) security_group_ids: Option<ListOpt<String>>,

    /// The name of the key pair for SSH, 1 to 255 characters. It cannot be changed later. Default: none. Example:
    /// `{value: ops}`
    #[serde(rename = "keyName", skip_serializing_if = "Option::is_none")]
    pub(crate) key_name: Option<Public<Opt<String>>>,

    /// The user data, as plain text of at most 16 KiB; Kraken encodes it. It can be changed while the instance is
    /// stopped, and is not run again by itself. It is never shown, but whoever may call the instance's metadata
    /// service can read it. Default: none. Example: `{value: "#!/bin/sh\necho hello"}`
    #[serde(rename = "userData", skip_serializing_if = "Option::is_none")]
    pub(crate) user_data: Option<Opt<String>>,

    /// The IAM instance profile, by name or ARN. Kraken does not change it later. Default: none. Example:
    /// `{value: web}`
    #[serde(rename = "iamInstanceProfile", skip_serializing_if = "Option::is_none")]
    pub(crate) iam_instance_profile: Option<Opt<String>>,

    /// The primary private IPv4 address, of the subnet's range; only with a `maxCount` of 1. It cannot be changed
    /// later. Default: AWS picks one. Example: `{value: 10.0.0.10}`
    #[serde(rename = "privateIPAddress", skip_serializing_if = "Option::is_none")]
    pub(crate) private_ip_address: Option<Opt<String>>,

    /// Whether the instance gets a public IPv4 address at launch; a later change has no effect. Default: as the subnet
    /// says. Example: `{value: true}`
    #[serde(rename = "associatePublicIPAddress", skip_serializing_if = "Option::is_none")]
    pub(crate) associate_public_ip_address: Option<Opt<bool>>,

    /// The root volume at launch; a later change has no effect. Default: as the image says. Example:
    /// `{value: {sizeGiB: 20, type: gp3, encrypted: true}}`
    #[serde(rename = "rootVolume", skip_serializing_if = "Option::is_none")]
    pub(crate) root_volume: Option<Opt<RootVolume>>,

    /// The instance metadata service; changed in place. Default: IMDSv2 is required. Example:
    /// `{value: {httpPutResponseHopLimit: 2}}`
    #[serde(rename = "metadataOptions", skip_serializing_if = "Option::is_none")]
    pub(crate) metadata_options: Option<Opt<MetadataOptions>>,

    /// Whether CloudWatch gets metrics each minute instead of every five, at a price; changed in place. Default: AWS's
    /// (off), and what is there is left alone. Example: `{value: true}`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) monitoring: Option<Opt<bool>>,

    /// Whether the instance has bandwidth of its own for EBS, on types that do not have it anyway. It can be changed
    /// while the instance is stopped. Default: AWS's (off). Example: `{value: true}`
    #[serde(rename = "ebsOptimized", skip_serializing_if = "Option::is_none")]
    pub(crate) ebs_optimized: Option<Opt<bool>>,

    /// Tags of the instances and, at launch, of their volumes; at most 45, with keys of up to 128 and values of up to
    /// 256 characters; each value is a literal or a reference, but not to a Secret. Tags that others set are left alone. Default: none. Example:
    /// `{Team: shop, Env: {valueFrom: {configMap: {name: env, key: name}}}}`
    #[serde(default, skip_serializing_if = "tags::is_empty")]
    pub(crate) tags: TagOptions,

    /// How this resource is created, healed and deleted. A stopped instance is drift at the path `state`.
    #[serde(default)]
    pub(crate) lifecycle: Lifecycle,
}

impl HasLifecycle for EC2InstanceSpec {
    fn lifecycle(&self) -> &Lifecycle {
        &self.lifecycle
    }
}

/// The root volume of an instance. What is left out is as the image says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct RootVolume {
    /// Its size in GiB, 1 to 65536, and not less than the image's. Example: `20`
    #[serde(rename = "sizeGiB", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65_536))]
    pub(crate) size_gib: Option<i32>,

    /// Its type: `gp2`, `gp3`, `io1`, `io2` or `standard`. Example: `gp3`
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub(crate) volume_type: Option<VolumeType>,

    /// Operations per second, 100 to 256000, for `gp3`, `io1` and `io2`; the last two need it. Example: `3000`
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 100, max = 256_000))]
    pub(crate) iops: Option<i32>,

    /// Throughput in MiB/s, 125 to 2000, for `gp3` only. Example: `125`
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 125, max = 2_000))]
    pub(crate) throughput: Option<i32>,

    /// Whether it is encrypted. Example: `true`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) encrypted: Option<bool>,

    /// The KMS key to encrypt with, by id, alias or ARN; needs `encrypted: true`. Default: the account's key for EBS.
    /// Example: `alias/disks`
    #[serde(rename = "kmsKeyID", skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 2048))]
    pub(crate) kms_key_id: Option<String>,

    /// Whether it is deleted with the instance. Example: `true`
    #[serde(rename = "deleteOnTermination", skip_serializing_if = "Option::is_none")]
    pub(crate) delete_on_termination: Option<bool>,
}

/// A volume type that an instance can boot from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum VolumeType {
    Gp2,
    Gp3,
    Io1,
    Io2,
    Standard,
}

/// The instance metadata service.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct MetadataOptions {
    /// Whether a session token is needed (IMDSv2): `required` or `optional`. Default: `required`.
    #[serde(rename = "httpTokens", default)]
    pub(crate) tokens: HttpTokens,

    /// How many network hops the token may travel, 1 to 64; 2 for containers on the instance. Default: AWS's.
    #[serde(rename = "httpPutResponseHopLimit", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 64))]
    pub(crate) hop_limit: Option<i32>,

    /// Whether the service can be reached at all: `enabled` or `disabled`. If it is disabled, the other two count for
    /// nothing. Default: AWS's (enabled).
    #[serde(rename = "httpEndpoint", skip_serializing_if = "Option::is_none")]
    pub(crate) endpoint: Option<HttpEndpoint>,
}

/// Whether the metadata service wants a session token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum HttpTokens {
    #[default]
    Required,
    Optional,
}

/// Whether the metadata service can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum HttpEndpoint {
    Enabled,
    Disabled,
}

impl VolumeType {
    /// As AWS writes it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Gp2 => "gp2",
            Self::Gp3 => "gp3",
            Self::Io1 => "io1",
            Self::Io2 => "io2",
            Self::Standard => "standard",
        }
    }
}

impl HttpTokens {
    /// As AWS writes it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Required => "required",
            Self::Optional => "optional",
        }
    }
}

impl HttpEndpoint {
    /// As AWS writes it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Enabled => "enabled",
            Self::Disabled => "disabled",
        }
    }
}

option_object!(RootVolume, MetadataOptions);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ec2;
    use kraken_aws::testing::{assert_round_trips, descriptions, unlisted_secrets};
    use kraken_spoke::api::crd::spoke_kind;
    use serde_json::json;

    #[test]
    fn only_image_type_and_counts_are_required() {
        let crd = serde_json::to_value(spoke_kind::<EC2Instance>()).unwrap();
        let spec = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
        assert_eq!(spec["required"], json!(["imageID", "instanceType", "maxCount", "minCount"]));
    }

    #[test]
    fn it_is_known_where_the_state_shows_each_field_that_takes_a_secret() {
        assert_eq!(unlisted_secrets::<Ec2>(), [] as [&str; 0]);
    }

    #[test]
    fn every_field_says_what_it_is_with_an_example_or_its_values() {
        let found = descriptions::<Ec2>();
        assert!(found.len() > 20, "{}", found.len());
        for (path, text) in found {
            assert!(text.contains("Example: `") || text.contains("Default: "), "{path}: {text}");
        }
    }

    #[test]
    fn names_are_spelled_as_aws_and_kubernetes_do() {
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
