//! The observed internet gateway, which is the published state.

use kraken_aws::{Tags, resource::RemoteObject, tagged_by, tags};
use serde::Serialize;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct InternetGateway {
    pub(super) internet_gateway_id: String,
    pub(super) attachments: Vec<Attachment>,
    pub(super) owner_id: Option<String>,
    #[serde(serialize_with = "tags::written")]
    pub(super) tags: Tags,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
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

    #[cfg(test)]
    pub(super) fn with_attachment(mut self, vpc_id: &str, state: &str) -> Self {
        self.attachments = vec![Attachment { vpc_id: vpc_id.to_owned(), state: state.to_owned() }];
        self
    }
}

tagged_by!(InternetGateway, internet_gateway_id);

impl RemoteObject for InternetGateway {}
