use kraken_aws::{
    AwsSpec as _,
    testing::{self, HIDDEN, assert_begin, rendered, with},
};
use kraken_kind::Ignored;
use serde_json::{Value, json};

use super::{
    Listeners,
    api::{Desired, ListenerSpec},
    observed::{Certificate, ObservedListener},
};
use crate::action::{ActionState, FixedResponseState, ForwardState, RedirectState, WeightedState};

const BALANCER: &str = "arn:aws:elasticloadbalancing:us-east-1:1:loadbalancer/app/web/1";
const GROUP: &str = "arn:aws:elasticloadbalancing:us-east-1:1:targetgroup/web/1";
const CERTIFICATE: &str = "arn:aws:acm:us-east-1:1:certificate/1";

fn written(changes: Value) -> Value {
    let usual = json!({
        "loadBalancerARN": {"value": BALANCER},
        "port": {"value": 80},
        "protocol": {"value": "HTTP"},
        "defaultAction": {"forward": {"targetGroupARN": {"value": GROUP}}},
    });
    with(usual, changes)
}

fn wanted(changes: Value) -> Desired {
    testing::desired::<Listeners>(written(changes))
}

fn problems(changes: Value) -> Vec<String> {
    testing::problems::<Listeners>(written(changes))
}

fn listener(actions: Vec<ActionState>) -> ObservedListener {
    ObservedListener {
        listener_arn: "arn:1".into(),
        load_balancer_arn: Some(BALANCER.into()),
        port: Some(80),
        protocol: Some("HTTP".into()),
        default_actions: actions,
        ..ObservedListener::default()
    }
}

fn forwarding() -> Vec<ActionState> {
    let action = ActionState { r#type: "forward".into(), ..ActionState::default() };
    vec![ActionState { target_group_arn: Some(GROUP.into()), ..action }]
}

#[test]
fn a_listener_in_the_desired_state_has_no_differences() {
    assert_eq!(rendered(ListenerSpec::differences(&wanted(json!({})), &listener(forwarding()))), [""; 0]);
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
    assert_eq!(
        rendered(ListenerSpec::differences(&other, &listener(forwarding()))),
        [
            format!("loadBalancerARN: {BALANCER} becomes {}: fixed", BALANCER.replace("web", "shop")),
            "protocol: HTTP becomes HTTPS: Protocol".to_owned(),
            format!("certificateARN: (absent) becomes {CERTIFICATE}: Certificate"),
            "sslPolicy: (absent) becomes new: SslPolicy".to_owned(),
            format!("defaultAction: forward to {GROUP} becomes respond with 503 text/plain \"\": Action"),
            "port: 80 becomes 443: Port".to_owned(),
        ]
    );
}

#[test]
fn absent_fields_of_a_redirect_have_aws_defaults() {
    let to_https =
        json!({"defaultAction": {"redirect": {"protocol": {"value": "HTTPS"}, "port": {"value": 443}}}});
    let desired = wanted(to_https);
    let state = |path: Option<&str>| ActionState {
        r#type: "redirect".into(),
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
        assert_eq!(rendered(ListenerSpec::differences(&desired, &listener(vec![state(same)]))), [""; 0]);
    }
    assert_eq!(
        rendered(ListenerSpec::differences(&desired, &listener(vec![state(Some("/other"))]))),
        ["defaultAction.redirect.path: /other becomes /#{path}: Action"]
    );
}

#[test]
fn target_groups_are_compared_by_weight_ignoring_order() {
    let other = GROUP.replace("web", "new");
    let weighted =
        |arn: &str, weight: i32| json!({"targetGroupARN": {"value": arn}, "weight": {"value": weight}});
    let forward = |groups: Value| json!({"defaultAction": {"forward": {"targetGroups": groups}}});
    let both = wanted(forward(json!([weighted(GROUP, 9), weighted(&other, 1)])));
    let group = |arn: &str, weight| WeightedState { target_group_arn: arn.into(), weight: Some(weight) };
    let state = |target_groups: Vec<WeightedState>| {
        let config = ForwardState { target_groups, ..ForwardState::default() };
        let action = ActionState { r#type: "forward".into(), ..ActionState::default() };
        listener(vec![ActionState { forward_config: Some(config), ..action }])
    };
    assert_eq!(
        rendered(ListenerSpec::differences(&both, &state(vec![group(&other, 1), group(GROUP, 9)]))),
        [""; 0]
    );
    assert_eq!(
        rendered(ListenerSpec::differences(&both, &state(vec![group(GROUP, 5)]))),
        [format!(
            "defaultAction.forward.targetGroups: {GROUP} becomes {other} (weight 1), {GROUP} (weight 9): Action"
        )]
    );
    assert_eq!(
        rendered(ListenerSpec::differences(&wanted(json!({})), &state(vec![group(GROUP, 5)]))),
        [""; 0]
    );
    assert_begin(
        &problems(forward(json!([weighted(GROUP, 9), weighted(GROUP, 1000)]))),
        &[
            "spec.defaultAction.forward.targetGroups[1].weight: must be 0 to 999",
            "spec.defaultAction.forward.targetGroups[1].targetGroupARN: is that of targetGroups[0], arn:",
        ],
    );
}

#[test]
fn a_redirect_to_itself_is_rejected() {
    let same = json!({"defaultAction": {"redirect": {"query": {"value": "a=b"}}}});
    assert_begin(&problems(same), &["spec.defaultAction.redirect: must change at least one of"]);
}

fn without(desired: &Desired, listener: &ObservedListener, path: &str) -> Option<Desired> {
    ListenerSpec::without_ignored(desired, listener, &Ignored::new(&[path.to_owned()]))
}

#[test]
fn an_ignored_forward_is_not_changed() {
    let shifted =
        ActionState { target_group_arn: Some(GROUP.replace("web", "new")), ..forwarding().remove(0) };
    let shifted = listener(vec![shifted]);
    for path in ["defaultAction", "defaultAction.forward", "defaultAction.forward.targetGroupARN"] {
        let kept = without(&wanted(json!({})), &shifted, path).unwrap();
        assert_eq!(rendered(ListenerSpec::differences(&kept, &shifted)), [""; 0], "{path}");
    }
    assert!(without(&wanted(json!({})), &shifted, "defaultAction.redirect").is_none());
    assert!(without(&wanted(json!({})), &listener(forwarding()), "defaultAction").is_none());
}

#[test]
fn a_call_for_one_part_of_a_redirect_does_not_change_an_ignored_one() {
    let state = |path: &str, port: &str| {
        let redirect_config = Some(RedirectState {
            path: Some(path.into()),
            port: Some(port.into()),
            ..RedirectState::default()
        });
        listener(vec![ActionState { r#type: "redirect".into(), redirect_config, ..ActionState::default() }])
    };
    let desired =
        wanted(json!({"defaultAction": {"redirect": {"path": {"value": "/a"}, "port": {"value": 1}}}}));
    let kept = without(&desired, &state("/other", "2"), "defaultAction.redirect.path").unwrap();
    assert_eq!(
        rendered(ListenerSpec::differences(&kept, &state("/other", "2"))),
        ["defaultAction.redirect.port: 2 becomes 1: Action"]
    );
    assert_eq!(
        rendered(ListenerSpec::differences(&kept, &state("/other", "1"))),
        [""; 0],
        "the call sends the observed value"
    );
}

#[test]
fn several_actions_are_shown_as_unsupported() {
    let many = [forwarding(), forwarding()].concat();
    assert_eq!(
        rendered(ListenerSpec::differences(&wanted(json!({})), &listener(many))),
        [format!("defaultAction: unsupported actions becomes forward to {GROUP}: Action")]
    );
}

#[test]
fn additional_certificates_are_not_managed() {
    let secure = wanted(json!({"protocol": {"value": "HTTPS"}, "certificateARN": {"value": CERTIFICATE}}));
    let certificate = |arn: &str| Certificate { certificate_arn: Some(arn.to_owned()) };
    let certificates = vec![certificate(CERTIFICATE), certificate("arn:other")];
    let listener =
        ObservedListener { protocol: Some("HTTPS".into()), certificates, ..listener(forwarding()) };
    assert_eq!(rendered(ListenerSpec::differences(&secure, &listener)), [""; 0]);
}

#[test]
fn a_body_from_a_secret_is_absent_from_state_and_differences() {
    let secret = wanted(json!({"defaultAction": {"fixedResponse": {
        "statusCode": {"value": 200},
        "messageBody": {"valueFrom": {"secret": {"name": "s", "key": "k"}}},
    }}}));
    assert!(!format!("{secret:?}").contains(HIDDEN));
    let other = ActionState {
        r#type: "fixed-response".into(),
        fixed_response_config: Some(FixedResponseState::default()),
        ..ActionState::default()
    };
    assert_eq!(
        rendered(ListenerSpec::differences(&secret, &listener(vec![other]))),
        [
            "defaultAction.fixedResponse.statusCode: (not shown) becomes ***: Action",
            "defaultAction.fixedResponse.messageBody: (not shown) becomes ***: Action",
        ]
    );
}

#[test]
fn all_problems_are_reported_at_once() {
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
        "spec.certificateARN: is required for HTTPS",
    ];
    assert_begin(&found, &wanted);
}

#[test]
fn exactly_one_action_is_required() {
    let only = ["spec.defaultAction: must have exactly one of forward, redirect, fixedResponse"];
    assert_eq!(problems(json!({"defaultAction": {}})), only);
    let both = json!({"forward": {"targetGroupARN": {"value": GROUP}}, "redirect": {"port": {"value": 1}}});
    assert_eq!(problems(json!({"defaultAction": both})), only);
}

#[test]
fn options_are_validated_against_the_protocol() {
    let no_certificate = json!({"certificateARN": {"value": CERTIFICATE}, "sslPolicy": {"value": "p"}});
    assert_begin(
        &problems(no_certificate),
        &["spec.certificateARN: is not supported for HTTP", "spec.sslPolicy: is not supported for HTTP"],
    );
    let answer = json!({"fixedResponse": {"statusCode": {"value": 200}}});
    assert_begin(
        &problems(json!({"protocol": {"value": "TCP"}, "defaultAction": answer})),
        &["spec.defaultAction: must be forward for TCP"],
    );
    assert_begin(
        &problems(json!({"protocol": {"value": "TLS"}, "certificateARN": {"value": "web.example"}})),
        &["spec.certificateARN: must be the ARN of a certificate"],
    );
}
