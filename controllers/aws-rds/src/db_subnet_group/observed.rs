//! The observed subnet group, which is the published state.

use kraken_aws::{
    Tags, aws_observed,
    lookup::Tagged,
    observed::WithTags,
    resource::{Phase, RemoteObject, is_generated_name},
    tags,
};

use crate::rds::types;

#[allow(clippy::struct_field_names)] // AWS's names
#[aws_observed(from = types::DbSubnetGroup)]
pub(crate) struct SubnetGroup {
    #[serde(rename = "DBSubnetGroupName")]
    pub(super) db_subnet_group_name: String,
    #[serde(rename = "DBSubnetGroupArn")]
    pub(super) db_subnet_group_arn: String,
    #[serde(rename = "DBSubnetGroupDescription")]
    pub(super) db_subnet_group_description: Option<String>,
    pub(super) vpc_id: Option<String>,
    pub(super) subnet_group_status: Option<String>,
    pub(super) subnets: Vec<Subnet>,
    #[from(Tags::new())]
    #[serde(serialize_with = "tags::written")]
    pub(super) tags: Tags,
}

#[aws_observed(from = types::Subnet)]
pub(crate) struct Subnet {
    pub(super) subnet_identifier: String,
}

impl SubnetGroup {
    pub(super) fn subnet_ids(&self) -> Vec<String> {
        self.subnets.iter().map(|subnet| subnet.subnet_identifier.clone()).collect()
    }
}

impl Tagged for SubnetGroup {
    fn id(&self) -> &str {
        &self.db_subnet_group_name
    }

    fn tags(&self) -> &Tags {
        &self.tags
    }

    /// A generated name is unique for its launch; any other name may be reused for a group of another owner.
    fn has_own_id(&self) -> bool {
        is_generated_name(&self.db_subnet_group_name)
    }
}

impl WithTags for SubnetGroup {
    fn with_tags(self, tags: Tags) -> Self {
        Self { tags, ..self }
    }
}

impl RemoteObject for SubnetGroup {
    fn phase(&self) -> Phase {
        match self.subnet_group_status.as_deref() {
            None | Some("Complete") => Phase::Available,
            Some(other) => Phase::Pending(other.to_lowercase()),
        }
    }

    fn tagged_as(&self) -> &str {
        &self.db_subnet_group_arn
    }
}
