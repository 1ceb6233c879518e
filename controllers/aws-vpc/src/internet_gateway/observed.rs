//! The observed internet gateway, which is the published state.

use kraken_aws::{aws_observed, ec2::types};

#[aws_observed(from = types::InternetGateway, id = internet_gateway_id)]
pub(crate) struct InternetGateway {
    pub(super) internet_gateway_id: String,
    pub(super) attachments: Vec<Attachment>,
    pub(super) owner_id: Option<String>,
}

#[aws_observed(from = types::InternetGatewayAttachment)]
pub(crate) struct Attachment {
    pub(super) vpc_id: String,
    pub(super) state: String,
}

impl InternetGateway {
    /// The VPC that it is attached to, or that it is being attached to.
    pub(super) fn attached_to(&self) -> Option<&String> {
        let is_there = |a: &&Attachment| matches!(&*a.state, "attaching" | "attached" | "available");
        self.attachments.iter().find(is_there).map(|attachment| &attachment.vpc_id)
    }
}
