//! InternetGateway as users write it.

use kraken_aws::{TagOptions, tags};
use kraken_spoke::{HasLifecycle, Lifecycle, Opt, ResourceStatus};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The way from a VPC to the internet.
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
    doc = "The way from a VPC to the internet. Its main id is its InternetGatewayId."
)]
pub(crate) struct InternetGatewaySpec {
    /// The VPC to attach it to, which may have one gateway; changed in place, by detaching and attaching. Default: it
    /// is not attached, and an attachment that is there is left alone. Example:
    /// `{valueFrom: {krakenResource: {kind: vpc, name: main}}}`
    #[serde(rename = "vpcID", skip_serializing_if = "Option::is_none")]
    pub(crate) vpc_id: Option<Opt<String>>,

    /// Tags, at most 45, with keys of up to 128 and values of up to 256 characters; each value is a literal or a reference,
    /// but not to a Secret. Tags that others set are left alone. Default: none. Example:
    /// `{Name: main, Team: shop, Env: {valueFrom: {configMap: {name: env, key: name}}}}`
    #[serde(default, skip_serializing_if = "tags::is_empty")]
    pub(crate) tags: TagOptions,

    /// How this resource is created, healed and deleted.
    #[serde(default)]
    pub(crate) lifecycle: Lifecycle,
}

impl HasLifecycle for InternetGatewaySpec {
    fn lifecycle(&self) -> &Lifecycle {
        &self.lifecycle
    }
}
