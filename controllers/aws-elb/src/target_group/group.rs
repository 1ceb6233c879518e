//! The observed target group with its targets, which is the published state.

use kraken_aws::{
    Tags,
    elb::types::{TargetDescription, TargetGroup as Sdk, TargetHealthDescription},
    lookup::Tagged,
    resource::RemoteObject,
};
use serde::Serialize;

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
    pub(crate) health_check_enabled: Option<bool>,
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
    /// The targets that are registered and not being deregistered.
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
            health_check_enabled: group.health_check_enabled(),
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

impl RemoteObject for Group {}
