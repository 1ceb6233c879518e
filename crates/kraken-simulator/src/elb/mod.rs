//! Load balancers: the API of Elastic Load Balancing, version 2.

mod actions;
mod attributes;
mod health;
mod listener;
mod listener_changes;
mod load_balancer;
mod members;
mod paging;
mod placement;
mod rule;
mod rule_changes;
mod rule_conditions;
mod tags;
mod target_group;
mod targets;

use std::collections::BTreeMap;

use super::answer::{Answer, Handler};
use super::cloud::Cloud;
use super::kind::Kind;
use super::markup::Xml;
use super::network::Interface;
use super::objects::{CloudObject, cloud_objects};
use super::refusal::Refusal;

pub(super) use listener::Listener;
pub(super) use load_balancer::LoadBalancer;
pub(super) use members::released;
pub(super) use rule::ListenerRule;
pub(super) use target_group::TargetGroup;

/// All load balancers of the account.
#[derive(Debug, Default)]
pub(super) struct Balancing {
    /// Including deleted ones whose interfaces still exist.
    load_balancers: BTreeMap<u64, LoadBalancer>,
    target_groups: BTreeMap<u64, TargetGroup>,
    listeners: BTreeMap<u64, Listener>,
    rules: BTreeMap<u64, ListenerRule>,
}

impl Balancing {
    /// Whether a load balancer in this VPC has public addresses.
    pub(super) fn faces_internet(&self, vpc: &str) -> bool {
        self.load_balancers.values().any(|one| one.vpc == vpc && one.settings.scheme == "internet-facing")
    }

    /// The network interfaces of all load balancers.
    pub(super) fn interfaces(&self) -> impl Iterator<Item = Interface> + '_ {
        self.load_balancers.values().flat_map(LoadBalancer::interfaces)
    }

    /// Whether a load balancer has this security group.
    pub(super) fn uses_group(&self, id: &str) -> bool {
        self.load_balancers.values().any(|one| one.groups.iter().any(|group| group == id))
    }
}

/// A target of a group as parameters of a call.
pub(super) fn target_of(cloud: &Cloud, group: &str) -> Option<String> {
    let (id, port) = cloud.existing::<TargetGroup>(group)?.targets.keys().next()?;
    Some(format!("Targets.member.1.Id={id} Targets.member.1.Port={port}"))
}

/// The VPC of a load balancer or a target group.
pub(super) fn vpc_of(cloud: &Cloud, id: &str) -> Option<String> {
    let group = cloud.existing::<TargetGroup>(id).map(|group| group.settings.vpc.clone());
    group.or_else(|| cloud.existing::<LoadBalancer>(id).map(|one| one.vpc.clone()))
}

/// The implementation of an action.
pub(super) fn handler(action: &str) -> Option<Handler> {
    let subjects = [
        load_balancer::handler,
        members::handler,
        attributes::handler,
        target_group::handler,
        targets::handler,
        listener::handler,
        listener_changes::handler,
        rule::handler,
        rule_changes::handler,
        tags::handler,
    ];
    subjects.iter().find_map(|subject| subject(action))
}

cloud_objects! {
    LoadBalancer: LoadBalancer in balancing.load_balancers;
    TargetGroup: TargetGroup in balancing.target_groups;
    Listener: Listener in balancing.listeners;
    ListenerRule: ListenerRule in balancing.rules;
}

/// An empty response.
fn nothing(id: &str) -> Answer {
    Answer { body: Xml::default(), ids: vec![id.to_owned()] }
}

fn invalid(message: impl Into<String>) -> Refusal {
    Refusal::new("ValidationError", message)
}

fn misconfigured(message: impl Into<String>) -> Refusal {
    Refusal::new("InvalidConfigurationRequest", message)
}

/// AWS's rules for the name of a load balancer or target group.
fn check_name(name: &str, noun: &str) -> Result<(), Refusal> {
    let wrong = if name.len() > 32 {
        "cannot be longer than '32' characters"
    } else if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
        "can only contain characters that are alphanumeric characters and hyphens(-)"
    } else if name.starts_with('-') || name.ends_with('-') {
        "cannot begin or end with a hyphen(-)"
    } else {
        return Ok(());
    };
    Err(invalid(format!("The {noun} name '{name}' {wrong}")))
}
