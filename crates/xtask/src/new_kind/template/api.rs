//! @Kind@, the API type. Replace the example fields.

use kraken_aws::{
    aws_kind,
    bounds::{Range, ZONE},
};
use kraken_kind::Opt;

const SIZE_GIB: Range = Range(1, 1_000);

/// A @noun@.
#[aws_kind(
    kind = "@Kind@",
    plural = "@plural@",
    doc = "A @noun@. Its main id is its @Type@Id.",
    noun = "@noun@",
    state = "@state@",
    tag_name = "main",
    observed = super::observed::@Type@,
    summary("Size" = "Size", "Zone" = "AvailabilityZone")
)]
pub(crate) struct @Kind@Spec {
    /// The availability zone, by name. Immutable. Default: chosen by AWS. Example: `{value: us-east-1a}`
    #[field("availabilityZone", rule = ZONE, fixed)]
    pub(crate) availability_zone: Option<Opt<String>>,

    /// The size in GiB, 1 to 1000. Changed in place. Example: `{value: 20}`
    #[field("sizeGiB", rule = SIZE_GIB, change = Resize, observed = size)]
    pub(crate) size_gib: Opt<i32>,
}
