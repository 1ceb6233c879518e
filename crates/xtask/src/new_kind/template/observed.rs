//! The observed @noun@, which is the published state.

use kraken_aws::{Tags, resource::RemoteObject, tagged_by, tags};
use serde::Serialize;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct @Type@ {
    pub(super) @module@_id: String,
    pub(super) availability_zone: Option<String>,
    pub(super) size: Option<i32>,
    #[serde(serialize_with = "tags::written")]
    pub(super) tags: Tags,
}

tagged_by!(@Type@, @module@_id);

impl RemoteObject for @Type@ {}
