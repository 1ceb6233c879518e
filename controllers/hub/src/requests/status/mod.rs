//! Step 3: the answer -> the status, if it must be written. Pure.

use std::collections::BTreeSet;

use jiff::Timestamp;
use kraken_api::{
    DependencyRequest, DependencyRequestStatus,
    conditions::{self, READY, State},
    dependency_request::{DependentValues, SecretVersion, Unmet},
    reasons::DependencyReason as Reason,
};
use kraken_options::Dependency;
use serde_json::Value;

use crate::{requests::answer::Answer, resolve::names::bounded, store::digest_key::are_comparable};

/// The maximum number of unmet dependencies in the message; `status.unmet` lists all.
const NAMED: usize = 6;
/// The maximum length of each in the message, in bytes.
const QUOTED: usize = 300;
/// If the API server rejects the status because of its size, values above this size in bytes are omitted.
const SMALL: usize = 1024;
/// The maximum number of unmet dependencies in such a status.
const SMALL_UNMET: usize = 100;

/// The action on the status.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Next {
    /// Nothing: it is up to date.
    Nothing,
    /// Keep it: it answers this generation, and the new answer is incomplete because an object could not be read.
    Keep,
    /// Write it.
    Write(Box<DependencyRequestStatus>),
}

/// Decides the action. `incomplete`: an object could not be read.
pub(crate) fn next(request: &DependencyRequest, answer: Answer, incomplete: bool, now: Timestamp) -> Next {
    let before = request.status.as_ref();
    let generation = request.metadata.generation;
    let is_answered =
        before.is_some_and(|status| status.observed_generation == generation && generation.is_some());
    if incomplete && is_answered {
        return Next::Keep;
    }
    let mut status = status(before, answer, generation, now);
    if let Some(before) = before {
        note_withdrawn(before, &mut status.unmet);
        keep_versions(&before.dependent_values, &mut status.dependent_values);
    }
    if before.is_some_and(|before| is_equal(before, &status)) {
        Next::Nothing
    } else {
        Next::Write(Box::new(status))
    }
}

/// Notes which references had a value until their grant was withdrawn: the deletion of what they name waits for them, and for no
/// reference that was never permitted.
fn note_withdrawn(before: &DependencyRequestStatus, unmet: &mut [Unmet]) {
    let had_value = |unmet: &Unmet| {
        let names = before.dependent_values.from_kraken_resources.get(&unmet.kind);
        names.is_some_and(|names| names.contains_key(&unmet.name))
    };
    let was_withdrawn = |unmet: &Unmet| {
        let mut former = before.unmet.iter().filter(|former| former.withdrawn);
        former.any(|former| (&former.kind, &former.name) == (&unmet.kind, &unmet.name))
    };
    for unmet in unmet.iter_mut().filter(|unmet| unmet.reason == Reason::RefNotPermitted.as_str()) {
        unmet.withdrawn = had_value(unmet) || was_withdrawn(unmet);
    }
}

/// Keeps the version of a Secret whose value is the same: a restarted hub only knows that the Secret is another version, which a
/// label causes too. If the digests are not comparable, because the status is of an earlier hub or of another key, the value counts
/// as unchanged: otherwise an upgrade would turn drift into an edit.
fn keep_versions(before: &DependentValues, now: &mut DependentValues) {
    for (name, keys) in &mut now.from_secrets {
        let Some(former) = before.from_secrets.get(name) else { continue };
        for (key, version) in keys.iter_mut().filter(|(_, version)| !version.digest.is_empty()) {
            let Some(former) = former.get(key) else { continue };
            if former.digest == version.digest || !are_comparable(&former.digest, &version.digest) {
                let digest = std::mem::take(&mut version.digest);
                *version = SecretVersion { digest, ..former.clone() };
            }
        }
    }
}

/// The current status, without fields of others.
pub(crate) fn own(request: &DependencyRequest) -> DependencyRequestStatus {
    let mut status = request.status.clone().unwrap_or_default();
    status.conditions.retain(|condition| condition.type_ == READY);
    status
}

/// Conditions of others are not compared.
fn is_equal(before: &DependencyRequestStatus, status: &DependencyRequestStatus) -> bool {
    conditions::get(&before.conditions, READY) == conditions::get(&status.conditions, READY)
        && before.observed_generation == status.observed_generation
        && before.dependent_values == status.dependent_values
        && before.unmet == status.unmet
}

fn status(
    before: Option<&DependencyRequestStatus>,
    answer: Answer,
    generation: Option<i64>,
    now: Timestamp,
) -> DependencyRequestStatus {
    let Answer { values, unmet, .. } = answer;
    // Only the hub's condition: conditions of others are preserved by server-side apply.
    let ready = before.and_then(|status| conditions::get(&status.conditions, READY)).cloned();
    let mut conditions: Vec<_> = ready.into_iter().collect();
    let state = if unmet.is_empty() { State::True } else { State::False };
    conditions::set(
        &mut conditions,
        READY,
        state,
        reason(&unmet),
        &message(&values, &unmet),
        generation,
        now,
    );
    DependencyRequestStatus { conditions, observed_generation: generation, dependent_values: values, unmet }
}

/// The common reason of all unmet dependencies, or `Unmet` if there are several.
fn reason(unmet: &[Unmet]) -> &str {
    let reasons: BTreeSet<&str> = unmet.iter().map(|unmet| unmet.reason.as_str()).collect();
    match (reasons.first(), reasons.len()) {
        (None, _) => Reason::Resolved.as_str(),
        (Some(reason), 1) => reason,
        _ => Reason::Unmet.as_str(),
    }
}

fn message(values: &DependentValues, unmet: &[Unmet]) -> String {
    if unmet.is_empty() {
        return match dependencies(values).len() {
            1 => "The only dependency has a value.".to_owned(),
            count => format!("All {count} dependencies have a value."),
        };
    }
    let mut parts: Vec<String> = Vec::new();
    for cause in unmet {
        let part = bounded(&cause.message, QUOTED);
        // Several keys of one missing object are one problem.
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    let more = parts.len().saturating_sub(NAMED);
    parts.truncate(NAMED);
    if more > 0 {
        parts.push(format!("and {more} more"));
    }
    parts.join("; ")
}

/// A status that the API server rejected, without its larger values, which are unmet instead.
pub(crate) fn without_large_values(mut status: DependencyRequestStatus) -> DependencyRequestStatus {
    let too_large: Vec<_> = dependencies(&status.dependent_values)
        .into_iter()
        .filter(|(_, bytes)| *bytes > SMALL)
        .map(|(dependency, bytes)| {
            let help = match dependency {
                Dependency::Resource(_) => "use a more specific path",
                Dependency::ConfigMap(_) | Dependency::Secret(_) => "store less in the key",
            };
            let message = format!(
                "the value is {bytes} bytes, and the API server rejected the values because of their total size; {help}"
            );
            Unmet::new(&dependency, Reason::ValueTooLarge, message)
        })
        .collect();
    let values = &mut status.dependent_values;
    for keys in values.from_config_maps.values_mut() {
        keys.retain(|_, text| text.len() <= SMALL);
    }
    // Server-side apply turns an emptied map into null, which the schema rejects.
    values.from_config_maps.retain(|_, keys| !keys.is_empty());
    for names in values.from_kraken_resources.values_mut() {
        for paths in names.values_mut() {
            paths.retain(|_, value| size(value) <= SMALL);
        }
        names.retain(|_, paths| !paths.is_empty());
    }
    values.from_kraken_resources.retain(|_, names| !names.is_empty());
    status.unmet.splice(0..0, too_large);
    let message = message(values, &status.unmet);
    if let Some(ready) = status.conditions.iter_mut().find(|condition| condition.type_ == READY) {
        State::False.as_str().clone_into(&mut ready.status);
        reason(&status.unmet).clone_into(&mut ready.reason);
        ready.message = message;
    }
    status.unmet.truncate(SMALL_UNMET);
    status
}

/// Every dependency with a value, with the size of the value.
fn dependencies(values: &DependentValues) -> Vec<(Dependency, usize)> {
    use kraken_options::{KeyRef, ResourceRef};
    let key = |name: &String, key: &String| KeyRef { name: name.clone(), key: key.clone() };
    let maps = values.from_config_maps.iter().flat_map(|(name, keys)| {
        keys.iter().map(move |(k, text)| (Dependency::ConfigMap(key(name, k)), text.len()))
    });
    let secrets = values
        .from_secrets
        .iter()
        .flat_map(|(name, keys)| keys.keys().map(move |k| (Dependency::Secret(key(name, k)), 0)));
    let resources = values.from_kraken_resources.iter().flat_map(|(kind, names)| {
        names.iter().flat_map(move |(name, paths)| {
            paths.iter().map(move |(path, value)| {
                (Dependency::Resource(ResourceRef::of(kind, name, path)), size(value))
            })
        })
    });
    maps.chain(secrets).chain(resources).collect()
}

fn size(value: &Value) -> usize {
    value.to_string().len()
}

#[cfg(test)]
mod tests;
