//! Subnet, the API type.

use kraken_aws::{
    aws_kind,
    bounds::{CidrV4, VPC_ID, ZONE},
};
use kraken_kind::Opt;

const CIDR_BLOCK: CidrV4 = CidrV4(16, 28);

/// A subnet: a range of a VPC's addresses in one availability zone.
#[aws_kind(
    kind = "Subnet",
    plural = "subnets",
    shortname = "sn",
    doc = "A subnet: a range of a VPC's addresses in one availability zone. Its main id is its SubnetId.",
    noun = "subnet",
    state = "subnet",
    tag_name = "public-a",
    observed = super::observed::Subnet,
    summary("CIDR" = "CidrBlock", "Zone" = "AvailabilityZone", "State" = "State")
)]
pub(crate) struct SubnetSpec {
    /// The VPC of the subnet. Immutable. Example: `{valueFrom: {ref: VPC/main}}`
    #[field("vpcID", rule = VPC_ID, fixed)]
    pub(crate) vpc_id: Opt<String>,

    /// The IPv4 CIDR block, /16 to /28, within a block of the VPC and without overlap with other subnets. Immutable.
    /// Example: `{value: 10.0.1.0/24}`
    #[field("cidrBlock", rule = CIDR_BLOCK, fixed)]
    pub(crate) cidr_block: Opt<String>,

    /// The availability zone, by name. Immutable. Default: chosen by AWS. Example: `{value: us-east-1a}`
    #[field("availabilityZone", rule = ZONE, fixed, published("AvailabilityZone", "AvailabilityZoneId"))]
    pub(crate) availability_zone: Option<Opt<String>>,

    /// Whether instances that are launched in the subnet get a public IPv4 address. Changed in place. Default: AWS's
    /// default (false); an existing setting is not managed. Example: `{value: true}`
    #[field("mapPublicIPOnLaunch", change = MapPublicIpOnLaunch(bool), unless = false)]
    pub(crate) map_public_ip_on_launch: Option<Opt<bool>>,
}
