//! The observed subnet, which is the published state.

use kraken_aws::{
    Tags,
    resource::{Phase, RemoteObject},
    tagged_by, tags,
};
use serde::Serialize;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Subnet {
    pub(super) subnet_id: String,
    pub(super) subnet_arn: Option<String>,
    pub(super) vpc_id: Option<String>,
    pub(super) cidr_block: Option<String>,
    pub(super) availability_zone: Option<String>,
    pub(super) availability_zone_id: Option<String>,
    pub(super) map_public_ip_on_launch: Option<bool>,
    pub(super) state: String,
    pub(super) owner_id: Option<String>,
    #[serde(serialize_with = "tags::written")]
    pub(super) tags: Tags,
}

tagged_by!(Subnet, subnet_id);

impl RemoteObject for Subnet {
    fn phase(&self) -> Phase {
        match &*self.state {
            "pending" => Phase::Settling(self.state.clone()),
            "failed" | "failed-insufficient-capacity" => Phase::Failed(self.state.clone()),
            _ => Phase::Up,
        }
    }
}
