//! What a rule is desired to be, and how it differs. Pure.

use kraken_aws::{
    differ::{changed, fixed},
    rules::between,
    take::Take,
    taken::Joined,
};
use kraken_spoke::{Difference, Resolved, Resolver};

use super::{
    api::ListenerRuleSpec,
    conditions::{self, Conditions},
    rule::Rule,
};
use crate::{
    action::{self, Action},
    rules,
};

/// Where the spec has the action.
pub(super) const ACTION: &str = "action";
/// The highest number that a rule can have.
const MAX_PRIORITY: i32 = 50_000;

/// What is desired.
#[derive(Clone, Debug)]
pub(crate) struct Desired {
    pub(crate) listener_arn: Resolved<String>,
    pub(crate) priority: Resolved<i32>,
    pub(crate) conditions: Joined<Conditions>,
    pub(crate) action: Joined<Action>,
}

/// A change in place, one call each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Priority,
    Conditions,
    Action,
}

pub(crate) fn desired(spec: &ListenerRuleSpec, values: &mut Resolver<'_>) -> Option<Desired> {
    let mut take = Take::new(values);
    let listener_arn = take.one("listenerARN", &spec.listener_arn, rules::listener_arn);
    let priority = take.one("priority", &spec.priority, |priority: &i32| between(*priority, 1, MAX_PRIORITY));
    let conditions = conditions::desired(&spec.conditions, &mut take);
    let action = action::desired(ACTION, &spec.action, &mut take);
    let desired = Desired {
        listener_arn: listener_arn?,
        priority: priority?,
        conditions: conditions?,
        action: action?,
    };
    take.is_valid().then_some(desired)
}

pub(crate) fn differences(desired: &Desired, rule: &Rule) -> Vec<Difference<Change>> {
    let priority = desired.priority.map(ToString::to_string);
    let first = [
        fixed("listenerARN", Some(&desired.listener_arn), rule.listener_arn.as_ref()),
        changed("priority", Some(&priority), rule.priority.as_ref(), Change::Priority),
    ];
    let conditions =
        conditions::differences(&desired.conditions, rule.known_conditions().as_ref(), || Change::Conditions);
    let observed = Action::of(&rule.actions);
    let action = action::differences(ACTION, &desired.action, observed.as_ref(), || Change::Action);
    first.into_iter().flatten().chain(conditions).chain(action).collect()
}
