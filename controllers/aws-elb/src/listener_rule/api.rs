//! ListenerRule as users write it.

use kraken_aws::{TagOptions, tags};
use kraken_spoke::{
    HasLifecycle, Lifecycle, Opt, ResourceStatus,
    options::{ListOpt, Public},
};
use kube::CustomResource;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::action::ActionSpec;

/// A rule of a listener: what is done with the requests that fit all of its conditions.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "aws.kraken-iac.eoinfennessy.com",
    version = "v1alpha1",
    kind = "ListenerRule",
    plural = "listenerrules",
    shortname = "lsr",
    category = "kraken",
    namespaced,
    status = "ResourceStatus",
    doc = "A rule of a listener of an application load balancer: what is done with the requests that fit all of its conditions. Kraken creates, heals and deletes it."
)]
pub(crate) struct ListenerRuleSpec {
    /// The listener. It cannot be changed later. Example: `{valueFrom: {krakenResource: {kind: listener, name: web}}}`
    #[serde(rename = "listenerARN")]
    pub(crate) listener_arn: Public<Opt<String>>,

    /// The place among the listener's rules, 1 to 50000; the lowest number is tried first. Changed in place. A listener has
    /// one rule of a priority. Example: `{value: 10}`
    pub(crate) priority: Opt<i32>,

    /// What a request has to fit: all of these, with at most 5 values in total. At least one is needed. Changed in place, as
    /// a whole. Example: `{pathPatterns: {value: [/api/*]}}`
    pub(crate) conditions: ConditionsSpec,

    /// What is done with such requests, exactly one of these; changed in place, as a whole: what is left out of it is AWS's
    /// default. Example: `{forward: {targetGroupARN: {valueFrom: {krakenResource: {kind: targetgroup, name: api}}}}}`
    pub(crate) action: ActionSpec,

    /// Tags; at most 45, with keys of up to 128 and values of up to 256 characters; each value is a literal or a
    /// reference, but not to a Secret. Tags that others set are left alone. Default: none. Example:
    /// `{Team: shop, Env: {valueFrom: {configMap: {name: env, key: name}}}}`
    #[serde(default, skip_serializing_if = "tags::is_empty")]
    pub(crate) tags: TagOptions,

    /// How this resource is created, healed and deleted.
    #[serde(default)]
    pub(crate) lifecycle: Lifecycle,
}

impl HasLifecycle for ListenerRuleSpec {
    fn lifecycle(&self) -> &Lifecycle {
        &self.lifecycle
    }
}

/// What a request has to fit. Of each list, one value is enough.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = at_least_one)]
pub(crate) struct ConditionsSpec {
    /// Host names, without case, of up to 128 characters; `*` stands for any characters and `?` for one. Default: any host.
    /// Example: `{value: [shop.example.com, "*.shop.example.com"]}`
    #[serde(rename = "hostHeaders", skip_serializing_if = "Option::is_none")]
    pub(crate) host_headers: Option<ListOpt<String>>,

    /// Paths, with case, of up to 128 characters; `*` and `?` as in host names. Default: any path. Example:
    /// `{value: [/api/*]}`
    #[serde(rename = "pathPatterns", skip_serializing_if = "Option::is_none")]
    pub(crate) path_patterns: Option<ListOpt<String>>,

    /// Headers that a request has to have, all of them. Default: any. Example:
    /// `[{name: {value: X-Stage}, values: {value: [beta]}}]`
    #[serde(rename = "httpHeaders", skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 5))]
    pub(crate) http_headers: Option<Vec<HttpHeader>>,

    /// Request methods, in capital letters, of up to 40 characters. Default: any method. Example: `{value: [GET, HEAD]}`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) methods: Option<ListOpt<String>>,

    /// Parameters of the query, of which one is enough. Default: any query. Example:
    /// `[{key: {value: version}, value: {value: v2}}]`
    #[serde(rename = "queryStrings", skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 5))]
    pub(crate) query_strings: Option<Vec<QueryString>>,

    /// Addresses that requests come from, as IPv4 or IPv6 blocks. Default: any address. Example: `{value: [10.0.0.0/8]}`
    #[serde(rename = "sourceIPs", skip_serializing_if = "Option::is_none")]
    pub(crate) source_ips: Option<ListOpt<String>>,
}

/// A header that a request has to have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct HttpHeader {
    /// Its name, without case, of up to 40 characters; not `Host`, which is a condition of its own. Example:
    /// `{value: X-Stage}`
    pub(crate) name: Opt<String>,

    /// Its values, of which one is enough, without case, of up to 128 characters; `*` and `?` as in host names. Example:
    /// `{value: [beta]}`
    pub(crate) values: ListOpt<String>,
}

/// A parameter of the query.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct QueryString {
    /// Its key, without case, of up to 128 characters; `*` and `?` as in host names. Default: any key. Example:
    /// `{value: version}`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<Opt<String>>,

    /// Its value, without case, of up to 128 characters; `*` and `?` as in host names. Example: `{value: v2}`
    pub(crate) value: Opt<String>,
}

/// Lets the API server refuse none.
fn at_least_one(schema: &mut Schema) {
    schema.insert("minProperties".to_owned(), json!(1));
}

#[cfg(test)]
mod tests {
    use super::*;
    use kraken_aws::testing::assert_round_trips;

    #[test]
    fn names_are_spelled_as_aws_and_kubernetes_do() {
        assert_round_trips::<ListenerRuleSpec>(&json!({
            "listenerARN": {"value": "arn:1"},
            "priority": {"value": 10},
            "conditions": {
                "hostHeaders": {"value": ["a.example"]}, "pathPatterns": {"value": ["/a"]},
                "httpHeaders": [{"name": {"value": "X-A"}, "values": {"value": ["b"]}}],
                "methods": {"value": ["GET"]},
                "queryStrings": [{"key": {"value": "k"}, "value": {"value": "v"}}],
                "sourceIPs": {"value": ["10.0.0.0/8"]},
            },
            "action": {"fixedResponse": {"statusCode": {"value": 503}}},
            "tags": {"Name": "web"},
        }));
    }
}
