//! Targets of a group: registered, healthy after some time, draining before they are removed.

use std::net::Ipv4Addr;

use crate::answer::{Answer, Handler, nothing};
use crate::cloud::Cloud;
use crate::form::Form;
use crate::markup::Xml;
use crate::model::instance::State;
use crate::model::target_group::Target;
use crate::model::{Instance, TargetGroup};
use crate::refusal::Refusal;

pub(super) fn handler(action: &str) -> Option<Handler> {
    let handler: Handler = match action {
        "RegisterTargets" => register,
        "DeregisterTargets" => deregister,
        "DescribeTargetHealth" => |cloud, form| describe(cloud, form),
        _ => return None,
    };
    Some(handler)
}

/// The targets in the parameters of a call; the default of the port is that of the group.
fn named(form: &Form, group: &TargetGroup) -> Result<Vec<(String, usize)>, Refusal> {
    let targets = form.structures("Targets.member").into_iter().map(|target| {
        let id = target.required("Id")?.to_owned();
        Ok((id, target.number("Port")?.unwrap_or(group.settings.port)))
    });
    targets.collect()
}

fn register(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let arn = form.required("TargetGroupArn")?;
    let group = cloud.one::<TargetGroup>(arn)?;
    let targets = named(form, group)?;
    if targets.is_empty() {
        form.required("Targets")?;
    }
    for (id, _) in &targets {
        can_be_target(cloud, group, id)?;
    }
    let healthy_from = cloud.now + cloud.options.target_initial;
    let now = cloud.now;
    let group = cloud.one_mut::<TargetGroup>(arn)?;
    for target in targets {
        let known = group.targets.get(&target).filter(|known| known.gone_at.is_none()).cloned();
        let new = Target { healthy_from, gone_at: None };
        group.targets.insert(target, known.unwrap_or(new));
    }
    group.targets.retain(|_, target| target.gone_at.is_none_or(|at| at > now));
    Ok(nothing(arn))
}

fn can_be_target(cloud: &Cloud, group: &TargetGroup, id: &str) -> Result<(), Refusal> {
    let wrong = |message: String| Err(Refusal::new("InvalidTarget", message));
    if group.settings.of == "ip" {
        return match id.parse::<Ipv4Addr>() {
            Ok(_) => Ok(()),
            Err(_) => Err(Refusal::invalid(format!("The IP address '{id}' is not a valid IPv4 address"))),
        };
    }
    let Some(instance) = cloud.existing::<Instance>(id) else {
        return wrong(format!("The following targets do not exist: '{id}'"));
    };
    if instance.place.vpc != group.settings.vpc {
        return wrong(format!(
            "The following targets are not in the target group VPC '{}': '{id}'",
            group.settings.vpc
        ));
    }
    if !matches!(instance.state(cloud.now), State::Pending | State::Running) {
        return wrong(format!(
            "The following targets are not in a running state and cannot be registered: '{id}'"
        ));
    }
    Ok(())
}

/// An unregistered target is not an error. Without a port, all ports of a target are deregistered.
fn deregister(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let arn = form.required("TargetGroupArn")?;
    let gone_at = cloud.now + cloud.options.draining;
    let in_use = !cloud.one::<TargetGroup>(arn)?.load_balancers(cloud).is_empty();
    let now = cloud.now;
    let group = cloud.one_mut::<TargetGroup>(arn)?;
    for target in form.structures("Targets.member") {
        let (id, port) = (target.required("Id")?, target.number("Port")?);
        for ((its_id, its_port), its) in &mut group.targets {
            if its_id == id && port.is_none_or(|port| port == *its_port) && its.gone_at.is_none() {
                its.gone_at = Some(if in_use { gone_at } else { now }); // a target without requests does not drain
            }
        }
    }
    group.targets.retain(|_, target| target.gone_at.is_none_or(|at| at > now));
    Ok(nothing(arn))
}

fn describe(cloud: &Cloud, form: &Form) -> Result<Answer, Refusal> {
    let arn = form.required("TargetGroupArn")?;
    let group = cloud.one::<TargetGroup>(arn)?;
    let there = |target: &Target| target.gone_at.is_none_or(|at| at > cloud.now);
    let requested = named(form, group)?;
    let rows: Vec<(&(String, usize), Option<&Target>)> = if requested.is_empty() {
        let all = group.targets.iter().filter(|(_, target)| there(target));
        all.map(|(name, target)| (name, Some(target))).collect()
    } else {
        requested.iter().map(|name| (name, group.targets.get(name).filter(|target| there(target)))).collect()
    };
    let in_use = !group.load_balancers(cloud).is_empty();
    let mut body = Xml::default();
    body.members("TargetHealthDescriptions", &rows, |xml, ((id, port), target)| {
        xml.tag("Target", |xml| {
            xml.text("Id", id);
            xml.text("Port", port);
        });
        let checked =
            if group.health.port == "traffic-port" { port.to_string() } else { group.health.port.clone() };
        xml.text("HealthCheckPort", checked);
        let (state, reason, description) = health(cloud, id, *target, in_use);
        xml.tag("TargetHealth", |xml| {
            xml.text("State", state);
            if !reason.is_empty() {
                xml.text("Reason", reason);
                xml.text("Description", description);
            }
        });
    });
    Ok(Answer { body, ids: vec![arn.to_owned()] })
}

/// A target's state, with the reason and its description where it is not healthy.
fn health(
    cloud: &Cloud,
    id: &str,
    target: Option<&Target>,
    in_use: bool,
) -> (&'static str, &'static str, &'static str) {
    let Some(target) = target else {
        return ("unused", "Target.NotRegistered", "Target is not registered to the target group");
    };
    let stopped = cloud.existing::<Instance>(id).is_some_and(|one| one.state(cloud.now) != State::Running);
    if target.gone_at.is_some() {
        ("draining", "Target.DeregistrationInProgress", "Target deregistration is in progress")
    } else if !in_use {
        (
            "unused",
            "Target.NotInUse",
            "Target group is not configured to receive traffic from the load balancer",
        )
    } else if id.starts_with("i-") && (stopped || cloud.existing::<Instance>(id).is_none()) {
        ("unused", "Target.InvalidState", "Target is in the stopped state")
    } else if target.healthy_from > cloud.now {
        ("initial", "Elb.RegistrationInProgress", "Target registration is in progress")
    } else {
        ("healthy", "", "")
    }
}
