//! The conditions and the action of a rule: resolved, validated and compared. Pure.

use kraken_aws::{
    AwsGroup as _,
    diff::changed,
    resolved::{Joined, exposed, given},
    validator::SpecValidator,
};
use kraken_spoke::{Difference, Resolved};

use super::{
    api::{
        Change, ConditionsSpec, Desired, DesiredConditions, DesiredQueryString, HttpHeader, ListenerRuleSpec,
        MAX_VALUES, PartialConditions, PartialHttpHeader,
    },
    conditions::{Condition, Conditions, FIELD, Type},
    observed::Rule,
};
use crate::action::{self, Action};

/// The path of the action in the spec.
const ACTION: &str = "action";

/// The problem of a condition that nothing matches.
const EMPTY: &str = "must have at least one value; remove it to match any";

impl ListenerRuleSpec {
    pub(super) fn conditions(&self, validator: &mut SpecValidator<'_, '_>) -> Option<Joined<Conditions>> {
        let spec = self.conditions.desired(FIELD, validator)?;
        let all = canonical(&spec);
        let values = all.0.values().flatten().map(|condition| condition.values.len()).sum();
        if !(1..=MAX_VALUES).contains(&values) {
            validator.problem(FIELD, format!("must have 1 to {MAX_VALUES} values in total, not {values}"));
        }
        Some(Joined::new(all, ConditionsSpec::is_secret(&spec)))
    }

    pub(super) fn action(&self, validator: &mut SpecValidator<'_, '_>) -> Option<Joined<Action>> {
        action::desired(ACTION, &self.action, validator)
    }

    /// AWS returns the priority as text.
    pub(super) fn compare_priority(desired: &Desired, rule: &Rule) -> Option<Difference<Change>> {
        let wanted = desired.priority.map(ToString::to_string);
        changed("priority", Some(&wanted), rule.priority.as_ref(), Change::Priority)
    }

    pub(super) fn observed_action(rule: &Rule) -> Option<Action> {
        Action::of(&rule.actions)
    }
}

impl ConditionsSpec {
    pub(super) fn have_values(
        &self,
        field: &str,
        partial: &PartialConditions,
        validator: &mut SpecValidator<'_, '_>,
    ) {
        for (name, values) in [
            ("hostHeaders", &partial.host_headers),
            ("pathPatterns", &partial.path_patterns),
            ("methods", &partial.methods),
            ("sourceIPs", &partial.source_ips),
        ] {
            if given(values).is_some_and(Vec::is_empty) {
                validator.problem(&format!("{field}.{name}"), EMPTY);
            }
        }
    }
}

impl HttpHeader {
    pub(super) fn has_values(
        &self,
        field: &str,
        partial: &PartialHttpHeader,
        validator: &mut SpecValidator<'_, '_>,
    ) {
        if partial.values.as_ref().is_some_and(|values| values.expose().is_empty()) {
            validator.problem(&format!("{field}.values"), EMPTY);
        }
    }
}

fn canonical(spec: &DesiredConditions) -> Conditions {
    let mut all = Conditions::default();
    let values = |values: &Resolved<Vec<String>>| -> Vec<(Option<String>, String)> {
        values.expose().iter().map(|value| (None, value.clone())).collect()
    };
    for (kind, list) in [
        (Type::HostHeader, &spec.host_headers),
        (Type::PathPattern, &spec.path_patterns),
        (Type::Method, &spec.methods),
        (Type::SourceIp, &spec.source_ips),
    ] {
        if let Some(list) = list {
            all.add(kind, Condition::new(None, values(list)));
        }
    }
    for header in spec.http_headers.iter().flatten() {
        let name = header.name.expose().clone();
        all.add(Type::HttpHeader, Condition::new(Some(name), values(&header.values)));
    }
    let queries = spec.query_strings.as_deref().unwrap_or_default();
    if !queries.is_empty() {
        let pair = |query: &DesiredQueryString| (exposed(query.key.as_ref()), query.value.expose().clone());
        all.add(Type::QueryString, Condition::new(None, queries.iter().map(pair)));
    }
    all
}
