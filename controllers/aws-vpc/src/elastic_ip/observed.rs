//! The observed Elastic IP, which is the published state.

use kraken_aws::{Tags, resource::RemoteObject, tagged_by, tags};
use serde::Serialize;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Address {
    pub(super) allocation_id: String,
    pub(super) public_ip: Option<String>,
    pub(super) association_id: Option<String>,
    pub(super) instance_id: Option<String>,
    pub(super) network_interface_id: Option<String>,
    pub(super) private_ip_address: Option<String>,
    pub(super) network_border_group: Option<String>,
    #[serde(serialize_with = "tags::written")]
    pub(super) tags: Tags,
}

tagged_by!(Address, allocation_id);

impl RemoteObject for Address {}
