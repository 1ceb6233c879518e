//! ElasticIP, the API type.

use kraken_aws::{
    aws_kind,
    bounds::{INSTANCE_ID, NETWORK_INTERFACE_ID},
};
use kraken_kind::Opt;

/// An Elastic IP: a static public IPv4 address.
#[aws_kind(
    kind = "ElasticIP",
    plural = "elasticips",
    shortname = "eip",
    doc = "An Elastic IP: a static public IPv4 address. Its main id is its AllocationId; the address is elasticIP.PublicIp.",
    noun = "address",
    state = "elasticIP",
    tag_name = "web",
    observed = super::observed::Address,
    summary("Public IP" = "PublicIp", "Instance" = "InstanceId"),
    rules = Self::between_fields,
    cel(
        "!has(self.instanceID) || !has(self.networkInterfaceID)"
            else "cannot be combined with instanceID; remove one of them" at "networkInterfaceID",
    )
)]
pub(crate) struct ElasticIPSpec {
    /// The instance that the address is associated with. At most one of this and `networkInterfaceID`. Changed in
    /// place. Default: none; an existing association, such as that of a NAT gateway, is not managed. Example:
    /// `{valueFrom: {ref: EC2Instance/web}}`
    #[field("instanceID", rule = INSTANCE_ID, change = Associate)]
    pub(crate) instance_id: Option<Opt<String>>,

    /// The network interface that the address is associated with. At most one of this and `instanceID`. Changed in
    /// place. Default: none; an existing association is not managed. Example: `{value: eni-0abc1234def567890}`
    #[field("networkInterfaceID", rule = NETWORK_INTERFACE_ID, change = Associate, import = none)]
    pub(crate) network_interface_id: Option<Opt<String>>,
}
