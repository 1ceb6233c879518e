//! ElasticIP, the API type.

use kraken_aws::{
    TagOptions,
    bounds::{self, INSTANCE_ID, NETWORK_INTERFACE_ID, literal},
    tags,
};
use kraken_spoke::{HasLifecycle, Lifecycle, Opt, ResourceStatus};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An Elastic IP: a static public IPv4 address.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "aws.kraken-iac.eoinfennessy.com",
    version = "v1alpha1",
    kind = "ElasticIP",
    plural = "elasticips",
    shortname = "eip",
    category = "kraken",
    namespaced,
    status = "ResourceStatus",
    doc = "An Elastic IP: a static public IPv4 address. Its main id is its AllocationId; the address is elasticIP.PublicIp."
)]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "!has(self.instanceID) || !has(self.networkInterfaceID)",
    "message": "cannot be combined with instanceID; remove one of them",
    "fieldPath": ".networkInterfaceID",
}]))]
pub(crate) struct ElasticIPSpec {
    /// The instance that the address is associated with. At most one of this and `networkInterfaceID`. Changed in
    /// place. Default: none; an existing association, such as that of a NAT gateway, is not managed. Example:
    /// `{valueFrom: {krakenResource: {kind: ec2instance, name: web}}}`
    #[serde(rename = "instanceID", skip_serializing_if = "Option::is_none")]
    #[schemars(transform = literal(&INSTANCE_ID))]
    pub(crate) instance_id: Option<Opt<String>>,

    /// The network interface that the address is associated with. At most one of this and `instanceID`. Changed in
    /// place. Default: none; an existing association is not managed. Example: `{value: eni-0abc1234def567890}`
    #[serde(rename = "networkInterfaceID", skip_serializing_if = "Option::is_none")]
    #[schemars(transform = literal(&NETWORK_INTERFACE_ID))]
    pub(crate) network_interface_id: Option<Opt<String>>,

    /// Tags, at most 45, with keys of up to 128 and values of up to 256 characters. Each value is a literal or a reference,
    /// but not to a Secret. Tags that are set outside Kraken are not changed. Default: none. Example:
    /// `{Name: web, Team: shop, Env: {valueFrom: {configMap: {name: env, key: name}}}}`
    #[serde(default, skip_serializing_if = "tags::is_empty")]
    #[schemars(transform = bounds::tags())]
    pub(crate) tags: TagOptions,

    /// How this resource is created, reconciled and deleted.
    #[serde(default)]
    pub(crate) lifecycle: Lifecycle,
}

impl HasLifecycle for ElasticIPSpec {
    fn lifecycle(&self) -> &Lifecycle {
        &self.lifecycle
    }
}
