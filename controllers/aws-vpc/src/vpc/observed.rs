//! The observed VPC, which is the published state.

use kraken_aws::{
    Tags,
    resource::{Phase, RemoteObject},
    tagged_by, tags,
};
use serde::Serialize;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Vpc {
    pub(super) vpc_id: String,
    pub(super) cidr_block: Option<String>,
    pub(super) state: String,
    pub(super) cidr_block_association_set: Vec<Association>,
    pub(super) is_default: Option<bool>,
    pub(super) instance_tenancy: Option<String>,
    pub(super) dhcp_options_id: Option<String>,
    pub(super) owner_id: Option<String>,
    #[serde(serialize_with = "tags::written")]
    pub(super) tags: Tags,

    /// Not in the state: attributes that need one call per VPC are not read by every observation.
    #[serde(skip)]
    pub(super) dns_support: Option<bool>,
    #[serde(skip)]
    pub(super) dns_hostnames: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Association {
    pub(super) association_id: String,
    pub(super) cidr_block: String,
    pub(super) cidr_block_state: BlockState,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
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

    #[cfg(test)]
    pub(super) fn with_blocks(mut self, blocks: &[&str]) -> Self {
        let association = |block: &&str| Association {
            association_id: format!("vpc-cidr-assoc-{block}"),
            cidr_block: (*block).to_owned(),
            cidr_block_state: BlockState { state: "associated".into() },
        };
        self.cidr_block_association_set = blocks.iter().map(association).collect();
        self
    }
}

tagged_by!(Vpc, vpc_id);

impl RemoteObject for Vpc {
    fn phase(&self) -> Phase {
        if self.state == "pending" { Phase::Settling(self.state.clone()) } else { Phase::Up }
    }
}
