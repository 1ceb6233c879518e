//! The calls of target groups.

use kraken_aws::{
    Aws, AwsResource,
    items::in_order,
    missing::{ignore_codes, or_nothing},
    resolved::exposed,
    resource::Creation,
};
use kraken_kind::{Failure, FailureClass, Features};

use super::{
    api::{self, Change, Desired},
    observed::{Group, Target, TargetHealth},
    users,
};
use crate::{
    elb::{
        ElbClients as _,
        types::{Matcher, TargetDescription},
    },
    in_vpc, once,
    tagged::{self, Listed, Selection},
};

const CREATE: &str = "failed to create a target group";

/// The kind TargetGroup.
pub(crate) struct Groups;

impl Listed for Group {
    const ARN_PART: &'static str = ":targetgroup/";

    async fn describe(aws: &Aws, selection: Selection) -> Result<Vec<Self>, Failure> {
        let Selection { arns, names, page_size, .. } = selection;
        let call = aws.elb().describe_target_groups().set_target_group_arns(arns).set_names(names);
        let pages = call.set_page_size(page_size).into_paginator().send();
        let action = "failed to describe target groups";
        aws.items("DescribeTargetGroups", action, pages, |page| page.target_groups).await
    }
}

/// Sets the fields of the health check that the spec contains on a call. The builders of two calls have these setters
/// in common.
macro_rules! with_health {
    ($call:expr, $desired:expr) => {{
        let is_given = $desired.health_check.is_some();
        let health = $desired.health_check.clone().unwrap_or_default();
        let protocol = exposed(health.protocol.as_ref());
        let matcher = |codes: String| Matcher::builder().http_code(codes).build();
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
    /// By its name, which is unique in the account and region.
    const FEATURES: Features = Features { is_idempotent: true, idempotent_by_name: true, ..Features::NONE };

    tagged::calls!(Group);

    async fn within(aws: &Aws, place: &str) -> Result<Vec<Group>, Failure> {
        in_vpc::target_groups(aws, place).await
    }

    async fn complete(aws: &Aws, group: &mut Group, _deep: bool) -> Result<(), Failure> {
        let call = aws.elb().describe_target_health().target_group_arn(&group.target_group_arn);
        let answer = aws.call("DescribeTargetHealth", "failed to describe target health", call.send()).await;
        let mut targets: Vec<TargetHealth> =
            or_nothing(answer.map(|answer| in_order(answer.target_health_descriptions)))?;
        targets.sort_by_cached_key(|one| (one.target.id.clone(), one.target.port));
        group.target_health_descriptions = targets;
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
        let call = Box::pin(aws.call("CreateTargetGroup", CREATE, call.send()));
        once::create(aws, desired.name.as_ref(), creation, CREATE, call, |made| made.target_groups).await
    }

    async fn update(aws: &Aws, change: &Change, desired: &Desired, group: &Group) -> Result<(), Failure> {
        let (elb, arn) = (aws.elb(), group.target_group_arn.as_str());
        match change {
            Change::HealthCheck => {
                let call = with_health!(elb.modify_target_group().target_group_arn(arn), desired);
                aws.call("ModifyTargetGroup", "failed to change the health check", call.send())
                    .await
                    .map(drop)
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
                Err(starting(refusal))
            }
            Change::Deregister(targets) => {
                let target = |target: &Target| {
                    let target = target.clone();
                    let builder = TargetDescription::builder().id(target.id).set_port(target.port);
                    builder.set_availability_zone(target.availability_zone).build()
                };
                let targets = targets.iter().map(target).collect();
                let call = elb.deregister_targets().target_group_arn(arn).set_targets(Some(targets));
                let answer = aws.call("DeregisterTargets", "failed to deregister targets", call.send()).await;
                // A target that AWS rejects as invalid is no longer registered.
                ignore_codes(answer, &["InvalidTarget"])
            }
        }
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
