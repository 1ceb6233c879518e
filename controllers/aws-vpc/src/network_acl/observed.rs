//! The observed network ACL, which is the published state.

use kraken_aws::{aws_observed, ec2::types};

use super::entry::{Entry, LAST};
use crate::security_group::rule::Direction;

#[aws_observed(from = types::NetworkAcl, id = network_acl_id)]
pub(crate) struct NetworkAcl {
    pub(super) network_acl_id: String,
    pub(super) vpc_id: Option<String>,
    pub(super) is_default: bool,
    pub(super) entries: Vec<Entry>,
    pub(super) associations: Vec<Association>,
    pub(super) owner_id: Option<String>,
}

#[aws_observed(from = types::NetworkAclAssociation)]
pub(crate) struct Association {
    pub(super) subnet_id: String,
    pub(super) network_acl_association_id: String,
}

impl NetworkAcl {
    /// The entries of one direction, without those of AWS at the end, which deny everything else.
    pub(super) fn own_entries(&self, direction: Direction) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(move |entry| entry.is_of(direction) && entry.rule_number <= LAST)
    }

    pub(super) fn subnet_ids(&self) -> Vec<String> {
        self.associations.iter().map(|association| association.subnet_id.clone()).collect()
    }

    pub(super) fn association_of(&self, subnet_id: &str) -> Option<&Association> {
        self.associations.iter().find(|association| association.subnet_id == subnet_id)
    }
}
