//! Changes in place.

use kraken_kind::{FailureClass, Kind as _};
use kraken_simulator::Kind;
use serde_json::json;

use super::{Resource, site};
use crate::{
    listener::Listeners,
    listener_rule::ListenerRules,
    target_group::{Group, Groups},
};

#[tokio::test]
async fn a_port_in_use_is_rejected_with_its_owner() {
    let site = site().await;
    let [balancer, taken, group] = site.tier().await;
    let moving = site.listener("moving", &balancer, 81, &group);
    moving.created(1).await.unwrap();
    let moving = Resource { spec: site.listener("moving", &balancer, 80, &group).spec, ..moving };
    let refusal = moving.changed().await.unwrap_err();
    assert_eq!(refusal.class, FailureClass::InUse);
    let words =
        format!("port 80 of the load balancer is in use by {taken}, which belongs to listener/ns/listener");
    assert!(refusal.message.contains(&words), "{refusal}");
}

#[tokio::test]
async fn a_rule_is_created_once_changed_in_place_and_deleted() {
    let site = site().await;
    let [_, listener, group] = site.tier().await;
    let rule = site.rule("rule", &listener, 10, &group);
    let arn = rule.created(1).await.unwrap();
    assert_eq!(rule.created(1).await.unwrap(), arn, "the same launch again");
    assert_eq!(rule.changed().await.unwrap(), None);

    let other = json!({
        "listenerARN": {"value": listener}, "priority": {"value": 11},
        "conditions": {"hostHeaders": {"value": ["Api.Example.com"]}, "queryStrings": [{"value": {"value": "a"}}]},
        "action": {"fixedResponse": {"statusCode": {"value": 503}}},
    });
    let rule = site.resource::<ListenerRules>("rule", other);
    let mut changed = vec![];
    while let Some(path) = rule.changed().await.unwrap() {
        changed.push(path);
    }
    assert_eq!(changed, ["priority", "conditions.hostHeaders", "action"]);
    assert_eq!(rule.observed().await.ids(), [arn]);
    rule.deleted().await.unwrap();
    rule.deleted().await.unwrap();
    assert!(rule.observed().await.ids().is_empty());
}

#[tokio::test]
async fn a_priority_in_use_is_rejected_with_its_owner() {
    let site = site().await;
    let [_, listener, group] = site.tier().await;
    let first = site.rule("first", &listener, 10, &group).created(1).await.unwrap();
    let words = format!("priority 10 of the listener is in use by {first}, which belongs to rule/ns/first");
    let second = site.rule("second", &listener, 10, &group);
    let refusal = second.created(1).await.unwrap_err();
    assert_eq!((refusal.class, refusal.message.contains(&words)), (FailureClass::InUse, true), "{refusal}");

    site.rule("second", &listener, 11, &group).created(2).await.unwrap();
    let refusal = second.changed().await.unwrap_err();
    assert_eq!((refusal.class, refusal.message.contains(&words)), (FailureClass::InUse, true), "{refusal}");
    assert_eq!(site.cloud.objects(Kind::ListenerRule).len(), 2);
}

#[tokio::test]
async fn weights_change_and_unset_stickiness_is_preserved() {
    let site = site().await;
    let [balancer, listener, group] = site.tier().await;
    let new = site.group("new").created(1).await.unwrap();
    let action = "DefaultActions.member.1";
    let config = format!("{action}.ForwardConfig");
    let by_hand = [
        ("ListenerArn".to_owned(), listener.as_str()),
        (format!("{action}.Type"), "forward"),
        (format!("{config}.TargetGroups.member.1.TargetGroupArn"), group.as_str()),
        (format!("{config}.TargetGroupStickinessConfig.Enabled"), "true"),
        (format!("{config}.TargetGroupStickinessConfig.DurationSeconds"), "60"),
    ];
    let by_hand: Vec<(&str, &str)> = by_hand.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    site.cloud.out_of_band_elb("ModifyListener", &by_hand).unwrap();
    assert_eq!(site.listener("listener", &balancer, 80, &group).changed().await.unwrap(), None);

    let weighted =
        |arn: &str, weight: i32| json!({"targetGroupARN": {"value": arn}, "weight": {"value": weight}});
    let both = site.resource::<Listeners>(
        "listener",
        json!({
            "loadBalancerARN": {"value": balancer}, "port": {"value": 80}, "protocol": {"value": "HTTP"},
            "defaultAction": {"forward": {"targetGroups": [weighted(&group, 9), weighted(&new, 1)]}},
        }),
    );
    assert_eq!(both.changed().await.unwrap().as_deref(), Some("defaultAction.forward.targetGroups"));
    assert_eq!(both.changed().await.unwrap(), None);
    let sticky = both.kind.state(&both.desired(), &both.observed().await);
    let config = &sticky["listener"]["DefaultActions"][0]["ForwardConfig"];
    assert_eq!(config["TargetGroupStickinessConfig"]["DurationSeconds"], 60, "{sticky}");
}

#[tokio::test]
async fn a_target_that_is_not_running_does_not_block_others() {
    let site = site().await;
    let instance = || {
        let fields = [
            ("ImageId", "ami-12c6146b"),
            ("InstanceType", "t3.micro"),
            ("MinCount", "1"),
            ("MaxCount", "1"),
            ("SubnetId", &site.subnets[0]),
        ];
        site.cloud.out_of_band("RunInstances", &fields).unwrap().remove(0)
    };
    let (running, stopped) = (instance(), instance());
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    site.cloud.stop_out_of_band(&stopped).unwrap();
    let spec = json!({"targetType": {"value": "instance"}, "targets": {"value": [stopped, running]}});
    let group = site.resource::<Groups>("a", site.group_spec(spec));
    group.created(1).await.unwrap();
    let refusal = group.changed().await.unwrap_err();
    assert_eq!(refusal.class, FailureClass::NotYet);
    assert!(refusal.message.contains(&stopped), "{refusal}");
    let observed = group.observed().await;
    let groups = observed.all::<Group>();
    let registered: Vec<&str> = groups[0].registered().map(|target| target.id.as_str()).collect();
    assert_eq!(registered, [running.as_str()]);
}
