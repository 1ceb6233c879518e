//! Target groups in AWS.

use kraken_aws::{
    Aws, Single, Tags,
    elb::{
        operation::describe_target_groups::DescribeTargetGroupsOutput as Page,
        types::{Matcher as SdkMatcher, TargetDescription, TargetGroup as Sdk, TargetHealthDescription},
    },
    fields::shown,
    lookup::Tagged,
    single::{Creation, Question, Thing},
};
use kraken_spoke::{Difference, Failure, FailureClass, Resolver};
use serde::Serialize;

use super::{
    api::{TargetGroup, TargetGroupSpec},
    plan::{self, Change, Desired},
};
use crate::{
    once::ours,
    tagged::{self, Listed, PAGE, or_nothing},
    take::sent,
};

const READ: &str = "failed to read target groups";
const CREATE: &str = "failed to create a target group";

/// A target group as AWS has it: what others may refer to.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Group {
    pub(crate) target_group_arn: String,
    pub(crate) target_group_name: String,
    pub(crate) protocol: Option<String>,
    pub(crate) port: Option<i32>,
    pub(crate) vpc_id: Option<String>,
    pub(crate) target_type: Option<String>,
    pub(crate) load_balancer_arns: Vec<String>,
    pub(crate) health_check_protocol: Option<String>,
    pub(crate) health_check_port: Option<String>,
    pub(crate) health_check_path: Option<String>,
    pub(crate) health_check_interval_seconds: Option<i32>,
    pub(crate) health_check_timeout_seconds: Option<i32>,
    pub(crate) healthy_threshold_count: Option<i32>,
    pub(crate) unhealthy_threshold_count: Option<i32>,
    pub(crate) matcher: Option<Matcher>,
    pub(crate) target_health_descriptions: Vec<TargetHealth>,
    #[serde(skip)]
    pub(crate) tags: Tags,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Matcher {
    pub(crate) http_code: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct TargetHealth {
    pub(crate) target: Target,
    pub(crate) target_health: Health,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Target {
    pub(crate) id: String,
    pub(crate) port: Option<i32>,
    pub(crate) availability_zone: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Health {
    pub(crate) state: Option<String>,
    pub(crate) reason: Option<String>,
}

impl Group {
    /// The targets that are there to stay.
    pub(crate) fn registered(&self) -> impl Iterator<Item = &Target> {
        let is_going = |health: &Health| {
            matches!(health.state.as_deref(), Some("draining" | "unhealthy.draining"))
                || health.reason.as_deref() == Some("Target.NotRegistered")
        };
        self.target_health_descriptions
            .iter()
            .filter(move |description| !is_going(&description.target_health))
            .map(|description| &description.target)
    }
}

impl From<&Sdk> for Group {
    fn from(group: &Sdk) -> Self {
        let text = |text: Option<&str>| text.map(str::to_owned);
        let mut load_balancer_arns = group.load_balancer_arns().to_vec();
        load_balancer_arns.sort();
        Self {
            target_group_arn: text(group.target_group_arn()).unwrap_or_default(),
            target_group_name: text(group.target_group_name()).unwrap_or_default(),
            protocol: group.protocol().map(ToString::to_string),
            port: group.port(),
            vpc_id: text(group.vpc_id()),
            target_type: group.target_type().map(ToString::to_string),
            load_balancer_arns,
            health_check_protocol: group.health_check_protocol().map(ToString::to_string),
            health_check_port: text(group.health_check_port()),
            health_check_path: text(group.health_check_path()),
            health_check_interval_seconds: group.health_check_interval_seconds(),
            health_check_timeout_seconds: group.health_check_timeout_seconds(),
            healthy_threshold_count: group.healthy_threshold_count(),
            unhealthy_threshold_count: group.unhealthy_threshold_count(),
            matcher: group.matcher().map(|matcher| Matcher { http_code: text(matcher.http_code()) }),
            target_health_descriptions: vec![],
            tags: Tags::new(),
        }
    }
}

impl From<&TargetHealthDescription> for TargetHealth {
    fn from(description: &TargetHealthDescription) -> Self {
        let (target, health) = (description.target(), description.target_health());
        Self {
            target: Target {
                id: target.and_then(|t| t.id()).unwrap_or_default().to_owned(),
                port: target.and_then(TargetDescription::port),
                availability_zone: target.and_then(|t| t.availability_zone()).map(str::to_owned),
            },
            target_health: Health {
                state: health.and_then(|h| h.state()).map(ToString::to_string),
                reason: health.and_then(|h| h.reason()).map(ToString::to_string),
            },
        }
    }
}

impl Tagged for Group {
    fn id(&self) -> &str {
        &self.target_group_arn
    }

    fn tags(&self) -> &Tags {
        &self.tags
    }
}

impl Thing for Group {}

impl Listed for Group {
    const ARN_PART: &'static str = ":targetgroup/";
    const LISTS_CHEAPLY: bool = true;

    async fn by_arns(aws: &Aws, arns: Vec<String>) -> Result<Vec<Self>, Failure> {
        let call = aws.elb().describe_target_groups().set_target_group_arns(Some(arns));
        let answer = aws.call("DescribeTargetGroups", READ, call.send()).await?;
        Ok(answer.target_groups().iter().map(Self::from).collect())
    }

    async fn all(aws: &Aws) -> Result<Vec<Self>, Failure> {
        let pages = aws.elb().describe_target_groups().page_size(PAGE).into_paginator().send();
        let pages = aws.pages("DescribeTargetGroups", READ, pages).await?;
        Ok(pages.iter().flat_map(Page::target_groups).map(Self::from).collect())
    }

    fn with_tags(self, tags: Tags) -> Self {
        Self { tags, ..self }
    }
}

/// The group that has a name.
async fn named(aws: &Aws, name: &str) -> Result<Option<Group>, Failure> {
    let call = aws.elb().describe_target_groups().names(name);
    let found = aws.call("DescribeTargetGroups", READ, call.send()).await;
    let found = or_nothing(found.map(|answer| answer.target_groups().iter().map(Group::from).collect()))?;
    Ok(tagged::with_tags(aws, found).await?.pop())
}

/// A call with the health check as far as the spec speaks of it. The builders of two calls have these setters in common.
macro_rules! with_health {
    ($call:expr, $desired:expr) => {{
        let health = &$desired.health;
        let matcher = |codes: &String| SdkMatcher::builder().http_code(codes).build();
        $call
            .set_health_check_protocol(sent(health.protocol.as_ref(), |protocol| protocol.as_str().into()))
            .set_health_check_port(sent(health.port.as_ref(), Clone::clone))
            .set_health_check_path(sent(health.path.as_ref(), Clone::clone))
            .set_health_check_interval_seconds(sent(health.interval.as_ref(), |seconds| *seconds))
            .set_health_check_timeout_seconds(sent(health.timeout.as_ref(), |seconds| *seconds))
            .set_healthy_threshold_count(sent(health.healthy.as_ref(), |count| *count))
            .set_unhealthy_threshold_count(sent(health.unhealthy.as_ref(), |count| *count))
            .set_matcher(sent(health.matcher.as_ref(), matcher))
    }};
}

/// Target groups, one for each resource.
pub(crate) struct Groups;

impl Single for Groups {
    type Kind = TargetGroup;
    type Desired = Desired;
    type Thing = Group;
    type Change = Change;
    const NOUN: &'static str = "target group";
    const STATE_KEY: &'static str = "targetGroup";
    // By its name, which AWS gives out once.
    const IS_IDEMPOTENT: bool = true;

    fn desired(spec: &TargetGroupSpec, values: &mut Resolver<'_>) -> Option<Desired> {
        plan::desired(spec, values)
    }

    fn tags(spec: &TargetGroupSpec) -> &Tags {
        &spec.tags
    }

    fn differences(desired: &Desired, group: &Group) -> Vec<Difference<Change>> {
        plan::differences(desired, group)
    }

    async fn read(aws: &Aws, question: Question) -> Result<Vec<Group>, Failure> {
        tagged::read(aws, question).await
    }

    async fn complete(aws: &Aws, group: &mut Group, _deep: bool) -> Result<(), Failure> {
        let call = aws.elb().describe_target_health().target_group_arn(&group.target_group_arn);
        let answer = aws.call("DescribeTargetHealth", "failed to read targets", call.send()).await;
        group.target_health_descriptions = or_nothing(
            answer.map(|answer| answer.target_health_descriptions().iter().map(TargetHealth::from).collect()),
        )?;
        group
            .target_health_descriptions
            .sort_by(|a, b| (&a.target.id, a.target.port).cmp(&(&b.target.id, b.target.port)));
        Ok(())
    }

    async fn create(aws: &Aws, desired: &Desired, creation: &Creation<'_>) -> Result<Group, Failure> {
        let what = desired.name.as_ref().map(|name| (name, format!("the name {}", shown(name))));
        if let Some((name, what)) = &what
            && let Some(group) = named(aws, name.expose()).await?
        {
            return ours(group, creation, CREATE, what);
        }
        let name = desired.name.as_ref().map_or_else(|| creation.name(), |name| name.expose().clone());
        let call = with_health!(aws.elb().create_target_group(), desired)
            .name(name)
            .set_protocol(sent(desired.protocol.as_ref(), |protocol| protocol.as_str().into()))
            .set_port(sent(desired.port.as_ref(), |port| *port))
            .set_vpc_id(sent(desired.vpc_id.as_ref(), Clone::clone))
            .set_target_type(sent(desired.target_type.as_ref(), |kind| kind.as_str().into()))
            .set_tags(Some(tagged::to_sdk(creation.tags)));
        let answer = aws.call("CreateTargetGroup", CREATE, call.send()).await?;
        let made = answer.target_groups().first().map(Group::from).unwrap_or_default();
        match &what {
            // Whoever has the name may have been quicker by a moment.
            Some((_, what)) => match tagged::with_tags(aws, vec![made.clone()]).await?.pop() {
                Some(made) => ours(made, creation, CREATE, what),
                None => Ok(made),
            },
            None => Ok(made.with_tags(creation.tags.clone())),
        }
    }

    async fn update(aws: &Aws, change: &Change, desired: &Desired, group: &Group) -> Result<(), Failure> {
        let (elb, arn) = (aws.elb(), group.target_group_arn.as_str());
        match change {
            Change::HealthCheck => {
                let call = with_health!(elb.modify_target_group().target_group_arn(arn), desired);
                aws.call("ModifyTargetGroup", "failed to change the health check", call.send()).await?;
            }
            Change::Register(ids) => {
                let target = |id: &String| TargetDescription::builder().id(id).build();
                let targets = ids.iter().map(target).collect();
                let call = elb.register_targets().target_group_arn(arn).set_targets(Some(targets));
                let answer = aws.call("RegisterTargets", "failed to register targets", call.send()).await;
                answer.map_err(starting)?;
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
                aws.call("DeregisterTargets", "failed to deregister targets", call.send()).await?;
            }
        }
        Ok(())
    }

    async fn delete(aws: &Aws, group: &Group) -> Result<(), Failure> {
        let call = aws.elb().delete_target_group().target_group_arn(&group.target_group_arn);
        aws.call("DeleteTargetGroup", "failed to delete the target group", call.send()).await.map(drop)
    }

    async fn set_tags(aws: &Aws, id: &str, tags: &Tags) -> Result<(), Failure> {
        tagged::set(aws, id, tags).await
    }

    async fn remove_tags(aws: &Aws, id: &str, keys: &[&str]) -> Result<(), Failure> {
        tagged::remove(aws, id, keys).await
    }
}

/// An instance that does not run yet may run in a moment.
fn starting(failure: Failure) -> Failure {
    let is_passing = failure.code == "InvalidTarget" && failure.message.contains("running state");
    Failure { class: if is_passing { FailureClass::Transient } else { failure.class }, ..failure }
}
