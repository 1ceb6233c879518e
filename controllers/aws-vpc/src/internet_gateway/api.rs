//! InternetGateway, the API type.

use kraken_aws::{
    TagOptions,
    bounds::{self, VPC_ID, literal},
    tags,
};
use kraken_spoke::{HasLifecycle, Lifecycle, Opt, ResourceStatus};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An internet gateway, which connects a VPC to the internet.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "aws.kraken-iac.eoinfennessy.com",
    version = "v1alpha1",
    kind = "InternetGateway",
    plural = "internetgateways",
    shortname = "igw",
    category = "kraken",
    namespaced,
    status = "ResourceStatus",
    doc = "An internet gateway, which connects a VPC to the internet. Its main id is its InternetGatewayId."
)]
pub(crate) struct InternetGatewaySpec {
    /// The VPC that the gateway is attached to. A VPC can have one internet gateway. Changed in place, by detaching and
    /// attaching. Default: none; an existing attachment is not managed. Example:
    /// `{valueFrom: {krakenResource: {kind: vpc, name: main}}}`
    #[serde(rename = "vpcID", skip_serializing_if = "Option::is_none")]
    #[schemars(transform = literal(&VPC_ID))]
    pub(crate) vpc_id: Option<Opt<String>>,

    /// Tags, at most 45, with keys of up to 128 and values of up to 256 characters. Each value is a literal or a reference,
    /// but not to a Secret. Tags that are set outside Kraken are not changed. Default: none. Example:
    /// `{Name: main, Team: shop, Env: {valueFrom: {configMap: {name: env, key: name}}}}`
    #[serde(default, skip_serializing_if = "tags::is_empty")]
    #[schemars(transform = bounds::tags())]
    pub(crate) tags: TagOptions,

    /// How this resource is created, reconciled and deleted.
    #[serde(default)]
    pub(crate) lifecycle: Lifecycle,
}

impl HasLifecycle for InternetGatewaySpec {
    fn lifecycle(&self) -> &Lifecycle {
        &self.lifecycle
    }
}
