//! VPCPeeringConnection, the API type.

use kraken_aws::{
    aws_kind,
    bounds::{Pattern, VPC_ID},
};
use kraken_kind::Opt;

static ACCOUNT: Pattern = Pattern::new("^[0-9]{12}$", 12, "must be the id of an AWS account, with 12 digits");
static REGION: Pattern = Pattern::new("^[a-z0-9-]+$", 64, "must be the name of a region such as us-east-1");

/// A VPC peering connection: routes between two VPCs.
#[aws_kind(
    kind = "VPCPeeringConnection",
    plural = "vpcpeeringconnections",
    shortname = "pcx",
    doc = "A VPC peering connection, which connects two VPCs. Its main id is its VpcPeeringConnectionId.",
    noun = "VPC peering connection",
    state = "vpcPeeringConnection",
    tag_name = "shop-data",
    observed = super::observed::VpcPeeringConnection,
    summary("Requester" = "RequesterVpcInfo.VpcId", "Accepter" = "AccepterVpcInfo.VpcId", "State" = "Status.Code"),
    drift("state"),
    rules = Self::between_fields,
    order = Self::order,
    change = Change,
    cel(
        "!has(self.accepterAllowDNSResolutionFromRemoteVPC) || (!has(self.peerOwnerID) && !has(self.peerRegion))"
            else "is only supported without peerOwnerID and peerRegion: the owner of the peer VPC sets it" at "accepterAllowDNSResolutionFromRemoteVPC",
    )
)]
pub(crate) struct VPCPeeringConnectionSpec {
    /// The VPC that requests the connection. Immutable. Example: `{valueFrom: {ref: VPC/main}}`
    #[field("vpcID", rule = VPC_ID, fixed, observed = requester_vpc_id(), published("RequesterVpcInfo.VpcId"))]
    pub(crate) vpc_id: Opt<String>,

    /// The VPC to connect with, without overlapping CIDR blocks. One of the same account and region accepts the connection at once. Immutable. Example:
    /// `{valueFrom: {ref: VPC/data}}`
    #[field(
        "peerVPCID",
        rule = VPC_ID,
        fixed,
        compare = Self::compare_peer,
        import = Self::import_peer,
        published("AccepterVpcInfo.VpcId")
    )]
    pub(crate) peer_vpc_id: Opt<String>,

    /// The AWS account of the peer VPC, 12 digits, whose owner must accept the connection. Immutable. Default: the account of the VPC. Example:
    /// `{value: "123456789012"}`
    #[field(
        "peerOwnerID",
        rule = ACCOUNT,
        fixed,
        observed = accepter_owner_id(),
        import = Self::import_owner,
        published("AccepterVpcInfo.OwnerId")
    )]
    pub(crate) peer_owner_id: Option<Opt<String>>,

    /// The region of the peer VPC, where the connection must be accepted. Immutable. Default: the region of the VPC. Example: `{value: eu-west-1}`
    #[field(
        "peerRegion",
        rule = REGION,
        fixed,
        observed = accepter_region(),
        import = Self::import_region,
        published("AccepterVpcInfo.Region")
    )]
    pub(crate) peer_region: Option<Opt<String>>,

    /// Whether public DNS names of the VPC resolve to private addresses in the peer VPC. Both need DNS hostnames. Changed in place when the connection is
    /// active. Default: AWS's default (false); an existing setting is not managed. Example: `{value: true}`
    #[field(
        "requesterAllowDNSResolutionFromRemoteVPC",
        change = Options,
        observed = requester_dns(),
        published("RequesterVpcInfo.PeeringOptions.AllowDnsResolutionFromRemoteVpc"),
        unless = false
    )]
    pub(crate) requester_allow_dns_resolution: Option<Opt<bool>>,

    /// Whether public DNS names of the peer VPC resolve to private addresses in the VPC; only without `peerOwnerID` and `peerRegion`. Changed in place when
    /// the connection is active. Default: AWS's default (false); an existing setting is not managed. Example: `{value: true}`
    #[field(
        "accepterAllowDNSResolutionFromRemoteVPC",
        change = Options,
        observed = accepter_dns(),
        import = Self::import_accepter_dns,
        published("AccepterVpcInfo.PeeringOptions.AllowDnsResolutionFromRemoteVpc")
    )]
    pub(crate) accepter_allow_dns_resolution: Option<Opt<bool>>,
}

/// A change in place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Change {
    Accept,
    Options,
}
