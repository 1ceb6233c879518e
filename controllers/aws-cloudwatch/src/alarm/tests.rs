use kraken_aws::{
    lookup::Tagged as _,
    testing::{self, assert_round_trips},
};
use serde_json::{Value, json};

use super::{Alarms, api::AlarmSpec, observed::Alarm};
use crate::cloudwatch::types::{self, ComparisonOperator, Statistic};

fn alarm() -> types::builders::MetricAlarmBuilder {
    types::MetricAlarm::builder()
        .alarm_name("shop/cpu-kraken-0123456789abcdef0123")
        .namespace("AWS/EC2")
        .metric_name("CPUUtilization")
        .dimensions(types::Dimension::builder().name("InstanceId").value("i-1").build())
        .statistic(Statistic::Average)
        .period(300)
        .evaluation_periods(3)
        .threshold(80.0)
        .comparison_operator(ComparisonOperator::GreaterThanThreshold)
        .actions_enabled(true)
}

fn spec(more: Value) -> Value {
    let usual = json!({
        "namespace": {"value": "AWS/EC2"}, "metricName": {"value": "CPUUtilization"}, "statistic": {"value": "Average"},
        "periodSeconds": {"value": 300}, "evaluationPeriods": {"value": 3}, "threshold": {"value": 80},
        "comparisonOperator": {"value": "GreaterThanThreshold"},
    });
    testing::with(usual, more)
}

fn compared(more: Value, alarm: types::builders::MetricAlarmBuilder) -> Vec<String> {
    testing::compared::<Alarms>(spec(more), &alarm.build().into())
}

#[test]
fn what_is_not_set_is_not_compared_and_the_generated_end_of_the_name_is_not_part_of_the_prefix() {
    assert_eq!(compared(json!({}), alarm()), [""; 0]);
    let same = json!({
        "namePrefix": {"value": "shop/cpu"}, "actionsEnabled": {"value": true},
        "dimensions": [{"name": {"value": "InstanceId"}, "value": {"value": "i-1"}}],
    });
    assert_eq!(compared(same, alarm()), [""; 0]);
}

#[test]
fn settings_change_in_place_by_one_call_and_the_name_is_immutable() {
    let other = json!({
        "namePrefix": {"value": "shop"}, "statistic": {"value": "p99"}, "threshold": {"value": 90.5},
        "dimensions": [{"name": {"value": "InstanceId"}, "value": {"value": "i-2"}}],
        "alarmActions": {"value": ["arn:aws:sns:us-east-1:123456789012:ops"]},
    });
    assert_eq!(
        compared(other, alarm()),
        [
            "namePrefix: shop/cpu becomes shop: fixed",
            "dimensions: InstanceId=i-1 becomes InstanceId=i-2: Put",
            "statistic: Average becomes p99: Put",
            "threshold: 80 becomes 90.5: Put",
            "alarmActions: none becomes arn:aws:sns:us-east-1:123456789012:ops: Put",
        ]
    );
}

#[test]
fn the_whole_name_of_an_adopted_alarm_is_its_prefix() {
    let named = |name: &str| Alarm::from(alarm().alarm_name(name).build());
    assert_eq!(named("cpu-high").name_prefix.as_deref(), Some("cpu-high"));
    assert!(!named("cpu-high").has_own_id());
    assert_eq!(named("kraken-0123456789abcdef0123").name_prefix, None);
    assert!(named("kraken-0123456789abcdef0123").has_own_id());
    assert!(named("a-b-kraken-0123456789abcdef0123").has_own_id());
}

#[test]
fn a_percentile_is_a_statistic() {
    let percentile = types::MetricAlarm::builder().extended_statistic("p99.9").build();
    assert_eq!(Alarm::from(percentile).statistic.as_deref(), Some("p99.9"));
}

#[test]
fn all_problems_are_reported_at_once() {
    let dimension = json!({"name": {"value": "a"}, "value": {"value": "b"}});
    let found = testing::problems::<Alarms>(spec(json!({
        "namePrefix": {"value": "a "}, "periodSeconds": {"value": 90}, "statistic": {"value": "p101"},
        "datapointsToAlarm": {"value": 4}, "dimensions": [dimension, dimension],
    })));
    testing::assert_begin(
        &found,
        &[
            "spec.namePrefix: must have 1 to 200 letters, digits",
            "spec.statistic: must be Average, Sum, ",
            "spec.periodSeconds: must be 10, 20, 30, or a multiple of 60 up to 604800",
            "spec.dimensions[1].name: must be unique in the list",
            "spec.datapointsToAlarm: must not be greater than evaluationPeriods",
        ],
    );
}

#[test]
fn all_periods_together_have_a_limit() {
    let periods = |seconds: i32, count: i32| json!({"periodSeconds": {"value": seconds}, "evaluationPeriods": {"value": count}});
    let found = testing::problems::<Alarms>(spec(periods(300, 289)));
    testing::assert_begin(
        &found,
        &["spec.periodSeconds: times evaluationPeriods (289) must be at most 86400 seconds"],
    );
    assert_eq!(compared(periods(300, 288), alarm()), ["evaluationPeriods: 3 becomes 288: Put"]);
    assert_eq!(testing::problems::<Alarms>(spec(periods(3_600, 169))).len(), 1);
    assert_eq!(compared(periods(3_600, 168), alarm()).len(), 2);
}

#[test]
fn field_names_follow_kubernetes_and_values_follow_aws() {
    let topic = json!({"value": ["arn:aws:sns:us-east-1:123456789012:ops"]});
    assert_round_trips::<AlarmSpec>(&spec(json!({
        "namePrefix": {"value": "shop"}, "description": {"value": "see the runbook"},
        "dimensions": [{"name": {"value": "InstanceId"}, "value": {"value": "i-1"}}],
        "datapointsToAlarm": {"value": 2}, "treatMissingData": {"value": "notBreaching"}, "unit": {"value": "Percent"},
        "actionsEnabled": {"value": false}, "alarmActions": topic, "okActions": topic, "insufficientDataActions": topic,
        "threshold": {"value": 80.5}, "tags": {"Name": "web"},
    })));
}
