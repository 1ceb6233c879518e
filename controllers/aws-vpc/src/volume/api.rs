//! Volume as users write it.

use kraken_aws::{TagOptions, tags};
use kraken_spoke::{HasLifecycle, Lifecycle, Opt, ResourceStatus};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A disk.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "aws.kraken-iac.eoinfennessy.com",
    version = "v1alpha1",
    kind = "Volume",
    plural = "volumes",
    shortname = "vol",
    category = "kraken",
    namespaced,
    status = "ResourceStatus",
    doc = "A disk of EBS, which can be attached to an instance. Its main id is its VolumeId."
)]
pub(crate) struct VolumeSpec {
    /// The availability zone, which is that of the instance. It cannot be changed later. Example:
    /// `{valueFrom: {krakenResource: {kind: subnet, name: a, path: subnet.AvailabilityZone}}}`
    #[serde(rename = "availabilityZone")]
    pub(crate) availability_zone: Opt<String>,

    /// Its size in GiB, 1 to 65536; it can grow in place and not shrink. Needed without `snapshotID`. Default: the
    /// snapshot's. Example: `{value: 20}`
    #[serde(rename = "sizeGiB", skip_serializing_if = "Option::is_none")]
    pub(crate) size_gib: Option<Opt<i32>>,

    /// Its type: `gp2`, `gp3`, `io1`, `io2`, `st1`, `sc1` or `standard`; changed in place. Default: AWS's, and what is
    /// there is left alone. Example: `{value: gp3}`
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub(crate) volume_type: Option<Opt<String>>,

    /// Operations per second, 100 to 256000, for `gp3`, `io1` and `io2`, the last two of which need it; changed in place.
    /// Default: AWS's, and what is there is left alone. Example: `{value: 3000}`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) iops: Option<Opt<i32>>,

    /// Throughput in MiB/s, 125 to 2000, for `gp3` only; changed in place. Default: AWS's, and what is there is left alone.
    /// Example: `{value: 125}`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) throughput: Option<Opt<i32>>,

    /// Whether it is encrypted. It cannot be changed later. Default: as the account says. Example: `{value: true}`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) encrypted: Option<Opt<bool>>,

    /// The KMS key to encrypt with, by id, alias or ARN; needs `encrypted: {value: true}`. It cannot be changed
    /// later. Default: the account's key for EBS. Example: `{value: alias/disks}`
    #[serde(rename = "kmsKeyID", skip_serializing_if = "Option::is_none")]
    pub(crate) kms_key_id: Option<Opt<String>>,

    /// The snapshot that it is a copy of. It cannot be changed later. Default: none, an empty disk. Example:
    /// `{value: snap-0abc1234def567890}`
    #[serde(rename = "snapshotID", skip_serializing_if = "Option::is_none")]
    pub(crate) snapshot_id: Option<Opt<String>>,

    /// The instance that it is attached to, as `device`; changed in place, by detaching and attaching. Default: an attachment
    /// that is there is left alone. Example: `{valueFrom: {krakenResource: {kind: ec2instance, name: db}}}`
    #[serde(rename = "instanceID", skip_serializing_if = "Option::is_none")]
    pub(crate) instance_id: Option<Opt<String>>,

    /// The name that the instance has it by; with `instanceID` only. Default: none. Example: `{value: /dev/sdf}`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) device: Option<Opt<String>>,

    /// Tags, at most 45, with keys of up to 128 and values of up to 256 characters; each value is a literal or a reference,
    /// but not to a Secret. Tags that others set are left alone. Default: none. Example:
    /// `{Name: data, Team: shop, Env: {valueFrom: {configMap: {name: env, key: name}}}}`
    #[serde(default, skip_serializing_if = "tags::is_empty")]
    pub(crate) tags: TagOptions,

    /// How this resource is created, healed and deleted.
    #[serde(default)]
    pub(crate) lifecycle: Lifecycle,
}

impl HasLifecycle for VolumeSpec {
    fn lifecycle(&self) -> &Lifecycle {
        &self.lifecycle
    }
}
