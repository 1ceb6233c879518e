//! Converts rules and their conditions from and to the SDK's types.

use kraken_aws::{
    Tags,
    elb::types::{
        HostHeaderConditionConfig as Hosts, HttpHeaderConditionConfig as Header,
        HttpRequestMethodConditionConfig as Methods, PathPatternConditionConfig as Paths,
        QueryStringConditionConfig as Queries, QueryStringKeyValuePair, Rule as Sdk, RuleCondition,
        SourceIpConditionConfig as Sources,
    },
    resource::FromSdk as _,
};

use super::{
    conditions::{Condition, Conditions, Type},
    observed::{ConditionState, QueryState, Rule},
};

impl From<Sdk> for Rule {
    fn from(rule: Sdk) -> Self {
        let arn = rule.rule_arn().unwrap_or_default();
        Self {
            rule_arn: arn.to_owned(),
            listener_arn: listener_of(arn),
            priority: rule.priority().map(str::to_owned),
            conditions: rule.conditions().iter().map(ConditionState::from).collect(),
            is_default: rule.is_default().unwrap_or_default(),
            actions: Vec::of(rule.actions),
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
