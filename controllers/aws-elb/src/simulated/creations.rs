//! Creations: which failures count as a rejection, and what identifies a launch.

use kraken_aws::AwsResource as _;
use kraken_kind::FailureClass;
use kraken_simulator::{FailureMode, FailurePoint, Kind};
use serde_json::json;

use super::site;
use crate::{
    listener::Listeners, listener_rule::ListenerRules, load_balancer::Balancers, target_group::Groups,
};

fn throttled() -> FailureMode {
    FailureMode::error(400, "Throttling", "Rate exceeded")
}

#[tokio::test]
async fn unreadable_tags_after_a_creation_do_not_count_as_a_rejection() {
    let site = site().await;
    let named = site.group_spec(json!({"name": {"value": "web"}}));
    let group = site.resource::<Groups>("a", named);
    site.cloud.fail_always("DescribeTags", FailurePoint::Before, throttled());
    assert_eq!(group.created(1).await.unwrap_err().class, FailureClass::Transient);
    site.cloud.clear_failures();
    let arn = group.created(1).await.unwrap();
    assert_eq!(site.cloud.objects(Kind::TargetGroup).len(), 1);
    assert_eq!(group.observed().await.ids(), [arn]);
}

#[tokio::test]
async fn a_generated_name_identifies_the_launch_without_tags() {
    let site = site().await;
    let (group, balancer) = (site.group("a"), site.balancer("b", json!({})));
    let arns = [group.created(1).await.unwrap(), balancer.created(1).await.unwrap()];
    for arn in &arns {
        for key in kraken_aws::tags::KEYS {
            site.cloud.tag_out_of_band(arn, key, None).unwrap();
        }
    }
    let group = site.resource::<Groups>("a", site.group_spec(json!({"port": {"value": 81}})));
    let balancer = site.balancer("b", json!({"ipAddressType": {"value": "dualstack"}}));
    assert_eq!([group.created(1).await.unwrap(), balancer.created(1).await.unwrap()], arns);
    assert_eq!(site.cloud.objects(Kind::TargetGroup).len() + site.cloud.objects(Kind::LoadBalancer).len(), 2);
}

#[tokio::test]
async fn a_rejection_before_the_creation_counts_as_a_rejection() {
    let site = site().await;
    let group = site.resource::<Groups>("a", site.group_spec(json!({"name": {"value": "web"}})));
    site.cloud.fail_always("DescribeTargetGroups", FailurePoint::Before, throttled());
    assert_eq!(group.created(1).await.unwrap_err().class, FailureClass::Throttled);
    assert!(site.cloud.objects(Kind::TargetGroup).is_empty());
}

#[tokio::test]
async fn a_launch_is_repeated_only_if_its_unique_value_is_immutable() {
    let site = site().await;
    let [balancer, listener, group] = site.tier().await;
    let moved = [("ListenerArn", listener.as_str()), ("Port", "81")];
    site.cloud.out_of_band_elb("ModifyListener", &moved).unwrap();
    let again = site.listener("listener", &balancer, 80, &group).created(1).await.unwrap();
    assert_ne!(again, listener, "the repeated call is not rejected");
    assert_eq!([Listeners::FEATURES.is_idempotent, ListenerRules::FEATURES.is_idempotent], [false; 2]);
    assert_eq!([Balancers::FEATURES.is_idempotent, Groups::FEATURES.is_idempotent], [true; 2]);
}
