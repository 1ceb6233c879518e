//! The parameters of a group: validated, compared and imported. Pure.

use std::collections::{BTreeMap, BTreeSet};

use kraken_aws::{
    diff::difference,
    fields::{ABSENT, NOT_SHOWN, SECRET, item_path},
    import::Fields,
    prelude::*,
};
use serde_json::Value;

use super::{
    api::{ApplyMethod, Change, DBParameterGroupSpec, Desired, DesiredParameter, PartialDesired},
    observed::ParameterGroup,
};

/// What the call or calls of a change do: the value and the apply method of parameters to set, and whether those to reset are static.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Plan {
    pub(super) set: BTreeMap<String, (String, ApplyMethod)>,
    pub(super) reset: BTreeMap<String, bool>,
}

impl Plan {
    /// Empty if the parameters are not managed, or were not read.
    pub(super) fn of(desired: &Desired, group: &ParameterGroup) -> Self {
        let Some((wanted, have)) = desired.parameters.as_ref().zip(group.parameters.as_ref()) else {
            return Self::default();
        };
        let differs = |one: &&DesiredParameter| {
            have.get(one.name.expose()).is_none_or(|have| have.value != *one.value.expose())
        };
        let set = wanted.iter().filter(differs).map(|one| {
            let method = exposed(one.apply_method.as_ref()).unwrap_or(ApplyMethod::Immediate);
            (one.name.expose().clone(), (one.value.expose().clone(), method))
        });
        let names: BTreeSet<&String> = wanted.iter().map(|one| one.name.expose()).collect();
        let reset = have.iter().filter(|(name, _)| !names.contains(name));
        Self { set: set.collect(), reset: reset.map(|(name, one)| (name.clone(), one.is_static)).collect() }
    }
}

impl DBParameterGroupSpec {
    pub(super) fn between_fields(&self, partial: &PartialDesired, validator: &mut SpecValidator<'_, '_>) {
        let mut seen = BTreeSet::new();
        for (index, one) in partial.parameters.iter().flatten().flatten().enumerate() {
            if !seen.insert(one.name.expose()) {
                validator.problem(&format!("parameters[{index}].name"), "must be unique in the list");
            }
        }
    }

    pub(super) fn compare_parameters(desired: &Desired, group: &ParameterGroup) -> Vec<Difference<Change>> {
        let Plan { set, reset } = Plan::of(desired, group);
        let wanted = desired.parameters.iter().flatten();
        if wanted.clone().any(|one| one.name.is_secret()) {
            let is_any = !set.is_empty() || !reset.is_empty();
            return Vec::from_iter(
                is_any.then(|| difference("parameters", SECRET, NOT_SHOWN, Change::Parameters)),
            );
        }
        let have = |name: &String| group.parameters.as_ref()?.get(name).map(|one| one.value.clone());
        let changed = wanted.filter(|one| set.contains_key(one.name.expose())).map(|one| {
            let name = one.name.expose();
            let have = have(name).map(|have| if one.value.is_secret() { NOT_SHOWN.to_owned() } else { have });
            let have = have.unwrap_or_else(|| ABSENT.to_owned());
            difference(&item_path("parameters", name), shown(&one.value), have, Change::Parameters)
        });
        // It may have come from a Secret.
        let removed = reset
            .keys()
            .map(|name| difference(&item_path("parameters", name), ABSENT, NOT_SHOWN, Change::Parameters));
        changed.chain(removed).collect()
    }

    pub(super) fn import_parameters(group: &ParameterGroup) -> Option<Value> {
        let one = |(name, parameter): (&String, &super::observed::Parameter)| {
            let mut fields = Fields::default();
            fields.one("name", Some(name));
            fields.one("value", Some(&parameter.value));
            fields.one("applyMethod", parameter.is_static.then_some(&ApplyMethod::PendingReboot));
            fields.group()
        };
        let all: Vec<Value> = group.parameters.iter().flatten().filter_map(one).collect();
        (!all.is_empty()).then(|| all.into())
    }
}
