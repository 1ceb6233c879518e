//! The actions of a Listener and of a ListenerRule, the API types.

use kraken_aws::aws_group;
use kraken_kind::{Opt, options::Text};

use super::state::{FixedResponseState, RedirectState};
use crate::{
    rules,
    words::{ContentType, RedirectStatus},
};

/// The action for requests: exactly one of these fields.
#[aws_group(choice)]
pub(crate) struct ActionSpec {
    /// Forwards requests to target groups. Example:
    /// `{targetGroupARN: {valueFrom: {ref: TargetGroup/web}}}`
    #[field("forward", group)]
    pub(crate) forward: Option<Forward>,

    /// Redirects the client to another URL. Only for `HTTP` and `HTTPS`. Example:
    /// `{protocol: {value: HTTPS}, port: {value: 443}}`
    #[field("redirect", group)]
    pub(crate) redirect: Option<Redirect>,

    /// Returns a fixed response. Only for `HTTP` and `HTTPS`. Example: `{statusCode: {value: 503}}`
    #[field("fixedResponse", group)]
    pub(crate) fixed_response: Option<FixedResponse>,
}

/// The target groups that requests are forwarded to: one target group, or several with weights.
#[aws_group(one_of(target_group_arn, target_groups))]
pub(crate) struct Forward {
    /// The duration of stickiness in seconds, 1 to 604800: requests of a client go to the target group of its first
    /// request. 0 disables stickiness. Default: disabled for a new object; an existing setting is not managed. Example:
    /// `{value: 3600}`
    #[field("stickinessSeconds", rule = rules::STICKINESS_SECONDS)]
    pub(crate) stickiness_seconds: Option<Opt<i32>>,

    /// The target group. Example: `{valueFrom: {ref: TargetGroup/web}}`
    #[field("targetGroupARN", rule = rules::TARGET_GROUP_ARN)]
    pub(crate) target_group_arn: Option<Opt<String>>,

    /// The target groups, 1 to 5, each with a weight. Exactly one of this and `targetGroupARN`. Example:
    /// `[{targetGroupARN: {value: "arn:..."}, weight: {value: 9}}, {targetGroupARN: {value: "arn:..."}}]`
    #[schemars(length(min = 1, max = 5))]
    #[field("targetGroups", group)]
    pub(crate) target_groups: Option<Vec<WeightedTargetGroup>>,
}

/// A target group with a weight.
#[aws_group]
pub(crate) struct WeightedTargetGroup {
    /// The target group. Example: `{valueFrom: {ref: TargetGroup/web}}`
    #[field("targetGroupARN", rule = rules::TARGET_GROUP_ARN)]
    pub(crate) target_group_arn: Opt<String>,

    /// The weight, 0 to 999, relative to the sum of all weights; 0 forwards no requests. Default: 1. Example:
    /// `{value: 9}`
    #[field("weight", rule = rules::WEIGHT)]
    pub(crate) weight: Option<Opt<i32>>,
}

/// The URL of a redirect. Parts that are not set are taken from the request; at least one part must differ.
#[aws_group(
    observed = RedirectState, texts,
    cel(
        "has(self.protocol) || has(self.port) || has(self.host) || has(self.path)"
            else "must change at least one of protocol, port, host and path, or it would redirect to itself",
    )
)]
pub(crate) struct Redirect {
    /// The protocol: `HTTP`, `HTTPS` or `#{protocol}`. Default: `#{protocol}`. Example: `{value: HTTPS}`
    #[field("protocol", rule = rules::REDIRECT_PROTOCOL, default = "#{protocol}")]
    pub(crate) protocol: Option<Opt<String>>,

    /// The port, 1 to 65535, or `#{port}`. Default: `#{port}`. Example: `{value: 443}`
    #[field("port", rule = rules::REDIRECT_PORT, default = "#{port}")]
    pub(crate) port: Option<Opt<Text>>,

    /// The host name, 1 to 128 characters; may contain `#{host}`. Default: `#{host}`. Example: `{value: "www.#{host}"}`
    #[field("host", rule = rules::REDIRECT_PART, default = "#{host}")]
    pub(crate) host: Option<Opt<String>>,

    /// The path, which begins with `/` and may contain `#{host}`, `#{path}` and `#{port}`. Default: `/#{path}`.
    /// Example: `{value: /moved}`
    #[field("path", rule = rules::REDIRECT_PATH, default = "/#{path}")]
    pub(crate) path: Option<Opt<String>>,

    /// The query without `?`; may contain `#{query}`. Default: `#{query}`. Example: `{value: "from=old&#{query}"}`
    #[field("query", rule = rules::REDIRECT_QUERY, default = "#{query}")]
    pub(crate) query: Option<Opt<String>>,

    /// The status code: `HTTP_301` (permanent) or `HTTP_302` (temporary). Default: `HTTP_301`. Example:
    /// `{value: HTTP_302}`
    #[field("statusCode", default = RedirectStatus::Permanent.as_str())]
    pub(crate) status_code: Option<Opt<RedirectStatus>>,
}

/// A response of the load balancer.
#[aws_group(
    observed = FixedResponseState, texts,
    cel(
        "!has(self.statusCode.value) || self.statusCode.value <= 299 || self.statusCode.value >= 400"
            else "must be 200 to 299 or 400 to 599" at "statusCode",
    )
)]
pub(crate) struct FixedResponse {
    /// The HTTP status code, 200 to 299 or 400 to 599. Example: `{value: 503}`
    #[field("statusCode", rule = rules::RESPONSE_STATUS, check = rules::response_status)]
    pub(crate) status_code: Opt<i32>,

    /// The content type: `text/plain`, `text/css`, `text/html`, `application/javascript` or `application/json`.
    /// Default: `text/plain`. Example: `{value: text/html}`
    #[field("contentType", default = ContentType::Plain.as_str())]
    pub(crate) content_type: Option<Opt<ContentType>>,

    /// The body, at most 1024 bytes. Default: none. Example: `{value: back in a minute}`
    #[field("messageBody", rule = rules::RESPONSE_BODY)]
    pub(crate) message_body: Option<Opt<String>>,
}
