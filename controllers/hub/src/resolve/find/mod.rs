//! One dependency and the lookups -> its value, or the cause why it has none. Pure; shared by requests and exports.

use kraken_api::{
    dependency_request::SecretVersion, reasons::DependencyReason as Reason, state_declaration::STATIC_KIND,
};
use kraken_options::{Budget, JsonType, KeyRef, LookupError, LookupReason, Path, ResourceRef};
use serde_json::Value;

use crate::{
    resolve::names::bounded,
    store::index::ObjectRef,
    store::lookup::{Lookup, Lookups, StateData},
};

/// The maximum number of keys in a message.
const LISTED: usize = 8;
/// The maximum length of a message about one dependency, in bytes.
const MAX_MESSAGE: usize = 600;

/// Why a dependency has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cause {
    /// The reason.
    pub(crate) reason: Reason,
    /// The message.
    pub(crate) message: String,
    /// Whether the value may appear without an edit.
    pub(crate) transience: Transience,
}

/// Whether a missing value may appear without an edit. For several values the greatest applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Transience {
    /// Its producer exists, so it is expected to appear.
    Expected,
    /// No producer is known, but the object may be about to be created or recreated.
    Absent,
    /// It requires an edit.
    Permanent,
}

impl Cause {
    /// A cause that requires an edit; a long message is truncated.
    pub(crate) fn new(reason: Reason, message: impl AsRef<str>) -> Self {
        Self { reason, message: bounded(message.as_ref(), MAX_MESSAGE), transience: Transience::Permanent }
    }

    /// The same cause, if the value may appear without an edit.
    #[must_use]
    pub(crate) fn passing(self, transience: Transience) -> Self {
        Self { transience, ..self }
    }
}

/// The lookup result of a dependency.
///
/// # Errors
/// The cycle, if the object depends on the dependent.
pub(crate) fn lookup<'a>(lookups: &'a Lookups, named: &ObjectRef) -> Result<&'a Lookup, Cause> {
    match lookups.cycles.get(named) {
        Some(cycle) => Err(Cause::new(Reason::ReferenceCycle, cycle)),
        None => Ok(lookups.lookup(named)),
    }
}

/// The text of a key of a ConfigMap.
///
/// # Errors
/// The cause why there is none.
pub(crate) fn config_map(lookup: &Lookup, requested: &KeyRef) -> Result<String, Cause> {
    let KeyRef { name, key } = requested;
    let Lookup::ConfigMap(found) = lookup else {
        return Err(not_an_object(lookup, "ConfigMap", name, Reason::ConfigMapNotFound));
    };
    if let Some(text) = found.data.get(key) {
        return Ok(text.clone());
    }
    let message = if found.binary.contains(key) {
        format!("ConfigMap {name} key \"{key}\" is binary data; only text can be referenced")
    } else {
        no_key("ConfigMap", requested, found.data.keys())
    };
    Err(Cause::new(Reason::KeyNotFound, message))
}

/// The version of a Secret. The spoke that reads the Secret checks whether it has the key.
///
/// # Errors
/// The cause why there is none.
pub(crate) fn secret(lookup: &Lookup, requested: &KeyRef) -> Result<SecretVersion, Cause> {
    match lookup {
        Lookup::Secret(versions) => Ok(versions.of(&requested.key)),
        other => Err(not_an_object(other, "Secret", &requested.name, Reason::SecretNotFound)),
    }
}

/// A value in the state of a resource, or its main id if the path is empty. Its kind is normalized by `kind_key`.
///
/// # Errors
/// The cause why there is none.
pub(crate) fn resource(
    lookup: &Lookup,
    requested: &ResourceRef,
    json_type: JsonType,
    budget: &mut Budget,
) -> Result<Value, Cause> {
    let (value, place) = if requested.is_id() {
        (main_id(lookup, requested)?, "its id".to_owned())
    } else {
        (at_path(lookup, requested, budget)?, format!("path {}", requested.path))
    };
    if !json_type.accepts(&value) {
        let (kind, name) = (&requested.kind, requested.full_name());
        let found = JsonType::of(&value);
        let advice = requested.conversion(&value, json_type).map(|advice| format!("; {advice}"));
        let message = format!(
            "{kind} {name}: {place} is of type {found}, and {json_type} is expected{}",
            advice.unwrap_or_default()
        );
        return Err(Cause::new(Reason::TypeMismatch, message));
    }
    Ok(value)
}

fn main_id(lookup: &Lookup, requested: &ResourceRef) -> Result<Value, Cause> {
    let (kind, name) = (&requested.kind, requested.full_name());
    let Lookup::State(state) = lookup else { return Err(no_state(lookup, kind, &name)) };
    match &state.id {
        Some(id) => Ok(id.as_str().into()),
        None if state.withheld.iter().any(|withheld| withheld.explains("")) => {
            Err(withheld(state, requested, "its id"))
        }
        None if kind == STATIC_KIND => Err(Cause::new(
            Reason::PathNotFound,
            format!(
                "StateDeclaration {STATIC_KIND}-{name} has no id: set spec.id, or add a path to the reference"
            ),
        )),
        None => Err(Cause::new(Reason::PathNotFound, format!("{kind} {name} has no id yet"))),
    }
}

fn at_path(lookup: &Lookup, requested: &ResourceRef, budget: &mut Budget) -> Result<Value, Cause> {
    let (kind, name, path) = (&requested.kind, requested.full_name(), &requested.path);
    let parsed = Path::parse(path).map_err(|error| {
        Cause::new(Reason::InvalidPath, format!("path \"{}\" {error}", bounded(path, 100)))
    })?;
    let Lookup::State(state) = lookup else { return Err(no_state(lookup, kind, &name)) };
    let is_withheld = || state.withheld.iter().any(|withheld| withheld.explains(path));
    let withheld = || withheld(state, requested, &format!("path {}", bounded(path, 100)));
    match parsed.find_within(&state.data, budget) {
        // A query that matches nothing because a part is withheld must not return an empty list.
        Ok(Value::Array(found)) if found.is_empty() && !parsed.is_singular() && is_withheld() => {
            Err(withheld())
        }
        Ok(found) => Ok(found),
        Err(error) => match lookup_reason(&error) {
            Reason::PathNotFound if is_withheld() => Err(withheld()),
            reason => Err(Cause::new(reason, format!("{kind} {name}: {error}"))),
        },
    }
}

/// Whether paths may be so expensive that they are evaluated on a blocking thread: JSONPaths are.
pub(crate) fn are_costly<'a>(mut paths: impl Iterator<Item = &'a str>) -> bool {
    paths.any(|path| path.starts_with('$'))
}

/// The cause for a value that comes from a Secret.
fn withheld(state: &StateData, requested: &ResourceRef, place: &str) -> Cause {
    let (kind, name, path) = (&requested.kind, requested.full_name(), &requested.path);
    let fields = state.withheld.iter().filter(|withheld| withheld.explains(path));
    let fields: Vec<_> = fields.map(|withheld| format!("spec.{}", withheld.field)).collect();
    let comes = if fields.len() == 1 { "comes" } else { "come" };
    let fields = fields.join(" and ");
    let message = format!(
        "{kind} {name}: {place} is not published, because {fields} of {kind} {name} {comes} from a Secret"
    );
    Cause::new(Reason::PathNotFound, message)
}

/// The message for a missing key of a ConfigMap.
fn no_key<'a>(class: &str, requested: &KeyRef, has: impl Iterator<Item = &'a String>) -> String {
    let KeyRef { name, key } = requested;
    let keys: Vec<&str> = has.map(String::as_str).collect();
    let listed: Vec<String> = keys.iter().take(LISTED).map(|key| bounded(key, 64)).collect();
    let more = match keys.len().saturating_sub(LISTED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    if keys.is_empty() {
        format!("{class} {name} has no key \"{key}\" (it has none)")
    } else {
        format!("{class} {name} has no key \"{key}\" (it has: {}{more})", listed.join(", "))
    }
}

fn no_state(lookup: &Lookup, kind: &str, name: &str) -> Cause {
    match lookup {
        Lookup::Missing if kind == STATIC_KIND => {
            Cause::new(Reason::StateNotFound, format!("StateDeclaration {STATIC_KIND}-{name} does not exist"))
                .passing(Transience::Absent)
        }
        Lookup::Expected => {
            let message = format!(
                "{kind} {name} exists and has not published a state yet: its Ready condition says why"
            );
            Cause::new(Reason::StateNotFound, message).passing(Transience::Expected)
        }
        Lookup::UnknownKind(why) => Cause::new(Reason::UnknownKind, why),
        Lookup::Ambiguous(candidates) => Cause::new(
            Reason::AmbiguousReference,
            format!("{kind} {name} is ambiguous, candidates: {candidates}; write the kind with its group"),
        ),
        other => not_an_object(other, kind, name, Reason::StateNotFound),
    }
}

fn not_an_object(lookup: &Lookup, class: &str, name: &str, missing: Reason) -> Cause {
    match lookup {
        // Its controller reverts it at once.
        Lookup::Untrusted(why) => Cause::new(Reason::StateNotTrusted, why).passing(Transience::Absent),
        Lookup::Unreadable(why) => {
            Cause::new(Reason::ReadFailed, format!("failed to decode the state of {class} {name}: {why}"))
        }
        Lookup::Failed(error) => Cause::new(Reason::ReadFailed, format!("{error}; retrying with backoff")),
        Lookup::Expected => {
            let message =
                format!("{class} {name} does not exist yet: its ConfigExport is waiting for values");
            Cause::new(missing, message).passing(Transience::Expected)
        }
        // The grant may be about to be created, or replaced.
        Lookup::NotPermitted(why) => Cause::new(Reason::RefNotPermitted, why).passing(Transience::Absent),
        _ => Cause::new(missing, format!("{class} {name} does not exist")).passing(Transience::Absent),
    }
}

fn lookup_reason(error: &LookupError) -> Reason {
    match error.reason {
        LookupReason::TooLarge | LookupReason::TooLargeTogether | LookupReason::TooDeep => {
            Reason::ValueTooLarge
        }
        LookupReason::TooManyMatches | LookupReason::TooManySteps => Reason::InvalidPath,
        _ => Reason::PathNotFound,
    }
}

#[cfg(test)]
mod tests;
