//! The conditions and the action of a rule: resolved, validated and compared. Pure.

use kraken_aws::{
    bounds::rule,
    cidr,
    diff::changed,
    resolved::Joined,
    rules::{Verdict, ensure},
    validator::{SpecValidator, ValidationError},
};
use kraken_spoke::{Difference, Ignored, Resolved, options::ListOpt};

use super::{
    api::{
        Change, ConditionsSpec, Desired, HEADER, HOST, HttpHeader, ListenerRuleSpec, MAX_VALUES, METHOD,
        QueryString, VALUE,
    },
    conditions::{self, Condition, Conditions, FIELD, Type},
    observed::Rule,
};
use crate::action::{self, Action};

/// The path of the action in the spec.
const ACTION: &str = "action";

/// The problem of a condition that nothing matches.
const EMPTY: &str = "must have at least one value; remove it to match any";

impl ListenerRuleSpec {
    pub(super) fn conditions(&self, validator: &mut SpecValidator<'_, '_>) -> Option<Joined<Conditions>> {
        conditions(&self.conditions, validator)
    }

    pub(super) fn action(&self, validator: &mut SpecValidator<'_, '_>) -> Option<Joined<Action>> {
        action::desired(ACTION, &self.action, validator)
    }

    /// AWS returns the priority as text.
    pub(super) fn compare_priority(desired: &Desired, rule: &Rule) -> Option<Difference<Change>> {
        let wanted = desired.priority.map(ToString::to_string);
        changed("priority", Some(&wanted), rule.priority.as_ref(), Change::Priority)
    }

    pub(super) fn compare_conditions(desired: &Desired, rule: &Rule) -> Vec<Difference<Change>> {
        let observed = rule.known_conditions();
        conditions::differences(&desired.conditions, observed.as_ref(), || Change::Conditions)
    }

    pub(super) fn compare_action(desired: &Desired, rule: &Rule) -> Vec<Difference<Change>> {
        let observed = Action::of(&rule.actions);
        action::differences(ACTION, &desired.action, observed.as_ref(), || Change::Action)
    }

    /// With the ignored conditions and parts of the action as they are observed: a call sends all conditions or the whole action.
    pub(super) fn without_ignored_parts(
        desired: &Desired,
        rule: &Rule,
        ignored: &Ignored,
    ) -> Option<Desired> {
        let covers = |path: &str| ignored.covers(path);
        let conditions =
            conditions::without_ignored(&desired.conditions, rule.known_conditions().as_ref(), covers);
        let observed = Action::of(&rule.actions);
        let action = action::without_ignored(ACTION, &desired.action, observed.as_ref(), covers);
        if conditions.is_none() && action.is_none() {
            return None;
        }
        let mut kept = desired.clone();
        kept.conditions = conditions.unwrap_or(kept.conditions);
        kept.action = action.unwrap_or(kept.action);
        Some(kept)
    }
}

/// Resolves the conditions and reports all problems.
fn conditions(spec: &ConditionsSpec, validator: &mut SpecValidator<'_, '_>) -> Option<Joined<Conditions>> {
    let lists = [
        list(Type::HostHeader, spec.host_headers.as_ref(), validator, rule(&HOST)),
        list(Type::PathPattern, spec.path_patterns.as_ref(), validator, rule(&VALUE)),
        list(Type::Method, spec.methods.as_ref(), validator, rule(&METHOD)),
        list(Type::SourceIp, spec.source_ips.as_ref(), validator, a_block),
    ];
    let headers = spec.http_headers.iter().flatten().enumerate();
    let headers: Vec<_> = headers.map(|(index, header)| of_header(index, header, validator)).collect();
    let queries = spec.query_strings.iter().flatten().enumerate();
    let queries: Vec<_> = queries.map(|(index, query)| of_query(index, query, validator)).collect();

    let (mut all, mut is_secret) = (Conditions::default(), false);
    let mut add = |kind, (condition, secret): (Condition, bool)| {
        is_secret |= secret;
        all.add(kind, condition);
    };
    for (kind, taken) in lists.into_iter().flatten() {
        add(kind, taken?);
    }
    for taken in headers {
        add(Type::HttpHeader, taken?);
    }
    let queries: Option<Vec<_>> = queries.into_iter().collect();
    let queries = queries?;
    if !queries.is_empty() {
        let secret = queries.iter().any(|(_, secret)| *secret);
        let values = queries.into_iter().map(|(value, _)| value);
        add(Type::QueryString, (Condition::new(None, values), secret));
    }

    let values = all.0.values().flatten().map(|condition| condition.values.len()).sum();
    if !(1..=MAX_VALUES).contains(&values) {
        validator.problem(FIELD, format!("must have 1 to {MAX_VALUES} values in total, not {values}"));
    }
    Some(Joined::new(all, is_secret))
}

/// A condition that is a list of values; `None` if it is absent, `Some((_, None))` if it has a problem.
type Listed = Option<(Type, Option<(Condition, bool)>)>;

fn list(
    kind: Type,
    list: Option<&ListOpt<String>>,
    validator: &mut SpecValidator<'_, '_>,
    rule: impl Fn(&str) -> Verdict<ValidationError>,
) -> Listed {
    let taken = validator.each(&kind.path(), list, rule);
    match taken {
        Some(None) => None,
        Some(Some(values)) => {
            if values.expose().is_empty() {
                validator.problem(&kind.path(), EMPTY);
            }
            Some((kind, Some(of_values(None, &values))))
        }
        None => Some((kind, None)),
    }
}

fn of_values(name: Option<String>, values: &Resolved<Vec<String>>) -> (Condition, bool) {
    let items = values.expose().iter().map(|value| (None, value.clone()));
    (Condition::new(name, items), values.is_secret())
}

fn of_header(
    index: usize,
    header: &HttpHeader,
    validator: &mut SpecValidator<'_, '_>,
) -> Option<(Condition, bool)> {
    let at = |name: &str| format!("{}[{index}].{name}", Type::HttpHeader.path());
    let name = validator.one(&at("name"), &header.name, a_header);
    let values = validator.each(&at("values"), Some(&header.values), rule(&VALUE));
    let (name, values) = (name?, values??);
    if values.expose().is_empty() {
        validator.problem(&at("values"), EMPTY);
    }
    let (condition, secret) = of_values(Some(name.expose().clone()), &values);
    Some((condition, secret || name.is_secret()))
}

type Parameter = ((Option<String>, String), bool);

fn of_query(index: usize, query: &QueryString, validator: &mut SpecValidator<'_, '_>) -> Option<Parameter> {
    let at = |name: &str| format!("{}[{index}].{name}", Type::QueryString.path());
    let key = validator.optional(&at("key"), query.key.as_ref(), rule(&VALUE));
    let value = validator.one(&at("value"), &query.value, rule(&VALUE));
    let (key, value) = (key?, value?);
    let secret = value.is_secret() || key.as_ref().is_some_and(Resolved::is_secret);
    Some(((key.map(|key| key.expose().clone()), value.expose().clone()), secret))
}

fn a_header(name: &str) -> Verdict {
    HEADER.check(name)?;
    ensure(!name.eq_ignore_ascii_case("host"), || "must not be Host: use hostHeaders".to_owned())
}

fn a_block(block: &str) -> Verdict<ValidationError> {
    if block.contains(':') { cidr::v6(block) } else { cidr::v4(block) }
}
