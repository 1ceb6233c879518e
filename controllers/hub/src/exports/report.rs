//! Step 4: the outcome -> the status, the event and when to look again. Pure.

use jiff::Timestamp;
use kraken_api::{
    ConfigExport, ConfigExportStatus,
    conditions::{self, DEPENDENCIES_RESOLVED, READY, State},
    reasons::ExportReason as Reason,
};
use kraken_runtime::{EventType, queue::Requeue};

use crate::names::bounded;

/// The longest message, in bytes.
const MAX_MESSAGE: usize = 1500;

/// How a reconcile ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The target holds this many entries.
    Exported(usize),
    /// Entries have no value; what becomes of the target meanwhile.
    Waiting(String, Kept),
    /// The spec needs an edit; what was exported before stays.
    Invalid(String),
    /// The target is somebody else's.
    NotOwned(String),
    /// The old target is being deleted; its end wakes us.
    Leaving,
    /// A value could not be read for now; what was exported before stays.
    Unreadable(String),
    /// The target could not be written.
    Failed(String),
}

/// Whether the target outlives its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// It does not exist.
    No,
    /// It is deleted if the values do not come back soon.
    ForAWhile,
    /// It stays as it was until the values come back.
    AsLongAsNeeded,
}

/// The names of all outcomes, for the deterministic simulation's table of what was reached.
pub const OUTCOMES: [&str; 7] =
    ["Exported", "Waiting", "Invalid", "NotOwned", "Leaving", "Unreadable", "Failed"];

impl Outcome {
    /// Its name, one of [`OUTCOMES`].
    pub fn name(&self) -> &'static str {
        match self {
            Self::Exported(_) => "Exported",
            Self::Waiting(..) => "Waiting",
            Self::Invalid(_) => "Invalid",
            Self::NotOwned(_) => "NotOwned",
            Self::Leaving => "Leaving",
            Self::Unreadable(_) => "Unreadable",
            Self::Failed(_) => "Failed",
        }
    }

    /// The reason of the Ready condition.
    pub fn reason(&self) -> Reason {
        match self {
            Self::Exported(_) => Reason::Exported,
            Self::Waiting(..) | Self::Unreadable(_) => Reason::WaitingForValues,
            Self::Invalid(_) => Reason::InvalidSpec,
            Self::NotOwned(_) => Reason::TargetNotOwned,
            Self::Leaving | Self::Failed(_) => Reason::WriteFailed,
        }
    }

    /// Only what failed is tried again by time.
    pub fn requeue(&self) -> Requeue {
        match self {
            Self::Unreadable(_) | Self::Failed(_) => Requeue::Backoff,
            _ => Requeue::Never,
        }
    }

    /// `is_written`: the target exists as far as the status knows.
    fn message(&self, target: &str, is_written: bool) -> String {
        let (kind, name) = target.split_once('/').unwrap_or_default();
        let message = match self {
            Self::Exported(1) => format!("{kind} {name} holds the one entry."),
            Self::Exported(entries) => format!("{kind} {name} holds all {entries} entries."),
            Self::Leaving => format!("{kind} {name} is being deleted; it is made anew when it is gone"),
            Self::NotOwned(owner) => format!("{kind} {name} exists and {owner}; it is left alone"),
            Self::Unreadable(why) | Self::Failed(why) => format!("{why}; it is tried again"),
            Self::Waiting(why, Kept::AsLongAsNeeded) if is_written => {
                format!("{why}; {kind} {name} stays as it was (whileWaiting: Keep)")
            }
            Self::Waiting(why, _) | Self::Invalid(why) => why.clone(),
        };
        bounded(&message, MAX_MESSAGE)
    }

    fn resolved(&self) -> State {
        match self {
            Self::Waiting(..) => State::False,
            Self::Invalid(_) | Self::Unreadable(_) => State::Unknown,
            Self::Exported(_) | Self::NotOwned(_) | Self::Leaving | Self::Failed(_) => State::True,
        }
    }

    /// What the status names as written: what may be there still, unless it is known.
    fn target(&self, target: String, before: Option<String>) -> Option<String> {
        match self {
            Self::Exported(_) => Some(target),
            Self::Waiting(_, Kept::No) | Self::NotOwned(_) => None,
            Self::Waiting(..) | Self::Invalid(_) | Self::Leaving | Self::Unreadable(_) | Self::Failed(_) => {
                before
            }
        }
    }
}

/// What a change of the outcome tells the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// Normal or a warning.
    pub type_: Type,
    /// One word.
    pub reason: &'static str,
    /// For a person.
    pub note: String,
}

/// [`EventType`], comparable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// As it should be, or on the way.
    Normal,
    /// Somebody should look.
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

/// What is to be done with the status.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// It says what is known already.
    Nothing,
    /// It is to be written, and this is to be told.
    Write(Box<ConfigExportStatus>, Option<Told>),
}

/// Decides what is reported.
pub fn next(export: &ConfigExport, outcome: &Outcome, now: Timestamp) -> Next {
    let generation = export.metadata.generation;
    let before = export.status.as_ref();
    let is_reported =
        before.is_some_and(|status| status.observed_generation == generation && generation.is_some());
    if matches!(outcome, Outcome::Unreadable(_)) && is_reported {
        return Next::Nothing;
    }
    let target = format!("{:?}/{}", export.spec.config_type, export.spec.config_metadata.name);
    let is_written = before.is_some_and(|status| status.target.is_some());
    let (state, reason) = (ready(outcome), outcome.reason().as_str());
    let message = outcome.message(&target, is_written);
    let known = |kind| before.and_then(|status| conditions::get(&status.conditions, kind));
    // Only its own conditions: what others have added stays theirs.
    let mut list: Vec<_> = [READY, DEPENDENCIES_RESOLVED].into_iter().filter_map(known).cloned().collect();
    conditions::set(&mut list, READY, state, reason, &message, generation, now);
    let (word, said) = match outcome.resolved() {
        State::True => ("Resolved", "Every entry has a value."),
        _ => (reason, message.as_str()),
    };
    conditions::set(&mut list, DEPENDENCIES_RESOLVED, outcome.resolved(), word, said, generation, now);
    let status = ConfigExportStatus {
        target: outcome.target(target, before.and_then(|status| status.target.clone())),
        observed_generation: generation,
        conditions: list,
    };
    if before.is_some_and(|before| says_the_same(before, &status)) {
        return Next::Nothing;
    }
    let is_known = known(READY).is_some_and(|known| known.status == state.as_str() && known.reason == reason);
    let type_ = match outcome.reason() {
        Reason::Exported | Reason::Pending | Reason::WaitingForValues => Type::Normal,
        Reason::InvalidSpec | Reason::TargetNotOwned | Reason::WriteFailed => Type::Warning,
    };
    let told = (!is_known).then_some(Told { type_, reason, note: message });
    Next::Write(Box::new(status), told)
}

/// The status as it is, without what others have added.
pub fn own(export: &ConfigExport) -> ConfigExportStatus {
    let mut status = export.status.clone().unwrap_or_default();
    status.conditions.retain(|condition| [READY, DEPENDENCIES_RESOLVED].contains(&condition.type_.as_str()));
    status
}

fn ready(outcome: &Outcome) -> State {
    if matches!(outcome, Outcome::Exported(_)) { State::True } else { State::False }
}

/// Conditions that others have added are not ours to compare.
fn says_the_same(before: &ConfigExportStatus, status: &ConfigExportStatus) -> bool {
    let same = |kind| conditions::get(&before.conditions, kind) == conditions::get(&status.conditions, kind);
    same(READY)
        && same(DEPENDENCIES_RESOLVED)
        && before.observed_generation == status.observed_generation
        && before.target == status.target
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::exports::resolve::tests::spec;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    fn export(generation: i64, status: Option<ConfigExportStatus>) -> ConfigExport {
        let mut export = ConfigExport::new("e", spec("ConfigMap", json!([{"key": "a", "value": "x"}])));
        export.metadata.generation = Some(generation);
        export.status = status;
        export
    }

    fn waiting(why: &str) -> Outcome {
        Outcome::Waiting(why.into(), Kept::No)
    }

    fn written(next: Next) -> (ConfigExportStatus, Option<Told>) {
        match next {
            Next::Write(status, told) => (*status, told),
            Next::Nothing => panic!("nothing was written"),
        }
    }

    fn after(outcome: &Outcome) -> ConfigExportStatus {
        written(next(&export(1, None), outcome, at(1))).0
    }

    fn ready_of(status: &ConfigExportStatus) -> (&str, &str, &str) {
        let ready = conditions::get(&status.conditions, READY).unwrap();
        (&ready.status, &ready.reason, &ready.message)
    }

    #[test]
    fn an_export_is_ready_only_when_it_is_written() {
        let status = after(&Outcome::Exported(3));
        assert_eq!(ready_of(&status), ("True", "Exported", "ConfigMap app holds all 3 entries."));
        assert_eq!(status.target.as_deref(), Some("ConfigMap/app"));
        for (outcome, reason) in [
            (waiting("x"), "WaitingForValues"),
            (Outcome::Invalid("x".into()), "InvalidSpec"),
            (Outcome::NotOwned("x".into()), "TargetNotOwned"),
            (Outcome::Leaving, "WriteFailed"),
            (Outcome::Unreadable("x".into()), "WaitingForValues"),
            (Outcome::Failed("x".into()), "WriteFailed"),
        ] {
            let status = after(&outcome);
            assert_eq!((ready_of(&status).0, ready_of(&status).1), ("False", reason), "{outcome:?}");
            assert_eq!(status.target, None);
        }
    }

    #[test]
    fn at_rest_nothing_is_written_and_nothing_told() {
        let status = after(&Outcome::Exported(1));
        assert_eq!(next(&export(1, Some(status)), &Outcome::Exported(1), at(2)), Next::Nothing);
    }

    #[test]
    fn a_change_of_the_outcome_is_told_once() {
        let (status, told) = written(next(&export(1, None), &waiting("a"), at(1)));
        assert_eq!(told, Some(Told { type_: Type::Normal, reason: "WaitingForValues", note: "a".into() }));
        let (status, told) = written(next(&export(1, Some(status)), &waiting("b"), at(2)));
        assert_eq!(told, None, "the same outcome in other words");
        let refused = Outcome::NotOwned("belongs to ConfigExport first".into());
        let (_, told) = written(next(&export(1, Some(status)), &refused, at(3)));
        let note = "ConfigMap app exists and belongs to ConfigExport first; it is left alone";
        assert_eq!(told, Some(Told { type_: Type::Warning, reason: "TargetNotOwned", note: note.into() }));
    }

    #[test]
    fn a_target_that_is_kept_is_named_until_it_is_deleted() {
        let status = after(&Outcome::Exported(1));
        let waits = |kept| {
            written(next(&export(1, Some(status.clone())), &Outcome::Waiting("x".into(), kept), at(2))).0
        };
        assert_eq!(waits(Kept::ForAWhile).target.as_deref(), Some("ConfigMap/app"));
        let kept = waits(Kept::AsLongAsNeeded);
        assert_eq!(kept.target.as_deref(), Some("ConfigMap/app"));
        assert_eq!(ready_of(&kept).2, "x; ConfigMap app stays as it was (whileWaiting: Keep)");
        assert_eq!(waits(Kept::No).target, None);
        let never = Outcome::Waiting("x".into(), Kept::AsLongAsNeeded);
        assert_eq!(ready_of(&after(&never)).2, "x", "there is no target to keep");
    }

    #[test]
    fn a_failed_read_changes_no_report_of_this_generation() {
        let status = after(&Outcome::Exported(1));
        let failed = Outcome::Unreadable("the API server is on fire".into());
        assert_eq!(next(&export(1, Some(status.clone())), &failed, at(2)), Next::Nothing);
        let (status, _) = written(next(&export(2, Some(status)), &failed, at(2)));
        assert_eq!(ready_of(&status).2, "the API server is on fire; it is tried again");
        assert_eq!(status.target.as_deref(), Some("ConfigMap/app"), "it is still there");
    }

    #[test]
    fn only_failures_are_tried_again_by_time() {
        for outcome in [Outcome::Unreadable(String::new()), Outcome::Failed(String::new())] {
            assert_eq!(outcome.requeue(), Requeue::Backoff);
        }
        for outcome in [Outcome::Exported(1), waiting(""), Outcome::Invalid(String::new()), Outcome::Leaving]
        {
            assert_eq!(outcome.requeue(), Requeue::Never);
        }
    }

    #[test]
    fn missing_values_are_told_apart_from_a_failed_write() {
        let resolved = |outcome: &Outcome| {
            let status = after(outcome);
            conditions::get(&status.conditions, DEPENDENCIES_RESOLVED).unwrap().status.clone()
        };
        assert_eq!(resolved(&Outcome::Failed("x".into())), "True");
        assert_eq!(resolved(&waiting("x")), "False");
        assert_eq!(resolved(&Outcome::Invalid("x".into())), "Unknown");
    }
}
