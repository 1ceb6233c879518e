//! The observed @noun@, which is the published state.

use kraken_aws::aws_observed;

// With `from = Type`, it is converted from this type of the SDK.
#[aws_observed(id = @module@_id)]
pub(crate) struct @Type@ {
    pub(super) @module@_id: String,
    pub(super) availability_zone: Option<String>,
    pub(super) size: Option<i32>,
}
