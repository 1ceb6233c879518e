use kraken_aws::{
    AwsSpec as _, Tags,
    resource::{Phase, RemoteObject as _},
    tags::{OWNER, UID},
    testing::{self, assert_round_trips, rendered, with},
};
use kraken_kind::Ignored;
use serde_json::{Value, json};

use super::{
    AutoScalingGroups,
    api::AutoScalingGroupSpec,
    calls::to_sdk,
    observed::{Group, Member, Template},
    refresh::{Next, next},
};
use crate::autoscaling::types::{
    DesiredConfiguration, InstanceRefresh, InstanceRefreshStatus, LaunchTemplateSpecification,
};

fn written(changes: Value) -> Value {
    let spec = json!({
        "launchTemplateID": {"value": "lt-1"}, "minSize": {"value": 1}, "maxSize": {"value": 3},
        "subnetIDs": {"value": ["subnet-b", "subnet-a"]},
    });
    with(spec, changes)
}

fn template(version: &str) -> Template {
    Template { launch_template_id: "lt-1".into(), version: Some(version.into()) }
}

fn member(id: &str, version: &str, state: &str) -> Member {
    Member {
        instance_id: id.into(),
        lifecycle_state: Some(state.into()),
        launch_template: Some(template(version)),
    }
}

fn group() -> Group {
    Group {
        auto_scaling_group_name: "web".into(),
        launch_template: Some(template("2")),
        min_size: Some(1),
        max_size: Some(3),
        desired_capacity: Some(2),
        subnet_ids: vec!["subnet-a".into(), "subnet-b".into()],
        target_group_arns: vec!["arn:aws:elasticloadbalancing:us-east-1:1:targetgroup/a/1".into()],
        termination_policies: vec!["Default".into()],
        ..Group::default()
    }
}

fn differing(changes: Value, group: &Group) -> Vec<String> {
    let desired = testing::desired::<AutoScalingGroups>(written(changes));
    rendered(AutoScalingGroupSpec::differences(&desired, group))
}

#[test]
fn the_number_of_instances_and_the_version_are_not_managed_unless_they_are_set() {
    assert_eq!(differing(json!({}), &group()), [""; 0]);
    assert_eq!(
        differing(json!({"desiredCapacity": {"value": 3}, "launchTemplateVersion": {"value": 3}}), &group()),
        ["launchTemplateVersion: 2 becomes 3: Settings", "desiredCapacity: 2 becomes 3: Settings"]
    );
}

#[test]
fn settings_change_by_one_call_and_target_groups_one_at_a_time() {
    let arn = "arn:aws:elasticloadbalancing:us-east-1:1:targetgroup/b/2";
    let found = differing(
        json!({
            "maxSize": {"value": 5}, "subnetIDs": {"value": ["subnet-a"]}, "targetGroupARNs": {"value": [arn]},
            "terminationPolicies": {"value": ["OldestInstance", "Default"]},
        }),
        &group(),
    );
    assert_eq!(
        found,
        [
            "maxSize: 3 becomes 5: Settings".to_owned(),
            "subnetIDs: subnet-a, subnet-b becomes subnet-a: Settings".to_owned(),
            format!("targetGroupARNs[\"{arn}\"]: (absent) becomes {arn}: Attach(\"{arn}\")"),
            "targetGroupARNs[\"arn:aws:elasticloadbalancing:us-east-1:1:targetgroup/a/1\"]: \
             arn:aws:elasticloadbalancing:us-east-1:1:targetgroup/a/1 becomes (absent): \
             Detach(\"arn:aws:elasticloadbalancing:us-east-1:1:targetgroup/a/1\")"
                .to_owned(),
            "terminationPolicies: Default becomes OldestInstance, Default: Settings".to_owned(),
        ]
    );
}

#[test]
fn instances_of_other_versions_are_replaced_only_if_it_is_asked_and_the_group_has_the_version() {
    let refreshed = json!({"launchTemplateVersion": {"value": 2}, "instanceRefresh": {}});
    let with = |members: Vec<Member>| Group { instances: members, ..group() };
    let old = with(vec![member("i-1", "1", "InService"), member("i-2", "2", "InService")]);
    assert_eq!(
        differing(refreshed.clone(), &old),
        ["instanceRefresh: other versions: i-1 becomes all instances of version 2: Refresh"]
    );
    assert_eq!(differing(json!({"launchTemplateVersion": {"value": 2}}), &old), [""; 0]);
    for done in
        [with(vec![member("i-2", "2", "InService")]), with(vec![member("i-1", "1", "Terminating:Wait")])]
    {
        assert_eq!(differing(refreshed.clone(), &done), [""; 0]);
    }
    // The group follows first: before, new instances would have the former version.
    let next = json!({"launchTemplateVersion": {"value": 3}, "instanceRefresh": {}});
    assert_eq!(differing(next, &old), ["launchTemplateVersion: 2 becomes 3: Settings"]);
}

#[test]
fn a_refresh_starts_once_and_not_again_after_it_failed_for_the_version() {
    let refresh = |status: InstanceRefreshStatus, version: &str| {
        let template =
            LaunchTemplateSpecification::builder().launch_template_id("lt-1").version(version).build();
        let configuration = DesiredConfiguration::builder().launch_template(template).build();
        let refresh = InstanceRefresh::builder().instance_refresh_id("r-1").status(status);
        refresh.status_reason("because.").percentage_complete(40).desired_configuration(configuration).build()
    };
    assert_eq!(next(None, &group()), Next::Start);
    for (status, version) in [
        (InstanceRefreshStatus::Successful, "1"),
        (InstanceRefreshStatus::Successful, "2"),
        (InstanceRefreshStatus::Failed, "1"),
        (InstanceRefreshStatus::Cancelled, "1"),
    ] {
        assert_eq!(
            next(Some(&refresh(status.clone(), version)), &group()),
            Next::Start,
            "{status} {version}"
        );
    }
    let failed = next(Some(&refresh(InstanceRefreshStatus::Failed, "2")), &group());
    let message = "the instance refresh r-1 for this version ended as Failed: because. Start another one in AWS, or set another version";
    assert_eq!(failed, Next::Stop(message.into()));
    let waits = next(Some(&refresh(InstanceRefreshStatus::InProgress, "2")), &group());
    let message = "the instance refresh r-1 is InProgress, 40% complete: because.";
    assert_eq!(waits, Next::Wait(message.into()));
}

#[test]
fn ignored_settings_keep_what_is_observed() {
    let wanted = json!({"maxSize": {"value": 9}, "minSize": {"value": 4}, "desiredCapacity": {"value": 5}});
    let desired = testing::desired::<AutoScalingGroups>(written(wanted));
    let ignored = ["minSize", "desiredCapacity", "subnetIDs"].map(str::to_owned);
    let kept = AutoScalingGroupSpec::without_ignored(&desired, &group(), &Ignored::new(&ignored)).unwrap();
    assert_eq!((*kept.min_size.expose(), *kept.max_size.expose()), (1, 9));
    assert!(kept.desired_capacity.is_none());
    assert_eq!(*kept.subnet_ids.expose(), ["subnet-a", "subnet-b"]);
}

#[test]
fn owner_tags_are_not_passed_on_to_instances() {
    let tags =
        Tags::from([(UID.into(), "u".into()), (OWNER.into(), "o".into()), ("Team".into(), "web".into())]);
    let passed: Vec<String> = to_sdk("web", &tags)
        .into_iter()
        .filter(|tag| tag.propagate_at_launch == Some(true))
        .filter_map(|tag| tag.key)
        .collect();
    assert_eq!(passed, ["Team"]);
}

#[test]
fn a_group_with_a_status_is_being_deleted() {
    assert_eq!(group().phase(), Phase::Available);
    let going = Group { status: Some("Delete in progress".into()), ..group() };
    assert_eq!(going.phase(), Phase::Deleting);
}

#[test]
fn all_problems_are_reported_at_once() {
    let spec = written(json!({
        "name": {"value": "a:b"}, "minSize": {"value": 4}, "desiredCapacity": {"value": 9},
        "maxInstanceLifetimeSeconds": {"value": 60}, "launchTemplateVersion": {"value": "$Latest"},
        "instanceRefresh": {"maxHealthyPercentage": {"value": 120}},
    }));
    assert_eq!(
        testing::problems::<AutoScalingGroups>(spec),
        [
            "spec.name: must have 1 to 255 printable ASCII characters without colons, with no space at its start or end",
            "spec.instanceRefresh.maxHealthyPercentage: requires minHealthyPercentage",
            "spec.minSize: must not be greater than maxSize",
            "spec.desiredCapacity: must be from minSize to maxSize",
            "spec.maxInstanceLifetimeSeconds: must be 0 or at least 86400",
            "spec.launchTemplateVersion: must be a number with instanceRefresh, such as {valueFrom: {ref: \
             LaunchTemplate/NAME/launchTemplate.DefaultVersionNumber}}",
        ]
    );
}

#[test]
fn field_names_follow_kubernetes_and_values_follow_aws() {
    assert_round_trips::<AutoScalingGroupSpec>(&written(json!({
        "name": {"value": "web"}, "launchTemplateVersion": {"value": "3"}, "desiredCapacity": {"value": 2},
        "targetGroupARNs": {"value": ["arn:1"]}, "healthCheckType": {"value": "ELB"},
        "healthCheckGracePeriodSeconds": {"value": 60}, "defaultInstanceWarmupSeconds": {"value": 60},
        "maxInstanceLifetimeSeconds": {"value": 86400}, "capacityRebalance": {"value": true},
        "terminationPolicies": {"value": ["OldestInstance"]},
        "instanceRefresh": {
            "minHealthyPercentage": {"value": 90}, "maxHealthyPercentage": {"value": 110},
            "instanceWarmupSeconds": {"value": 60},
        },
        "tags": {"Name": "web"},
    })));
}
