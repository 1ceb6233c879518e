//! SecurityGroupLookup, the API type.

use kraken_aws::{aws_lookup, bounds::VPC_ID, validator::SpecValidator};
use kraken_kind::{Opt, options::Public};

use crate::security_group::{api::GROUP_NAME, observed::SecurityGroup};

/// An existing security group.
#[aws_lookup(
    kind = "SecurityGroupLookup",
    plural = "securitygrouplookups",
    doc = "An existing security group, which is looked up and not managed. Its main id is its GroupId.",
    noun = "security group",
    state = "securityGroup",
    observed = SecurityGroup,
    summary("Group Name" = "GroupName", "VPC" = "VpcId"),
    rules = Self::between_fields
)]
pub(crate) struct SecurityGroupLookupSpec {
    /// The VPC of the security group. Default: any VPC of the account in the region. Example:
    /// `{valueFrom: {ref: VPCLookup/shared}}`
    #[field("vpcID", rule = VPC_ID, none_if_unset)]
    pub(crate) vpc_id: Option<Public<Opt<String>>>,

    /// The name of the group, 1 to 255 characters, which is unique in a VPC. It is not the tag `Name`. Example: `{value: default}`
    #[field("groupName", rule = GROUP_NAME)]
    pub(crate) group_name: Option<Public<Opt<String>>>,
}

impl SecurityGroupLookupSpec {
    /// Without a criterion, the answer would depend on what else is in the account.
    fn between_fields(&self, validator: &mut SpecValidator<'_, '_>) {
        if self.tags.is_empty() && self.group_name.is_none() {
            validator.problem("", "says nothing about the security group: set groupName or tags");
        }
    }
}
