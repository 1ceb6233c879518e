//! Subnet, the API type.

use kraken_aws::{
    TagOptions,
    bounds::{self, CidrV4, VPC_ID, ZONE, literal},
    tags,
};
use kraken_spoke::{HasLifecycle, Lifecycle, Opt, ResourceStatus};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(super) const CIDR_BLOCK: CidrV4 = CidrV4(16, 28);

/// A subnet: a range of a VPC's addresses in one availability zone.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "aws.kraken-iac.eoinfennessy.com",
    version = "v1alpha1",
    kind = "Subnet",
    plural = "subnets",
    shortname = "sn",
    category = "kraken",
    namespaced,
    status = "ResourceStatus",
    doc = "A subnet: a range of a VPC's addresses in one availability zone. Its main id is its SubnetId."
)]
pub(crate) struct SubnetSpec {
    /// The VPC of the subnet. Immutable. Example: `{valueFrom: {krakenResource: {kind: vpc, name: main}}}`
    #[serde(rename = "vpcID")]
    #[schemars(transform = literal(&VPC_ID))]
    pub(crate) vpc_id: Opt<String>,

    /// The IPv4 CIDR block, /16 to /28, within a block of the VPC and without overlap with other subnets. Immutable.
    /// Example: `{value: 10.0.1.0/24}`
    #[serde(rename = "cidrBlock")]
    #[schemars(transform = literal(&CIDR_BLOCK))]
    pub(crate) cidr_block: Opt<String>,

    /// The availability zone, by name. Immutable. Default: chosen by AWS. Example: `{value: us-east-1a}`
    #[serde(rename = "availabilityZone", skip_serializing_if = "Option::is_none")]
    #[schemars(transform = literal(&ZONE))]
    pub(crate) availability_zone: Option<Opt<String>>,

    /// Whether instances that are launched in the subnet get a public IPv4 address. Changed in place. Default: AWS's
    /// default (false); an existing setting is not managed. Example: `{value: true}`
    #[serde(rename = "mapPublicIPOnLaunch", skip_serializing_if = "Option::is_none")]
    pub(crate) map_public_ip_on_launch: Option<Opt<bool>>,

    /// Tags, at most 45, with keys of up to 128 and values of up to 256 characters. Each value is a literal or a reference,
    /// but not to a Secret. Tags that are set outside Kraken are not changed. Default: none. Example:
    /// `{Name: public-a, Team: shop, Env: {valueFrom: {configMap: {name: env, key: name}}}}`
    #[serde(default, skip_serializing_if = "tags::is_empty")]
    #[schemars(transform = bounds::tags())]
    pub(crate) tags: TagOptions,

    /// How this resource is created, reconciled and deleted.
    #[serde(default)]
    pub(crate) lifecycle: Lifecycle,
}

impl HasLifecycle for SubnetSpec {
    fn lifecycle(&self) -> &Lifecycle {
        &self.lifecycle
    }
}
