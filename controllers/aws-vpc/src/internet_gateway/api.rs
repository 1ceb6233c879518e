//! InternetGateway, the API type.

use kraken_aws::{TagOptions, aws_kind, bounds::VPC_ID};
use kraken_spoke::{Lifecycle, Opt};

/// An internet gateway, which connects a VPC to the internet.
#[aws_kind(
    kind = "InternetGateway",
    plural = "internetgateways",
    shortname = "igw",
    doc = "An internet gateway, which connects a VPC to the internet. Its main id is its InternetGatewayId.",
    noun = "internet gateway",
    state = "internetGateway",
    observed = super::observed::InternetGateway,
    summary("VPC" = "Attachments.0.VpcId", "State" = "Attachments.0.State")
)]
pub(crate) struct InternetGatewaySpec {
    /// The VPC that the gateway is attached to. A VPC can have one internet gateway. Changed in place, by detaching and
    /// attaching. Default: none; an existing attachment is not managed. Example:
    /// `{valueFrom: {krakenResource: {kind: vpc, name: main}}}`
    #[field("vpcID", rule = VPC_ID, change = Attach, observed = attached_to(), published("Attachments.VpcId"))]
    pub(crate) vpc_id: Option<Opt<String>>,

    /// Tags, at most 45, with keys of up to 128 and values of up to 256 characters. Each value is a literal or a reference,
    /// but not to a Secret. Tags that are set outside Kraken are not changed. Default: none. Example:
    /// `{Name: main, Team: shop, Env: {valueFrom: {configMap: {name: env, key: name}}}}`
    pub(crate) tags: TagOptions,

    /// How this resource is created, reconciled and deleted.
    pub(crate) lifecycle: Lifecycle,
}
