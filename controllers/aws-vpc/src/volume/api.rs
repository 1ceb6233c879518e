//! Volume, the API type.

use kraken_aws::{
    aws_kind,
    bounds::{INSTANCE_ID, IOPS, Id, KMS_KEY, Pattern, SIZE_GIB, THROUGHPUT, Words, ZONE},
};
use kraken_kind::Opt;

const TYPE: Words = Words(&["gp2", "gp3", "io1", "io2", "st1", "sc1", "standard"]);
const SNAPSHOT_ID: Id = Id("snap-");
static DEVICE: Pattern = Pattern::new("^[!-~]+$", 32, "must be the name of a device such as /dev/sdf");

/// An EBS volume.
#[aws_kind(
    kind = "Volume",
    plural = "volumes",
    shortname = "vol",
    doc = "An EBS volume, which can be attached to an EC2 instance. Its main id is its VolumeId.",
    noun = "volume",
    state = "volume",
    tag_name = "data",
    observed = super::observed::Volume,
    summary(
        "Size" = "Size",
        "Type" = "VolumeType",
        "Instance" = "Attachments.0.InstanceId",
        "State" = "State",
    ),
    drift("state"),
    rules = Self::between_fields,
    at_creation = Self::at_creation,
    cel(
        "has(self.sizeGiB) || has(self.snapshotID)"
            else "is required without snapshotID" at "sizeGiB",
        "has(self.iops) || !has(self.type) || !has(self.type.value) || !(self.type.value in ['io1', 'io2'])"
            else "is required for the types io1 and io2" at "iops",
        "!has(self.iops) || !has(self.type) || !has(self.type.value) || self.type.value in ['gp3', 'io1', 'io2']"
            else "is only allowed for the types gp3, io1 and io2; remove it or change the type" at "iops",
        "!has(self.throughput) || !has(self.type) || !has(self.type.value) || self.type.value == 'gp3'"
            else "is only allowed for the type gp3; remove it or change the type" at "throughput",
        "!has(self.kmsKeyID) || (has(self.encrypted) && (!has(self.encrypted.value) || self.encrypted.value == true))"
            else "requires encrypted: {value: true}" at "kmsKeyID",
        "!has(self.instanceID) || has(self.device)"
            else "is required with instanceID" at "device",
        "!has(self.device) || has(self.instanceID)"
            else "requires instanceID" at "device",
    )
)]
pub(crate) struct VolumeSpec {
    /// The availability zone; the zone of the instance if the volume is attached. Immutable. Example:
    /// `{valueFrom: {ref: Subnet/a/subnet.AvailabilityZone}}`
    #[field("availabilityZone", rule = ZONE, fixed)]
    pub(crate) availability_zone: Opt<String>,

    /// The size in GiB, 1 to 65536. Can be increased in place, but not decreased. Required without `snapshotID`.
    /// Default: the size of the snapshot. Example: `{value: 20}`
    #[field(
        "sizeGiB",
        rule = SIZE_GIB,
        change = Modify,
        compare = Self::compare_size,
        import = Self::import_size,
        published("Size")
    )]
    pub(crate) size_gib: Option<Opt<i32>>,

    /// The volume type: `gp2`, `gp3`, `io1`, `io2`, `st1`, `sc1` or `standard`. Changed in place. Default: AWS's
    /// default; an existing type is not managed. Example: `{value: gp3}`
    #[field("type", rule = TYPE, change = Modify)]
    pub(crate) volume_type: Option<Opt<String>>,

    /// I/O operations per second, 100 to 256000, for `gp3`, `io1` and `io2`. Required for `io1` and `io2`. Changed in
    /// place. Default: AWS's default; an existing value is not managed. Example: `{value: 3000}`
    #[field("iops", rule = IOPS, change = Modify, import = Self::import_iops)]
    pub(crate) iops: Option<Opt<i32>>,

    /// Throughput in MiB/s, 125 to 2000, for `gp3` only. Changed in place. Default: AWS's default; an existing value is not
    /// managed. Example: `{value: 125}`
    #[field("throughput", rule = THROUGHPUT, change = Modify, unless = 125)]
    pub(crate) throughput: Option<Opt<i32>>,

    /// Whether the volume is encrypted. Immutable. Default: the default of the account. Example: `{value: true}`
    #[field("encrypted", fixed, unless = false)]
    pub(crate) encrypted: Option<Opt<bool>>,

    /// The KMS key for encryption, by id, alias or ARN. Requires `encrypted: {value: true}`. Immutable. Default: the
    /// account's key for EBS. Example: `{value: alias/disks}`
    #[field(
        "kmsKeyID",
        rule = KMS_KEY,
        fixed,
        compare = Self::compare_key,
        import = Self::import_key,
        published("KmsKeyId")
    )]
    pub(crate) kms_key_id: Option<Opt<String>>,

    /// The snapshot to create the volume from. Immutable. Default: none; the volume is empty. Example:
    /// `{value: snap-0abc1234def567890}`
    #[field("snapshotID", rule = SNAPSHOT_ID, fixed)]
    pub(crate) snapshot_id: Option<Opt<String>>,

    /// The instance that the volume is attached to, as `device`. Changed in place, by detaching and attaching. Default: none;
    /// an existing attachment is not managed. Example: `{valueFrom: {ref: EC2Instance/db}}`
    #[field(
        "instanceID",
        rule = INSTANCE_ID,
        change = Attach,
        compare = Self::compare_instance,
        import = Self::import_instance,
        always_sent,
        published("Attachments.InstanceId")
    )]
    pub(crate) instance_id: Option<Opt<String>>,

    /// The device name on the instance. Only with `instanceID`. Default: none. Example: `{value: /dev/sdf}`
    #[field(
        "device",
        rule = DEVICE,
        change = Attach,
        compare = Self::compare_device,
        import = Self::import_device,
        always_sent,
        published("Attachments.Device")
    )]
    pub(crate) device: Option<Opt<String>>,
}
