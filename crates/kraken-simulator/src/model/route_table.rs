//! Route tables and their associations with subnets.

use crate::markup::Xml;

use super::cidr::Cidr;
use super::part_ids::PartIds;
use super::route::Route;
use super::vpc::Vpc;

/// A route table.
#[derive(Debug, Clone)]
pub(crate) struct RouteTable {
    pub(crate) id: String,
    pub(crate) vpc: String,
    pub(crate) routes: Vec<Route>,
    pub(crate) associations: Vec<Association>,
}

impl RouteTable {
    pub(crate) fn new(id: String, vpc: &Vpc) -> Self {
        let mut table = Self { id, vpc: vpc.id.clone(), routes: vec![], associations: vec![] };
        table.set_local(&vpc.ranges().collect::<Vec<_>>());
        table
    }

    /// Whether it applies to the subnets without an association.
    pub(crate) fn is_main(&self) -> bool {
        self.associations.iter().any(|association| association.subnet.is_none())
    }

    /// Sets the local routes for the ranges of its VPC.
    pub(crate) fn set_local(&mut self, ranges: &[Cidr]) {
        self.routes.retain(|route| !route.is_local());
        let locals = ranges.iter().map(|range| Route::local(range.to_string()));
        self.routes.splice(0..0, locals);
    }

    /// The subnet was deleted.
    pub(crate) fn forget_subnet(&mut self, subnet: &str) {
        self.associations.retain(|association| association.subnet.as_deref() != Some(subnet));
    }
}

/// A table's association.
#[derive(Debug, Clone)]
pub(crate) struct Association {
    pub(crate) id: String,
    /// `None`: with the VPC, as its main route table.
    pub(crate) subnet: Option<String>,
}

impl Association {
    /// A main association.
    pub(crate) fn main(part_ids: &mut PartIds) -> Self {
        Self { id: part_ids.next("rtbassoc-"), subnet: None }
    }

    pub(crate) fn write(&self, xml: &mut Xml, table: &str) {
        xml.text("routeTableAssociationId", &self.id);
        xml.text("routeTableId", table);
        xml.optional("subnetId", self.subnet.as_ref());
        xml.text("main", self.subnet.is_none());
        xml.tag("associationState", |xml| xml.text("state", "associated"));
    }
}
