//! What a listener shall be, and how it differs. Pure.

use kraken_aws::fields::{NOT_SHOWN, SECRET};
use kraken_spoke::{Difference, Remedy, Resolved, Resolver};

use super::{
    action::{self, Action, Wanted},
    api::ListenerSpec,
    aws::Gate,
};
use crate::{
    differences::Differences,
    rules,
    take::{Take, any},
    words::Protocol,
};

/// What there shall be. An absent option is AWS's business: it is neither sent nor compared.
#[derive(Clone, Debug)]
pub(crate) struct Desired {
    pub(crate) load_balancer_arn: Resolved<String>,
    pub(crate) port: Resolved<i32>,
    pub(crate) protocol: Resolved<Protocol>,
    pub(crate) action: Wanted,
    pub(crate) certificate_arn: Option<Resolved<String>>,
    pub(crate) ssl_policy: Option<Resolved<String>>,
}

/// A change in place, one call each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// With the certificate and the policy, without which AWS does not take some.
    Protocol,
    Certificate,
    SslPolicy,
    Action,
    Port,
}

pub(crate) fn desired(spec: &ListenerSpec, values: &mut Resolver<'_>) -> Option<Desired> {
    let mut take = Take::new(values);
    let load_balancer_arn = take.one("loadBalancerARN", &spec.load_balancer_arn, rules::load_balancer_arn);
    let port = take.one("port", &spec.port, rules::port);
    let protocol = take.one("protocol", &spec.protocol, any::<Protocol>);
    let action = action::wanted(&spec.default_action, &mut take);
    let certificate_arn =
        take.optional("certificateARN", spec.certificate_arn.as_ref(), rules::certificate_arn);
    let ssl_policy = take.optional("sslPolicy", spec.ssl_policy.as_ref(), rules::ssl_policy);

    if let Some(protocol) = protocol.as_ref().map(|protocol| *protocol.expose()) {
        if protocol.is_secure() && spec.certificate_arn.is_none() {
            take.problem("certificateARN", format!("is needed for {protocol}"));
        }
        for (field, is_given) in
            [("certificateARN", spec.certificate_arn.is_some()), ("sslPolicy", spec.ssl_policy.is_some())]
        {
            if is_given && !protocol.is_secure() {
                take.problem(field, format!("is not possible for {protocol}"));
            }
        }
        if !protocol.is_http() && action.as_ref().is_some_and(|wanted| wanted.action.is_of_http()) {
            take.problem("defaultAction", format!("must be forward for {protocol}"));
        }
    }

    let desired = || {
        Some(Desired {
            load_balancer_arn: load_balancer_arn?,
            port: port?,
            protocol: protocol?,
            action: action?,
            certificate_arn: certificate_arn?,
            ssl_policy: ssl_policy?,
        })
    };
    take.finish(desired())
}

pub(crate) fn differences(desired: &Desired, gate: &Gate) -> Vec<Difference<Change>> {
    let mut found = Differences::new();
    found.fixed("loadBalancerARN", Some(&desired.load_balancer_arn), gate.load_balancer_arn.as_ref());
    found.field("protocol", Some(&desired.protocol), gate.protocol.as_ref(), || Change::Protocol);
    let certificate = gate.certificates.first().and_then(|certificate| certificate.certificate_arn.as_ref());
    found.field("certificateARN", desired.certificate_arn.as_ref(), certificate, || Change::Certificate);
    found.field("sslPolicy", desired.ssl_policy.as_ref(), gate.ssl_policy.as_ref(), || Change::SslPolicy);
    let have = Action::of(&gate.default_actions);
    if have.as_ref() != Some(&desired.action.action) {
        let text =
            |action: Option<&Action>| action.map_or_else(|| "something else".to_owned(), ToString::to_string);
        let (want, have) = if desired.action.is_secret() {
            (SECRET.to_owned(), NOT_SHOWN.to_owned())
        } else {
            (text(Some(&desired.action.action)), text(have.as_ref()))
        };
        found.push("defaultAction", want, have, Remedy::Change(Change::Action));
    }
    found.field("port", Some(&desired.port), gate.port.as_ref(), || Change::Port);
    found.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        listener::aws::{ActionState, Certificate, FixedResponseState, RedirectState},
        testing::{assert_starts, resolve, told, with},
    };
    use serde_json::{Value, json};

    const BALANCER: &str = "arn:aws:elasticloadbalancing:us-east-1:1:loadbalancer/app/web/1";
    const GROUP: &str = "arn:aws:elasticloadbalancing:us-east-1:1:targetgroup/web/1";
    const CERTIFICATE: &str = "arn:aws:acm:us-east-1:1:certificate/1";

    fn resolved(changes: &Value) -> Result<Desired, Vec<String>> {
        let usual = json!({
            "loadBalancerARN": {"value": BALANCER},
            "port": {"value": 80},
            "protocol": {"value": "HTTP"},
            "defaultAction": {"forward": {"targetGroupARN": {"value": GROUP}}},
        });
        let spec: ListenerSpec = serde_json::from_value(with(usual, changes)).unwrap();
        resolve(|values| desired(&spec, values))
    }

    #[allow(clippy::needless_pass_by_value)] // reads better where it is called
    fn wanted(changes: Value) -> Desired {
        resolved(&changes).unwrap()
    }

    #[allow(clippy::needless_pass_by_value)]
    fn problems(changes: Value) -> Vec<String> {
        resolved(&changes).unwrap_err()
    }

    fn gate(actions: Vec<ActionState>) -> Gate {
        Gate {
            listener_arn: "arn:1".into(),
            load_balancer_arn: Some(BALANCER.into()),
            port: Some(80),
            protocol: Some("HTTP".into()),
            default_actions: actions,
            ..Gate::default()
        }
    }

    fn forwarding() -> Vec<ActionState> {
        let action = ActionState { action_type: "forward".into(), ..ActionState::default() };
        vec![ActionState { target_group_arn: Some(GROUP.into()), ..action }]
    }

    #[test]
    fn a_listener_as_it_shall_be_has_no_differences() {
        assert_eq!(told(&differences(&wanted(json!({})), &gate(forwarding()))), [""; 0]);
    }

    #[test]
    fn everything_but_the_load_balancer_changes_in_place() {
        let other = wanted(json!({
            "loadBalancerARN": {"value": BALANCER.replace("web", "shop")},
            "port": {"value": 443},
            "protocol": {"value": "HTTPS"},
            "certificateARN": {"value": CERTIFICATE},
            "sslPolicy": {"value": "new"},
            "defaultAction": {"fixedResponse": {"statusCode": {"value": 503}}},
        }));
        let found = differences(&other, &gate(forwarding()));
        assert_eq!(
            told(&found),
            [
                format!("loadBalancerARN: {BALANCER} -> {}!", BALANCER.replace("web", "shop")),
                "protocol: HTTP -> HTTPS".to_owned(),
                format!("certificateARN: (absent) -> {CERTIFICATE}"),
                "sslPolicy: (absent) -> new".to_owned(),
                format!("defaultAction: forward to {GROUP} -> answer 503 text/plain \"\""),
                "port: 80 -> 443".to_owned(),
            ]
        );
    }

    #[test]
    fn what_a_redirect_leaves_out_is_the_default_of_aws() {
        let to_https =
            json!({"defaultAction": {"redirect": {"protocol": {"value": "HTTPS"}, "port": {"value": 443}}}});
        let desired = wanted(to_https);
        let state = |path: Option<&str>| ActionState {
            action_type: "redirect".into(),
            redirect_config: Some(RedirectState {
                protocol: Some("HTTPS".into()),
                port: Some("443".into()),
                host: Some("#{host}".into()),
                path: path.map(str::to_owned),
                ..RedirectState::default()
            }),
            ..ActionState::default()
        };
        for same in [None, Some("/#{path}")] {
            assert_eq!(told(&differences(&desired, &gate(vec![state(same)]))), [""; 0]);
        }
        assert_eq!(
            told(&differences(&desired, &gate(vec![state(Some("/other"))]))),
            ["defaultAction: redirect to HTTPS://#{host}:443/other?#{query} with HTTP_301 \
              -> redirect to HTTPS://#{host}:443/#{path}?#{query} with HTTP_301"]
        );
    }

    #[test]
    fn several_actions_are_something_else() {
        let many = [forwarding(), forwarding()].concat();
        assert_eq!(
            told(&differences(&wanted(json!({})), &gate(many))),
            [format!("defaultAction: something else -> forward to {GROUP}")]
        );
    }

    #[test]
    fn further_certificates_are_left_alone() {
        let secure =
            wanted(json!({"protocol": {"value": "HTTPS"}, "certificateARN": {"value": CERTIFICATE}}));
        let certificate = |arn: &str| Certificate { certificate_arn: Some(arn.to_owned()) };
        let certificates = vec![certificate(CERTIFICATE), certificate("arn:other")];
        let gate = Gate { protocol: Some("HTTPS".into()), certificates, ..gate(forwarding()) };
        assert_eq!(told(&differences(&secure, &gate)), [""; 0]);
    }

    #[test]
    fn a_body_from_a_secret_shows_nowhere() {
        let secret = wanted(json!({"defaultAction": {"fixedResponse": {
            "statusCode": {"value": 200},
            "messageBody": {"valueFrom": {"secret": {"name": "s", "key": "k"}}},
        }}}));
        assert!(!format!("{secret:?}").contains("hunter2"));
        let other = ActionState {
            action_type: "fixed-response".into(),
            fixed_response_config: Some(FixedResponseState::default()),
            ..ActionState::default()
        };
        assert_eq!(told(&differences(&secret, &gate(vec![other]))), ["defaultAction: (not shown) -> ***"]);
    }

    #[test]
    fn everything_wrong_is_told_at_once() {
        let found = problems(json!({
            "loadBalancerARN": {"value": "web"},
            "port": {"value": 0},
            "protocol": {"value": "HTTPS"},
            "defaultAction": {"forward": {"targetGroupARN": {"value": "web"}}},
        }));
        let wanted = [
            "spec.loadBalancerARN: must be the ARN of a load balancer",
            "spec.port: must be 1 to 65535",
            "spec.defaultAction.forward.targetGroupARN: must be the ARN of a target group",
            "spec.certificateARN: is needed for HTTPS",
        ];
        assert_starts(&found, &wanted);
    }

    #[test]
    fn there_is_exactly_one_action() {
        let only = ["spec.defaultAction: must have exactly one of forward, redirect, fixedResponse"];
        assert_eq!(problems(json!({"defaultAction": {}})), only);
        let both =
            json!({"forward": {"targetGroupARN": {"value": GROUP}}, "redirect": {"port": {"value": 1}}});
        assert_eq!(problems(json!({"defaultAction": both})), only);
    }

    #[test]
    fn a_protocol_takes_what_fits_it() {
        let no_certificate = json!({"certificateARN": {"value": CERTIFICATE}, "sslPolicy": {"value": "p"}});
        assert_starts(
            &problems(no_certificate),
            &["spec.certificateARN: is not possible for HTTP", "spec.sslPolicy: is not possible for HTTP"],
        );
        let answer = json!({"fixedResponse": {"statusCode": {"value": 200}}});
        assert_starts(
            &problems(json!({"protocol": {"value": "TCP"}, "defaultAction": answer})),
            &["spec.defaultAction: must be forward for TCP"],
        );
        assert_starts(
            &problems(json!({"protocol": {"value": "TLS"}, "certificateARN": {"value": "web.example"}})),
            &["spec.certificateARN: must be the ARN of a certificate"],
        );
    }
}
