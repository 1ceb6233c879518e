//! The comparison of each field. Fields that are absent in the spec or not returned by AWS are not compared.

use kraken_aws::fields::{ABSENT, listed};
use std::collections::BTreeSet;

use kraken_spoke::{OptionType, Resolved};

use super::{Change, Found, NOT_SHOWN, SECRET, shown};
use crate::{
    api::{Desired, EC2InstanceSpec, MetadataOptions},
    instance::Instance,
};

/// Compares the fields that AWS changes at any time, and those that it cannot change.
pub(super) fn compare(desired: &Desired, found: &mut Found<'_>) {
    at_any_time(desired, found);
    fixed(desired, found);
}

fn at_any_time(desired: &Desired, found: &mut Found<'_>) {
    if let Some(wanted) = &desired.security_group_ids {
        let want: BTreeSet<&str> = wanted.expose().iter().map(String::as_str).collect();
        let differing = found.differing(|instance| {
            let have: BTreeSet<&str> =
                instance.security_groups.iter().filter_map(|group| group.group_id.as_deref()).collect();
            (have != want).then(|| secretly(wanted, || list(&have)))
        });
        found.push_all(
            "securityGroupIDs",
            secret_or(wanted, || list(&want)),
            &differing,
            Change::SecurityGroups,
        );
    }
    if let Some(wanted) = &desired.monitoring {
        let differing = found.differing(|instance| {
            let have = instance.monitoring.as_ref()?.state.as_deref()?;
            // A pending change counts as done: a second call has no effect.
            let is_on = matches!(have, "enabled" | "pending");
            (is_on != *wanted.expose()).then(|| secretly(wanted, || is_on.to_string()))
        });
        found.push_all("monitoring", shown(wanted), &differing, Change::Monitoring);
    }
    metadata(desired, found);
    profile(desired, found);
}

/// A profile is identified by its name or its ARN; an empty name means no profile.
fn profile(desired: &Desired, found: &mut Found<'_>) {
    let Some(wanted) = &desired.iam_instance_profile else { return };
    let want = wanted.expose().as_str();
    let differing = found.differing(|instance| {
        let arn = instance.iam_instance_profile.as_ref().and_then(|profile| profile.arn.as_deref());
        let same = match arn {
            None => want.is_empty(),
            Some(arn) => arn == want || arn.rsplit('/').next() == Some(want),
        };
        (!same).then(|| secretly(wanted, || arn.unwrap_or(ABSENT).to_owned()))
    });
    let shown = if want.is_empty() { ABSENT.to_owned() } else { shown(wanted) };
    found.push_all("iamInstanceProfile", shown, &differing, Change::InstanceProfile);
}

fn metadata(desired: &Desired, found: &mut Found<'_>) {
    let MetadataOptions { tokens, hop_limit, endpoint } = desired.metadata();
    let mut one = |name: &str, want: Option<String>, have: fn(&Instance) -> Option<String>| {
        let Some(want) = want else { return };
        let secret = desired.metadata_options.as_ref().is_some_and(Resolved::is_secret);
        let differing = found.differing(|instance| {
            let have = have(instance).filter(|have| *have != want)?;
            Some(if secret { NOT_SHOWN.to_owned() } else { have })
        });
        let want = if secret { SECRET.to_owned() } else { want };
        found.push_all(&format!("metadataOptions.{name}"), want, &differing, Change::MetadataOptions);
    };
    one("httpEndpoint", endpoint.map(|endpoint| endpoint.as_str().to_owned()), |instance| {
        instance.metadata.endpoint.clone()
    });
    if !desired.without_metadata() {
        // IMDSv2 is only the default of a launch: an adopted instance may need the older version.
        one("httpTokens", tokens.map(|tokens| tokens.as_str().to_owned()), |instance| {
            instance.metadata.tokens.clone()
        });
        one("httpPutResponseHopLimit", hop_limit.map(|limit| limit.to_string()), |instance| {
            instance.metadata.hop_limit.map(|limit| limit.to_string())
        });
    }
}

fn fixed(desired: &Desired, found: &mut Found<'_>) {
    EC2InstanceSpec::fixed(desired, |path, wanted, have| {
        if let Some(wanted) = wanted {
            let differing = found.differing(|instance| match have(instance) {
                None => Some(ABSENT.to_owned()),
                have => other(wanted, have),
            });
            found.push_fixed(path, shown(wanted), &differing);
        }
    });
}

/// The observed value, if it is known and differs from the desired one.
pub(super) fn other<T: OptionType + ToString>(wanted: &Resolved<T>, have: Option<&T>) -> Option<String> {
    have.filter(|have| *have != wanted.expose()).map(|have| secretly(wanted, || have.to_string()))
}

/// The observed value of a secret field may be a former value of the Secret.
fn secretly<T: OptionType>(wanted: &Resolved<T>, have: impl FnOnce() -> String) -> String {
    if wanted.is_secret() { NOT_SHOWN.to_owned() } else { have() }
}

fn secret_or<T: OptionType>(wanted: &Resolved<T>, want: impl FnOnce() -> String) -> String {
    if wanted.is_secret() { SECRET.to_owned() } else { want() }
}

fn list(ids: &BTreeSet<&str>) -> String {
    let ids: Vec<&str> = ids.iter().copied().collect();
    if ids.is_empty() { ABSENT.to_owned() } else { listed(&ids) }
}
