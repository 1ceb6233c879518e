//! Volume, the API type.

use kraken_aws::{
    TagOptions,
    bounds::{self, INSTANCE_ID, Id, KMS_KEY, Pattern, Range, Words, ZONE, literal},
    tags,
};
use kraken_spoke::{HasLifecycle, Lifecycle, Opt, ResourceStatus};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(super) const SIZE_GIB: Range = Range(1, 65_536);
pub(super) const TYPE: Words = Words(&["gp2", "gp3", "io1", "io2", "st1", "sc1", "standard"]);
pub(super) const IOPS: Range = Range(100, 256_000);
pub(super) const THROUGHPUT: Range = Range(125, 2_000);
pub(super) const SNAPSHOT_ID: Id = Id("snap-");
pub(super) static DEVICE: Pattern =
    Pattern::new("^[!-~]+$", 32, "must be the name of a device such as /dev/sdf");

/// An EBS volume.
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
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "has(self.sizeGiB) || has(self.snapshotID)",
    "message": "is required without snapshotID",
    "fieldPath": ".sizeGiB",
}, {
    "rule": "has(self.iops) || !has(self.type) || !has(self.type.value) || !(self.type.value in ['io1', 'io2'])",
    "message": "is required for the types io1 and io2",
    "fieldPath": ".iops",
}, {
    "rule": "!has(self.iops) || !has(self.type) || !has(self.type.value) || self.type.value in ['gp3', 'io1', 'io2']",
    "message": "is only allowed for the types gp3, io1 and io2; remove it or change the type",
    "fieldPath": ".iops",
}, {
    "rule": "!has(self.throughput) || !has(self.type) || !has(self.type.value) || self.type.value == 'gp3'",
    "message": "is only allowed for the type gp3; remove it or change the type",
    "fieldPath": ".throughput",
}, {
    "rule": "!has(self.kmsKeyID) || (has(self.encrypted) && (!has(self.encrypted.value) || self.encrypted.value == true))",
    "message": "requires encrypted: {value: true}",
    "fieldPath": ".kmsKeyID",
}, {
    "rule": "!has(self.instanceID) || has(self.device)",
    "message": "is required with instanceID",
    "fieldPath": ".device",
}, {
    "rule": "!has(self.device) || has(self.instanceID)",
    "message": "requires instanceID",
    "fieldPath": ".device",
}]))]
pub(crate) struct VolumeSpec {
    /// The availability zone; the zone of the instance if the volume is attached. Immutable. Example:
    /// `{valueFrom: {krakenResource: {kind: subnet, name: a, path: subnet.AvailabilityZone}}}`
    #[serde(rename = "availabilityZone")]
    #[schemars(transform = literal(&ZONE))]
    pub(crate) availability_zone: Opt<String>,

    /// The size in GiB, 1 to 65536. Can be increased in place, but not decreased. Required without `snapshotID`.
    /// Default: the size of the snapshot. Example: `{value: 20}`
    #[serde(rename = "sizeGiB", skip_serializing_if = "Option::is_none")]
    #[schemars(transform = literal(&SIZE_GIB))]
    pub(crate) size_gib: Option<Opt<i32>>,

    /// The volume type: `gp2`, `gp3`, `io1`, `io2`, `st1`, `sc1` or `standard`. Changed in place. Default: AWS's
    /// default; an existing type is not managed. Example: `{value: gp3}`
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    #[schemars(transform = literal(&TYPE))]
    pub(crate) volume_type: Option<Opt<String>>,

    /// I/O operations per second, 100 to 256000, for `gp3`, `io1` and `io2`. Required for `io1` and `io2`. Changed in
    /// place. Default: AWS's default; an existing value is not managed. Example: `{value: 3000}`
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = literal(&IOPS))]
    pub(crate) iops: Option<Opt<i32>>,

    /// Throughput in MiB/s, 125 to 2000, for `gp3` only. Changed in place. Default: AWS's default; an existing value is not
    /// managed. Example: `{value: 125}`
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = literal(&THROUGHPUT))]
    pub(crate) throughput: Option<Opt<i32>>,

    /// Whether the volume is encrypted. Immutable. Default: the default of the account. Example: `{value: true}`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) encrypted: Option<Opt<bool>>,

    /// The KMS key for encryption, by id, alias or ARN. Requires `encrypted: {value: true}`. Immutable. Default: the
    /// account's key for EBS. Example: `{value: alias/disks}`
    #[serde(rename = "kmsKeyID", skip_serializing_if = "Option::is_none")]
    #[schemars(transform = literal(&KMS_KEY))]
    pub(crate) kms_key_id: Option<Opt<String>>,

    /// The snapshot to create the volume from. Immutable. Default: none; the volume is empty. Example:
    /// `{value: snap-0abc1234def567890}`
    #[serde(rename = "snapshotID", skip_serializing_if = "Option::is_none")]
    #[schemars(transform = literal(&SNAPSHOT_ID))]
    pub(crate) snapshot_id: Option<Opt<String>>,

    /// The instance that the volume is attached to, as `device`. Changed in place, by detaching and attaching. Default: none;
    /// an existing attachment is not managed. Example: `{valueFrom: {krakenResource: {kind: ec2instance, name: db}}}`
    #[serde(rename = "instanceID", skip_serializing_if = "Option::is_none")]
    #[schemars(transform = literal(&INSTANCE_ID))]
    pub(crate) instance_id: Option<Opt<String>>,

    /// The device name on the instance. Only with `instanceID`. Default: none. Example: `{value: /dev/sdf}`
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = literal(&DEVICE))]
    pub(crate) device: Option<Opt<String>>,

    /// Tags, at most 45, with keys of up to 128 and values of up to 256 characters. Each value is a literal or a reference,
    /// but not to a Secret. Tags that are set outside Kraken are not changed. Default: none. Example:
    /// `{Name: data, Team: shop, Env: {valueFrom: {configMap: {name: env, key: name}}}}`
    #[serde(default, skip_serializing_if = "tags::is_empty")]
    #[schemars(transform = bounds::tags())]
    pub(crate) tags: TagOptions,

    /// How this resource is created, reconciled and deleted.
    #[serde(default)]
    pub(crate) lifecycle: Lifecycle,
}

impl HasLifecycle for VolumeSpec {
    fn lifecycle(&self) -> &Lifecycle {
        &self.lifecycle
    }
}
