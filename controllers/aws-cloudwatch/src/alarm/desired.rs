//! The rules between the fields of an alarm, and its dimensions. Pure.

use std::collections::{BTreeMap, BTreeSet};

use kraken_aws::{
    diff::difference,
    fields::{ABSENT, NOT_SHOWN, SECRET},
    import::Fields,
    prelude::*,
};
use serde_json::Value;

use super::{
    api::{AlarmSpec, Change, Desired, PartialDesired, WEEK},
    observed::Alarm,
};

/// In seconds.
const HOUR: i32 = 3_600;
const DAY: i64 = 86_400;

impl AlarmSpec {
    pub(super) fn between_fields(&self, partial: &PartialDesired, validator: &mut SpecValidator<'_, '_>) {
        let mut seen = BTreeSet::new();
        for (index, one) in partial.dimensions.iter().flatten().flatten().enumerate() {
            if !seen.insert(one.name.expose()) {
                validator.problem(&format!("dimensions[{index}].name"), "must be unique in the list");
            }
        }
        let Some(periods) = partial.evaluation_periods.as_ref().map(Resolved::expose) else { return };
        if let Some(Some(datapoints)) = &partial.datapoints_to_alarm
            && datapoints.expose() > periods
        {
            validator.problem("datapointsToAlarm", "must not be greater than evaluationPeriods");
        }
        if let Some(period) = partial.period_seconds.as_ref().map(Resolved::expose) {
            let most = if *period >= HOUR { WEEK.into() } else { DAY };
            if i64::from(*period) * i64::from(*periods) > most {
                let why = format!("times evaluationPeriods ({periods}) must be at most {most} seconds");
                validator.problem("periodSeconds", &why);
            }
        }
    }

    /// As a whole: other dimensions are another metric.
    pub(super) fn compare_dimensions(desired: &Desired, alarm: &Alarm) -> Option<Difference<Change>> {
        let listed = desired.dimensions.as_ref()?;
        let wanted = wanted(desired);
        if wanted == alarm.dimensions {
            return None;
        }
        let is_secret = listed.iter().any(|one| one.name.is_secret() || one.value.is_secret());
        if is_secret {
            return Some(difference("dimensions", SECRET, NOT_SHOWN, Change::Put));
        }
        Some(difference("dimensions", shown(&wanted), shown(&alarm.dimensions), Change::Put))
    }

    pub(super) fn import_dimensions(alarm: &Alarm) -> Option<Value> {
        let one = |(name, value): (&String, &String)| {
            let mut fields = Fields::default();
            fields.one("name", Some(name));
            fields.one("value", Some(value));
            fields.group()
        };
        let all: Vec<Value> = alarm.dimensions.iter().filter_map(one).collect();
        (!all.is_empty()).then(|| all.into())
    }
}

/// The dimensions of the spec.
pub(super) fn wanted(desired: &Desired) -> BTreeMap<String, String> {
    let one = |one: &super::api::DesiredDimension| (one.name.expose().clone(), one.value.expose().clone());
    desired.dimensions.iter().flatten().map(one).collect()
}

fn shown(dimensions: &BTreeMap<String, String>) -> String {
    let all: Vec<String> = dimensions.iter().map(|(name, value)| format!("{name}={value}")).collect();
    if all.is_empty() { ABSENT.to_owned() } else { all.join(", ") }
}
