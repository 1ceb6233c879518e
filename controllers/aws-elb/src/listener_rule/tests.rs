use kraken_aws::{
    AwsSpec as _,
    testing::{self, HIDDEN, assert_begin, rendered, with},
};
use serde_json::{Value, json};

use super::{
    ListenerRules,
    api::{Desired, ListenerRuleSpec},
    observed::{ConditionState, QueryState, Rule},
};
use crate::action::ActionState;

const LISTENER: &str = "arn:aws:elasticloadbalancing:us-east-1:1:listener/app/web/1/2";
const GROUP: &str = "arn:aws:elasticloadbalancing:us-east-1:1:targetgroup/web/1";

fn written(changes: Value) -> Value {
    let usual = json!({
        "listenerARN": {"value": LISTENER},
        "priority": {"value": 10},
        "conditions": {"pathPatterns": {"value": ["/b", "/a"]}},
        "action": {"forward": {"targetGroupARN": {"value": GROUP}}},
    });
    with(usual, changes)
}

fn wanted(changes: Value) -> Desired {
    testing::desired::<ListenerRules>(written(changes))
}

fn problems(changes: Value) -> Vec<String> {
    testing::problems::<ListenerRules>(written(changes))
}

fn condition(field: &str, values: &[&str]) -> ConditionState {
    let values = values.iter().map(|value| (*value).to_owned()).collect();
    ConditionState { field: field.into(), values, ..ConditionState::default() }
}

fn rule(conditions: Vec<ConditionState>) -> Rule {
    let action = ActionState { r#type: "forward".into(), ..ActionState::default() };
    Rule {
        rule_arn: format!("{}/3", LISTENER.replace(":listener/", ":listener-rule/")),
        listener_arn: Some(LISTENER.into()),
        priority: Some("10".into()),
        conditions,
        actions: vec![ActionState { target_group_arn: Some(GROUP.into()), ..action }],
        ..Rule::default()
    }
}

#[test]
fn the_order_of_values_is_ignored() {
    let same = rule(vec![condition("path-pattern", &["/a", "/b"])]);
    assert_eq!(rendered(ListenerRuleSpec::differences(&wanted(json!({})), &same)), [""; 0]);
}

#[test]
fn each_type_of_condition_is_compared_and_absent_ones_are_removed() {
    let other = wanted(json!({
        "listenerARN": {"value": LISTENER.replace("web", "shop")},
        "priority": {"value": 11},
        "conditions": {
            "hostHeaders": {"value": ["A.Example"]},
            "httpHeaders": [{"name": {"value": "X-A"}, "values": {"value": ["b"]}}],
            "queryStrings": [{"key": {"value": "k"}, "value": {"value": "v"}}],
        },
        "action": {"fixedResponse": {"statusCode": {"value": 503}}},
    }));
    let same_host = condition("host-header", &["a.example"]);
    assert_eq!(
        rendered(ListenerRuleSpec::differences(
            &other,
            &rule(vec![condition("path-pattern", &["/a"]), same_host])
        )),
        [
            format!("listenerARN: {LISTENER} becomes {}: fixed", LISTENER.replace("web", "shop")),
            "priority: 10 becomes 11: Priority".to_owned(),
            "conditions.pathPatterns: /a becomes (absent): Conditions".to_owned(),
            "conditions.httpHeaders: (absent) becomes x-a: b: Conditions".to_owned(),
            "conditions.queryStrings: (absent) becomes k=v: Conditions".to_owned(),
            format!("action: forward to {GROUP} becomes respond with 503 text/plain \"\": Action"),
        ]
    );
    let query = QueryState { key: Some("k".into()), value: "v".into() };
    let query = ConditionState { query_strings: vec![query], ..condition("query-string", &[]) };
    let header = ConditionState { http_header_name: Some("X-A".into()), ..condition("http-header", &["b"]) };
    let host = condition("host-header", &["a.example"]);
    let found = rendered(ListenerRuleSpec::differences(&other, &rule(vec![query, header, host])));
    assert!(!found.iter().any(|difference| difference.starts_with("conditions")), "{found:?}");
}

#[test]
fn an_unsupported_condition_is_shown_as_unsupported() {
    let regular = condition("path-pattern", &[]);
    assert_eq!(
        rendered(ListenerRuleSpec::differences(&wanted(json!({})), &rule(vec![regular]))),
        ["conditions: unsupported conditions becomes path-pattern /a, /b: Conditions"]
    );
}

#[test]
fn all_problems_are_reported_at_once() {
    let found = problems(json!({
        "listenerARN": {"value": "web"},
        "priority": {"value": 50_001},
        "conditions": {
            "hostHeaders": {"value": ["a_b.example"]},
            "httpHeaders": [{"name": {"value": "Host"}, "values": {"value": ["a"]}}],
            "methods": {"value": ["get"]},
            "sourceIPs": {"value": ["10.0.0.1/8"]},
        },
        "action": {},
    }));
    let wanted = [
        "spec.listenerARN: must be the ARN of a listener",
        "spec.priority: must be 1 to 50000",
        "spec.conditions.hostHeaders.value[0]: must be a host name",
        "spec.conditions.methods.value[0]: must be a method in capital letters",
        "spec.conditions.sourceIPs.value[0]: has",
        "spec.conditions.httpHeaders[0].name: must not be Host: use hostHeaders",
        "spec.action: must have exactly one of",
    ];
    assert_begin(&found, &wanted);
}

#[test]
fn one_to_five_values_are_required() {
    let of = |conditions: Value| problems(json!({"conditions": conditions}));
    assert_begin(&of(json!({})), &["spec.conditions: must have 1 to 5 values in total, not 0"]);
    let many = json!({"pathPatterns": {"value": ["/1", "/2", "/3"]}, "methods": {"value": ["A", "B", "C"]}});
    assert_begin(&of(many), &["spec.conditions: must have 1 to 5 values in total, not 6"]);
}

#[test]
fn a_value_from_a_secret_is_absent_from_state_and_differences() {
    let secret = json!({"valueFrom": {"secret": {"name": "s", "key": "k"}}});
    let desired = wanted(json!({"conditions": {
        "httpHeaders": [{"name": {"value": "X-Key"}, "values": {"value": [secret]}}],
    }}));
    assert!(!format!("{desired:?}").contains(HIDDEN));
    let found =
        rendered(ListenerRuleSpec::differences(&desired, &rule(vec![condition("path-pattern", &["/a"])])));
    assert!(!found.concat().contains(HIDDEN), "{found:?}");
}
