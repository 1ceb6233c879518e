//! The names of all decisions and outcomes of the loop, for the coverage table of the deterministic simulation. Pure.

use crate::{FailureClass, model::decide::Decision};

/// The area of [`DECISIONS`] in [`kraken_runtime::coverage`].
pub const DECISION: &str = "decision";
/// The area of [`OUTCOMES`].
pub const OUTCOME: &str = "outcome";
/// The area of [`FAILURES`].
pub const FAILURE: &str = "failure";

/// Every decision of the loop.
pub const DECISIONS: [&str; 8] =
    ["InPlace", "Settle", "Create", "Change", "Resume", "Replace", "Immutable", "Report"];

/// Every outcome of a reconcile.
pub const OUTCOMES: [&str; 26] = [
    "InPlace",
    "Waiting",
    "Invalid",
    "WaitingForHub",
    "InProgress",
    "NotYet",
    "Changed",
    "NotVisibleYet",
    "ChangeHadNoEffect",
    "Immutable",
    "Drifted",
    "AwaitingApproval",
    "Approved",
    "AdoptionRefused",
    "Failed",
    "WrongLocation",
    "LaunchRefused",
    "LaunchLimit",
    "MassLossHeld",
    "Account",
    "Paused",
    "Protected",
    "Blocked",
    "Kubernetes",
    "Internal",
    "Removed",
];

/// Every class of failure of a provider.
pub const FAILURES: [&str; 9] = [
    "Terminal",
    "Throttled",
    "Transient",
    "NotYet",
    "TokenUsed",
    "TokenSpent",
    "Credentials",
    "NotConfigured",
    "Protected",
];

/// The name of a decision.
pub(crate) fn decision<C>(decision: &Decision<C>) -> &'static str {
    match decision {
        Decision::InPlace => "InPlace",
        Decision::Settle(_) => "Settle",
        Decision::Create(_) => "Create",
        Decision::Change(..) => "Change",
        Decision::Resume(..) => "Resume",
        Decision::Replace(_) => "Replace",
        Decision::Immutable(_) => "Immutable",
        Decision::Report(_) => "Report",
    }
}

/// The name of a class of failure.
pub(crate) fn failure(class: FailureClass) -> &'static str {
    match class {
        FailureClass::Terminal => "Terminal",
        FailureClass::Throttled => "Throttled",
        FailureClass::Transient => "Transient",
        FailureClass::NotYet => "NotYet",
        FailureClass::TokenUsed => "TokenUsed",
        FailureClass::TokenSpent => "TokenSpent",
        FailureClass::Credentials => "Credentials",
        FailureClass::NotConfigured => "NotConfigured",
        FailureClass::Protected => "Protected",
    }
}
