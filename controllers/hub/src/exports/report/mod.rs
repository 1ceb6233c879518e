//! Step 4: the outcome -> the status, the event and the requeue. Pure.

use jiff::Timestamp;
use kraken_api::{
    ConfigExport, ConfigExportSpec, ConfigExportStatus, EXPORTED_BY_ANNOTATION,
    conditions::{self, DEPENDENCIES_RESOLVED, READY, State},
    reasons::ExportReason as Reason,
};
use kraken_runtime::{EventType, queue::Requeue};
use kube::ResourceExt;

use crate::{
    exports::decide::{NOT_CREATED, OF_ANOTHER_EXPORT},
    resolve::names::bounded,
    store::settled::Progress,
};

/// The maximum length of a message, in bytes.
const MAX_MESSAGE: usize = 1500;

/// The outcome of a reconcile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The target has this number of entries.
    Exported(usize),
    /// Entries have no value; what happens to the target in the meantime.
    Waiting(String, TargetState),
    /// The spec is invalid; the exported target is not changed.
    Invalid(String),
    /// The target is not owned by this export: the object, and its owner as a phrase.
    NotOwned(String, String),
    /// This object, the target, is being deleted; its deletion triggers a reconcile.
    Terminating(String),
    /// A value could not be read; the exported target is not changed.
    Unreadable(String),
    /// The target could not be written.
    Failed(String),
    /// The target is in place, and a workload could not be restarted.
    NotRestarted(String),
}

/// The target while entries have no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TargetState {
    /// It does not exist.
    Absent,
    /// It is deleted at the end of the grace period, unless the values are available again.
    Expiring,
    /// It is kept unchanged until the values are available again.
    Kept,
    /// It is kept unchanged, because another namespace does not permit a reference any more.
    Withheld,
}

/// The names of all outcomes, for the coverage table of the deterministic simulation.
pub const OUTCOMES: [&str; 8] =
    ["Exported", "Waiting", "Invalid", "NotOwned", "Terminating", "Unreadable", "Failed", "NotRestarted"];

impl Outcome {
    /// The name, one of [`OUTCOMES`].
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Exported(_) => "Exported",
            Self::Waiting(..) => "Waiting",
            Self::Invalid(_) => "Invalid",
            Self::NotOwned(..) => "NotOwned",
            Self::Terminating(_) => "Terminating",
            Self::Unreadable(_) => "Unreadable",
            Self::Failed(_) => "Failed",
            Self::NotRestarted(_) => "NotRestarted",
        }
    }

    /// The reason of the Ready condition.
    pub(crate) fn reason(&self) -> Reason {
        match self {
            Self::Exported(_) => Reason::Exported,
            Self::Waiting(..) | Self::Unreadable(_) => Reason::WaitingForValues,
            Self::Invalid(_) => Reason::InvalidSpec,
            Self::NotOwned(..) => Reason::TargetNotOwned,
            Self::Terminating(_) | Self::Failed(_) | Self::NotRestarted(_) => Reason::WriteFailed,
        }
    }

    /// Only failures are retried by a timer.
    pub(crate) fn requeue(&self) -> Requeue {
        match self {
            Self::Unreadable(_) | Self::Failed(_) | Self::NotRestarted(_) => Requeue::Backoff,
            _ => Requeue::Never,
        }
    }

    /// `kept`: the target that exists, according to the status to be written.
    fn message(&self, target: &str, kept: Option<&str>, export: &ConfigExport) -> String {
        let (kind, name) = target.split_once('/').unwrap_or_default();
        let kept = kept.map(|kept| format!("; {} is kept unchanged", in_words(kept)));
        let kept = kept.unwrap_or_default();
        let message = match self {
            Self::Exported(1) => format!("{kind} {name} has its only entry."),
            Self::Exported(entries) => format!("{kind} {name} has all {entries} entries."),
            Self::Terminating(named) => format!("{named} is being deleted; it will be recreated afterwards"),
            Self::NotOwned(named, owner) if owner == NOT_CREATED => {
                let (kind, object) = named.split_once(' ').unwrap_or((kind, named));
                let (kind, namespace) = (kind.to_lowercase(), export.namespace().unwrap_or_default());
                let uid = export.uid().unwrap_or_default();
                format!(
                    "{named} exists and {owner}; it is not changed{kept}. To let this ConfigExport replace its content: kubectl \
                     annotate {kind} {object} -n {namespace} --overwrite {EXPORTED_BY_ANNOTATION}={uid}"
                )
            }
            Self::NotOwned(named, owner) => format!("{named} exists and {owner}; it is not changed{kept}"),
            Self::Unreadable(why) | Self::Failed(why) | Self::NotRestarted(why) => {
                format!("{why}; retrying with backoff")
            }
            Self::Waiting(why, TargetState::Kept) if !kept.is_empty() => {
                format!("{why}{kept} (whileWaiting: Keep)")
            }
            Self::Waiting(why, TargetState::Withheld) => format!("{why}{kept}"),
            Self::Waiting(why, _) | Self::Invalid(why) => why.clone(),
        };
        bounded(&message, MAX_MESSAGE)
    }

    fn resolved(&self) -> State {
        match self {
            Self::Waiting(..) => State::False,
            Self::Invalid(_) | Self::Unreadable(_) => State::Unknown,
            Self::Exported(_)
            | Self::NotOwned(..)
            | Self::Terminating(_)
            | Self::Failed(_)
            | Self::NotRestarted(_) => State::True,
        }
    }

    /// Whether the target that an earlier spec named is kept: until the new one is written, pods may mount it. Only if another export
    /// has the new name, the former one goes: two exports that swap their targets would wait for each other.
    pub(crate) fn keeps_former(&self) -> bool {
        match self {
            Self::Exported(_) | Self::NotRestarted(_) => false,
            Self::NotOwned(_, owner) => !owner.starts_with(OF_ANOTHER_EXPORT),
            Self::Waiting(_, state) => *state != TargetState::Absent,
            Self::Invalid(_) | Self::Terminating(_) | Self::Unreadable(_) | Self::Failed(_) => true,
        }
    }

    /// The target in the status: the object that may exist, unless its absence is known.
    fn target(&self, target: String, before: Option<String>, is_rotated: bool) -> Option<String> {
        match self {
            Self::Exported(_) | Self::NotRestarted(_) => Some(target),
            Self::NotOwned(named, _) => before.filter(|before| {
                // With `rotate`, the newest target stays while the next one is not owned.
                in_words(before) != *named && (self.keeps_former() || is_rotated && *before == target)
            }),
            _ => before.filter(|_| self.keeps_former()),
        }
    }
}

/// A target of a status as messages name it: `ConfigMap app`.
fn in_words(target: &str) -> String {
    target.replacen('/', " ", 1)
}

/// The event for a change of the outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Notice {
    /// Normal or Warning.
    pub(crate) type_: Type,
    /// The reason.
    pub(crate) reason: &'static str,
    /// The message.
    pub(crate) note: String,
}

/// [`EventType`], with equality.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    /// A normal event.
    Normal,
    /// A warning.
    Warning,
}

impl From<Type> for EventType {
    fn from(type_: Type) -> Self {
        match type_ {
            Type::Normal => Self::Normal,
            Type::Warning => Self::Warning,
        }
    }
}

/// The action on the status.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Next {
    /// Nothing: it is up to date.
    Nothing,
    /// Write it, and publish this event.
    Write(Box<ConfigExportStatus>, Option<Notice>),
}

/// Decides the report. `progress`: of this process; what it lacks is kept from the status.
pub(crate) fn next(export: &ConfigExport, outcome: &Outcome, progress: Progress, now: Timestamp) -> Next {
    let generation = export.metadata.generation;
    let before = export.status.as_ref();
    let is_reported =
        before.is_some_and(|status| status.observed_generation == generation && generation.is_some());
    if matches!(outcome, Outcome::Unreadable(_)) && is_reported {
        return Next::Nothing;
    }
    let ConfigExportSpec { rotate, restart, config_type, config_metadata, .. } = &export.spec;
    let progress = progress.or(Progress::of(before));
    let plain = || format!("{config_type:?}/{}", config_metadata.name);
    // The status in the cache may name a former target, which must not be taken for the one that was written last.
    let last = if *rotate { progress.target } else { before.and_then(|status| status.target.clone()) };
    let target = last.clone().filter(|_| *rotate).unwrap_or_else(plain);
    let (state, reason) = (ready(outcome), outcome.reason().as_str());
    let kept = outcome.target(target.clone(), last, *rotate);
    let message = outcome.message(&target, kept.as_deref(), export);
    let reported = |kind| before.and_then(|status| conditions::get(&status.conditions, kind));
    // Only the hub's conditions: conditions of others are preserved by server-side apply.
    let mut list: Vec<_> = [READY, DEPENDENCIES_RESOLVED].into_iter().filter_map(reported).cloned().collect();
    conditions::set(&mut list, READY, state, reason, &message, generation, now);
    let (resolved, resolved_message) = match outcome.resolved() {
        State::True => ("Resolved", "Every entry has a value."),
        _ => (reason, message.as_str()),
    };
    conditions::set(
        &mut list,
        DEPENDENCIES_RESOLVED,
        outcome.resolved(),
        resolved,
        resolved_message,
        generation,
        now,
    );
    let status = ConfigExportStatus {
        target: kept,
        observed_generation: generation,
        conditions: list,
        content_digest: progress.digest.filter(|_| !rotate && !restart.is_empty()),
        rolled_out_target: progress.rolled_out.filter(|_| *rotate && !restart.is_empty()),
        sources: progress.sources.unwrap_or_default(),
    };
    if before.is_some_and(|before| is_unchanged(before, &status)) {
        return Next::Nothing;
    }
    let is_known =
        reported(READY).is_some_and(|ready| ready.status == state.as_str() && ready.reason == reason);
    let type_ = match outcome.reason() {
        Reason::Exported | Reason::Pending | Reason::WaitingForValues => Type::Normal,
        Reason::InvalidSpec | Reason::TargetNotOwned | Reason::WriteFailed => Type::Warning,
    };
    let notice = (!is_known).then_some(Notice { type_, reason, note: message });
    Next::Write(Box::new(status), notice)
}

/// The current status, without fields of others.
pub(crate) fn own(export: &ConfigExport) -> ConfigExportStatus {
    let mut status = export.status.clone().unwrap_or_default();
    status.conditions.retain(|condition| [READY, DEPENDENCIES_RESOLVED].contains(&condition.type_.as_str()));
    status
}

fn ready(outcome: &Outcome) -> State {
    if matches!(outcome, Outcome::Exported(_)) { State::True } else { State::False }
}

/// Conditions of others are not compared.
fn is_unchanged(before: &ConfigExportStatus, status: &ConfigExportStatus) -> bool {
    let same = |kind| conditions::get(&before.conditions, kind) == conditions::get(&status.conditions, kind);
    same(READY)
        && same(DEPENDENCIES_RESOLVED)
        && before.observed_generation == status.observed_generation
        && before.target == status.target
        && before.content_digest == status.content_digest
        && before.rolled_out_target == status.rolled_out_target
        && before.sources == status.sources
}

#[cfg(test)]
mod tests;
