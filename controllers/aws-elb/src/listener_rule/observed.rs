//! The observed rule, which is the published state.

use kraken_aws::{Tags, aws_observed, items::in_order};

use super::conditions::{Condition, Conditions, Type};
use crate::{
    action::{Action, ActionState},
    elb::types,
};

#[aws_observed(from = types::Rule, id = rule_arn)]
#[allow(clippy::struct_field_names)] // AWS's names
pub(crate) struct Rule {
    pub(crate) rule_arn: String,
    /// Parsed from the rule's ARN, because AWS does not return it.
    #[from(sdk.rule_arn().and_then(listener_of))]
    pub(crate) listener_arn: Option<String>,
    pub(crate) priority: Option<String>,
    #[from(in_order(sdk.conditions))]
    pub(crate) conditions: Vec<ConditionState>,
    #[from(in_order(sdk.actions))]
    pub(crate) actions: Vec<ActionState>,
    #[from(sdk.is_default.unwrap_or_default())]
    pub(crate) is_default: bool,
    #[serde(skip)]
    pub(crate) tags: Tags,
}

/// Without values, it is an unsupported condition, such as a regular expression.
#[aws_observed(from = types::RuleCondition)]
pub(crate) struct ConditionState {
    pub(crate) field: String,
    #[from(sdk.http_header_config().and_then(|config| config.http_header_name.clone()))]
    pub(crate) http_header_name: Option<String>,
    #[from(values(&sdk))]
    pub(crate) values: Vec<String>,
    #[from(in_order(sdk.query_string_config.and_then(|config| config.values)))]
    pub(crate) query_strings: Vec<QueryState>,
}

#[aws_observed(from = types::QueryStringKeyValuePair)]
pub(crate) struct QueryState {
    pub(crate) key: Option<String>,
    pub(crate) value: String,
}

/// `...:listener-rule/app/web/1/2/3` is a rule of `...:listener/app/web/1/2`.
fn listener_of(arn: &str) -> Option<String> {
    let (listener, _) = arn.rsplit_once('/')?;
    Some(listener.replacen(":listener-rule/", ":listener/", 1))
}

/// The values of a condition: those for its type, or else those that all types have.
fn values(condition: &types::RuleCondition) -> Vec<String> {
    let lists = [
        condition.host_header_config.as_ref().and_then(|config| config.values.as_ref()),
        condition.path_pattern_config.as_ref().and_then(|config| config.values.as_ref()),
        condition.http_header_config.as_ref().and_then(|config| config.values.as_ref()),
        condition.http_request_method_config.as_ref().and_then(|config| config.values.as_ref()),
        condition.source_ip_config.as_ref().and_then(|config| config.values.as_ref()),
        condition.values.as_ref(),
    ];
    lists.into_iter().flatten().find(|values| !values.is_empty()).cloned().unwrap_or_default()
}

impl Rule {
    /// The conditions, if each is of a type and form that a spec can have.
    pub(super) fn known_conditions(&self) -> Option<Conditions> {
        let mut all = Conditions::default();
        for state in &self.conditions {
            let values = state.values.iter().map(|value| (None, value.clone()));
            let queries = state.query_strings.iter().map(|query| (query.key.clone(), query.value.clone()));
            let condition = Condition::new(state.http_header_name.clone(), values.chain(queries));
            all.add(Type::of(&state.field).filter(|_| !condition.values.is_empty())?, condition);
        }
        Some(all)
    }

    /// The action, if it is a single supported one.
    pub(super) fn action(&self) -> Option<Action> {
        Action::of(&self.actions)
    }
}
