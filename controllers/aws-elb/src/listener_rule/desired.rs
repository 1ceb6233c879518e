//! The conditions and the action of a rule: resolved, validated and compared. Pure.

use kraken_aws::{
    diff::changed,
    group::Canonical,
    resolved::{exposed, given},
    validator::SpecValidator,
};
use kraken_kind::{Difference, Resolved};

use super::{
    api::{
        Change, ConditionsSpec, Desired, DesiredConditions, DesiredQueryString, HttpHeader, ListenerRuleSpec,
        MAX_VALUES, PartialConditions, PartialHttpHeader,
    },
    conditions::{Condition, Conditions, Type},
    observed::Rule,
};

/// The problem of a condition that nothing matches.
const EMPTY: &str = "must have at least one value; remove it to match any";

impl ListenerRuleSpec {
    /// AWS returns the priority as text.
    pub(super) fn compare_priority(desired: &Desired, rule: &Rule) -> Option<Difference<Change>> {
        let wanted = desired.priority.map(ToString::to_string);
        changed("priority", Some(&wanted), rule.priority.as_ref(), Change::Priority)
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

impl Canonical for ConditionsSpec {
    type Form = Conditions;

    fn form(desired: &DesiredConditions, field: &str, validator: &mut SpecValidator<'_, '_>) -> Conditions {
        let mut all = Conditions::default();
        for (kind, list) in [
            (Type::HostHeader, &desired.host_headers),
            (Type::PathPattern, &desired.path_patterns),
            (Type::Method, &desired.methods),
            (Type::SourceIp, &desired.source_ips),
        ] {
            if let Some(list) = list {
                all.add(kind, Condition::new(None, values(list)));
            }
        }
        for header in desired.http_headers.iter().flatten() {
            let name = header.name.expose().clone();
            all.add(Type::HttpHeader, Condition::new(Some(name), values(&header.values)));
        }
        let queries = desired.query_strings.as_deref().unwrap_or_default();
        if !queries.is_empty() {
            let pair =
                |query: &DesiredQueryString| (exposed(query.key.as_ref()), query.value.expose().clone());
            all.add(Type::QueryString, Condition::new(None, queries.iter().map(pair)));
        }
        let values: usize = all.0.values().flatten().map(|condition| condition.values.len()).sum();
        if !(1..=MAX_VALUES).contains(&values) {
            validator.problem(field, format!("must have 1 to {MAX_VALUES} values in total, not {values}"));
        }
        all
    }
}

fn values(list: &Resolved<Vec<String>>) -> impl Iterator<Item = (Option<String>, String)> {
    list.expose().iter().map(|value| (None, value.clone()))
}
