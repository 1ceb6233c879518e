use kraken_aws::{
    AwsSpec as _, Tags,
    tags::{CLUSTER, EPOCH, UID},
    testing::{self, assert_round_trips, rendered, with},
};
use serde_json::{Value, json};

use super::{ScalingPolicies, api::ScalingPolicySpec, name, observed::Policy};

const BALANCER: &str = "arn:aws:elasticloadbalancing:us-east-1:1:loadbalancer/app/web/1";
const TARGETS: &str = "arn:aws:elasticloadbalancing:us-east-1:1:targetgroup/web/2";

fn written(changes: Value) -> Value {
    let metric = json!({"value": "ASGAverageCPUUtilization"});
    with(json!({"groupName": {"value": "web"}, "metric": metric, "targetValue": {"value": 50}}), changes)
}

fn policy() -> Policy {
    Policy {
        auto_scaling_group_name: "web".into(),
        predefined_metric_type: Some("ASGAverageCPUUtilization".into()),
        target_value: Some(50.0),
        ..Policy::default()
    }
}

fn differing(changes: Value) -> Vec<String> {
    let desired = testing::desired::<ScalingPolicies>(written(changes));
    rendered(ScalingPolicySpec::differences(&desired, &policy()))
}

#[test]
fn everything_but_the_group_changes_by_one_call() {
    assert_eq!(differing(json!({})), [""; 0]);
    assert_eq!(
        differing(json!({
            "groupName": {"value": "shop"}, "metric": {"value": "ALBRequestCountPerTarget"}, "targetValue": {"value": 99.5},
            "loadBalancerARN": {"value": BALANCER}, "targetGroupARN": {"value": TARGETS}, "disableScaleIn": {"value": true},
        })),
        [
            "groupName: web becomes shop: fixed",
            "metric: ASGAverageCPUUtilization becomes ALBRequestCountPerTarget: Put",
            "targetValue: 50 becomes 99.5: Put",
            "targetGroupARN: (absent) becomes app/web/1/targetgroup/web/2: Put",
            "disableScaleIn: (absent) becomes true: Put",
        ]
    );
}

#[test]
fn the_owner_is_in_the_name() {
    let tags =
        Tags::from([(CLUSTER, "c"), (UID, "u"), (EPOCH, "3")].map(|(key, value)| (key.into(), value.into())));
    let policy_name = name::of(&tags);
    let found = name::identity(&policy_name);
    assert!(tags.iter().all(|(key, value)| found.get(key) == Some(value)), "{found:?}");
    for other in ["cpu", "kraken", "kraken/c/u", "kraken/c/u/1/x", "other/c/u/1"] {
        assert!(name::identity(other).is_empty(), "{other}");
    }
    let arn = format!(
        "arn:aws:autoscaling:us-east-1:1:scalingPolicy:1:autoScalingGroupName/web:policyName/{policy_name}"
    );
    assert_eq!(name::in_arn(&arn), Some(policy_name.as_str()));
    assert_eq!(name::in_arn("web"), None);
}

#[test]
fn all_problems_are_reported_at_once() {
    let spec = written(json!({
        "groupName": {"value": "a:b"}, "targetValue": {"value": 0}, "loadBalancerARN": {"value": BALANCER},
        "lifecycle": {"adopt": {"id": "x"}, "deletion": "Retain"},
    }));
    assert_eq!(
        testing::problems::<ScalingPolicies>(spec),
        [
            "spec.groupName: must be the name of an Auto Scaling group, with 1 to 255 printable ASCII characters without colons",
            "spec.targetValue: must be greater than 0",
            "spec.loadBalancerARN: is only supported for ALBRequestCountPerTarget",
            "spec.lifecycle.adopt: is not supported: delete the policy, and let Kraken create its own",
            "spec.lifecycle.deletion: must be Delete: a policy without its resource would have no owner",
        ]
    );
    assert_eq!(
        testing::problems::<ScalingPolicies>(written(
            json!({"metric": {"value": "ALBRequestCountPerTarget"}})
        )),
        [
            "spec.loadBalancerARN: is required for ALBRequestCountPerTarget",
            "spec.targetGroupARN: is required for ALBRequestCountPerTarget",
        ]
    );
}

#[test]
fn field_names_follow_kubernetes_and_values_follow_aws() {
    assert_round_trips::<ScalingPolicySpec>(&json!({
        "groupName": {"value": "web"}, "metric": {"value": "ALBRequestCountPerTarget"}, "targetValue": {"value": 50.5},
        "loadBalancerARN": {"value": BALANCER}, "targetGroupARN": {"value": TARGETS}, "disableScaleIn": {"value": true},
        "estimatedInstanceWarmupSeconds": {"value": 60},
    }));
}
