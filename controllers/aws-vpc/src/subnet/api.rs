//! Subnet as users write it.

use kraken_aws::{TagOptions, tags};
use kraken_spoke::{HasLifecycle, Lifecycle, Opt, ResourceStatus};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A part of a VPC's addresses, in one availability zone.
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
    doc = "A part of a VPC's addresses, in one availability zone. Its main id is its SubnetId."
)]
pub(crate) struct SubnetSpec {
    /// The VPC. It cannot be changed later. Example: `{valueFrom: {krakenResource: {kind: vpc, name: main}}}`
    #[serde(rename = "vpcID")]
    pub(crate) vpc_id: Opt<String>,

    /// The IPv4 addresses, a block of /16 to /28 inside of the VPC's and beside all other subnets'. It cannot be changed
    /// later. Example: `{value: 10.0.1.0/24}`
    #[serde(rename = "cidrBlock")]
    pub(crate) cidr_block: Opt<String>,

    /// The availability zone, by name. It cannot be changed later. Default: AWS picks one. Example: `{value: us-east-1a}`
    #[serde(rename = "availabilityZone", skip_serializing_if = "Option::is_none")]
    pub(crate) availability_zone: Option<Opt<String>>,

    /// Whether instances that are launched here get a public IPv4 address; changed in place. Default: AWS's (false), and
    /// what is there is left alone. Example: `{value: true}`
    #[serde(rename = "mapPublicIPOnLaunch", skip_serializing_if = "Option::is_none")]
    pub(crate) map_public_ip_on_launch: Option<Opt<bool>>,

    /// Tags, at most 45, with keys of up to 128 and values of up to 256 characters; each value is a literal or a reference,
    /// but not to a Secret. Tags that others set are left alone. Default: none. Example:
    /// `{Name: public-a, Team: shop, Env: {valueFrom: {configMap: {name: env, key: name}}}}`
    #[serde(default, skip_serializing_if = "tags::is_empty")]
    pub(crate) tags: TagOptions,

    /// How this resource is created, healed and deleted.
    #[serde(default)]
    pub(crate) lifecycle: Lifecycle,
}

impl HasLifecycle for SubnetSpec {
    fn lifecycle(&self) -> &Lifecycle {
        &self.lifecycle
    }
}
