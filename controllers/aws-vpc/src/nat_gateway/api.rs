//! NATGateway, the API type.

use kraken_aws::{
    TagOptions,
    bounds::{self, Id, SUBNET_ID, Words, literal},
    tags,
};
use kraken_spoke::{HasLifecycle, Lifecycle, Opt, ResourceStatus};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(super) const ALLOCATION_ID: Id = Id("eipalloc-");
pub(super) const CONNECTIVITY_TYPE: Words = Words(&["public", "private"]);

/// A NAT gateway, which connects private subnets to other networks.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "aws.kraken-iac.eoinfennessy.com",
    version = "v1alpha1",
    kind = "NATGateway",
    plural = "natgateways",
    shortname = "nat",
    category = "kraken",
    namespaced,
    status = "ResourceStatus",
    doc = "A NAT gateway, which connects private subnets to other networks without accepting inbound connections. Its main id is its NatGatewayId."
)]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "has(self.allocationID) || (has(self.connectivityType) && (!has(self.connectivityType.value) || self.connectivityType.value != 'public'))",
    "message": "is required for a public gateway",
    "fieldPath": ".allocationID",
}, {
    "rule": "!has(self.allocationID) || !has(self.connectivityType) || !has(self.connectivityType.value) || self.connectivityType.value != 'private'",
    "message": "is only allowed for a public gateway; remove it or the connectivityType private",
    "fieldPath": ".allocationID",
}]))]
pub(crate) struct NATGatewaySpec {
    /// The subnet of the gateway. A public NAT gateway requires a subnet with a route to an internet gateway.
    /// Immutable. Example: `{valueFrom: {krakenResource: {kind: subnet, name: public-a}}}`
    #[serde(rename = "subnetID")]
    #[schemars(transform = literal(&SUBNET_ID))]
    pub(crate) subnet_id: Opt<String>,

    /// The Elastic IP allocation of the gateway. Required for a public gateway, not allowed for a private one.
    /// Immutable. Default: none. Example: `{valueFrom: {krakenResource: {kind: elasticip, name: nat}}}`
    #[serde(rename = "allocationID", skip_serializing_if = "Option::is_none")]
    #[schemars(transform = literal(&ALLOCATION_ID))]
    pub(crate) allocation_id: Option<Opt<String>>,

    /// The connectivity type: `public` for the internet, or `private` for other VPCs and on-premises networks.
    /// Immutable. Default: `public`. Example: `{value: public}`
    #[serde(rename = "connectivityType", skip_serializing_if = "Option::is_none")]
    #[schemars(transform = literal(&CONNECTIVITY_TYPE))]
    pub(crate) connectivity_type: Option<Opt<String>>,

    /// Tags, at most 45, with keys of up to 128 and values of up to 256 characters. Each value is a literal or a reference,
    /// but not to a Secret. Tags that are set outside Kraken are not changed. Default: none. Example:
    /// `{Name: a, Team: shop, Env: {valueFrom: {configMap: {name: env, key: name}}}}`
    #[serde(default, skip_serializing_if = "tags::is_empty")]
    #[schemars(transform = bounds::tags())]
    pub(crate) tags: TagOptions,

    /// How this resource is created, reconciled and deleted.
    #[serde(default)]
    pub(crate) lifecycle: Lifecycle,
}

impl HasLifecycle for NATGatewaySpec {
    fn lifecycle(&self) -> &Lifecycle {
        &self.lifecycle
    }
}
