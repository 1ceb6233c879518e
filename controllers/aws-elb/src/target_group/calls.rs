//! The calls of target groups.

use kraken_aws::{
    Aws, AwsResource, Tags,
    elb::types::{self, TargetDescription},
    from_sdk,
    items::sorted,
    missing::unless_done,
    resolved::exposed,
    resource::{Creation, FromSdk as _},
};
use kraken_spoke::{Failure, FailureClass};

use super::{
    api::{self, Change, Desired},
    observed::{Group, Health, Matcher, Target, TargetHealth},
    users,
};
use crate::{
    once::{self, Named},
    tagged::{self, Listed, PAGE, or_nothing},
};

const READ: &str = "failed to describe target groups";
const CREATE: &str = "failed to create a target group";

/// The kind TargetGroup.
pub(crate) struct Groups;

from_sdk!(types::TargetGroup as group => Group {
    target_group_arn, target_group_name, protocol, port, vpc_id, target_type, health_check_enabled,
    health_check_protocol, health_check_port, health_check_path, health_check_interval_seconds,
    health_check_timeout_seconds, healthy_threshold_count, unhealthy_threshold_count;
    load_balancer_arns: sorted(group.load_balancer_arns),
    matcher: group.matcher.map(Matcher::from),
    target_health_descriptions: vec![],
    tags: Tags::new(),
});
from_sdk!(types::Matcher => Matcher { http_code });
from_sdk!(types::TargetHealthDescription as description => TargetHealth {
    ;
    target: description.target.map(Target::from).unwrap_or_default(),
    target_health: description.target_health.map(Health::from).unwrap_or_default(),
});
from_sdk!(TargetDescription => Target { id, port, availability_zone });
from_sdk!(types::TargetHealth => Health { state, reason });

impl Listed for Group {
    const ARN_PART: &'static str = ":targetgroup/";
    const LISTS_CHEAPLY: bool = true;

    async fn by_arns(aws: &Aws, arns: Vec<String>) -> Result<Vec<Self>, Failure> {
        let call = aws.elb().describe_target_groups().set_target_group_arns(Some(arns));
        let answer = aws.call("DescribeTargetGroups", READ, call.send()).await?;
        Ok(Vec::of(answer.target_groups))
    }

    async fn all(aws: &Aws) -> Result<Vec<Self>, Failure> {
        let pages = aws.elb().describe_target_groups().page_size(PAGE).into_paginator().send();
        aws.items("DescribeTargetGroups", READ, pages, |page| page.target_groups).await
    }

    fn with_tags(self, tags: Tags) -> Self {
        Self { tags, ..self }
    }
}

impl Named for Group {
    async fn by_name(aws: &Aws, name: &str) -> Result<Vec<Self>, Failure> {
        let call = aws.elb().describe_target_groups().names(name);
        aws.call("DescribeTargetGroups", READ, call.send()).await.map(|answer| Vec::of(answer.target_groups))
    }
}

/// Sets the fields of the health check that the spec contains on a call. The builders of two calls have these setters
/// in common.
macro_rules! with_health {
    ($call:expr, $desired:expr) => {{
        let is_given = $desired.health_check.is_some();
        let health = $desired.health_check.clone().unwrap_or_default();
        let protocol = exposed(health.protocol.as_ref());
        let matcher = |codes: String| types::Matcher::builder().http_code(codes).build();
        $call
            .set_health_check_enabled(is_given.then_some(true))
            .set_health_check_protocol(protocol.map(|protocol| protocol.as_str().into()))
            .set_health_check_port(exposed(health.port.as_ref()).map(|port| port.0))
            .set_health_check_path(exposed(health.path.as_ref()))
            .set_health_check_interval_seconds(exposed(health.interval_seconds.as_ref()))
            .set_health_check_timeout_seconds(exposed(health.timeout_seconds.as_ref()))
            .set_healthy_threshold_count(exposed(health.healthy_threshold.as_ref()))
            .set_unhealthy_threshold_count(exposed(health.unhealthy_threshold.as_ref()))
            .set_matcher(exposed(health.matcher.as_ref()).map(matcher))
    }};
}

impl AwsResource for Groups {
    type Kind = api::TargetGroup;
    // By its name, which is unique in the account and region.
    const IS_IDEMPOTENT: bool = true;
    const IDEMPOTENT_BY_NAME: bool = true;

    tagged::calls!(Group);

    async fn complete(aws: &Aws, group: &mut Group, _deep: bool) -> Result<(), Failure> {
        let call = aws.elb().describe_target_health().target_group_arn(&group.target_group_arn);
        let answer = aws.call("DescribeTargetHealth", "failed to describe target health", call.send()).await;
        group.target_health_descriptions =
            or_nothing(answer.map(|answer| Vec::of(answer.target_health_descriptions)))?;
        group
            .target_health_descriptions
            .sort_by(|a, b| (&a.target.id, a.target.port).cmp(&(&b.target.id, b.target.port)));
        Ok(())
    }

    async fn create(aws: &Aws, desired: &Desired, creation: &Creation<'_>) -> Result<Group, Failure> {
        let call = with_health!(aws.elb_once().create_target_group(), desired)
            .name(once::name(desired.name.as_ref(), creation))
            .set_protocol(exposed(desired.protocol.as_ref()).map(|protocol| protocol.as_str().into()))
            .set_port(exposed(desired.port.as_ref()))
            .set_vpc_id(exposed(desired.vpc_id.as_ref()))
            .set_target_type(exposed(desired.target_type.as_ref()).map(|kind| kind.as_str().into()))
            .set_tags(Some(tagged::to_sdk(creation.tags)));
        let made = Box::pin(async {
            let answer = aws.call("CreateTargetGroup", CREATE, call.send()).await?;
            Ok(Vec::of(answer.target_groups))
        });
        once::create(aws, desired.name.as_ref(), creation, CREATE, made).await
    }

    async fn update(aws: &Aws, change: &Change, desired: &Desired, group: &Group) -> Result<(), Failure> {
        let (elb, arn) = (aws.elb(), group.target_group_arn.as_str());
        match change {
            Change::HealthCheck => {
                let call = with_health!(elb.modify_target_group().target_group_arn(arn), desired);
                aws.call("ModifyTargetGroup", "failed to change the health check", call.send()).await?;
            }
            Change::Register(ids) => {
                let refusal = match register(aws, arn, ids).await {
                    Err(failure) if failure.code == "InvalidTarget" => failure,
                    answer => return answer,
                };
                // A rejected target must not block the others.
                let is_named = |id: &&String| refusal.message.contains(id.as_str());
                let others: Vec<String> = ids.iter().filter(|id| !is_named(id)).cloned().collect();
                if !others.is_empty() && others.len() < ids.len() {
                    register(aws, arn, &others).await?;
                }
                return Err(starting(refusal));
            }
            Change::Deregister(targets) => {
                let target = |target: &Target| {
                    TargetDescription::builder()
                        .id(&target.id)
                        .set_port(target.port)
                        .set_availability_zone(target.availability_zone.clone())
                        .build()
                };
                let targets = targets.iter().map(target).collect();
                let call = elb.deregister_targets().target_group_arn(arn).set_targets(Some(targets));
                let answer = aws.call("DeregisterTargets", "failed to deregister targets", call.send()).await;
                // A target that AWS rejects as invalid is no longer registered.
                unless_done(answer, &["InvalidTarget"])?;
            }
        }
        Ok(())
    }

    async fn delete(aws: &Aws, group: &Group) -> Result<(), Failure> {
        let call = aws.elb().delete_target_group().target_group_arn(&group.target_group_arn);
        match aws.call("DeleteTargetGroup", "failed to delete the target group", call.send()).await {
            Err(failure) if failure.code == "ResourceInUse" => Err(users::named(aws, group, failure).await),
            answer => answer.map(drop),
        }
    }
}

/// Registers these targets: all or none.
async fn register(aws: &Aws, arn: &str, ids: &[String]) -> Result<(), Failure> {
    let target = |id: &String| TargetDescription::builder().id(id).build();
    let targets = ids.iter().map(target).collect();
    let call = aws.elb().register_targets().target_group_arn(arn).set_targets(Some(targets));
    aws.call("RegisterTargets", "failed to register targets", call.send()).await.map(drop)
}

/// An instance that is not running may be starting: the registration is retried.
fn starting(refusal: Failure) -> Failure {
    let is_passing = refusal.message.contains("running state");
    Failure { class: if is_passing { FailureClass::NotYet } else { refusal.class }, ..refusal }
}
