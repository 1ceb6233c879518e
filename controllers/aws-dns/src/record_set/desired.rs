//! The zone, the name and the target of a record set: resolved, compared and imported. Pure.

use kraken_aws::{
    AwsGroup as _,
    fields::{ABSENT, NOT_SHOWN},
    import::literal,
    prelude::*,
    resolved::Joined,
};
use serde_json::{Value, json};

use super::{
    api::{Alias, Change, Desired, RecordSetSpec},
    observed::{AliasTarget, Record},
};
use crate::{dns::bare_id, names::canonical};

impl std::fmt::Display for AliasTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let health = if self.evaluate_target_health { ", with its health" } else { "" };
        write!(f, "{} in {}{health}", self.dns_name, self.hosted_zone_id)
    }
}

impl RecordSetSpec {
    pub(super) fn target(
        &self,
        validator: &mut SpecValidator<'_, '_>,
    ) -> Option<Option<Joined<AliasTarget>>> {
        let Some(alias) = &self.alias else { return Some(None) };
        let desired = alias.desired("alias", validator)?;
        let target = AliasTarget {
            hosted_zone_id: bare_id(desired.hosted_zone_id.expose()).to_owned(),
            dns_name: canonical(desired.dns_name.expose()),
            evaluate_target_health: exposed(desired.evaluate_target_health.as_ref()).unwrap_or_default(),
        };
        Some(Some(Joined::new(target, Alias::is_secret(&desired))))
    }

    pub(super) fn compare_zone(desired: &Desired, record: &Record) -> Option<Difference<Change>> {
        let wanted = desired.zone_id.map(|id| bare_id(id).to_owned());
        fixed("zoneID", Some(&wanted), Some(&record.hosted_zone_id))
    }

    pub(super) fn import_zone(record: &Record) -> Option<Value> {
        given_text(&record.hosted_zone_id)
    }

    pub(super) fn compare_name(desired: &Desired, record: &Record) -> Option<Difference<Change>> {
        let wanted = desired.name.map(|name| canonical(name));
        fixed("name", Some(&wanted), Some(&record.name))
    }

    pub(super) fn import_name(record: &Record) -> Option<Value> {
        given_text(&record.name)
    }

    pub(super) fn compare_alias(desired: &Desired, record: &Record) -> Option<Difference<Change>> {
        let wanted = desired.alias.as_ref()?;
        if record.alias_target.as_ref() == Some(wanted.expose()) {
            return None;
        }
        let have = match &record.alias_target {
            None => ABSENT.to_owned(),
            Some(_) if wanted.is_secret() => NOT_SHOWN.to_owned(),
            Some(have) => have.to_string(),
        };
        Some(difference("alias", wanted.shown(), have, Change::Record))
    }

    pub(super) fn import_alias(record: &Record) -> Option<Value> {
        let AliasTarget { hosted_zone_id, dns_name, evaluate_target_health } =
            record.alias_target.as_ref()?;
        let mut alias = json!({"dnsName": literal(dns_name), "hostedZoneID": literal(hosted_zone_id)});
        if *evaluate_target_health {
            alias["evaluateTargetHealth"] = literal(true);
        }
        Some(alias)
    }
}

fn given_text(text: &str) -> Option<Value> {
    (!text.is_empty()).then(|| literal(text))
}
