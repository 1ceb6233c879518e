//! InternetGateway, the API type.

use kraken_aws::{aws_kind, bounds::VPC_ID};
use kraken_kind::Opt;

/// An internet gateway, which connects a VPC to the internet.
#[aws_kind(
    kind = "InternetGateway",
    plural = "internetgateways",
    shortname = "igw",
    doc = "An internet gateway, which connects a VPC to the internet. Its main id is its InternetGatewayId.",
    noun = "internet gateway",
    state = "internetGateway",
    tag_name = "main",
    observed = super::observed::InternetGateway,
    summary("VPC" = "Attachments.0.VpcId", "State" = "Attachments.0.State")
)]
pub(crate) struct InternetGatewaySpec {
    /// The VPC that the gateway is attached to. A VPC can have one internet gateway. Changed in place, by detaching and
    /// attaching. Default: none; an existing attachment is not managed. Example:
    /// `{valueFrom: {ref: VPC/main}}`
    #[field(
        "vpcID",
        rule = VPC_ID,
        change = Attach,
        observed = attached_to(),
        published("Attachments.VpcId"),
        none_if_unset
    )]
    pub(crate) vpc_id: Option<Opt<String>>,
}
