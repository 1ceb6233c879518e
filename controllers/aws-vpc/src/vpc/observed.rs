//! The observed VPC, which is the published state.

use kraken_aws::{aws_observed, ec2::types, items::in_order, resource::Phase};

#[aws_observed(from = types::Vpc, id = vpc_id, phase = Self::phase)]
pub(crate) struct Vpc {
    pub(super) vpc_id: String,
    pub(crate) cidr_block: Option<String>,
    pub(super) state: String,
    #[from(in_order(sdk.cidr_block_association_set))]
    pub(super) cidr_block_association_set: Vec<Association>,
    pub(super) is_default: Option<bool>,
    pub(super) instance_tenancy: Option<String>,
    pub(super) dhcp_options_id: Option<String>,
    pub(super) owner_id: Option<String>,
    /// Not in the state: attributes that need one call per VPC are not read by every observation.
    #[serde(skip)]
    pub(super) dns_support: Option<bool>,
    #[serde(skip)]
    pub(super) dns_hostnames: Option<bool>,
}

#[aws_observed(from = types::VpcCidrBlockAssociation)]
pub(crate) struct Association {
    pub(super) association_id: String,
    pub(super) cidr_block: String,
    pub(super) cidr_block_state: BlockState,
}

#[aws_observed(from = types::VpcCidrBlockState)]
pub(crate) struct BlockState {
    pub(super) state: String,
}

impl Vpc {
    /// The current and pending blocks, without the primary one.
    pub(super) fn secondary_cidr_blocks(&self) -> Vec<String> {
        let is_there = |a: &&Association| matches!(&*a.cidr_block_state.state, "associating" | "associated");
        let there = self.cidr_block_association_set.iter().filter(is_there);
        let blocks = there.map(|association| association.cidr_block.clone());
        blocks.filter(|block| Some(block) != self.cidr_block.as_ref()).collect()
    }

    fn phase(&self) -> Phase {
        if self.state == "pending" { Phase::Pending(self.state.clone()) } else { Phase::Available }
    }
}
