//! The observed target group with its targets, which is the published state.

use kraken_aws::{Tags, aws_observed};

use crate::elb::types;

#[aws_observed(from = types::TargetGroup, id = target_group_arn)]
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
    /// Read by a call of its own.
    #[from(vec![])]
    pub(crate) target_health_descriptions: Vec<TargetHealth>,
    #[serde(skip)]
    pub(crate) tags: Tags,
}

#[aws_observed(from = types::Matcher)]
pub(crate) struct Matcher {
    pub(crate) http_code: Option<String>,
}

#[aws_observed(from = types::TargetHealthDescription)]
pub(crate) struct TargetHealth {
    pub(crate) target: Target,
    pub(crate) target_health: Health,
}

#[aws_observed(from = types::TargetDescription)]
pub(crate) struct Target {
    pub(crate) id: String,
    pub(crate) port: Option<i32>,
    pub(crate) availability_zone: Option<String>,
}

#[aws_observed(from = types::TargetHealth)]
pub(crate) struct Health {
    pub(crate) state: Option<String>,
    pub(crate) reason: Option<String>,
}

impl Group {
    /// The HTTP status codes of a successful check.
    pub(crate) fn matcher(&self) -> Option<&String> {
        self.matcher.as_ref()?.http_code.as_ref()
    }

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
