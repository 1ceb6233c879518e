//! The observed Elastic IP, which is the published state.

use kraken_aws::{aws_observed, ec2::types};

#[aws_observed(from = types::Address, id = allocation_id, non_empty)]
pub(crate) struct Address {
    pub(super) allocation_id: String,
    pub(super) public_ip: Option<String>,
    pub(super) association_id: Option<String>,
    pub(super) instance_id: Option<String>,
    pub(super) network_interface_id: Option<String>,
    pub(super) private_ip_address: Option<String>,
    pub(super) network_border_group: Option<String>,
}
