//! What is done with requests, as users write it: the actions of a Listener and of a ListenerRule.

use kraken_spoke::{Opt, options::Text};
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::words::{ContentType, RedirectStatus};

/// What is done with what comes in: exactly one of these.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = exactly_one)]
pub(crate) struct ActionSpec {
    /// Send it to the targets of a group. Example:
    /// `{targetGroupARN: {valueFrom: {krakenResource: {kind: targetgroup, name: web}}}}`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) forward: Option<Forward>,

    /// Tell the client another address. Only for `HTTP` and `HTTPS`. Example:
    /// `{protocol: {value: HTTPS}, port: {value: 443}}`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) redirect: Option<Redirect>,

    /// Answer at once. Only for `HTTP` and `HTTPS`. Example: `{statusCode: {value: 503}}`
    #[serde(rename = "fixedResponse", skip_serializing_if = "Option::is_none")]
    pub(crate) fixed_response: Option<FixedResponse>,
}

/// Targets to send requests to: one target group, or several with weights.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = one_or_several)]
pub(crate) struct Forward {
    /// The target group. Example: `{valueFrom: {krakenResource: {kind: targetgroup, name: web}}}`
    #[serde(rename = "targetGroupARN", skip_serializing_if = "Option::is_none")]
    pub(crate) target_group_arn: Option<Opt<String>>,

    /// The target groups, 1 to 5, each with its share of the requests; instead of `targetGroupARN`. Example:
    /// `[{targetGroupARN: {value: "arn:..."}, weight: {value: 9}}, {targetGroupARN: {value: "arn:..."}}]`
    #[serde(rename = "targetGroups", skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 5))]
    pub(crate) target_groups: Option<Vec<WeightedTargetGroup>>,

    /// Seconds for which a client's requests go to the target group that got the first one, 1 to 604800; 0 turns that off.
    /// Default: what is there is left alone; off for a new one. Example: `{value: 3600}`
    #[serde(rename = "stickinessSeconds", skip_serializing_if = "Option::is_none")]
    pub(crate) stickiness_seconds: Option<Opt<i32>>,
}

/// A target group with its share of the requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct WeightedTargetGroup {
    /// The target group. Example: `{valueFrom: {krakenResource: {kind: targetgroup, name: web}}}`
    #[serde(rename = "targetGroupARN")]
    pub(crate) target_group_arn: Opt<String>,

    /// Its share among the weights of all, 0 to 999; 0 sends it nothing. Default: 1. Example: `{value: 9}`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) weight: Option<Opt<i32>>,
}

/// Another address. What is left out stays as the client asked; at least one part has to differ.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Redirect {
    /// `HTTP`, `HTTPS` or `#{protocol}`. Default: `#{protocol}`. Example: `{value: HTTPS}`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) protocol: Option<Opt<String>>,

    /// 1 to 65535, or `#{port}`. Default: `#{port}`. Example: `{value: 443}`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) port: Option<Opt<Text>>,

    /// The host name, 1 to 128 characters; may contain `#{host}`. Default: `#{host}`. Example: `{value: "www.#{host}"}`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) host: Option<Opt<String>>,

    /// The path; begins with `/` and may contain `#{host}`, `#{path}` and `#{port}`. Default: `/#{path}`. Example:
    /// `{value: /moved}`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) path: Option<Opt<String>>,

    /// The query without `?`; may contain `#{query}`. Default: `#{query}`. Example: `{value: "from=old&#{query}"}`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) query: Option<Opt<String>>,

    /// `HTTP_301` (for ever) or `HTTP_302` (for now). Default: `HTTP_301`. Example: `{value: HTTP_302}`
    #[serde(rename = "statusCode", skip_serializing_if = "Option::is_none")]
    pub(crate) status_code: Option<Opt<RedirectStatus>>,
}

/// An answer of the load balancer itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct FixedResponse {
    /// The HTTP status, 200 to 299 or 400 to 599. Example: `{value: 503}`
    #[serde(rename = "statusCode")]
    pub(crate) status_code: Opt<i32>,

    /// The content type: `text/plain`, `text/css`, `text/html`, `application/javascript` or `application/json`.
    /// Default: `text/plain`. Example: `{value: text/html}`
    #[serde(rename = "contentType", skip_serializing_if = "Option::is_none")]
    pub(crate) content_type: Option<Opt<ContentType>>,

    /// The body, at most 1024 bytes. Default: none. Example: `{value: back in a minute}`
    #[serde(rename = "messageBody", skip_serializing_if = "Option::is_none")]
    pub(crate) message_body: Option<Opt<String>>,
}

/// Lets the API server refuse none and many.
fn exactly_one(schema: &mut Schema) {
    one_of(schema, &["forward", "redirect", "fixedResponse"]);
}

/// The same for the targets of a forward action.
fn one_or_several(schema: &mut Schema) {
    one_of(schema, &["targetGroupARN", "targetGroups"]);
}

fn one_of(schema: &mut Schema, names: &[&str]) {
    let each: Vec<_> = names.iter().map(|name| json!({"required": [name]})).collect();
    schema.insert("oneOf".to_owned(), json!(each));
}
