//! Converts conditions to the SDK's types.

use super::conditions::{Condition, Conditions, Type};
use crate::elb::types::{
    HostHeaderConditionConfig as Hosts, HttpHeaderConditionConfig as Header,
    HttpRequestMethodConditionConfig as Methods, PathPatternConditionConfig as Paths,
    QueryStringConditionConfig as Queries, QueryStringKeyValuePair, RuleCondition,
    SourceIpConditionConfig as Sources,
};

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
