//! SubnetLookup, the API type.

use kraken_aws::{
    aws_lookup,
    bounds::{VPC_ID, ZONE},
    rules::any,
    validator::SpecValidator,
};
use kraken_kind::{Opt, options::Public};

use crate::subnet::observed::Subnet;

/// Existing subnets.
#[aws_lookup(
    kind = "SubnetLookup",
    plural = "subnetlookups",
    doc = "Existing subnets, which are looked up and not managed, in the order of their zones. Its main id is the SubnetId of the first.",
    noun = "subnet",
    state = "subnets",
    observed = Subnet,
    summary("Zone" = "0.AvailabilityZone", "VPC" = "0.VpcId"),
    rules = Self::between_fields
)]
pub(crate) struct SubnetLookupSpec {
    /// The VPC of the subnets. Default: any VPC of the account in the region. Example: `{valueFrom: {ref: VPCLookup/shared}}`
    #[field("vpcID", rule = VPC_ID, none_if_unset)]
    pub(crate) vpc_id: Option<Public<Opt<String>>>,

    /// The availability zone of the subnets, by name. Default: any zone. Example: `{value: us-east-1a}`
    #[field("availabilityZone", rule = ZONE)]
    pub(crate) availability_zone: Option<Public<Opt<String>>>,

    /// Whether only one subnet of each zone is published, that with the smallest SubnetId, as a load balancer requires it. Default:
    /// `false`. Example: `{value: true}`
    #[field("onePerZone", check = any)]
    pub(crate) one_per_zone: Option<Public<Opt<bool>>>,
}

impl SubnetLookupSpec {
    /// Without a criterion, the answer would depend on what else is in the account.
    fn between_fields(&self, validator: &mut SpecValidator<'_, '_>) {
        if self.tags.is_empty() && self.vpc_id.is_none() {
            validator.problem("", "says nothing about the subnets: set vpcID or tags");
        }
    }
}
