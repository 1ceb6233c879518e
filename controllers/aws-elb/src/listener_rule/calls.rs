//! The calls of rules. A DescribeRules call lists the rules of one listener only.

use kraken_aws::{Aws, AwsResource, fields::shown, resource::Creation};
use kraken_kind::{Failure, FailureClass};

use super::{
    api::{self, Change, Desired},
    observed::Rule,
    sdk::to_sdk,
};
use crate::{
    elb::{
        ElbClients as _,
        types::{Action, RulePriorityPair},
    },
    in_vpc,
    listener::ObservedListener,
    once,
    tagged::{self, Listed, Selection},
};

const CREATE: &str = "failed to create a rule";

/// The kind ListenerRule.
pub(crate) struct ListenerRules;

impl Listed for Rule {
    const ARN_PART: &'static str = ":listener-rule/";
    const LISTS_CHEAPLY: bool = false;

    /// Without default rules: they are the default actions of listeners, and cannot be created, adopted or deleted.
    async fn describe(aws: &Aws, selection: Selection) -> Result<Vec<Self>, Failure> {
        let Selection { arns, parent, page_size, .. } = selection;
        let call = aws.elb().describe_rules().set_rule_arns(arns).set_listener_arn(parent);
        let pages = call.set_page_size(page_size).into_paginator().send();
        let mut rules: Vec<Self> =
            aws.items("DescribeRules", "failed to describe rules", pages, |page| page.rules).await?;
        rules.retain(|rule| !rule.is_default);
        Ok(rules)
    }

    async fn all(aws: &Aws) -> Result<Vec<Self>, Failure> {
        tagged::in_parents(aws, &ObservedListener::all(aws).await?).await
    }
}

impl AwsResource for ListenerRules {
    // Not idempotent: the priority is unique in a listener, but another client can change it before the rule is visible.
    type Kind = api::ListenerRule;
    const HIDDEN: &[&str] = &["action.fixedResponse.messageBody"];

    tagged::calls!(Rule);

    async fn within(aws: &Aws, place: &str) -> Result<Vec<Rule>, Failure> {
        in_vpc::rules(aws, place).await
    }

    async fn create(aws: &Aws, desired: &Desired, creation: &Creation<'_>) -> Result<Rule, Failure> {
        let listener = desired.listener_arn.expose();
        let holders = of_priority(aws, listener, desired).await?;
        let call = aws
            .elb_once()
            .create_rule()
            .listener_arn(listener)
            .priority(*desired.priority.expose())
            .set_conditions(Some(to_sdk(desired.conditions.expose())))
            .actions(Action::from(desired.action.expose()))
            .set_tags(Some(tagged::to_sdk(creation.tags)));
        let call = Box::pin(aws.call("CreateRule", CREATE, call.send()));
        once::create_unless(aws, holders, creation, CREATE, &what(desired), call, |made| made.rules).await
    }

    async fn update(aws: &Aws, change: &Change, desired: &Desired, rule: &Rule) -> Result<(), Failure> {
        let call = aws.elb().modify_rule().rule_arn(&rule.rule_arn);
        let call = match change {
            Change::Priority => return set_priority(aws, desired, rule).await,
            Change::Conditions => call.set_conditions(Some(to_sdk(desired.conditions.expose()))),
            Change::Action => {
                let action = desired.action.expose().sent(rule.action().as_ref());
                call.actions(Action::from(&action))
            }
        };
        aws.call("ModifyRule", "failed to change the rule", call.send()).await.map(drop)
    }

    async fn delete(aws: &Aws, rule: &Rule) -> Result<(), Failure> {
        let call = aws.elb().delete_rule().rule_arn(&rule.rule_arn);
        aws.call("DeleteRule", "failed to delete the rule", call.send()).await.map(drop)
    }
}

/// The value that is unique in a listener.
fn what(desired: &Desired) -> String {
    format!("priority {} of the listener", shown(&desired.priority))
}

/// The rule of this listener that has the desired priority.
async fn of_priority(aws: &Aws, listener: &str, desired: &Desired) -> Result<Vec<Rule>, Failure> {
    let priority = desired.priority.expose().to_string();
    let mut rules: Vec<Rule> = tagged::in_parent(aws, listener).await?;
    rules.retain(|rule| rule.priority.as_ref() == Some(&priority));
    Ok(rules)
}

async fn set_priority(aws: &Aws, desired: &Desired, rule: &Rule) -> Result<(), Failure> {
    let pair =
        RulePriorityPair::builder().rule_arn(&rule.rule_arn).priority(*desired.priority.expose()).build();
    let call = aws.elb().set_rule_priorities().rule_priorities(pair);
    match aws.call("SetRulePriorities", "failed to change the rule's priority", call.send()).await {
        Err(failure) if failure.class == FailureClass::TokenUsed => {
            let holders = of_priority(aws, rule.listener_arn.as_deref().unwrap_or_default(), desired).await?;
            once::unless_own(aws, holders, rule, failure, &what(desired)).await
        }
        answer => answer.map(drop),
    }
}
