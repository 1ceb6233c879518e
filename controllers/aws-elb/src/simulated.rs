//! Tests of the kinds' calls on the simulator, for behavior that comparisons do not cover.

use kraken_aws::{
    Aws, AwsResource, AwsSpec as _, Managed,
    resource::{ObservedOf, SpecOf},
    testing,
};
use kraken_simulator::{How, Kind, Simulator, SimulatorOptions, When};
use kraken_spoke::{External, Failure, FailureClass, FromContext, Identity, Launch, ObserveRequest};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::{
    listener::Listeners, listener_rule::ListenerRules, load_balancer::Balancers, target_group::Groups,
};

/// A VPC with subnets of two zones.
struct Site {
    cloud: Simulator,
    aws: Aws,
    vpc: String,
    subnets: [String; 2],
}

async fn site() -> Site {
    let cloud = Simulator::start(SimulatorOptions::default()).unwrap();
    let aws = testing::aws(cloud.endpoint()).await;
    let vpc = cloud.outside("CreateVpc", &[("CidrBlock", "10.0.0.0/16")]).unwrap().remove(0);
    let subnet = |cidr, zone| {
        let fields = [("VpcId", vpc.as_str()), ("CidrBlock", cidr), ("AvailabilityZone", zone)];
        cloud.outside("CreateSubnet", &fields).unwrap().remove(0)
    };
    let subnets = [subnet("10.0.1.0/24", "us-east-1a"), subnet("10.0.2.0/24", "us-east-1b")];
    Site { cloud, aws, vpc, subnets }
}

impl Site {
    /// A resource of a kind, with its spec.
    fn resource<S: AwsResource>(&self, name: &str, spec: Value) -> Resource<S>
    where
        SpecOf<S>: DeserializeOwned,
    {
        let spec: SpecOf<S> = serde_json::from_value(spec).unwrap();
        let owner = format!("{}/ns/{name}", SpecOf::<S>::NOUN.replace(' ', ""));
        Resource {
            external: Managed::from_context(&self.aws),
            identity: Identity { cluster: "c".into(), uid: format!("uid-{name}"), owner },
            spec,
        }
    }

    fn group(&self, name: &str) -> Resource<Groups> {
        self.resource(name, self.group_spec(json!({})))
    }

    fn group_spec(&self, more: Value) -> Value {
        let usual = json!({
            "protocol": {"value": "HTTP"}, "port": {"value": 80}, "vpcID": {"value": self.vpc},
            "targetType": {"value": "ip"},
        });
        testing::with(usual, more)
    }

    fn balancer(&self, name: &str, more: Value) -> Resource<Balancers> {
        let usual = json!({"scheme": {"value": "internal"}, "subnetIDs": {"value": self.subnets}});
        self.resource(name, testing::with(usual, more))
    }

    fn listener(&self, name: &str, balancer: &str, port: i32, group: &str) -> Resource<Listeners> {
        let forward = json!({"forward": {"targetGroupARN": {"value": group}}});
        self.resource(name, json!({
            "loadBalancerARN": {"value": balancer}, "port": {"value": port}, "protocol": {"value": "HTTP"},
            "defaultAction": forward,
        }))
    }

    fn rule(&self, name: &str, listener: &str, priority: i32, group: &str) -> Resource<ListenerRules> {
        self.resource(name, json!({
            "listenerARN": {"value": listener}, "priority": {"value": priority},
            "conditions": {"pathPatterns": {"value": ["/api/*"]}, "queryStrings": [{"value": {"value": "a"}}]},
            "action": {"forward": {"targetGroupARN": {"value": group}}},
        }))
    }

    /// A listener at port 80 of a load balancer, with its target group: the ARNs of all three.
    async fn tier(&self) -> [String; 3] {
        let group = self.group("group").created(1).await.unwrap();
        let balancer = self.balancer("balancer", json!({})).created(1).await.unwrap();
        let listener = self.listener("listener", &balancer, 80, &group).created(1).await.unwrap();
        [balancer, listener, group]
    }
}

struct Resource<S: AwsResource> {
    external: Managed<S>,
    identity: Identity,
    spec: SpecOf<S>,
}

impl<S: AwsResource> Resource<S> {
    fn desired(&self) -> <Managed<S> as External>::Desired {
        testing::resolve(|values| <Managed<S> as External>::desired(&self.spec, values)).unwrap()
    }

    /// Creates it with this epoch and returns its ARN.
    async fn created(&self, epoch: i64) -> Result<String, Failure> {
        let launch = Launch { epoch, token: self.identity.token(epoch) };
        let made = self.external.create(&self.identity, &launch, &self.desired(), &vec![]).await?;
        Ok(Managed::<S>::ids(&made).remove(0))
    }

    async fn observed(&self) -> Vec<ObservedOf<S>> {
        let request =
            ObserveRequest { identity: self.identity.clone(), ids: vec![], search: true, deep: true };
        self.external.observe(&[request]).await.unwrap().remove(0)
    }

    /// Makes the first change and returns its path; `None` if there is no difference.
    async fn changed(&self) -> Result<Option<String>, Failure> {
        let (desired, observed) = (self.desired(), self.observed().await);
        let first = Managed::<S>::compare(&desired, &observed).differences.into_iter().next();
        let Some(difference) = first else { return Ok(None) };
        let kraken_spoke::Remedy::Change(change) = difference.remedy else {
            panic!("{:?}", difference.field)
        };
        self.external.update(&self.identity, &change, &desired, &observed).await?;
        Ok(Some(difference.field.path))
    }

    async fn deleted(&self) -> Result<(), Failure> {
        self.external.delete(&self.identity, &self.observed().await).await
    }
}

fn throttled() -> How {
    How::error(400, "Throttling", "Rate exceeded")
}

#[tokio::test]
async fn unreadable_tags_after_a_creation_do_not_count_as_a_rejection() {
    let site = site().await;
    let named = site.group_spec(json!({"name": {"value": "web"}}));
    let group = site.resource::<Groups>("a", named);
    site.cloud.fail_always("DescribeTags", When::Before, throttled());
    assert_eq!(group.created(1).await.unwrap_err().class, FailureClass::Transient);
    site.cloud.heal();
    let arn = group.created(1).await.unwrap();
    assert_eq!(site.cloud.objects(Kind::TargetGroup).len(), 1);
    assert_eq!(Managed::<Groups>::ids(&group.observed().await), [arn]);
}

#[tokio::test]
async fn a_generated_name_identifies_the_launch_without_tags() {
    let site = site().await;
    let (group, balancer) = (site.group("a"), site.balancer("b", json!({})));
    let arns = [group.created(1).await.unwrap(), balancer.created(1).await.unwrap()];
    for arn in &arns {
        for key in kraken_aws::tags::KEYS {
            site.cloud.tag_outside(arn, key, None).unwrap();
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
    site.cloud.fail_always("DescribeTargetGroups", When::Before, throttled());
    assert_eq!(group.created(1).await.unwrap_err().class, FailureClass::Throttled);
    assert!(site.cloud.objects(Kind::TargetGroup).is_empty());
}

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
        assert_eq!(Managed::<Balancers>::unprotected_by(&site.balancer("a", more).spec), field);
    }
    on.external.unprotect(&on.identity, &on.observed().await).await.unwrap();
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
    ours.external.unprotect(&other, &stale).await.unwrap();
    let attributes = site.cloud.outside_elb("DeleteLoadBalancer", &[("LoadBalancerArn", &arn)]);
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
    let foreign = site.cloud.outside_elb("CreateListener", &foreign).unwrap().remove(0);
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
async fn a_port_in_use_is_rejected_with_its_owner() {
    let site = site().await;
    let [balancer, taken, group] = site.tier().await;
    let moving = site.listener("moving", &balancer, 81, &group);
    moving.created(1).await.unwrap();
    let moving = Resource { spec: site.listener("moving", &balancer, 80, &group).spec, ..moving };
    let refusal = moving.changed().await.unwrap_err();
    assert_eq!(refusal.class, FailureClass::Terminal);
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
    assert_eq!(Managed::<ListenerRules>::ids(&rule.observed().await), [arn]);
    rule.deleted().await.unwrap();
    rule.deleted().await.unwrap();
    assert!(rule.observed().await.is_empty());
}

#[tokio::test]
async fn a_priority_in_use_is_rejected_with_its_owner() {
    let site = site().await;
    let [_, listener, group] = site.tier().await;
    let first = site.rule("first", &listener, 10, &group).created(1).await.unwrap();
    let words = format!("priority 10 of the listener is in use by {first}, which belongs to rule/ns/first");
    let second = site.rule("second", &listener, 10, &group);
    let refusal = second.created(1).await.unwrap_err();
    assert_eq!(
        (refusal.class, refusal.message.contains(&words)),
        (FailureClass::Terminal, true),
        "{refusal}"
    );

    site.rule("second", &listener, 11, &group).created(2).await.unwrap();
    let refusal = second.changed().await.unwrap_err();
    assert_eq!(
        (refusal.class, refusal.message.contains(&words)),
        (FailureClass::Terminal, true),
        "{refusal}"
    );
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
    site.cloud.outside_elb("ModifyListener", &by_hand).unwrap();
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
    let sticky = Managed::<Listeners>::state(&both.desired(), &both.observed().await);
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
        site.cloud.outside("RunInstances", &fields).unwrap().remove(0)
    };
    let (running, stopped) = (instance(), instance());
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    site.cloud.stop_outside(&stopped).unwrap();
    let spec = json!({"targetType": {"value": "instance"}, "targets": {"value": [stopped, running]}});
    let group = site.resource::<Groups>("a", site.group_spec(spec));
    group.created(1).await.unwrap();
    let refusal = group.changed().await.unwrap_err();
    assert_eq!(refusal.class, FailureClass::NotYet);
    assert!(refusal.message.contains(&stopped), "{refusal}");
    let observed = group.observed().await;
    let registered: Vec<&str> = observed[0].registered().map(|target| target.id.as_str()).collect();
    assert_eq!(registered, [running.as_str()]);
}
