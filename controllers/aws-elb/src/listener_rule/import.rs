//! The fields of a rule's spec that have a form of their own. Pure.

use kraken_aws::import::{Fields, literal};
use serde_json::{Value, json};

use super::{
    api::ListenerRuleSpec,
    conditions::{Condition, Type},
    observed::Rule,
};
use crate::action;

impl ListenerRuleSpec {
    pub(super) fn import_priority(rule: &Rule) -> Option<Value> {
        rule.priority.as_ref()?.parse::<i32>().ok().map(literal)
    }

    pub(super) fn import_action(rule: &Rule) -> Option<Value> {
        action::imported(&rule.actions)
    }

    /// None if one of them is not supported, or there are two of a type that a spec has once.
    pub(super) fn import_conditions(rule: &Rule) -> Option<Value> {
        let mut fields = Fields::default();
        for (kind, conditions) in &rule.known_conditions()?.0 {
            let conditions: Vec<&Condition> = conditions.iter().collect();
            let written = match kind {
                Type::HttpHeader => {
                    let header = |one: &&Condition| json!({"name": literal(&one.name), "values": literal(values(one))});
                    json!(conditions.iter().map(header).collect::<Vec<_>>())
                }
                Type::QueryString => json!(queries(only(&conditions)?)),
                Type::HostHeader | Type::PathPattern | Type::Method | Type::SourceIp => {
                    literal(values(only(&conditions)?))
                }
            };
            fields.own(kind.spec_field(), Some(written));
        }
        fields.group()
    }
}

fn only<'a>(conditions: &[&'a Condition]) -> Option<&'a Condition> {
    match conditions {
        [one] => Some(one),
        _ => None,
    }
}

fn values(condition: &Condition) -> Vec<&String> {
    condition.values.iter().map(|(_, value)| value).collect()
}

fn queries(condition: &Condition) -> Vec<Option<Value>> {
    let query = |(key, value): &(Option<String>, String)| {
        let mut fields = Fields::default();
        fields.one("key", key.as_ref());
        fields.one("value", Some(value));
        fields.group()
    };
    condition.values.iter().map(query).collect()
}
