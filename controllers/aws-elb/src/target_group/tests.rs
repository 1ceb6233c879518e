use kraken_aws::{
    AwsSpec as _,
    testing::{self, assert_begin, rendered, with},
};
use kraken_kind::{Difference, Ignored, Remedy};
use serde_json::{Value, json};

use super::{
    Groups,
    api::{Change, Desired, TargetGroupSpec},
    observed::{Group, Health as State, Target, TargetHealth},
};

fn written(changes: Value) -> Value {
    with(json!({"protocol": {"value": "HTTP"}, "port": {"value": 80}, "vpcID": {"value": "vpc-1"}}), changes)
}

fn wanted(changes: Value) -> Desired {
    testing::desired::<Groups>(written(changes))
}

fn problems(changes: Value) -> Vec<String> {
    testing::problems::<Groups>(written(changes))
}

fn group(targets: &[(&str, i32, &str)]) -> Group {
    let target = |(id, port, state): &(&str, i32, &str)| TargetHealth {
        target: Target { id: (*id).to_owned(), port: Some(*port), availability_zone: None },
        target_health: State { state: Some((*state).to_owned()), ..State::default() },
    };
    Group {
        target_group_arn: "arn:1".into(),
        target_group_name: "kraken-1".into(),
        protocol: Some("HTTP".into()),
        port: Some(80),
        vpc_id: Some("vpc-1".into()),
        target_type: Some("instance".into()),
        target_health_descriptions: targets.iter().map(target).collect(),
        ..Group::default()
    }
}

fn changes(desired: &Desired, group: &Group) -> Vec<Change> {
    let change = |difference: Difference<Change>| match difference.remedy {
        Remedy::Change(change) => change,
        other => panic!("{other:?}"),
    };
    TargetGroupSpec::differences(desired, group).into_iter().map(change).collect()
}

#[test]
fn unset_fields_are_not_managed() {
    assert_eq!(
        rendered(TargetGroupSpec::differences(&wanted(json!({})), &group(&[("i-9", 80, "healthy")]))),
        [""; 0]
    );
}

#[test]
fn immutable_fields_are_reported_with_both_values() {
    let other = wanted(json!({
        "name": {"value": "web"}, "protocol": {"value": "HTTPS"}, "port": {"value": 443},
        "vpcID": {"value": "vpc-2"}, "targetType": {"value": "ip"},
    }));
    assert_eq!(
        rendered(TargetGroupSpec::differences(&other, &group(&[]))),
        [
            "name: kraken-1 becomes web: fixed",
            "protocol: HTTP becomes HTTPS: fixed",
            "port: 80 becomes 443: fixed",
            "vpcID: vpc-1 becomes vpc-2: fixed",
            "targetType: instance becomes ip: fixed",
        ]
    );
}

#[test]
fn targets_are_registered_before_others_are_deregistered() {
    let desired = wanted(json!({"targets": {"value": ["i-1", "i-2"]}}));
    let group = group(&[("i-2", 80, "initial"), ("i-3", 80, "healthy")]);
    let gone = Target { id: "i-3".into(), port: Some(80), availability_zone: None };
    assert_eq!(
        changes(&desired, &group),
        [Change::Register(vec!["i-1".into()]), Change::Deregister(vec![gone])]
    );
    for Difference { field, .. } in TargetGroupSpec::differences(&desired, &group) {
        assert_eq!((field.have.as_str(), field.want.as_str()), ("i-2, i-3", "i-1, i-2"));
    }
}

#[test]
fn a_draining_target_counts_as_deregistered() {
    let desired = wanted(json!({"targets": {"value": ["i-1"]}}));
    let draining = group(&[("i-1", 80, "draining"), ("i-2", 80, "draining")]);
    assert_eq!(changes(&desired, &draining), [Change::Register(vec!["i-1".into()])]);
    assert_eq!(changes(&wanted(json!({"targets": {"value": []}})), &draining), []);
}

#[test]
fn a_target_with_another_port_is_another_target() {
    let desired = wanted(json!({"targets": {"value": ["i-1"]}}));
    let other = Target { id: "i-1".into(), port: Some(81), availability_zone: None };
    let both = group(&[("i-1", 80, "healthy"), ("i-1", 81, "healthy")]);
    assert_eq!(changes(&desired, &both), [Change::Deregister(vec![other])]);
}

#[test]
fn all_problems_are_reported_at_once() {
    let found = problems(json!({
        "name": {"value": "-web"},
        "protocol": {"valueFrom": {"configMap": {"name": "m", "key": "k"}}},
        "port": {"value": 65_536},
        "vpcID": {"value": "main"},
        "targets": {"value": ["10.0.0.1"]},
        "healthCheck": {
            "port": {"value": 0}, "path": {"value": "x"}, "intervalSeconds": {"value": 10},
            "timeoutSeconds": {"value": 20}, "matcher": {"value": "ok"},
        },
    }));
    let wanted = [
        "spec.name: must have 1 to 32",
        "spec.protocol: waiting for ConfigMap m",
        "spec.port: must be 1 to 65535",
        "spec.vpcID: must look like vpc-",
        "spec.healthCheck.port: must be 1 to 65535",
        "spec.healthCheck.path: must start with /",
        "spec.healthCheck.matcher: must be HTTP codes",
        "spec.healthCheck.timeoutSeconds: must not be greater",
        "spec.targets.value[0]: must look like i-",
    ];
    assert_begin(&found, &wanted);
}

#[test]
fn network_fields_are_required_except_for_lambda() {
    let lambda = json!({"targetType": {"value": "lambda"}});
    assert_begin(&problems(lambda), &["spec.protocol: is not", "spec.port: is not", "spec.vpcID: is not"]);
    let nothing = json!({"protocol": null, "port": null, "vpcID": null});
    assert_begin(&problems(nothing), &["spec.protocol: is required", "spec.port: is", "spec.vpcID: is"]);
    let right = json!({"targetType": {"value": "lambda"}, "protocol": null, "port": null, "vpcID": null});
    wanted(right);
}

#[test]
fn a_target_from_a_secret_is_absent_from_state_and_differences() {
    let from_secret = json!({"value": [{"valueFrom": {"secret": {"name": "s", "key": "k"}}}]});
    assert_eq!(
        problems(json!({"targets": from_secret})),
        ["spec.targets.value[0]: the value of Secret s key \"k\" must look like i-0abc1234def567890"]
    );
}

#[test]
fn a_health_check_is_changed_in_place() {
    let wanted = testing::desired::<Groups>(json!({
        "protocol": {"value": "HTTP"}, "port": {"value": 80}, "vpcID": {"value": "vpc-1"},
        "healthCheck": {
            "path": {"value": "/healthz"}, "intervalSeconds": {"value": 30}, "port": {"value": 8081},
        },
    }));
    let group = Group {
        health_check_path: Some("/".into()),
        health_check_interval_seconds: Some(30),
        ..Group::default()
    };
    let off = Group { health_check_enabled: Some(false), ..group.clone() };
    assert_eq!(
        rendered(TargetGroupSpec::compare_health(&wanted, &off))[0],
        "healthCheck: disabled becomes enabled: HealthCheck"
    );
    assert_eq!(
        rendered(TargetGroupSpec::compare_health(&wanted, &group)),
        [
            "healthCheck.port: (absent) becomes 8081: HealthCheck",
            "healthCheck.path: / becomes /healthz: HealthCheck",
        ]
    );
}

#[test]
fn an_ignored_field_of_the_health_check_is_not_sent_along_with_another() {
    let wanted = testing::desired::<Groups>(json!({
        "protocol": {"value": "HTTP"}, "port": {"value": 80}, "vpcID": {"value": "vpc-1"},
        "healthCheck": {"path": {"value": "/healthz"}, "intervalSeconds": {"value": 30}},
    }));
    let without = |path: &str| {
        let kept = TargetGroupSpec::without_ignored(&wanted, &group(&[]), &Ignored::new(&[path.to_owned()]));
        kept.map(|kept| kept.health_check)
    };
    let kept = without("healthCheck.path").unwrap().unwrap();
    assert!(kept.path.is_none() && kept.interval_seconds.is_some());
    assert!(without("healthCheck").unwrap().is_none());
    assert!(without("healthCheck.port").is_none() && without("targets").is_none());
}
