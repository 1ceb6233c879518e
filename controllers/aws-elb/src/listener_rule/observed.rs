//! The observed rule, which is the published state.

use kraken_aws::{Tags, resource::RemoteObject, tagged_by};
use serde::Serialize;

use super::conditions::{Condition, Conditions, Type};
use crate::action::ActionState;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
#[allow(clippy::struct_field_names)] // AWS's names
pub(crate) struct Rule {
    pub(crate) rule_arn: String,
    /// Parsed from the rule's ARN, because AWS does not return it.
    pub(crate) listener_arn: Option<String>,
    pub(crate) priority: Option<String>,
    pub(crate) conditions: Vec<ConditionState>,
    pub(crate) actions: Vec<ActionState>,
    pub(crate) is_default: bool,
    #[serde(skip)]
    pub(crate) tags: Tags,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct ConditionState {
    pub(crate) field: String,
    pub(crate) http_header_name: Option<String>,
    pub(crate) values: Vec<String>,
    pub(crate) query_strings: Vec<QueryState>,
    /// Unsupported conditions, such as regular expressions.
    #[serde(skip)]
    pub(crate) is_other: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct QueryState {
    pub(crate) key: Option<String>,
    pub(crate) value: String,
}

impl Rule {
    /// The conditions, if each is of a type and form that a spec can have.
    pub(super) fn known_conditions(&self) -> Option<Conditions> {
        let mut all = Conditions::default();
        for state in &self.conditions {
            let kind = Type::of(&state.field).filter(|_| !state.is_other)?;
            let values = state.values.iter().map(|value| (None, value.clone()));
            let queries = state.query_strings.iter().map(|query| (query.key.clone(), query.value.clone()));
            all.add(kind, Condition::new(state.http_header_name.clone(), values.chain(queries)));
        }
        Some(all)
    }
}

tagged_by!(Rule, rule_arn);

impl RemoteObject for Rule {}
