//! Creates, changes and deletes rules of listeners.

use crate::answer::{Answer, Handler, nothing};
use crate::cloud::Cloud;
use crate::form::Form;
use crate::kind::{Kind, mixed};
use crate::markup::Xml;
use crate::model::action::Action;
use crate::model::condition::Condition;
use crate::model::{Listener, ListenerRule, LoadBalancer};
use crate::refusal::Refusal;

use super::paging::{self, WriteXml as _};
use super::tags::given;

pub(super) fn handler(action: &str) -> Option<Handler> {
    let handler: Handler = match action {
        "CreateRule" => create,
        "ModifyRule" => modify,
        "SetRulePriorities" => set_priorities,
        "DeleteRule" => delete,
        _ => return None,
    };
    Some(handler)
}

fn create(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let listener = cloud.one::<Listener>(form.required("ListenerArn")?)?.arn.clone();
    let priority =
        form.number("Priority")?.ok_or_else(|| Refusal::invalid("A rule priority must be specified"))?;
    let conditions = Condition::of(form)?;
    if conditions.is_empty() {
        return Err(Refusal::invalid("A condition must be specified"));
    }
    let actions = Action::of(form, "Actions")?;
    if actions.is_empty() {
        return Err(Refusal::invalid("A rule must have an action"));
    }
    check(cloud, &listener, &actions)?;
    is_free(cloud, &listener, priority, &[])?;
    let tags = given(form)?;
    let its = listener.replacen(":listener/", ":listener-rule/", 1);
    let arn = format!("{its}/{:016x}", mixed(cloud.registry.next_number(Kind::ListenerRule)));
    let made = ListenerRule { arn: arn.clone(), listener, priority, conditions, actions };
    let number = cloud.make_as(arn, tags, made);
    Ok(paging::answer::<ListenerRule>(cloud, number))
}

/// Rejects actions that the listener's load balancer does not support.
fn check(cloud: &Cloud, listener: &str, actions: &[Action]) -> Result<(), Refusal> {
    let listener = cloud.existing::<Listener>(listener).ok_or_else(|| Kind::Listener.missing(&[listener]))?;
    let balancer = &listener.load_balancer;
    let one =
        cloud.existing::<LoadBalancer>(balancer).ok_or_else(|| Kind::LoadBalancer.missing(&[balancer]))?;
    actions.iter().try_for_each(|action| action.check(cloud, one, &listener.settings.protocol))
}

fn modify(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let arn = form.required("RuleArn")?;
    let number = cloud.number::<ListenerRule>(arn)?;
    let (conditions, actions) = (Condition::of(form)?, Action::of(form, "Actions")?);
    let listener = cloud.one::<ListenerRule>(arn)?.listener.clone();
    check(cloud, &listener, &actions)?;
    let rule = cloud.one_mut::<ListenerRule>(arn)?;
    if !conditions.is_empty() {
        rule.conditions = conditions;
    }
    if !actions.is_empty() {
        rule.actions = actions;
    }
    Ok(paging::answer::<ListenerRule>(cloud, number))
}

/// Atomic, so that two rules can swap their priorities.
fn set_priorities(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let mut wanted = vec![];
    for pair in form.structures("RulePriorities.member") {
        let priority =
            pair.number("Priority")?.ok_or_else(|| Refusal::invalid("A rule priority must be specified"))?;
        wanted.push((pair.required("RuleArn")?.to_owned(), priority));
    }
    let ids: Vec<String> = wanted.iter().map(|(arn, _)| arn.clone()).collect();
    for (index, (arn, priority)) in wanted.iter().enumerate() {
        let listener = cloud.one::<ListenerRule>(arn)?.listener.clone();
        is_free(cloud, &listener, *priority, &ids)?;
        if wanted[..index].iter().any(|(_, other)| other == priority) {
            return Err(Refusal::new("PriorityInUse", format!("Priority '{priority}' is currently in use")));
        }
    }
    for (arn, priority) in wanted {
        cloud.one_mut::<ListenerRule>(&arn)?.priority = priority;
    }
    let mut body = Xml::default();
    let rules: Vec<&ListenerRule> =
        ids.iter().filter_map(|arn| cloud.existing::<ListenerRule>(arn)).collect();
    body.members("Rules", rules, |xml, rule| rule.write_xml(xml, cloud));
    Ok(Answer { body, ids })
}

fn delete(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let arn = form.required("RuleArn")?;
    let number = cloud.number::<ListenerRule>(arn)?;
    cloud.remove_object::<ListenerRule>(number);
    Ok(nothing(arn))
}

/// Rejects a priority of another rule of the listener.
fn is_free(cloud: &Cloud, listener: &str, priority: usize, own: &[String]) -> Result<(), Refusal> {
    if !(1..=50_000).contains(&priority) {
        return Err(Refusal::invalid(format!("The rule priority '{priority}' must be between 1 and 50000")));
    }
    let is_other = |rule: &ListenerRule| {
        rule.listener == listener && rule.priority == priority && !own.contains(&rule.arn)
    };
    if cloud.all::<ListenerRule>().values().any(is_other) {
        return Err(Refusal::new("PriorityInUse", format!("Priority '{priority}' is currently in use")));
    }
    Ok(())
}
