//! The calls of rules. A DescribeRules call lists the rules of one listener only.

use futures::future::try_join_all;
use kraken_aws::{
    Aws, AwsResource, Tags,
    elb::types::{Action as SdkAction, RulePriorityPair},
    fields::shown,
    resource::{Creation, FromSdk as _},
};
use kraken_spoke::{Failure, FailureClass};

use super::{
    api::{self, Change, Desired},
    observed::Rule,
    sdk::to_sdk,
};
use crate::{
    action::Action,
    listener::ObservedListener,
    once::{first, holder, made_by_us, ours},
    tagged::{self, Listed, PAGE, or_nothing},
};

const READ: &str = "failed to describe rules";
const CREATE: &str = "failed to create a rule";
const CHANGE: &str = "failed to change the rule";
/// The number of listeners whose rules are described concurrently.
const AT_ONCE: usize = 8;

/// The kind ListenerRule.
pub(crate) struct ListenerRules;

impl Listed for Rule {
    const ARN_PART: &'static str = ":listener-rule/";
    const LISTS_CHEAPLY: bool = false;

    async fn by_arns(aws: &Aws, arns: Vec<String>) -> Result<Vec<Self>, Failure> {
        let call = aws.elb().describe_rules().set_rule_arns(Some(arns));
        let answer = aws.call("DescribeRules", READ, call.send()).await?;
        Ok(without_default(Vec::of(answer.rules).into_iter()))
    }

    async fn all(aws: &Aws) -> Result<Vec<Self>, Failure> {
        let listeners = ObservedListener::all(aws).await?;
        let mut found = vec![];
        for listeners in listeners.chunks(AT_ONCE) {
            let rules = listeners.iter().map(|listener| of_listener(aws, &listener.listener_arn));
            found.extend(try_join_all(rules).await?.concat());
        }
        Ok(found)
    }

    fn with_tags(self, tags: Tags) -> Self {
        Self { tags, ..self }
    }
}

/// A listener's default rule is its default action: it cannot be created, adopted or deleted.
fn without_default(rules: impl Iterator<Item = Rule>) -> Vec<Rule> {
    rules.filter(|rule| !rule.is_default).collect()
}

/// The rules of a listener; none if it does not exist.
pub(crate) async fn of_listener(aws: &Aws, arn: &str) -> Result<Vec<Rule>, Failure> {
    let call = aws.elb().describe_rules().listener_arn(arn).page_size(PAGE);
    let pages = or_nothing(aws.pages("DescribeRules", READ, call.into_paginator().send()).await)?;
    Ok(without_default(pages.into_iter().flat_map(|page| Vec::of(page.rules))))
}

impl AwsResource for ListenerRules {
    type Kind = api::ListenerRule;
    // By its priority, which is unique in a listener.
    const IS_IDEMPOTENT: bool = true;
    const IDEMPOTENT_BY_NAME: bool = true;

    tagged::calls!(Rule);

    async fn create(aws: &Aws, desired: &Desired, creation: &Creation<'_>) -> Result<Rule, Failure> {
        let listener = desired.listener_arn.expose();
        if let Some(rule) = tagged::with_tags(aws, of_priority(aws, listener, desired).await?).await?.pop() {
            return ours(rule, creation, CREATE, &what(desired));
        }
        let call = aws
            .elb_once()
            .create_rule()
            .listener_arn(listener)
            .priority(*desired.priority.expose())
            .set_conditions(Some(to_sdk(desired.conditions.expose())))
            .actions(SdkAction::from(desired.action.expose()))
            .set_tags(Some(tagged::to_sdk(creation.tags)));
        let answer = aws.call("CreateRule", CREATE, call.send()).await?;
        let made = first(Vec::of(answer.rules));
        made_by_us(aws, made, creation, CREATE, &what(desired)).await
    }

    async fn update(aws: &Aws, change: &Change, desired: &Desired, rule: &Rule) -> Result<(), Failure> {
        let call = aws.elb().modify_rule().rule_arn(&rule.rule_arn);
        let call = match change {
            Change::Priority => return set_priority(aws, desired, rule).await,
            Change::Conditions => call.set_conditions(Some(to_sdk(desired.conditions.expose()))),
            Change::Action => {
                let action = desired.action.expose().sent(Action::of(&rule.actions).as_ref());
                call.actions(SdkAction::from(&action))
            }
        };
        aws.call("ModifyRule", CHANGE, call.send()).await.map(drop)
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
    let mut rules = of_listener(aws, listener).await?;
    rules.retain(|rule| rule.priority.as_ref() == Some(&priority));
    Ok(rules)
}

async fn set_priority(aws: &Aws, desired: &Desired, rule: &Rule) -> Result<(), Failure> {
    let pair =
        RulePriorityPair::builder().rule_arn(&rule.rule_arn).priority(*desired.priority.expose()).build();
    let call = aws.elb().set_rule_priorities().rule_priorities(pair);
    match aws.call("SetRulePriorities", "failed to change the rule's priority", call.send()).await {
        Err(failure) if failure.class == FailureClass::TokenUsed => {
            let there = of_priority(aws, rule.listener_arn.as_deref().unwrap_or_default(), desired).await?;
            if there.iter().any(|other| other.rule_arn == rule.rule_arn) {
                return Ok(());
            }
            Err(holder(aws, there, &rule.tags, failure, &what(desired)).await)
        }
        answer => answer.map(drop),
    }
}
