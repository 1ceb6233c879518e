//! The actions of a Listener and of a ListenerRule, the API types.

use kraken_aws::bounds::literal;
use kraken_spoke::{Opt, options::Text};
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::rules;
use crate::words::{ContentType, RedirectStatus};

/// The action for requests: exactly one of these fields.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = exactly_one)]
pub(crate) struct ActionSpec {
    /// Forwards requests to target groups. Example:
    /// `{targetGroupARN: {valueFrom: {krakenResource: {kind: targetgroup, name: web}}}}`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) forward: Option<Forward>,

    /// Redirects the client to another URL. Only for `HTTP` and `HTTPS`. Example:
    /// `{protocol: {value: HTTPS}, port: {value: 443}}`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) redirect: Option<Redirect>,

    /// Returns a fixed response. Only for `HTTP` and `HTTPS`. Example: `{statusCode: {value: 503}}`
    #[serde(rename = "fixedResponse", skip_serializing_if = "Option::is_none")]
    pub(crate) fixed_response: Option<FixedResponse>,
}

/// The target groups that requests are forwarded to: one target group, or several with weights.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = one_or_several)]
pub(crate) struct Forward {
    /// The target group. Example: `{valueFrom: {krakenResource: {kind: targetgroup, name: web}}}`
    #[serde(rename = "targetGroupARN", skip_serializing_if = "Option::is_none")]
    #[schemars(transform = literal(&rules::TARGET_GROUP_ARN))]
    pub(crate) target_group_arn: Option<Opt<String>>,

    /// The target groups, 1 to 5, each with a weight. Exactly one of this and `targetGroupARN`. Example:
    /// `[{targetGroupARN: {value: "arn:..."}, weight: {value: 9}}, {targetGroupARN: {value: "arn:..."}}]`
    #[serde(rename = "targetGroups", skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 5))]
    pub(crate) target_groups: Option<Vec<WeightedTargetGroup>>,

    /// The duration of stickiness in seconds, 1 to 604800: requests of a client go to the target group of its first
    /// request. 0 disables stickiness. Default: disabled for a new object; an existing setting is not managed. Example:
    /// `{value: 3600}`
    #[serde(rename = "stickinessSeconds", skip_serializing_if = "Option::is_none")]
    #[schemars(transform = literal(&rules::STICKINESS_SECONDS))]
    pub(crate) stickiness_seconds: Option<Opt<i32>>,
}

/// A target group with a weight.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct WeightedTargetGroup {
    /// The target group. Example: `{valueFrom: {krakenResource: {kind: targetgroup, name: web}}}`
    #[serde(rename = "targetGroupARN")]
    #[schemars(transform = literal(&rules::TARGET_GROUP_ARN))]
    pub(crate) target_group_arn: Opt<String>,

    /// The weight, 0 to 999, relative to the sum of all weights; 0 forwards no requests. Default: 1. Example:
    /// `{value: 9}`
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = literal(&rules::WEIGHT))]
    pub(crate) weight: Option<Opt<i32>>,
}

/// The URL of a redirect. Parts that are not set are taken from the request; at least one part must differ.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "has(self.protocol) || has(self.port) || has(self.host) || has(self.path)",
    "message": "must change at least one of protocol, port, host and path, or it would redirect to itself",
}]))]
pub(crate) struct Redirect {
    /// The protocol: `HTTP`, `HTTPS` or `#{protocol}`. Default: `#{protocol}`. Example: `{value: HTTPS}`
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = literal(&rules::REDIRECT_PROTOCOL))]
    pub(crate) protocol: Option<Opt<String>>,

    /// The port, 1 to 65535, or `#{port}`. Default: `#{port}`. Example: `{value: 443}`
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = literal(&rules::REDIRECT_PORT))]
    pub(crate) port: Option<Opt<Text>>,

    /// The host name, 1 to 128 characters; may contain `#{host}`. Default: `#{host}`. Example: `{value: "www.#{host}"}`
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = literal(&rules::REDIRECT_PART))]
    pub(crate) host: Option<Opt<String>>,

    /// The path, which begins with `/` and may contain `#{host}`, `#{path}` and `#{port}`. Default: `/#{path}`.
    /// Example: `{value: /moved}`
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = literal(&rules::REDIRECT_PATH))]
    pub(crate) path: Option<Opt<String>>,

    /// The query without `?`; may contain `#{query}`. Default: `#{query}`. Example: `{value: "from=old&#{query}"}`
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = literal(&rules::REDIRECT_QUERY))]
    pub(crate) query: Option<Opt<String>>,

    /// The status code: `HTTP_301` (permanent) or `HTTP_302` (temporary). Default: `HTTP_301`. Example:
    /// `{value: HTTP_302}`
    #[serde(rename = "statusCode", skip_serializing_if = "Option::is_none")]
    pub(crate) status_code: Option<Opt<RedirectStatus>>,
}

/// A response of the load balancer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "!has(self.statusCode.value) || self.statusCode.value <= 299 || self.statusCode.value >= 400",
    "message": "must be 200 to 299 or 400 to 599",
    "fieldPath": ".statusCode",
}]))]
pub(crate) struct FixedResponse {
    /// The HTTP status code, 200 to 299 or 400 to 599. Example: `{value: 503}`
    #[serde(rename = "statusCode")]
    #[schemars(transform = literal(&rules::RESPONSE_STATUS))]
    pub(crate) status_code: Opt<i32>,

    /// The content type: `text/plain`, `text/css`, `text/html`, `application/javascript` or `application/json`.
    /// Default: `text/plain`. Example: `{value: text/html}`
    #[serde(rename = "contentType", skip_serializing_if = "Option::is_none")]
    pub(crate) content_type: Option<Opt<ContentType>>,

    /// The body, at most 1024 bytes. Default: none. Example: `{value: back in a minute}`
    #[serde(rename = "messageBody", skip_serializing_if = "Option::is_none")]
    #[schemars(transform = literal(&rules::RESPONSE_BODY))]
    pub(crate) message_body: Option<Opt<String>>,
}

/// Makes the API server reject an object with none or several of the fields.
fn exactly_one(schema: &mut Schema) {
    one_of(schema, &["forward", "redirect", "fixedResponse"]);
}

/// The same for the target groups of a forward action.
fn one_or_several(schema: &mut Schema) {
    one_of(schema, &["targetGroupARN", "targetGroups"]);
}

fn one_of(schema: &mut Schema, names: &[&str]) {
    let each: Vec<_> = names.iter().map(|name| json!({"required": [name]})).collect();
    schema.insert("oneOf".to_owned(), json!(each));
}
