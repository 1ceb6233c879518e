//! Rules of listeners: one per priority, and the default one, which is the listener's default action.

use crate::answer::{Answer, Handler};
use crate::cloud::Cloud;
use crate::form::Form;
use crate::markup::Xml;
use crate::model::{Listener, ListenerRule};
use crate::refusal::Refusal;
use crate::registry::Visibility;
use crate::store::CloudObject as _;

use super::paging::{self, WriteXml};

/// The priority of the default rule: after all others.
const DEFAULT: usize = usize::MAX;

pub(super) fn handler(action: &str) -> Option<Handler> {
    match action {
        "DescribeRules" => Some(|cloud, form| described(cloud, form)),
        _ => None,
    }
}

impl WriteXml for ListenerRule {
    const ARNS: &'static str = "RuleArns.member";
    const SET: &'static str = "Rules";

    fn write_xml(&self, xml: &mut Xml, _: &Cloud) {
        xml.text("RuleArn", &self.arn);
        match self.priority {
            DEFAULT => xml.text("Priority", "default"),
            priority => xml.text("Priority", priority),
        }
        xml.members("Conditions", &self.conditions, |xml, condition| condition.write_xml(xml));
        xml.members("Actions", self.actions.iter().zip(1..), |xml, (action, order)| {
            action.write_xml(xml, order);
        });
        xml.text("IsDefault", self.priority == DEFAULT);
    }
}

/// DescribeRules: the rules of a listener in the order of their evaluation, the default one last, without pagination.
fn described(cloud: &Cloud, form: &Form) -> Result<Answer, Refusal> {
    let Some(arn) = form.get("ListenerArn") else {
        if form.get("RuleArns.member.1").is_none() {
            return Err(Refusal::invalid("You must specify either a listener ARN or rule ARNs"));
        }
        return paging::describe::<ListenerRule>(cloud, form, None, |_| true);
    };
    let listener = cloud.one::<Listener>(arn)?;
    let is_seen =
        |number| cloud.registry.is_seen(ListenerRule::object(number), Visibility::Described, cloud.now);
    let its =
        cloud.all::<ListenerRule>().iter().filter(|(number, rule)| rule.listener == arn && is_seen(**number));
    let mut rules: Vec<ListenerRule> = its.map(|(_, rule)| rule.clone()).collect();
    rules.sort_by_key(|rule| rule.priority);
    rules.push(ListenerRule {
        arn: format!("{}/0000000000000000", arn.replacen(":listener/", ":listener-rule/", 1)),
        listener: arn.to_owned(),
        priority: DEFAULT,
        conditions: vec![],
        actions: listener.settings.actions.clone(),
    });
    let mut body = Xml::default();
    body.members(ListenerRule::SET, &rules, |xml, rule| rule.write_xml(xml, cloud));
    Ok(Answer { body, ids: rules.into_iter().map(|rule| rule.arn).collect() })
}
