//! VPCLookup, the API type.

use kraken_aws::{aws_lookup, rules::any, validator::SpecValidator};
use kraken_kind::{Opt, options::Public};

use crate::vpc::{api::CIDR_BLOCK, observed::Vpc};

/// An existing VPC.
#[aws_lookup(
    kind = "VPCLookup",
    plural = "vpclookups",
    doc = "An existing VPC, which is looked up and not managed. Its main id is its VpcId.",
    noun = "VPC",
    state = "vpc",
    observed = Vpc,
    summary("CIDR" = "CidrBlock"),
    rules = Self::between_fields
)]
pub(crate) struct VPCLookupSpec {
    /// The primary IPv4 CIDR block, /16 to /28. Example: `{value: 10.0.0.0/16}`
    #[field("cidrBlock", rule = CIDR_BLOCK)]
    pub(crate) cidr_block: Option<Public<Opt<String>>>,

    /// Whether it is the default VPC of the region. Example: `{value: true}`
    #[field("isDefault", check = any)]
    pub(crate) is_default: Option<Public<Opt<bool>>>,
}

impl VPCLookupSpec {
    /// Without a criterion, the answer would depend on what else is in the account.
    fn between_fields(&self, validator: &mut SpecValidator<'_, '_>) {
        if self.tags.is_empty() && self.cidr_block.is_none() && self.is_default.is_none() {
            validator.problem("", "says nothing about the VPC: set tags, cidrBlock or isDefault");
        }
    }
}
