//! The observed parameter group, which is the published state.

use std::collections::BTreeMap;

use kraken_aws::{
    Tags, aws_observed,
    lookup::Tagged,
    observed::WithTags,
    resource::{RemoteObject, is_generated_name},
    tags,
};

use crate::rds::types;

#[aws_observed(from = types::DbParameterGroup)]
pub(crate) struct ParameterGroup {
    #[serde(rename = "DBParameterGroupName")]
    pub(super) db_parameter_group_name: String,
    #[serde(rename = "DBParameterGroupArn")]
    pub(super) db_parameter_group_arn: String,
    #[serde(rename = "DBParameterGroupFamily")]
    pub(super) db_parameter_group_family: Option<String>,
    pub(super) description: Option<String>,
    /// Those that somebody set, by name. Read only in deep observations, and therefore not published.
    #[serde(skip)]
    pub(super) parameters: Option<BTreeMap<String, Parameter>>,
    #[from(Tags::new())]
    #[serde(serialize_with = "tags::written")]
    pub(super) tags: Tags,
}

/// A parameter that somebody set.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Parameter {
    pub(super) value: String,
    /// Whether it applies only after a restart.
    pub(super) is_static: bool,
}

impl ParameterGroup {
    /// From the parameters that AWS returns as set by a user.
    pub(super) fn set(parameters: Vec<types::Parameter>) -> BTreeMap<String, Parameter> {
        let one = |sdk: types::Parameter| {
            let is_static = sdk.apply_type.as_deref() == Some("static");
            Some((sdk.parameter_name?, Parameter { value: sdk.parameter_value?, is_static }))
        };
        parameters.into_iter().filter_map(one).collect()
    }
}

impl Tagged for ParameterGroup {
    fn id(&self) -> &str {
        &self.db_parameter_group_name
    }

    fn tags(&self) -> &Tags {
        &self.tags
    }

    /// A generated name is unique for its launch; any other name may be reused for a group of another owner.
    fn has_own_id(&self) -> bool {
        is_generated_name(&self.db_parameter_group_name)
    }
}

impl WithTags for ParameterGroup {
    fn with_tags(self, tags: Tags) -> Self {
        Self { tags, ..self }
    }
}

impl RemoteObject for ParameterGroup {
    fn tagged_as(&self) -> &str {
        &self.db_parameter_group_arn
    }
}
