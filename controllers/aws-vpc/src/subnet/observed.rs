//! The observed subnet, which is the published state.

use kraken_aws::{aws_observed, ec2::types, resource::Phase};

#[aws_observed(from = types::Subnet, id = subnet_id, phase = Self::phase)]
pub(crate) struct Subnet {
    pub(crate) subnet_id: String,
    pub(super) subnet_arn: Option<String>,
    pub(super) vpc_id: Option<String>,
    pub(super) cidr_block: Option<String>,
    pub(crate) availability_zone: Option<String>,
    pub(super) availability_zone_id: Option<String>,
    pub(super) map_public_ip_on_launch: Option<bool>,
    pub(super) state: String,
    pub(super) owner_id: Option<String>,
}

impl Subnet {
    fn phase(&self) -> Phase {
        match &*self.state {
            "pending" => Phase::Pending(self.state.clone()),
            "failed" | "failed-insufficient-capacity" => Phase::Failed(self.state.clone()),
            _ => Phase::Available,
        }
    }
}
