//! The observed rule, which is the published state.

use kraken_aws::{
    Tags,
    elb::types::{
        HostHeaderConditionConfig as Hosts, HttpHeaderConditionConfig as Header,
        HttpRequestMethodConditionConfig as Methods, PathPatternConditionConfig as Paths,
        QueryStringConditionConfig as Queries, QueryStringKeyValuePair, Rule as Sdk, RuleCondition,
        SourceIpConditionConfig as Sources,
    },
    lookup::Tagged,
    resource::RemoteObject,
};
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

impl From<&Sdk> for Rule {
    fn from(rule: &Sdk) -> Self {
        let arn = rule.rule_arn().unwrap_or_default();
        Self {
            rule_arn: arn.to_owned(),
            listener_arn: listener_of(arn),
            priority: rule.priority().map(str::to_owned),
            conditions: rule.conditions().iter().map(ConditionState::from).collect(),
            actions: rule.actions().iter().map(ActionState::from).collect(),
            is_default: rule.is_default().unwrap_or_default(),
            tags: Tags::new(),
        }
    }
}

/// `...:listener-rule/app/web/1/2/3` is a rule of `...:listener/app/web/1/2`.
fn listener_of(arn: &str) -> Option<String> {
    let (listener, _) = arn.rsplit_once('/')?;
    Some(listener.replacen(":listener-rule/", ":listener/", 1))
}

impl From<&RuleCondition> for ConditionState {
    fn from(condition: &RuleCondition) -> Self {
        let lists = [
            condition.host_header_config().map(Hosts::values),
            condition.path_pattern_config().map(Paths::values),
            condition.http_header_config().map(Header::values),
            condition.http_request_method_config().map(Methods::values),
            condition.source_ip_config().map(Sources::values),
        ];
        let mut values = lists.into_iter().flatten().next().unwrap_or_default().to_vec();
        if values.is_empty() {
            values = condition.values().to_vec();
        }
        let query = |pair: &QueryStringKeyValuePair| QueryState {
            key: pair.key().map(str::to_owned),
            value: pair.value().unwrap_or_default().to_owned(),
        };
        let queries = condition.query_string_config().map(Queries::values).unwrap_or_default();
        let query_strings: Vec<QueryState> = queries.iter().map(query).collect();
        Self {
            field: condition.field().unwrap_or_default().to_owned(),
            http_header_name: condition
                .http_header_config()
                .and_then(Header::http_header_name)
                .map(str::to_owned),
            is_other: values.is_empty() && query_strings.is_empty(),
            values,
            query_strings,
        }
    }
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

/// Converts to the SDK's type.
pub(super) fn to_sdk(conditions: &Conditions) -> Vec<RuleCondition> {
    let all = conditions.0.iter().flat_map(|(kind, all)| all.iter().map(|one| (*kind, one)));
    all.map(|(kind, condition)| one_to_sdk(kind, condition)).collect()
}

fn one_to_sdk(kind: Type, condition: &Condition) -> RuleCondition {
    let values = Some(condition.values.iter().map(|(_, value)| value.clone()).collect());
    let builder = RuleCondition::builder().field(kind.field());
    match kind {
        Type::HostHeader => builder.host_header_config(Hosts::builder().set_values(values).build()),
        Type::PathPattern => builder.path_pattern_config(Paths::builder().set_values(values).build()),
        Type::Method => builder.http_request_method_config(Methods::builder().set_values(values).build()),
        Type::SourceIp => builder.source_ip_config(Sources::builder().set_values(values).build()),
        Type::HttpHeader => {
            let name = condition.name.clone();
            let header = Header::builder().set_http_header_name(name).set_values(values);
            builder.http_header_config(header.build())
        }
        Type::QueryString => {
            let pair = |(key, value): &(Option<String>, String)| {
                QueryStringKeyValuePair::builder().set_key(key.clone()).value(value).build()
            };
            let pairs = condition.values.iter().map(pair).collect();
            builder.query_string_config(Queries::builder().set_values(Some(pairs)).build())
        }
    }
    .build()
}

impl Tagged for Rule {
    fn id(&self) -> &str {
        &self.rule_arn
    }

    fn tags(&self) -> &Tags {
        &self.tags
    }
}

impl RemoteObject for Rule {}
