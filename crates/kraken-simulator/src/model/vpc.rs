//! VPCs and their ranges.

use crate::markup::Xml;

use super::cidr::Cidr;
use super::part_ids::PartIds;

/// A VPC.
#[derive(Debug, Clone)]
pub(crate) struct Vpc {
    pub(crate) id: String,
    /// The first is the primary one.
    pub(crate) blocks: Vec<Block>,
    pub(crate) tenancy: String,
    pub(crate) dns_support: bool,
    pub(crate) dns_hostnames: bool,
    /// The call that created it. Its response returns the VPC as pending.
    pub(crate) made_by: u64,
}

impl Vpc {
    /// Its IPv4 ranges.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = Cidr> + '_ {
        self.blocks.iter().filter_map(|block| block.range)
    }
}

/// A range of a VPC.
#[derive(Debug, Clone)]
pub(crate) struct Block {
    pub(crate) association: String,
    /// `None` for IPv6.
    pub(crate) range: Option<Cidr>,
    pub(crate) text: String,
}

impl Block {
    pub(crate) fn v4(part_ids: &mut PartIds, range: Cidr) -> Self {
        let association = part_ids.next("vpc-cidr-assoc-");
        Self { association, range: Some(range), text: range.to_string() }
    }

    /// A range that Amazon provides.
    pub(crate) fn v6(part_ids: &mut PartIds) -> Self {
        let association = part_ids.next("vpc-cidr-assoc-");
        let part = part_ids.last() & 0xffff;
        Self { association, range: None, text: format!("2600:1f18:{part:x}::/56") }
    }

    pub(crate) fn is_v6(&self) -> bool {
        self.range.is_none()
    }

    pub(crate) fn write(&self, xml: &mut Xml, state: &str) {
        let name = if self.is_v6() { "ipv6CidrBlock" } else { "cidrBlock" };
        xml.text(name, &self.text);
        xml.text("associationId", &self.association);
        xml.tag(&format!("{name}State"), |xml| xml.text("state", state));
    }
}
