//! Deletions: protection by AWS, and objects in use.

use kraken_kind::{Calls as _, FailureClass, Identity, Kind as _};
use kraken_simulator::{FailureMode, FailurePoint, Kind};
use serde_json::json;

use super::site;

#[tokio::test]
async fn deletion_protection_is_reported_and_disabled_by_the_spec() {
    let site = site().await;
    let on = site.balancer("a", json!({"deletionProtection": {"value": true}}));
    on.created(1).await.unwrap();
    assert_eq!(on.changed().await.unwrap().as_deref(), Some("deletionProtection"));
    let refusal = on.deleted().await.unwrap_err();
    assert_eq!(refusal.class, FailureClass::Protected);
    assert!(refusal.message.contains("set spec.deletionProtection to {value: false}"), "{refusal}");
    let by_reference = json!({"valueFrom": {"configMap": {"name": "m", "key": "k"}}});
    for (more, field) in [
        (json!({"deletionProtection": {"value": true}}), None),
        (json!({"deletionProtection": by_reference}), None),
        (json!({}), None),
        (json!({"deletionProtection": {"value": false}}), Some("deletionProtection")),
    ] {
        let balancer = site.balancer("a", more);
        assert_eq!(balancer.kind.unprotected_by(&balancer.spec), field);
    }
    on.calls.unprotect(&on.identity, &on.observed().await).await.unwrap();
    on.deleted().await.unwrap();
    assert!(site.cloud.tagged(Kind::LoadBalancer, kraken_aws::tags::UID, "uid-a").is_empty());
}

#[tokio::test]
async fn protection_of_an_object_with_another_owner_is_never_disabled() {
    let site = site().await;
    let ours = site.balancer("a", json!({"deletionProtection": {"value": true}}));
    let arn = ours.created(1).await.unwrap();
    ours.changed().await.unwrap();
    let stale = ours.observed().await;
    let other = Identity { uid: "uid-b".into(), ..ours.identity.clone() };
    ours.calls.unprotect(&other, &stale).await.unwrap();
    let attributes = site.cloud.out_of_band_elb("DeleteLoadBalancer", &[("LoadBalancerArn", &arn)]);
    assert!(attributes.unwrap_err().to_string().contains("OperationNotPermitted"));
}

#[tokio::test]
async fn a_target_group_in_use_is_reported_with_its_users() {
    let site = site().await;
    let [balancer, listener, group] = site.tier().await;
    let foreign = [
        ("LoadBalancerArn", balancer.as_str()),
        ("Port", "81"),
        ("Protocol", "HTTP"),
        ("DefaultActions.member.1.Type", "forward"),
        ("DefaultActions.member.1.TargetGroupArn", &group),
    ];
    let foreign = site.cloud.out_of_band_elb("CreateListener", &foreign).unwrap().remove(0);
    let rule = site.rule("rule", &foreign, 1, &group).created(1).await.unwrap();
    let refusal = site.group("group").deleted().await.unwrap_err();
    assert_eq!(refusal.class, FailureClass::NotYet);
    for words in [
        format!("{listener} (listener/ns/listener)"),
        format!("{foreign} (not managed by Kraken)"),
        format!("{rule} (rule/ns/rule)"),
    ] {
        assert!(refusal.message.contains(&words), "{words}: {refusal}");
    }
}

#[tokio::test]
async fn an_observed_object_that_a_deletion_does_not_find_is_returned() {
    let site = site().await;
    let group = site.group("group");
    let arn = group.created(1).await.unwrap();
    let observed = group.observed().await;
    let not_found = FailureMode::error(400, "TargetGroupNotFound", "One or more target groups not found");
    site.cloud.fail_next("DeleteTargetGroup", FailurePoint::Before, not_found);
    assert_eq!(group.calls.delete(&group.identity, &observed).await.unwrap(), [arn]);
    assert!(group.calls.delete(&group.identity, &observed).await.unwrap().is_empty());
    assert!(site.cloud.objects(Kind::TargetGroup).iter().all(|object| !object.alive));
}
