//! Listener, the API type.

use kraken_aws::aws_kind;
use kraken_kind::{Opt, options::Public};

use crate::{action::ActionSpec, rules, words::Protocol};

/// A listener: a port of a load balancer, and the action for its requests.
#[aws_kind(
    kind = "Listener",
    plural = "listeners",
    shortname = "lsn",
    doc = "A listener: a port of a load balancer, and the action for its requests. Its main id is its ListenerArn.",
    noun = "listener",
    state = "listener",
    observed = super::observed::ObservedListener,
    summary("Protocol" = "Protocol", "Port" = "Port"),
    whole("defaultAction.forward.targetGroups"),
    rules = Self::between_fields,
    order = Self::order,
    cel(
        "has(self.certificateARN) || !has(self.protocol.value) || !(self.protocol.value in ['HTTPS', 'TLS'])"
            else "is required for HTTPS and TLS" at "certificateARN",
        "!has(self.certificateARN) || !has(self.protocol.value) || self.protocol.value in ['HTTPS', 'TLS']"
            else "is only supported for HTTPS and TLS; remove it or change the protocol" at "certificateARN",
        "!has(self.sslPolicy) || !has(self.protocol.value) || self.protocol.value in ['HTTPS', 'TLS']"
            else "is only supported for HTTPS and TLS; remove it or change the protocol" at "sslPolicy",
        "has(self.defaultAction.forward) || !has(self.protocol.value) || self.protocol.value in ['HTTP', 'HTTPS']"
            else "must be forward unless the protocol is HTTP or HTTPS" at "defaultAction",
    )
)]
pub(crate) struct ListenerSpec {
    /// The load balancer of the listener. Immutable. Example:
    /// `{valueFrom: {ref: LoadBalancer/web}}`
    #[field("loadBalancerARN", rule = rules::LOAD_BALANCER_ARN, fixed)]
    pub(crate) load_balancer_arn: Public<Opt<String>>,

    /// The port, 1 to 65535, unique in the load balancer. Changed in place. Example: `{value: 443}`
    #[field("port", rule = rules::PORT, change = Port)]
    pub(crate) port: Opt<i32>,

    /// The protocol: `HTTP` or `HTTPS` for an application load balancer, `TCP`, `TLS`, `UDP` or `TCP_UDP` for a network
    /// load balancer. Changed in place. Example: `{value: HTTPS}`
    #[field("protocol", change = Protocol)]
    pub(crate) protocol: Opt<Protocol>,

    /// The action for requests that match no rule: exactly one of `forward`, `redirect` and `fixedResponse`. Changed in
    /// place, as a whole; fields that are not set have AWS's defaults. Example:
    /// `{forward: {targetGroupARN: {valueFrom: {ref: TargetGroup/web}}}}`
    #[field(
        "defaultAction",
        group,
        parts,
        change = Action,
        observed = action(),
        import = Self::import_action,
        published("DefaultActions")
    )]
    pub(crate) default_action: ActionSpec,

    /// The default certificate, by ARN. Required for `HTTPS` and `TLS`. Changed in place. Additional certificates are
    /// not managed. Default: none. Example: `{value: "arn:aws:acm:us-east-1:123456789012:certificate/0abc1234"}`
    #[field(
        "certificateARN",
        rule = rules::CERTIFICATE_ARN,
        change = Certificate,
        observed = certificate(),
        published("Certificates")
    )]
    pub(crate) certificate_arn: Option<Opt<String>>,

    /// The security policy (TLS versions and ciphers), for `HTTPS` and `TLS`. Changed in place. Default: AWS's default.
    /// Example: `{value: ELBSecurityPolicy-TLS13-1-2-2021-06}`
    #[field("sslPolicy", rule = rules::SSL_POLICY, change = SslPolicy, import = Self::import_policy)]
    pub(crate) ssl_policy: Option<Opt<String>>,
}

#[cfg(test)]
mod tests {
    use kraken_aws::testing::assert_round_trips;
    use kraken_kind::api::crd::spoke_kind;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn the_schema_requires_exactly_one_action() {
        let crd = serde_json::to_value(spoke_kind::<Listener>()).unwrap();
        let spec = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
        let action = &spec["properties"]["defaultAction"];
        let choice = |schema: &Value| schema["x-kubernetes-validations"][0]["rule"].clone();
        assert_eq!(
            choice(action),
            "[has(self.forward), has(self.redirect), has(self.fixedResponse)].exists_one(is_set, is_set)"
        );
        assert_eq!(
            choice(&action["properties"]["forward"]),
            "[has(self.targetGroupARN), has(self.targetGroups)].exists_one(is_set, is_set)"
        );
        assert_eq!(spec["required"], json!(["defaultAction", "loadBalancerARN", "port", "protocol"]));
    }

    #[test]
    fn field_names_follow_kubernetes_and_values_follow_aws() {
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
        round_trips(json!({"forward": {
            "targetGroups": [{"targetGroupARN": {"value": "arn:3"}, "weight": {"value": 9}}],
            "stickinessSeconds": {"value": 60},
        }}));
        round_trips(json!({"redirect": {
            "protocol": {"value": "HTTPS"}, "port": {"value": "443"}, "host": {"value": "h"}, "path": {"value": "/"},
            "query": {"value": "q"}, "statusCode": {"value": "HTTP_302"},
        }}));
        round_trips(json!({"fixedResponse": {
            "statusCode": {"value": 503}, "contentType": {"value": "text/html"}, "messageBody": {"value": "b"},
        }}));
    }
}
