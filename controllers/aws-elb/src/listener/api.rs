//! Listener as users write it.

use std::collections::BTreeMap;

use kraken_spoke::{
    HasLifecycle, Lifecycle, Opt, ResourceStatus,
    options::{Public, Text},
};
use kube::CustomResource;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::words::{ContentType, Protocol, RedirectStatus};

/// A port of a load balancer, and what is done with what comes in.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "aws.kraken-iac.eoinfennessy.com",
    version = "v1alpha1",
    kind = "Listener",
    plural = "listeners",
    shortname = "lsn",
    category = "kraken",
    namespaced,
    status = "ResourceStatus",
    doc = "A port of a load balancer, and what is done with what comes in. Kraken creates, heals and deletes it."
)]
pub(crate) struct ListenerSpec {
    /// The load balancer. It cannot be changed later. Example:
    /// `{valueFrom: {krakenResource: {kind: loadbalancer, name: web}}}`
    #[serde(rename = "loadBalancerARN")]
    pub(crate) load_balancer_arn: Public<Opt<String>>,

    /// The port that it listens at, 1 to 65535; changed in place. A load balancer has one listener at a port. Example:
    /// `{value: 443}`
    pub(crate) port: Opt<i32>,

    /// The protocol; changed in place. `HTTP` or `HTTPS` at an application load balancer, `TCP`, `TLS`, `UDP` or
    /// `TCP_UDP` at a network load balancer. Example: `{value: HTTPS}`
    pub(crate) protocol: Opt<Protocol>,

    /// What is done with what comes in, exactly one of these; changed in place, as a whole: what is left out of it is
    /// AWS's default. Example: `{forward: {targetGroupARN: {valueFrom: {krakenResource: {kind: targetgroup, name: web}}}}}`
    #[serde(rename = "defaultAction")]
    pub(crate) default_action: DefaultAction,

    /// The certificate for `HTTPS` and `TLS`, which need one; changed in place. Further certificates are left alone.
    /// Default: none. Example: `{value: "arn:aws:acm:us-east-1:123456789012:certificate/0abc1234"}`
    #[serde(rename = "certificateARN", skip_serializing_if = "Option::is_none")]
    pub(crate) certificate_arn: Option<Opt<String>>,

    /// Which versions and ciphers of TLS are taken, for `HTTPS` and `TLS`; changed in place. Default: AWS's. Example:
    /// `{value: ELBSecurityPolicy-TLS13-1-2-2021-06}`
    #[serde(rename = "sslPolicy", skip_serializing_if = "Option::is_none")]
    pub(crate) ssl_policy: Option<Opt<String>>,

    /// Tags; at most 45, with keys of up to 128 and values of up to 256 characters. Tags that others set are left
    /// alone. Default: none. Example: `{Team: shop}`
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) tags: BTreeMap<String, String>,

    /// How this resource is created, healed and deleted.
    #[serde(default)]
    pub(crate) lifecycle: Lifecycle,
}

impl HasLifecycle for ListenerSpec {
    fn lifecycle(&self) -> &Lifecycle {
        &self.lifecycle
    }
}

/// What is done with what comes in: exactly one of these.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = exactly_one)]
pub(crate) struct DefaultAction {
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

/// Targets to send requests to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Forward {
    /// The target group. Example: `{valueFrom: {krakenResource: {kind: targetgroup, name: web}}}`
    #[serde(rename = "targetGroupARN")]
    pub(crate) target_group_arn: Opt<String>,
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
    let each = ["forward", "redirect", "fixedResponse"].map(|name| json!({"required": [name]}));
    schema.insert("oneOf".to_owned(), json!(each));
}

#[cfg(test)]
mod tests {
    use super::*;
    use kraken_aws::testing::assert_round_trips;
    use kraken_spoke::api::crd::spoke_kind;
    use serde_json::Value;

    #[test]
    fn the_schema_wants_exactly_one_action() {
        let crd = serde_json::to_value(spoke_kind::<Listener>()).unwrap();
        let spec = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
        let action = &spec["properties"]["defaultAction"];
        assert_eq!(action["oneOf"].as_array().map(Vec::len), Some(3), "{action}");
        assert_eq!(spec["required"], json!(["defaultAction", "loadBalancerARN", "port", "protocol"]));
    }

    #[test]
    fn names_are_spelled_as_aws_and_kubernetes_do() {
        let round_trips = |action: Value| {
            assert_round_trips::<ListenerSpec>(&json!({
                "loadBalancerARN": {"value": "arn:1"},
                "port": {"value": 443},
                "protocol": {"value": "HTTPS"},
                "defaultAction": action,
                "certificateARN": {"value": "arn:2"},
                "sslPolicy": {"value": "p"},
                "tags": {"Name": "web"},
            }));
        };
        round_trips(json!({"forward": {"targetGroupARN": {"value": "arn:3"}}}));
        round_trips(json!({"redirect": {
            "protocol": {"value": "HTTPS"}, "port": {"value": "443"}, "host": {"value": "h"}, "path": {"value": "/"},
            "query": {"value": "q"}, "statusCode": {"value": "HTTP_302"},
        }}));
        round_trips(json!({"fixedResponse": {
            "statusCode": {"value": 503}, "contentType": {"value": "text/html"}, "messageBody": {"value": "b"},
        }}));
    }
}
