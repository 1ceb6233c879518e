//! The observed zone, which is the published state.

use kraken_aws::{Tags, aws_observed, tags};

use crate::dns::{bare_id, types};

#[aws_observed(from = types::HostedZone, id = id)]
pub(crate) struct Zone {
    #[from(bare_id(&sdk.id).to_owned())]
    pub(crate) id: String,
    #[from(sdk.name)]
    pub(crate) name: String,
    pub(crate) config: Option<Config>,
    /// Read separately.
    #[from(vec![])]
    pub(crate) name_servers: Vec<String>,
    #[serde(skip)]
    #[from(sdk.caller_reference)]
    pub(crate) caller_reference: String,
    #[serde(serialize_with = "tags::written")]
    #[from(Tags::new())]
    pub(crate) tags: Tags,
}

#[aws_observed(from = types::HostedZoneConfig)]
pub(crate) struct Config {
    pub(crate) comment: Option<String>,
    #[from(sdk.private_zone)]
    pub(crate) private_zone: bool,
}
